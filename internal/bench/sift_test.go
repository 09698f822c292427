package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/beagle-go/beagle"
)

// siftPlanted sifts a whole that gains a half, and forms of it with planted losses.
func siftPlanted(t *testing.T, seed uint64, n noise, c code, losses ...float64) *Sifting {
	t.Helper()
	ps := []planted{{gain: 1.5, pgo: 1}}
	var pairs [][2]int
	for i, loss := range losses {
		ps = append(ps, planted{gain: 1.5 * math.Exp(-loss), pgo: 1})
		pairs = append(pairs, [2]int{i + 1, 0})
	}
	l := &simRig{rng: rand.New(rand.NewPCG(seed, 1)), noise: n, code: c, planted: ps, copies: siftCopies,
		train: "train"}
	m := newSifter(l, len(ps), "train", Options{Seed: seed, Rounds: 2})
	out, err := m.sift(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSiftPlanted: a step that gains a tenth is shown to gain, whatever the layouts do; of one that
// gains nothing that is not shown, but by chance.
func TestSiftPlanted(t *testing.T) {
	for _, n := range []noise{quiet, loaded} {
		for _, c := range []code{tight, ordinary, floating} {
			shown := [3]int{}
			const runs = 20
			for seed := range uint64(runs) {
				s := siftPlanted(t, seed, n, c, 0.1, 0.03, 0)
				for i, over := range s.Over {
					if over.High < 1 {
						shown[i]++
					}
				}
			}
			said := fmt.Sprintf("%+v %+v: a tenth is shown in %d of %d runs, 3 %% in %d, nothing in %d", n, c, shown[0],
				runs, shown[1], shown[2])
			if t.Log(said); shown[0] < runs-2 || shown[2] > 3 {
				t.Error(said)
			}
		}
	}
}

// TestSiftAgainstOneLayout: the luck of one layout calls a step that gains nothing a gain or a loss
// of more than 3 % far more often than several layouts do.
func TestSiftAgainstOneLayout(t *testing.T) {
	wrong := [2]int{}
	const runs = 40
	for seed := range uint64(runs) {
		over := siftPlanted(t, seed, quiet, floating, 0).Over[0]
		l := &simRig{rng: rand.New(rand.NewPCG(seed, 2)), noise: quiet, code: floating, copies: 1}
		l.planted = []planted{{gain: 1.5, pgo: 1}, {gain: 1.5, pgo: 1}}
		im := l.link(false, 1)
		one := im.luck[1] - im.luck[2]
		for i, log := range []float64{math.Log(over.Point), one} {
			if math.Abs(log) > 0.03 {
				wrong[i]++
			}
		}
	}
	if wrong[0] > wrong[1]/2 || wrong[1] < runs/4 {
		t.Errorf("more than 3 %% off: %d of %d over layouts, %d in one", wrong[0], runs, wrong[1])
	}
	t.Logf("more than 3 %% off: %d of %d over layouts, %d in one", wrong[0], runs, wrong[1])
}

// TestSiftSharpens: blurred pairs ask for more layouts, up to a limit; sharp ones do not.
func TestSiftSharpens(t *testing.T) {
	for _, c := range []struct {
		rest float64 // of the layouts' luck
		want int
	}{{0.005, SiftLayouts}, {0.1, 2 * SiftLayouts}} {
		l := &simRig{rng: rand.New(rand.NewPCG(3, 1)), noise: quiet, code: code{rest: c.rest}, copies: siftCopies,
			train: "train"}
		l.planted = []planted{{gain: 1.5, pgo: 1}, {gain: 1.5, pgo: 1}}
		_, err := newSifter(l, 2, "train", Options{Rounds: 2}).sift(t.Context(), [][2]int{{1, 0}})
		if err != nil || l.runs != c.want {
			t.Errorf("luck of %v: %d layouts, want %d: %v", c.rest, l.runs, c.want, err)
		}
	}
}

// TestSiftWithoutTheDying: a form that dies has no ratio, even if it dies in the last layouts only.
// The others are compared, and the sifting does not wait for it.
func TestSiftWithoutTheDying(t *testing.T) {
	for _, from := range []int{0, SiftLayouts - 2} {
		l := &simRig{rng: rand.New(rand.NewPCG(3, 1)), noise: quiet, code: tight, copies: siftCopies, train: "train"}
		l.planted = []planted{
			{gain: 1.5, pgo: 1}, {gain: 1.5, pgo: 1, dies: "panicked", from: from}, {gain: 1.2, pgo: 1},
		}
		s, err := newSifter(l, 3, "train", Options{Rounds: 2}).sift(t.Context(), [][2]int{{1, 0}, {2, 0}})
		if err != nil {
			t.Fatal(err)
		}
		if s.Ratios[1].Low > 0 || s.Over[0].Low > 0 || s.Over[1].High >= 1 || s.Ratios[0].Low < 1.3 {
			t.Errorf("dies after %d processes: %+v", from, s)
		}
		if relinked := l.links - 1; relinked >= SiftLayouts {
			t.Errorf("dies after %d processes: %d more layouts, although nothing is open", from, relinked)
		}
	}
}

// TestSiftByScore: where memory counts, a step that saves memory and no time is shown to gain, and
// one that saves neither is not.
func TestSiftByScore(t *testing.T) {
	l := &simRig{rng: rand.New(rand.NewPCG(3, 1)), noise: quiet, code: tight, copies: siftCopies, train: "train"}
	l.planted = []planted{{gain: 1, pgo: 1, bytes: 16}, {gain: 1, pgo: 1, bytes: 64}, {gain: 1, pgo: 1, bytes: 16}}
	for _, score := range []beagle.Score{{Bytes: 1}, {Time: 0.5, Bytes: 0.5}} {
		s, err := newSifter(l, 3, "train", Options{Score: score}).sift(t.Context(), [][2]int{{1, 0}, {2, 0}})
		if err != nil {
			t.Fatal(err)
		}
		if s.Over[0].High >= 1 || s.Over[1].High < 1 || s.Ratios[1].High >= s.Ratios[0].Low {
			t.Errorf("by %s: %+v", score.Quantity(), s)
		}
	}
}

// TestOver: what a layout does to the original cancels out between two finalists.
func TestOver(t *testing.T) {
	var a, b beagle.Measurement
	for i := range 10 {
		luck := math.Exp(0.3 * math.Sin(float64(i)))
		of := func(ratio float64) beagle.Ratio {
			return beagle.Ratio{Point: ratio * luck, Low: 0.99 * ratio * luck, High: ratio * luck / 0.99}
		}
		a.Layouts = append(a.Layouts, beagle.Layout{Seed: uint64(i), Ratio: of(1.1)})
		b.Layouts = append(b.Layouts, beagle.Layout{Seed: uint64(i + 1), Ratio: of(1.1)})
		if i > 0 {
			b.Layouts[i-1].Ratio = of(1)
		}
	}
	if r := PairedRatio(&a, &b); math.Abs(r.Point-1.1) > 0.005 || r.Low < 1.08 || r.High > 1.12 {
		t.Errorf("%+v", r)
	}
	if r := PairedRatio(&a, &beagle.Measurement{}); r.Low > 0 {
		t.Errorf("without a common layout: %+v", r)
	}
}
