package flow

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/mutate/rules"
)

// BenchmarkPropose says what orchestration costs: finding all moves of a
// version, taking one, and taking one by name.
func BenchmarkPropose(b *testing.B) {
	for _, name := range []string{"isNormalizedASCIITag", "NormalizeTagArbTagValue", "MergeTags"} {
		u, err := source.Load(context.Background(), source.Options{Dir: "../..", Spec: "./examples/tags." + name})
		if err != nil {
			b.Fatal(err)
		}
		w := newWorkbench(u, &beagle.Facets{}, rules.All, nil)
		root := beagle.NewCandidate(u.Target.Source, nil, nil)
		moves := w.moves(root.Source, nil)
		b.Run(name+"/moves", func(b *testing.B) {
			for b.Loop() {
				w.moves(root.Source, nil)
			}
		})
		b.Run(name+"/apply", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, err := w.apply(root, nil, moves[i%len(moves)]); err != nil && refused(err) == "" {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/wish", func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			for i := 0; b.Loop(); i++ {
				w.wish(root, evolve.Wish{Mutator: moves[i%len(moves)].Mutator}, rng)
			}
		})
	}
}
