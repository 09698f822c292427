package rollout

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCoverage: a confidence sequence of level 5 % that is looked at after every
// unit misses the truth at any look in at most 5 % of the series. Differences of
// two arms are symmetric and are believed from the 50th on. Skewed noise, which
// no difference of arms has, needs 200. A fixed-sample interval looked at as
// often errs in far more series, which shows that the test can fail.
func TestCoverage(t *testing.T) {
	const series, most, alpha = 600, 1200, 0.05
	for _, row := range []struct {
		name  string
		from  int
		noise func(*rand.Rand) float64
	}{
		{"normal", 50, (*rand.Rand).NormFloat64},
		{"difference of exponentials", 50, func(r *rand.Rand) float64 { return r.ExpFloat64() - r.ExpFloat64() }},
		{"coin", 50, func(r *rand.Rand) float64 { return float64(r.IntN(2)*2 - 1) }},
		{"exponential", 200, func(r *rand.Rand) float64 { return r.ExpFloat64() - 1 }},
	} {
		sequence, fixed := 0, 0
		for seed := range uint64(series) {
			rng := rand.New(rand.NewPCG(seed, 1))
			outside, outsideFixed := misses(most, row.from, alpha, func() float64 { return row.noise(rng) })
			sequence += outside
			fixed += outsideFixed
		}
		t.Logf("%s: sequence misses %d of %d, fixed-sample interval %d", row.name, sequence, series, fixed)
		if sequence > series*5/100 {
			t.Errorf("%s: the sequence misses the truth in %d of %d series", row.name, sequence, series)
		}
		if fixed < series*15/100 {
			t.Errorf("%s: peeking errs in %d of %d series only: this test sees nothing", row.name, fixed, series)
		}
	}
}

// misses looks after every unit, and returns 1 for the sequence and for the
// fixed-sample interval if it ever misses the true mean of 0.3.
func misses(most, from int, alpha float64, noise func() float64) (sequence, fixed int) {
	var m Moments
	rho := tuning(alpha, 500)
	for n := 1; n <= most; n++ {
		m.add(0.3 + noise())
		if n < from {
			continue
		}
		off := math.Abs(m.Mean - 0.3)
		if off > halfWidth(float64(n), m.variance(), rho, alpha) {
			sequence = 1
		}
		if off > 1.96*math.Sqrt(m.variance()/float64(n)) {
			fixed = 1
		}
	}
	return sequence, fixed
}

// TestMismatchUnderPeeking: the sample-ratio test of level 5 % looked at after
// every batch rejects a true ratio in at most 5 % of the series, and finds a
// ratio that is off by a fifth.
func TestMismatchUnderPeeking(t *testing.T) {
	const series = 400
	weights := map[Arm]float64{Original: 1, Candidate: 2, Placebo: 1}
	rejected := map[float64]int{}
	for _, lost := range []float64{0, 0.2} {
		for seed := range uint64(series) {
			rng := rand.New(rand.NewPCG(seed, 2))
			var m Mismatch
			for range 300 {
				counts := map[Arm]float64{}
				for range 20 {
					arm := []Arm{Original, Candidate, Candidate, Placebo}[rng.IntN(4)]
					if arm == Candidate && rng.Float64() < lost {
						continue
					}
					counts[arm]++
				}
				m.add(counts, weights)
				if m.P() < 0.05 {
					rejected[lost]++
					break
				}
			}
		}
	}
	if rejected[0] > series*5/100 || rejected[0.2] < series*9/10 {
		t.Errorf("rejected %d of %d true ratios and %d ratios off by a fifth", rejected[0], series, rejected[0.2])
	}
}

// TestSignsUnderPeeking does the same for the test of signs.
func TestSignsUnderPeeking(t *testing.T) {
	const series = 400
	rejected := map[float64]int{}
	for _, worse := range []float64{0.5, 0.7} {
		for seed := range uint64(series) {
			rng := rand.New(rand.NewPCG(seed, 3))
			var s signs
			for range 1000 {
				if rng.Float64() < worse {
					s.add(1)
				} else {
					s.add(-1)
				}
				if s.logE() > -math.Log(0.05) {
					rejected[worse]++
					break
				}
			}
		}
	}
	if rejected[0.5] > series*5/100 || rejected[0.7] < series*99/100 {
		t.Errorf("rejected %d of %d fair coins and %d coins of 0.7", rejected[0.5], series, rejected[0.7])
	}
}

// TestLag compares the running lag-1 correlation with its definition.
func TestLag(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, memory := range []float64{0, 0.5, 0.9, -0.4} {
		var m Moments
		var l Lag
		var all []float64
		x := 0.0
		for range 3000 {
			before := x
			x = memory*x + rng.NormFloat64() + 0.2
			m.add(x)
			if len(all) > 0 {
				l.add(before, x)
			}
			all = append(all, x)
		}
		up, down := 0.0, 0.0
		for i, v := range all {
			down += (v - m.Mean) * (v - m.Mean)
			if i > 0 {
				up += (v - m.Mean) * (all[i-1] - m.Mean)
			}
		}
		got := l.sumAbout(m.Mean) / float64(l.Pairs) / (m.M2 / float64(m.N))
		if math.Abs(got-up/down) > 1e-3 || math.Abs(got-memory) > 0.06 {
			t.Errorf("memory %g: correlation %g, by its definition %g", memory, got, up/down)
		}
	}
}

// TestWithin compares what a track makes of two pods' blocks and runs with the definitions, around
// the mean of each pod.
func TestWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	track := &Track{Pods: map[string]*PodMemory{"a": {}, "b": {}}}
	all := map[string][]float64{}
	for range 1000 {
		// The means are far apart. Always in one order, the generator makes the same differences.
		for _, pod := range []string{"a", "b"} {
			x := map[string]float64{"a": 3, "b": -2}[pod] + rng.NormFloat64()
			track.Pods[pod].merge(x)
			all[pod] = append(all[pod], x)
		}
	}
	for k := range maxRuns {
		length, squares, products, pairs, n := 1<<k, 0.0, 0.0, 0, 0
		for _, series := range all {
			var runs []float64
			mean := 0.0
			for at := 0; at+length <= len(series); at += length {
				sum := 0.0
				for _, x := range series[at : at+length] {
					sum += x
				}
				runs = append(runs, sum/float64(length))
				mean += sum / float64(length)
			}
			mean /= max(1, float64(len(runs)))
			for i, x := range runs {
				squares += (x - mean) * (x - mean)
				if i > 0 {
					products += (x - mean) * (runs[i-1] - mean)
					pairs++
				}
			}
			n += len(runs)
		}
		got := track.poolRuns(k)
		switch {
		case n < 3: // no run is left beside the means
			if got.variance != 0 {
				t.Errorf("runs of %d: %+v of %d runs", length, got, n)
			}
		case got.n != n-1 || math.Abs(got.variance-squares/float64(n-2)) > 1e-9 ||
			math.Abs(got.lag-products/float64(pairs)/(squares/float64(n))) > 1e-9:
			t.Errorf("runs of %d: %+v, want %g and %g of %d", length, got, squares/float64(n-2),
				products/float64(pairs)/(squares/float64(n)), n)
		}
	}
	if d := track.drift(0.1); d.Variance != 1 {
		t.Errorf("pods that differ drift: %+v", d)
	}
	if runs := len(track.Pods["a"].Runs); runs != 10 { // to 512
		t.Errorf("%d lengths", runs)
	}
}
