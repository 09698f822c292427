package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/special"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// TestQuantiles compares with the tables that every textbook prints.
func TestQuantiles(t *testing.T) {
	near(t, "normal 0.975", normalQuantile(0.975), 1.959964, 1e-6)
	near(t, "Student 0.975, 7", studentQuantile(0.975, 7), 2.364624, 1e-5)
	near(t, "Student 0.995, 1", studentQuantile(0.995, 1), 63.65674, 1e-3)
	near(t, "Student 0.9995, 30", studentQuantile(0.9995, 30), 3.645959, 1e-5)
	near(t, "expected maximum of 5", expectedMaximum(5), 1.163, 0.02)
	near(t, "expected maximum of 1", expectedMaximum(1), 0, 0)
	near(t, "Šidák for 2", sidak(0.9, 2), math.Sqrt(0.9), 1e-12)
}

// TestSignedRankCritical compares with Hollander and Wolfe, table A.4: 95 % two-sided limits.
func TestSignedRankCritical(t *testing.T) {
	for _, c := range []struct{ n, k int }{{5, 0}, {6, 1}, {7, 3}, {8, 4}, {9, 6}, {10, 9}, {12, 14}, {20, 53}} {
		if k := signedRankCritical(c.n, 0.025); k != c.k {
			t.Errorf("n = %d: %d, want %d", c.n, k, c.k)
		}
	}
}

func TestHodgesLehmannIgnoresAnOutlier(t *testing.T) {
	point, low, high, ok := signedRank([]float64{1, 2, 3, 4, 5, 6, 7, 1000}, 0.95)
	if !ok || point != 4.5 || low != 2 || high < 7 {
		t.Errorf("%v [%v, %v] %v", point, low, high, ok)
	}
}

func TestMedianErrorOfNormal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{9, 25, 400} {
		sum := 0.0
		for range 500 {
			x := make([]float64, n)
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			slices.Sort(x)
			sum += medianError(x) / 500
		}
		want := 1.2533 / math.Sqrt(float64(n))
		near(t, "standard error of the median", sum, want, 0.15*want)
	}
}

// TestCompareKeepsLongSlices checks that a slice that is longer than the system lets a thread run
// is preempted every time. It takes most of the time, so it may not be left out.
func TestCompareKeepsLongSlices(t *testing.T) {
	const short, long = 100_000, 50_000_000
	timing := &rt.Timing{Calls: 1, Passes: []int{1, 1}, Windows: 2, Wall: make([][]int64, 2), CPU: make([][]int64, 2)}
	for round := range 40 {
		w := round % 2
		timing.Window = append(timing.Window, w)
		for v, half := range []int64{1, 2} {
			took, away := []int64{short, long}[w]/half, int64(w)*4_000_000
			timing.Wall[v] = append(timing.Wall[v], took+away)
			timing.CPU[v] = append(timing.CPU[v], took)
		}
	}
	e := Compare(timing, 0, 1)
	near(t, "ratio", math.Exp(e.Log), 2, 1e-9)
	if e.Pairs != 40 {
		t.Errorf("%d of 40 pairs are used", e.Pairs)
	}
	near(t, "nanoseconds of a call", nanos(timing, 0), (short+long)/2, 1)
	timing.Weights = []float64{3, 1}
	near(t, "nanoseconds of a call, weighted", nanos(timing, 0), (3*short+long)/4, 1)
}

// TestCompareCoverageOfFew checks that three visits of each window, or of the one that counts, are
// few; the interval knows.
func TestCompareCoverageOfFew(t *testing.T) {
	for _, windows := range []int{1, 4, 28} {
		rng := rand.New(rand.NewPCG(7, 7))
		covered := 0
		const runs = 400
		truth := math.Log(1.05)
		for range runs {
			if e := Compare(simulate(rng, loaded, windows, max(5, 3*windows), 0, -truth), 0,
				1); math.Abs(e.Log-truth) <= special.Normal95*e.SE {
				covered++
			}
		}
		if share := float64(covered) / runs; share < 0.91 {
			t.Errorf("%d windows: the 95 %% interval covers the truth in %.1f %%", windows, 100*share)
		}
	}
}

// TestCompareCoverage checks that the interval of one process covers the truth at every level of
// noise, and is narrow enough to be of use.
func TestCompareCoverage(t *testing.T) {
	for _, c := range []struct {
		name  string
		noise noise
		width float64
	}{{"quiet", quiet, 0.002}, {"loaded", loaded, 0.006}, {"awful", awful, 0.03}} {
		rng := rand.New(rand.NewPCG(7, 7))
		covered, width := 0, 0.0
		const runs = 400
		truth := math.Log(1.05)
		for range runs {
			e := Compare(simulate(rng, c.noise, 4, 300, 0, -truth), 0, 1)
			if math.Abs(e.Log-truth) <= special.Normal95*e.SE {
				covered++
			}
			width += special.Normal95 * e.SE / runs
		}
		if share := float64(covered) / runs; share < 0.91 {
			t.Errorf("%s: the 95 %% interval covers the truth in %.1f %%", c.name, 100*share)
		}
		if width > c.width {
			t.Errorf("%s: half width %.4f, want at most %.4f", c.name, width, c.width)
		}
	}
}

