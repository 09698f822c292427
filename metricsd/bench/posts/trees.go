package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/armon/go-radix"
	"github.com/beagle-go/beagle/metricsd/intake/history"
	"github.com/tchap/go-patricia/v2/patricia"
)

// hierarchical returns names like those of metrics, in no order.
func hierarchical(n int) []string {
	services := []string{"checkout", "payments", "search", "catalog", "identity", "shipping", "pricing", "basket"}
	parts := []string{"request.latency", "request.errors", "cache.hits", "db.query.time", "queue.depth"}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s.%s.%s.host-%05d.%s", services[i%8], parts[i/8%5],
			[]string{"p50", "p99", "max"}[i/40%3],
			i/120, []string{"eu", "us"}[i%2])
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// trees compares sets of names: Go's map, a radix tree, a Patricia tree, and the intake's history.
func trees(o *options, args []string) error {
	n := o.flags.Int("n", 1_000_000, "names")
	if err := o.flags.Parse(args); err != nil {
		return err
	}
	alone()
	names := hierarchical(*n)
	// A name that is absent has a known one as its beginning: a tree goes all the way down before
	// it can say no, while a hash differs at once.
	absent := make([]string, len(names))
	for i, name := range names {
		absent[i] = name + ".x"
	}
	sets := []nameSet{mapSet{}, &radixSet{radix.New()}, &patriciaSet{patricia.NewTrie()},
		&historySet{history.New(4 * *n)}}
	t := &table{
		Name: fmt.Sprintf("Sets of %d names: ns an operation", *n),
		Columns: []string{"set", "entered, grown", "found", "times as fast", "not found", "times as fast",
			"bytes a name, without its text"},
	}
	var entered, bytesOf []float64
	// Growth is part of entering: a history that is empty after a restart pays for it.
	for _, s := range sets {
		before := live()
		entered = append(entered, cost(way{run: func(n int) {
			for _, name := range names[:n] {
				s.add(name)
			}
		}}, len(names)))
		// Collect garbage before and after, so that the difference is the set alone. The text of
		// the names is there in every set.
		bytesOf = append(bytesOf, float64(live()-before)/float64(len(names)))
	}
	found := 0
	var hits, misses []way
	for _, s := range sets {
		hits = append(hits, way{name: s.name(), run: looks(s, names, &found)})
		misses = append(misses, way{name: s.name(), run: looks(s, absent, &found)})
	}
	hit, miss := o.times(hits...), o.times(misses...)
	// The first set is repeated at the end as the measure of noise.
	for i := range append(sets, nil) {
		if i == len(sets) {
			t.add(again, "", median(hit[i]), ratioOf(hit[0], hit[i]), median(miss[i]), ratioOf(miss[0], miss[i]), "")
			break
		}
		t.add(sets[i].name(), entered[i], median(hit[i]), ratioOf(hit[0], hit[i]), median(miss[i]),
			ratioOf(miss[0], miss[i]), bytesOf[i])
	}
	return o.print(t)
}

func looks(s nameSet, names []string, found *int) func(int) {
	i := 0
	return func(n int) {
		for range n {
			if s.has(names[i]) {
				*found++
			}
			if i++; i == len(names) {
				i = 0
			}
		}
	}
}

// live returns the heap in use after a collection.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A nameSet is a set of names.
type nameSet interface {
	name() string
	add(string)
	has(string) bool
}

type mapSet map[string]struct{}

func (mapSet) name() string        { return "Go's map" }
func (s mapSet) add(n string)      { s[n] = struct{}{} }
func (s mapSet) has(n string) bool { _, ok := s[n]; return ok }

type radixSet struct{ t *radix.Tree }

func (*radixSet) name() string        { return "radix tree (armon/go-radix)" }
func (s *radixSet) add(n string)      { s.t.Insert(n, nil) }
func (s *radixSet) has(n string) bool { _, ok := s.t.Get(n); return ok }

type patriciaSet struct{ t *patricia.Trie }

func (*patriciaSet) name() string        { return "Patricia tree (tchap/go-patricia)" }
func (s *patriciaSet) add(n string)      { s.t.Insert(patricia.Prefix(n), true) }
func (s *patriciaSet) has(n string) bool { return s.t.Get(patricia.Prefix(n)) != nil }

type historySet struct{ h *history.Set }

func (*historySet) name() string        { return "the intake's history, which hashes and stamps" }
func (s *historySet) add(n string)      { s.h.See(s.h.Key(0, n), 1) }
func (s *historySet) has(n string) bool { return !s.h.See(s.h.Key(0, n), 1) }
