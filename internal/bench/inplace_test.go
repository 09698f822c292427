package bench

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
)

// A simPlace has benchmarks in which versions take simulated times.
type simPlace struct {
	t      *testing.T
	ids    []string
	nanos  map[string][]float64 // of a call of each version, by benchmark
	allocs map[string]float64   // of a call of each version
	rng    *rand.Rand
	path   string
	relink int
}

type simProgram struct{ *simPlace }

func (p simProgram) Path() string { return p.path }
func (p simProgram) Remove()      {}

func (p *simPlace) Build(
	_ context.Context, vs []harness.Variant, _ uint64,
) (PlaceProgram, map[int]string, error) {
	p.ids = nil
	for _, v := range vs {
		p.ids = append(p.ids, v.ID)
	}
	return simProgram{p}, nil, nil
}

func (p *simPlace) Relink(context.Context, PlaceProgram, uint64) (PlaceProgram, error) {
	p.relink++
	return simProgram{p}, nil
}

func (p *simPlace) Windows() []Window {
	return []Window{{"BenchmarkShort", 0.5}, {"BenchmarkLong", 0.5}}
}

// Time makes slices that are 10 % longer or shorter by chance.
func (p *simPlace) Time(
	_ context.Context, _ PlaceProgram, versions []int, budget time.Duration, _ uint64,
) (*rt.Timing, string, error) {
	const rounds = 40
	t := &rt.Timing{Calls: 1000, Windows: 2, Weights: []float64{1, 0.01}, Passes: make([]int, len(versions)),
		Wall: make([][]int64, len(versions)), CPU: make([][]int64, len(versions)),
		Allocs: make([]float64, len(versions)), Bytes: make([]float64, len(versions)), Millis: 1}
	for i := range 2 * rounds {
		t.Window = append(t.Window, i%2)
	}
	for v, version := range versions {
		t.Passes[v] = 1
		t.Allocs[v] = p.allocs[p.ids[version]]
		for _, w := range t.Window {
			noise := 0.9 + 0.2*p.rng.Float64()
			t.Wall[v] = append(t.Wall[v], int64(1000*p.nanos[p.ids[version]][w]*noise))
		}
	}
	return t, "", nil
}

// TestConfirmIn measures versions whose truth is known: the original again, one
// that is faster everywhere, and one that is slower in one benchmark.
func TestConfirmIn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	u := &source.Unit{Target: beagle.Target{PkgPath: "p", Name: "F", Source: "package p\n"}}
	same, fast, mixed := beagle.Candidate{ID: "same"}, beagle.Candidate{ID: "fast"}, beagle.Candidate{ID: "mixed"}
	p := &simPlace{t: t, path: self, rng: rand.New(rand.NewPCG(1, 2)), nanos: map[string][]float64{
		"original": {100, 10000}, "same": {100, 10000}, "fast": {60, 6000}, "mixed": {40, 14000},
	}}
	cs := []beagle.Candidate{same, fast, mixed}
	ms, err := ConfirmIn(t.Context(), p, u, cs, 3, Options{Budget: time.Second, MinGain: 0.01, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if ms[0].Faster || !strings.Contains(ms[0].Why, "no difference") && !strings.Contains(ms[0].Why, "no sure") {
		t.Errorf("the original against itself: %v %q", ms[0].Train, ms[0].Why)
	}
	if r := ms[1].Train; !ms[1].Faster || r.Low < 1.6 || r.High > 1.73 {
		t.Errorf("1.67 times as fast: %v %q", r, ms[1].Why)
	}
	if c := ms[2].InputClasses; len(c) != 2 || c[0].Ratio.Low < 2 || c[1].Ratio.High > 0.8 {
		t.Errorf("2.5 and 0.71 times as fast: %+v", c)
	}
}

// TestNeutralBenchmarks checks that a version that is as fast as the original in all of many
// benchmarks is rarely called slower in one of them, which would refuse it.
func TestNeutralBenchmarks(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 18))
	const runs, benchmarks, layouts = 1000, 10, 11
	refused := 0
	for range runs {
		found := make([][]Estimate, benchmarks)
		for w := range found {
			for range layouts {
				found[w] = append(found[w], Estimate{Log: 0.02 * rng.NormFloat64()})
			}
		}
		ratios := ratiosOf(make([]Window, benchmarks), found)
		if slices.ContainsFunc(ratios, func(c beagle.InputClassRatio) bool { return c.Ratio.High < 1 }) {
			refused++
		}
	}
	if t.Logf("slower in one of %d benchmarks: %d of %d", benchmarks, refused, runs); refused > runs*4/100 {
		t.Errorf("a version that is as fast as the original is refused in %d of %d runs", refused, runs)
	}
}