// TestCompareFewVisits has few visits of many windows, as slow functions have them.
func TestCompareFewVisits(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	covered := 0
	const runs = 400
	for range runs {
		if e := Compare(simulate(rng, loaded, 10, 30, 0, 0), 0, 1); math.Abs(e.Log) <= special.Normal95*e.SE {
			covered++
		}
	}
	if share := float64(covered) / runs; share < 0.9 {
		t.Errorf("the 95 %% interval covers the truth in %.1f %%", 100*share)
	}
	if e := Compare(simulate(rng, quiet, 1, 3, 0, 0), 0, 1); !math.IsInf(e.SE, 1) {
		t.Errorf("three pairs give %+v, want no knowledge", e)
	}
}

// TestCompareAddsTimes: a gain on the cheap inputs must not hide a loss on the expensive ones.
func TestCompareAddsTimes(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	tm := simulate(rng, noise{}, 3, 90, 0, 0)
	for r, w := range tm.Window { // window 0 is 60 % of the rounds' worth in count only
		switch w {
		case 0, 1:
			tm.Wall[0][r], tm.Wall[1][r] = 100000, 80000
		case 2:
			tm.Wall[0][r], tm.Wall[1][r] = 1000000, 1500000
		}
		tm.CPU[0][r], tm.CPU[1][r] = tm.Wall[0][r]+700, tm.Wall[1][r]+700
	}
	near(t, "ratio", Compare(tm, 0, 1).Ratio().Point, 1200.0/1660, 1e-9)
}

// TestLayoutError checks that a layout claims about the error that its slices cause, however many
// copies the two versions have and wherever these start.
func TestLayoutError(t *testing.T) {
	for _, c := range []struct{ original, candidate []int }{ // the addresses of their copies modulo 64
		{[]int{0}, []int{0}},
		{[]int{0}, []int{0, 0, 0}},
		{[]int{0, 0}, []int{0, 0}},
		{[]int{0, 0, 0, 0}, []int{0, 0, 0, 0}},
		{[]int{0, 0, 32}, []int{0, 32, 32}},
		{[]int{0, 16, 32, 48}, []int{0, 16, 32, 48}},
	} {
		rng := rand.New(rand.NewPCG(13, 13))
		im := &simImage{aligns: slices.Concat(c.original, c.candidate)}
		n := len(im.aligns)
		q := &rt.Time{Variants: numbersFrom(0, n)}
		const runs = 300
		logs, claimed := make([]float64, runs), 0.0
		for i := range logs {
			timing := simulate(rng, noise{jitter: 0.03}, 4, 100, make([]float64, n)...)
			r, _ := stratify(1, compareCopies(beagle.Score{}, im, q, timing, q.Variants[:len(c.original)],
				q.Variants[len(c.original):]))
			logs[i] = r.est.Log
			claimed += r.est.SE / runs
		}
		spread := meanError(logs) * math.Sqrt(runs)
		near(t, fmt.Sprintf("%v: claimed error over the spread", c), claimed/spread, 1, 0.25)
	}
}

// TestDisturbedLayoutsClaimNothing checks that a few layouts whose slices were disturbed do not
// widen the interval of all.
func TestDisturbedLayoutsClaimNothing(t *testing.T) {
	of := func(disturbed int) Combined {
		es := make([]Estimate, tellingLayouts-1)
		for i := range es {
			es[i] = Estimate{Log: 0.05 + 0.004*float64(i%5-2), SE: 0.005}
			if i < disturbed {
				es[i].SE = 1
			}
		}
		return Combine(es)
	}
	near(t, "low end with two disturbed layouts", of(2).Ratio.Low, of(0).Ratio.Low, 1e-9)
}

func TestCombineCoverage(t *testing.T) {
	for name, c := range map[string]code{"tight": tight, "ordinary": ordinary, "floating": floating} {
		rng := rand.New(rand.NewPCG(10, 10))
		covered := 0
		const runs = 1000
		for range runs {
			if r := caseFrom(c.gains(1.1).layouts(rng, minLayouts, 0.002)).Train.Ratio; r.Low <= 1.1 &&
				1.1 <= r.High {
				covered++
			}
		}
		if share := float64(covered) / runs; share < 0.94 {
			t.Errorf("%s: the 95 %% interval covers the truth in %.1f %%", name, 100*share)
		}
	}
}

