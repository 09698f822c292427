package main

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/beagle-go/beagle/metricsd/murmur3"
)

// mapKeys compares keys of 128 and of 64 bits in the map that finds contexts. Keys come in no
// order, so that the map is as far from the caches as in the service.
func mapKeys(o *options, args []string) error {
	if err := o.flags.Parse(args); err != nil {
		return err
	}
	alone()
	t := &table{
		Name:    "Keys of 128 and of 64 bits in Go's map: ns an operation",
		Columns: []string{"contexts", "way", "ns", "times as fast"},
	}
	for _, n := range []int{1000, 60_000, 400_000} {
		wide, narrow := make([][2]uint64, n), make([]uint64, n)
		for i := range n {
			h1, h2 := murmur3.Sum128(fmt.Sprintf("service.request.%d", i), seed)
			wide[i], narrow[i] = [2]uint64{h1, h2}, h1
		}
		shuffle := func(swap func(i, j int)) { rand.New(rand.NewPCG(1, 2)).Shuffle(n, swap) }
		shuffle(func(i, j int) { wide[i], wide[j] = wide[j], wide[i] })
		shuffle(func(i, j int) { narrow[i], narrow[j] = narrow[j], narrow[i] })
		found := 0
		o.rows(t, fmt.Sprintf("%d, found", n), way{"128 bits", finds(wide, &found), 1},
			way{"64 bits", finds(narrow, &found), 1})
		o.rows(t, fmt.Sprintf("%d, entered", n), way{"128 bits", enters(wide), n}, way{"64 bits", enters(narrow), n})
		if found == 0 {
			return errors.New("no key was found")
		}
	}
	return o.print(t)
}

// An entry is a value of a map of contexts.
type entry struct{ value float64 }

// finds looks up the keys of a map in their order, repeatedly. It counts the finds: the compiler
// would remove a look-up that nothing reads.
func finds[K comparable](keys []K, found *int) func(int) {
	m := make(map[K]*entry)
	for _, k := range keys {
		m[k] = new(entry)
	}
	i := 0
	return func(n int) {
		for range n {
			if m[keys[i]] != nil {
				*found++
			}
			if i++; i == len(keys) {
				i = 0
			}
		}
	}
}

// enters fills a new map each time, which grows.
func enters[K comparable](keys []K) func(int) {
	return func(n int) {
		for n > 0 {
			m := make(map[K]*entry)
			one := new(entry)
			for _, k := range keys[:min(n, len(keys))] {
				m[k] = one
			}
			n -= len(keys)
		}
	}
}
