// Command posts times the functions of the example in the form that the rules
// gave them against the original. It is copied into a test program.
package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"time"

	"golden/after"
	"golden/before"
)

func main() {
	tags, sets := traffic(8192), lists(8192)
	fib := make([]int, 64)
	for i := range fib {
		fib[i] = 20 + i%6
	}
	for _, s := range tags {
		same(s, before.Valid(s), after.Valid(s))
		same(s, before.Normalize(s), after.Normalize(s))
	}
	for _, s := range sets {
		same(s, fmt.Sprint(before.Merge(s[0], s[1])), fmt.Sprint(after.Merge(s[0], s[1])))
	}
	buffers := make([][]byte, 256)
	for i := range buffers {
		buffers[i] = make([]byte, 100+i)
		for j := range buffers[i] {
			buffers[i][j] = byte(rand.Int())
		}
		same(i, before.Sum(buffers[i]), after.Sum(buffers[i]))
		same(i, before.Hash(buffers[i]), after.Hash(buffers[i]))
		same(i, before.Key("name", tags[i:i+i%20]), after.Key("name", tags[i:i+i%20]))
	}
	json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"validator":  ratio(len(tags), func(i int) { before.Valid(tags[i]) }, func(i int) { after.Valid(tags[i]) }),
		"normaliser": ratio(len(tags), func(i int) { before.Normalize(tags[i]) }, func(i int) { after.Normalize(tags[i]) }),
		"merge":      ratio(len(sets), func(i int) { before.Merge(sets[i][0], sets[i][1]) }, func(i int) { after.Merge(sets[i][0], sets[i][1]) }),
		"checksum":   ratio(len(buffers), func(i int) { sink ^= before.Sum(buffers[i]) }, func(i int) { sink ^= after.Sum(buffers[i]) }),
		"murmur":     ratio(len(buffers), func(i int) { sink ^= before.Hash(buffers[i]) }, func(i int) { sink ^= after.Hash(buffers[i]) }),
		"key":        ratio(len(buffers), func(i int) { sink ^= before.Key("name", tags[i:i+16]) }, func(i int) { sink ^= after.Key("name", tags[i:i+16]) }),
		"fibonacci":  ratio(len(fib), func(i int) { before.Fibonacci(fib[i]) }, func(i int) { after.Fibonacci(fib[i]) }),
	})
}

// sink keeps what inlined calls compute from being dropped.
var sink uint32

func same[T comparable](in any, want, got T) {
	if want != got {
		fmt.Printf("%#v: want %#v, got %#v\n", in, want, got)
		os.Exit(1)
	}
}

// ratio is the median over interleaved slices of time before over time after.
func ratio(n int, before, after func(int)) float64 {
	time := func(f func(int)) float64 {
		start := time.Now()
		for i := range n {
			f(i)
		}
		return float64(time.Since(start))
	}
	var ratios []float64
	for range 15 {
		b := time(before)
		ratios = append(ratios, b/time(after))
	}
	sort.Float64s(ratios)
	return ratios[len(ratios)/2]
}

func traffic(n int) []string {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	word := func() string { return fmt.Sprintf("%x", rng.Uint64()>>(4*rng.IntN(12))) }
	tags := make([]string, 0, n)
	for range n {
		switch k := rng.IntN(100); {
		case k < 3:
			tags = append(tags, pick("city:", "team:")+pick("münchen", "東京", "naïve café", "bad\xff")+word())
		case k < 7:
			tags = append(tags, pick("Env:", "Service Name:", "_version:")+pick("Prod ", "V1,", "x__y_")+word())
		default:
			tags = append(tags, pick("env", "host", "pod_name", "http.status_code")+":"+pick("prod", "i-"+word()+word(), "web_"+word()+"."+word(), "eu/west/"+word()))
		}
	}
	return tags
}

func lists(n int) [][2][]string {
	rng := rand.New(rand.NewPCG(3, 4))
	all := traffic(4096)
	set := func(size int) []string {
		s := make([]string, size)
		for i := range s {
			s[i] = all[rng.IntN(len(all))]
		}
		if rng.IntN(100) < 98 {
			slices.Sort(s)
			s = slices.Compact(s)
		}
		return s
	}
	sets := make([][2][]string, n)
	for i := range sets {
		sets[i] = [2][]string{set(rng.IntN(24)), set(rng.IntN(12))}
	}
	return sets
}