// TestCorrectWinnersCurse: the lower bound of the best of several equal finalists must not be above
// the truth more often than a one-sided bound may, and its corrected point must not be too high on
// average.
func TestCorrectWinnersCurse(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	const runs, finalists, tried = 600, 4, 60
	above, bias := 0, 0.0
	for range runs {
		var best Combined
		for f := range finalists {
			if c := caseFrom(ordinary.gains(1.1).layouts(rng, minLayouts, 0.002)).Train; f == 0 || c.Log > best.Log {
				best = c
			}
		}
		r := best.Correct(finalists, tried)
		if r.Low > 1.1 {
			above++
		}
		bias += math.Log(r.Point/1.1) / runs
	}
	if above > runs/100 {
		t.Errorf("the corrected lower bound is above the truth in %d of %d", above, runs)
	}
	if bias > 0.0005 {
		t.Errorf("the corrected point is %.2f %% too high", 100*bias)
	}
}

// TestLooksShareTheInterval checks that low ends are above the truth no more often than a 95 %
// interval claims, though a measurement ends at the first look whose interval is narrow.
func TestLooksShareTheInterval(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 17))
	const runs, gain = 4000, 0.06
	above := 0
	for range runs {
		var es []Estimate
		var low float64
		for range looks {
			for range layoutsALook {
				es = append(es, Estimate{Log: gain + 0.02*rng.NormFloat64()})
			}
			r := Combine(es).Correct(1, 1)
			if low = math.Log(r.Low); low >= keptGain*math.Log(r.Point) {
				break
			}
		}
		if low > gain {
			above++
		}
	}
	if t.Logf("%d of %d low ends are above the truth", above, runs); above > runs*3/100 {
		t.Errorf("%d of %d low ends are above the truth, of intervals that hold in 95 %%", above, runs)
	}
}

// A contest is a kind of code with the number of those that compete.
type contest struct {
	name             string
	code             code
	finalists, tried int
	want             float64 // share of wins
}

// wins counts the wins among simulated decisions.
func (c *contest) wins(runs int) int {
	rng := rand.New(rand.NewPCG(12, 12))
	n := 0
	for range runs {
		if _, faster, _ := c.code.decide(rng, c.finalists, c.tried); faster {
			n++
		}
	}
	return n
}

// TestFalseWins checks the claim that everything rests on: at most 1 % of the candidates without a
// gain are called faster, however the layout behaves and however many compete.
func TestFalseWins(t *testing.T) {
	for _, c := range []contest{
		{"tight, alone", tight, 1, 1, 0},
		{"ordinary, alone", ordinary, 1, 1, 0},
		{"ordinary, 4 of 60", ordinary, 4, 60, 0},
		{"floating, alone", floating, 1, 1, 0},
		{"trapped, alone", trapped, 1, 1, 0},
	} {
		c.code = c.code.gains(1)
		const runs = 1500
		wins := c.wins(runs)
		t.Logf("%s: %d false wins of %d", c.name, wins, runs)
		if wins > runs/100 {
			t.Errorf("%s: %d false wins of %d", c.name, wins, runs)
		}
	}
}

// TestLooksShareTheRisk: looking again must not add up to more than the risk that was planned, even
// if nothing but the looks decided.
func TestLooksShareTheRisk(t *testing.T) {
	rng := rand.New(rand.NewPCG(14, 14))
	const runs = 4000
	hits := 0
	for range runs {
		var logs []float64
		for _, alpha := range looks {
			for range layoutsALook {
				logs = append(logs, rng.NormFloat64())
			}
			if detects(logs, alpha) {
				hits++
				break
			}
		}
	}
	if planned := 0.005; float64(hits)/runs > 1.5*planned {
		t.Errorf("%d of %d looked like a gain, want about %.1f %%", hits, runs, 100*planned)
	}
}

// TestPower measures how often true gains are found.
func TestPower(t *testing.T) {
	for _, c := range []contest{
		{"ordinary 5 %, alone", ordinary.gains(1.05), 1, 1, 0.9},
		{"ordinary 2 %, alone", ordinary.gains(1.02), 1, 1, 0.5},
		{"ordinary 2 %, 3 of 60", ordinary.gains(1.02), 3, 60, 0.5},
		{"tight 5 %, alone", tight.gains(1.05), 1, 1, 0.9},
		{"tight 2 %, alone", tight.gains(1.02), 1, 1, 0.5},
		{"tight 5 %, 3 of 60", tight.gains(1.05), 3, 60, 0.9},
		{"floating 10 %, alone", floating.gains(1.10), 1, 1, 0.9},
		{"trapped 5 %, alone", trapped.gains(1.05), 1, 1, 0.2},
		{"tight 50 %, 4 of 60", tight.gains(1.5), 4, 60, 0.95},
	} {
		const runs = 200
		share := float64(c.wins(runs)) / runs
		t.Logf("%s: found in %.1f %%", c.name, 100*share)
		if share < c.want {
			t.Errorf("%s: found in %.1f %%, want %.0f %%", c.name, 100*share, 100*c.want)
		}
	}
}
