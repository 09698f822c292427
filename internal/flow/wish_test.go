package flow

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/mutate/rules"
)

const wishedSource = `package p

func Sums(a, b, c []int) (x, y, z int) {
	for _, v := range a {
		x += v
	}
	for _, v := range b {
		y += v
	}
	if len(c) > 1 {
		for _, v := range c {
			z += v
		}
	}
	return x, y, z
}
`

// TestWishGoesWhereTheTimeGoes checks that a wish for a rewrite without a place takes each place as
// often as it takes time, and none that takes no time; a place that is named is taken in any case.
func TestWishGoesWhereTheTimeGoes(t *testing.T) {
	u := written(t, wishedSource, "Sums")
	line := func(text string) int {
		return 1 + strings.Count(u.Target.Source[:strings.Index(u.Target.Source, text)], "\n")
	}
	w := newWorkbench(u, &beagle.Facets{}, rules.Default, bench.Profile{
		Lines:   map[int]float64{line("x += v"): 0.2, line("y += v"): 0.8},
		Callees: bench.Callees{"none": {1: 0.1}},
		Samples: 300,
	})
	root := beagle.NewCandidate(u.Target.Source, nil, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	count := func(wish evolve.Wish, loop string) int {
		n := 0
		for range 100 {
			c, err := w.wish(root, wish, rng)
			if err != nil {
				t.Fatal(err)
			}
			if site := c.Steps[0].Site; strings.Contains(site, loop) {
				n++
			}
		}
		return n
	}
	any := evolve.Wish{Mutator: "unroll"}
	if a, b := count(any, "over a"), count(any, "over b"); a < 10 || b < 65 || a+b < 90 {
		t.Errorf("of 100 wishes each, %d go to a loop with 20 %% of the time and %d to one with 80 %%", a, b)
	}
	if n := count(any, "over c"); n != 0 {
		t.Errorf("%d of 100 wishes go to a loop that takes no time", n)
	}
	// Its label is that of the other loops.
	c, err := w.wish(root, any, rng)
	if err != nil {
		t.Fatal(err)
	}
	label := strings.NewReplacer("over a", "over c", "over b", "over c").Replace(c.Steps[0].Site)
	if n := count(evolve.Wish{Mutator: "unroll", Site: label}, "over c"); n != 100 {
		t.Errorf("%d of 100 wishes go to the loop that they name, %q", n, label)
	}
}
