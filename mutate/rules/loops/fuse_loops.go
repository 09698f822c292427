package loops

import (
	_ "embed"
	"iter"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
)

//go:embed fuse_loops.go
var fuseLoopsSource string

// fuseLoops (catalogue L8) matches two neighbouring loops over the same elements that do not depend
// on each other. It writes one loop with both bodies.
var fuseLoops = example.Rule{
	Name: "fuse-loops",
	Doc: "Go through the same elements once instead of twice. Legal because both loops run to the end and neither " +
		"uses a variable that the other changes; they write nothing but local variables.",
	Class:  beagle.E0,
	Gain:   1.15,
	Source: fuseLoopsSource,
	Pairs:  []example.Pair{{Before: twoLoops[int, string], After: oneLoop[int, string], AnyOrder: true}},
	// The elements of a map come in another order each time.
	Guard: func(m *example.Match) bool { return m.Loop().Kind != facts.OverMap },
	Label: func(m *example.Match) string {
		if l := m.Loop(); l.Seq != nil {
			return "two loops over " + m.Pass.Text(l.Seq)
		}
		return "two loops to " + m.Pass.Text(m.Loop().Bound)
	},
}.Mutator()

func twoLoops[K, V any](loop iter.Seq2[K, V], first, second func(K, V)) {
	for k, v := range loop {
		first(k, v)
	}
	for k, v := range loop {
		second(k, v)
	}
}

func oneLoop[K, V any](loop iter.Seq2[K, V], first, second func(K, V)) {
	for k, v := range loop {
		first(k, v)
		second(k, v)
	}
}
