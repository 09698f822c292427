package similarity

import (
	"math"
	"math/rand/v2"
	"testing"
)

// sampled returns the shape that n samples of planted shares show.
func sampled(r *rand.Rand, planted map[string]float64, n int) Shape {
	names, sums, sum := []string{}, []float64{}, 0.0
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		if v := planted[name]; v > 0 {
			sum += v
			names, sums = append(names, name), append(sums, sum)
		}
	}
	out := Shape{Parts: map[string]float64{}, Samples: float64(n)}
	for range n {
		at := r.Float64() * sum
		for i := range names {
			if at < sums[i] {
				out.Parts[names[i]]++
				break
			}
		}
	}
	return out
}

var planted = map[string]float64{"a": 30, "b": 25, "c": 15, "d": 10, "e": 8, "f": 6, "g": 4, "h": 2}

// TestHalvesOfOneProfile plants one shape and compares two profiles of it, of few and many samples.
func TestHalvesOfOneProfile(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, n := range []int{200, 1000, 40_000} {
		shown, estimates := 0, 0.0
		const pairs = 20
		for range pairs {
			s := Compare(sampled(r, planted, n), sampled(r, planted, n))
			if s.High >= 0.98 {
				shown++
			}
			estimates += s.Estimate / pairs
			if !(s.Low <= s.Estimate && s.Estimate <= s.High) {
				t.Errorf("%d samples: %.4f is not within %.4f to %.4f", n, s.Estimate, s.Low, s.High)
			}
		}
		if shown < pairs-2 {
			t.Errorf("%d samples: the interval has 0.98 for %d of %d pairs of profiles of one program", n, shown, pairs)
		}
		if estimates < 0.97 && n >= 1000 {
			t.Errorf("%d samples: %.4f alike in the mean", n, estimates)
		}
		t.Logf("%d samples: %.4f in the mean", n, estimates)
	}
}

// TestChance: about one in 40 pairs of profiles of one program has an estimate below Chance, at any
// number of samples, and Chance is nearer to 1 with more of them.
func TestChance(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	last := 0.0
	for _, n := range []int{500, 20_000} {
		const pairs = 12
		below, sum := 0, 0.0
		for range pairs {
			s := Compare(sampled(r, planted, n), sampled(r, planted, n))
			if sum += s.Chance / pairs; s.Estimate < s.Chance {
				below++
			}
		}
		if below > pairs/4 {
			t.Errorf("%d samples: %d of %d pairs are below what chance makes", n, below, pairs)
		}
		if sum <= last || sum >= 1 {
			t.Errorf("%d samples: chance makes %.4f, and %.4f with fewer", n, sum, last)
		}
		last = sum
		t.Logf("%d samples: %.4f, %d of %d below", n, sum, below, pairs)
	}
}

// TestManySamplesShowLikeness checks that long profiles of one program are shown to be alike.
func TestManySamplesShowLikeness(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	s := Compare(sampled(r, planted, 40_000), sampled(r, planted, 40_000))
	if s.Low < 0.98 || s.Plain > s.High {
		t.Errorf("%+v", s)
	}
}

// TestLuckShowsNothing: short profiles that look the same by luck are not shown to be alike.
func TestLuckShowsNothing(t *testing.T) {
	few := Shape{map[string]float64{"a": 5, "b": 3, "c": 2}, 10}
	if s := Compare(few, few); s.Low > 0.9 || s.Estimate != 1 {
		t.Errorf("%+v", s)
	}
	one := Shape{map[string]float64{"a": 10}, 10}
	if s := Compare(one, one); s.Low != 1 {
		t.Errorf("a function of one part: %+v", s)
	}
}

// TestEnough: as many samples as it says show that profiles of one program are alike, and a quarter
// of them does not.
func TestEnough(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	n := int(SamplesNeeded(sampled(r, planted, 300), sampled(r, planted, 1000), 0.98))
	shown := func(n int) (count int) {
		for range 20 {
			if Compare(sampled(r, planted, n), sampled(r, planted, n)).Low >= 0.98 {
				count++
			}
		}
		return count
	}
	if all, less := shown(n), shown(n/4); n < 1000 || all < 8 || less > all/2 {
		t.Errorf("%d samples: shown in %d of 20 pairs of profiles; a quarter of them: in %d", n, all, less)
	}
	t.Logf("%d samples", n)
}

