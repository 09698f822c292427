package flow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/mutate/rules"
)

// BenchmarkPropose says what orchestration costs for versions that were not seen
// before: finding all moves, taking one, and taking four by name.
func BenchmarkPropose(b *testing.B) {
	for _, name := range []string{"isNormalizedASCIITag", "NormalizeTagArbTagValue", "MergeTags"} {
		u, err := source.Load(context.Background(), source.Options{Dir: "../..", Spec: "./examples/tags." + name})
		if err != nil {
			b.Fatal(err)
		}
		w := newWorkbench(u, &beagle.Facets{}, rules.All, bench.Profile{})
		root := beagle.NewCandidate(u.Target.Source, nil, nil)
		moves := w.moves(root)
		count := 0
		unseen := func() beagle.Candidate {
			count++
			return beagle.NewCandidate(fmt.Sprintf("%s\n// %d\n", u.Target.Source, count), nil, nil)
		}
		b.Run(name+"/moves", func(b *testing.B) {
			for b.Loop() {
				w.moves(unseen())
			}
		})
		b.Run(name+"/apply", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, err := w.apply(unseen(), moves[i%len(moves)]); err != nil && refusalReason(err) == "" {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/stack", func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				c := unseen()
				for range 4 {
					if next, err := w.wish(c, evolve.Wish{
						Mutator: moves[rng.IntN(len(moves))].Mutator,
					}, rng); err == nil {
						c = next
					}
				}
			}
		})
	}
}