// TestScores measures versions that trade time for allocations.
func TestScores(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	u := &source.Unit{Target: beagle.Target{PkgPath: "p", Name: "F", Source: "package p\n"}}
	both := func(n float64) []float64 { return []float64{n, 100 * n} }
	nanos := map[string][]float64{"original": both(100), "lean": both(100), "slow": both(110), "fast": both(70),
		"slow and lean": both(110), "hungry": both(70)}
	allocs := map[string]float64{"original": 9, "lean": 1, "slow": 9, "fast": 9, "slow and lean": 1, "hungry": 30}
	for _, x := range []struct {
		score  beagle.Score
		id     string
		faster bool
		why    string
		point  float64
	}{
		{beagle.Score{Allocs: 1}, "lean", true, "", 5},
		{beagle.Score{Allocs: 1}, "slow and lean", false, "it may take longer", 5},
		{beagle.Score{Allocs: 1}, "fast", false, "it does not allocate less: 9 against 9", 1},
		{beagle.Score{Time: 0.5, Allocs: 0.5}, "slow and lean", true, "", 2.132},
		{beagle.Score{Time: 0.5, Allocs: 0.5}, "slow", false, "worse: 0.95", 0.953},
		{beagle.Score{Time: 0.5, Allocs: 0.5}, "hungry", false, "by time=0.5,allocs=0.5: worse", 0.679},
		{beagle.Score{Time: 0.5, Allocs: 0.5}, "fast", true, "", 1.195},
		{beagle.Score{}, "lean", false, "difference", 0},
	} {
		t.Run(x.score.Quantity()+" "+x.id, func(t *testing.T) {
			p := &simPlace{t: t, path: self, rng: rand.New(rand.NewPCG(1, 2)), nanos: nanos, allocs: allocs}
			ms, err := ConfirmIn(t.Context(), p, u, []beagle.Candidate{{ID: x.id}}, 3,
				Options{Budget: time.Second, MinGain: 0.01, Seed: 1, Score: x.score})
			if err != nil {
				t.Fatal(err)
			}
			m := ms[0]
			if m.Faster != x.faster || !strings.Contains(m.Why, x.why) {
				t.Errorf("faster %v, %q; want %v, %q", m.Faster, m.Why, x.faster, x.why)
			}
			if (m.Score == nil) != (x.point == 0) || m.Score != nil && math.Abs(m.Score.Point-x.point) > 0.02*x.point {
				t.Errorf("the score is %v, want %g", m.Score, x.point)
			}
			ratios, err := ScreenIn(t.Context(), p, simProgram{p}, []int{len(p.ids) - 1},
				Options{Budget: time.Second, Seed: 1, Score: x.score})
			far := x.point > 0 && x.why != "it may take longer" && math.Abs(ratios[0].Point-x.point) > 0.05*x.point
			if err != nil || far {
				t.Errorf("screened as %v, want %g: %v", ratios, x.point, err)
			}
			if x.why == "it may take longer" && ratios[0].High > 1 {
				t.Errorf("a version that takes longer is screened as %v", ratios)
			}
		})
	}
}