// TestPlantedDifference moves time from one part to another, and asks whether the interval has it.
func TestPlantedDifference(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, moved := range []float64{3, 10, 30} {
		other := map[string]float64{}
		for k, v := range planted {
			other[k] = v
		}
		other["a"] -= moved
		other["h"] += moved
		truth := 1 - moved/100
		for _, n := range []int{1000, 10_000} {
			within, sum := 0, 0.0
			const pairs = 20
			for range pairs {
				s := Compare(sampled(r, planted, n), sampled(r, other, n))
				if s.Low-0.002 <= truth && truth <= s.High+0.002 {
					within++
				}
				sum += s.Estimate / pairs
				if moved >= 5 && n == 10_000 && s.High >= 0.98 {
					t.Errorf("%g points moved: the interval reaches %.4f", moved, s.High)
				}
			}
			if within < pairs-4 {
				t.Errorf("%g points moved, %d samples: the interval has the truth in %d of %d", moved, n, within, pairs)
			}
			// The estimate errs to the side of unlike: what chance moved counts for a part.
			if sum > truth+0.01 || sum < truth-0.025 {
				t.Errorf("%g points moved, %d samples: %.4f in the mean, not %.4f", moved, n, sum, truth)
			}
			t.Logf("%g points, %d samples: %.4f in the mean, %d of %d intervals", moved, n, sum, within, pairs)
		}
	}
}

// TestNothingInCommon checks shapes that share no part.
func TestNothingInCommon(t *testing.T) {
	s := Compare(Shape{map[string]float64{"a": 1}, 1000}, Shape{map[string]float64{"b": 1}, 1000})
	if s.Estimate > 0.01 || s.High > 0.01 || len(s.Parts) != 2 || !s.Parts[0].Clear {
		t.Errorf("%+v", s)
	}
}

// TestEmpty checks that a shape without samples claims nothing.
func TestEmpty(t *testing.T) {
	for _, pair := range [][2]Shape{
		{{}, {}},
		{{map[string]float64{"a": 1}, 100}, {}},
		{{map[string]float64{"a": 0}, 100}, {map[string]float64{"a": 1}, 100}},
	} {
		if s := Compare(pair[0], pair[1]); s.Low != 0 || s.High != 1 || s.Estimate != 0 {
			t.Errorf("%+v: %+v", pair, s)
		}
	}
}

// mixture returns parts' shapes, and the whole in which they have these shares of the time.
func mixture(want ...float64) (whole Shape, parts [][]Shape) {
	parts = [][]Shape{
		{{map[string]float64{"a": 8, "b": 2}, 1000}},
		{{map[string]float64{"b": 5, "c": 5}, 1000}},
		{{map[string]float64{"c": 1, "d": 9}, 1000}},
	}
	whole = Shape{Parts: map[string]float64{}, Samples: 1e6}
	for i, p := range parts {
		for k, v := range p[0].Parts {
			whole.Parts[k] += want[i] * v / p[0].Total()
		}
	}
	return whole, parts
}

// TestMix plants a mixture of three shapes, and then time at a place that no part has, which must
// not move the weights.
func TestMix(t *testing.T) {
	want := []float64{0.5, 0.3, 0.2}
	whole, parts := mixture(want...)
	for _, foreign := range []float64{0, 0.1} {
		whole.Parts["foreign"] = foreign
		got := Mix([]Shape{whole}, parts, []float64{1, 1, 1}, []float64{10, 10, 10})
		for i := range want {
			if math.Abs(got[i]-want[i]) > 0.02+foreign {
				t.Errorf("%g foreign: %v, want %v", foreign, got, want)
			}
		}
	}
	if got := Mix([]Shape{whole}, parts, []float64{0, 1, 1}, []float64{10, 10, 10}); got[0] != 0 {
		t.Errorf("a part without weight got %v", got)
	}
	if got := Mix([]Shape{{}}, parts, []float64{1, 1, 2}, []float64{1, 1, 1}); math.Abs(got[2]-0.5) > 1e-6 {
		t.Errorf("a whole without time moved weights: %v", got)
	}
}

// TestMixIsBounded: weights stay within the range that the recording supports, though more would be
// more alike.
func TestMixIsBounded(t *testing.T) {
	whole, parts := mixture(0.9, 0.05, 0.05)
	got := Mix([]Shape{whole}, parts, []float64{0.1, 0.45, 0.45}, []float64{2, 2, 2})
	if math.Abs(got[0]-0.2) > 1e-6 || got[1] > 0.9 || math.Abs(got[0]+got[1]+got[2]-1) > 1e-6 {
		t.Errorf("%v", got)
	}
}

// TestBlend: parts that are blended by the weights of a mixture are the mixture.
func TestBlend(t *testing.T) {
	want := []float64{0.5, 0.3, 0.2}
	whole, parts := mixture(want...)
	var shapes []Shape
	for _, p := range parts {
		shapes = append(shapes, p[0])
	}
	if alike := Plain(whole, Blend(shapes, want)); math.Abs(alike-1) > 1e-9 {
		t.Errorf("%v alike", alike)
	}
	some, other := Shape{Parts: map[string]float64{"a": 1, "b": 3}}, Shape{Parts: map[string]float64{"b": 1}}
	if alike := Plain(some, other); alike != 0.75 {
		t.Errorf("%v alike, want 0.75", alike)
	}
}
