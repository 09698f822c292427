package bench

import (
	"math"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/special"
)

// An Estimate is a log ratio with its standard error, from one process.
type Estimate struct {
	Log   float64 // natural logarithm of baseline time over candidate time
	SE    float64 // of this binary in this process: the layout is not in it
	Pairs int     // paired slices used
	Clean float64 // share of the pairs in which neither slice was preempted
}

// Ratio returns the estimate with its 95 % interval.
func (e Estimate) Ratio() beagle.Ratio { return interval(e.Log, special.Normal95*e.SE) }

// interval makes a ratio of a log ratio and the half width of its interval.
func interval(log, half float64) beagle.Ratio {
	return beagle.Ratio{Point: math.Exp(log), Low: math.Exp(log - half), High: math.Exp(log + half)}
}

// enoughClean is the share of undisturbed pairs above which the others are
// left out. Below it, so few would remain that the processor clock, which
// stands still while a slice is preempted, is the better witness.
const enoughClean = 1.0 / 3

// enoughPairs is the number of undisturbed pairs that a median needs, for the same choice.
const enoughPairs = 9

// Compare estimates how much faster variant c is than variant b, both indexes
// into the timing's variants.
func Compare(t *rt.Timing, b, c int) Estimate {
	logs, times, clean := pairs(t, b, c)
	e := Estimate{Clean: clean}
	type window struct {
		log, se, time float64
		pairs         int
	}
	var ws []window
	for w := range logs {
		if e.Pairs += len(logs[w]); len(logs[w]) > 0 {
			l := median(logs[w]) // sorts, as medianError wants it
			ws = append(ws, window{l, medianError(logs[w]), median(times[w]) * weight(t, w), len(logs[w])})
		}
	}
	if e.Pairs < 5 {
		return Estimate{SE: math.Inf(1), Pairs: e.Pairs, Clean: clean}
	}
	// Windows add up by the time they take: sums over windows of the robust
	// time of each, the baseline's being the candidate's times the ratio.
	var base, cand float64
	for _, w := range ws {
		base += w.time * math.Exp(w.log)
		cand += w.time
	}
	e.Log = math.Log(base / cand)
	var known, spread []float64
	for _, w := range ws {
		if !math.IsNaN(w.se) {
			known = append(known, w.se)
		}
		spread = append(spread, w.log)
	}
	// A window that was visited once says nothing of its own error: the others
	// do, or else the spread between windows.
	fallback := special.Mean(known)
	if len(known) == 0 {
		fallback = deviation(spread)
	}
	variance, squares := 0.0, 0.0 // and of the variance's own error, for its degrees of freedom
	for _, w := range ws {
		df := float64(max(w.pairs-1, 1))
		if math.IsNaN(w.se) {
			w.se = fallback
		}
		share := w.time * math.Exp(w.log) / base
		v := share * share * w.se * w.se
		variance += v
		squares += v * v / df
	}
	e.SE = math.Sqrt(variance) * widening(variance*variance/squares)
	return e
}

// widening returns how much wider a Student interval is than a normal one, with the degrees of
// freedom that Welch and Satterthwaite give a sum of variances: a window that was visited three
// times and takes most of the time has two.
func widening(df float64) float64 {
	if !(df < 200) {
		return 1
	}
	return studentQuantile(0.975, math.Round(max(df, 1))) / special.Normal95
}

// weight returns the weight of a window.
func weight(t *rt.Timing, w int) float64 {
	if w < len(t.Weights) {
		return t.Weights[w]
	}
	return 1
}

// deviation returns the median absolute deviation, scaled to a normal one.
func deviation(x []float64) float64 {
	x = slices.Clone(x)
	m := median(x)
	for i := range x {
		x[i] = math.Abs(x[i] - m)
	}
	return 1.4826 * median(x)
}

// pairs returns, by window, the log ratios of the pairs of slices and the
// candidate's times a pass, and the share of pairs that were not disturbed.
func pairs(t *rt.Timing, b, c int) (logs, times [][]float64, clean float64) {
	good := make([]bool, len(t.Window))
	n := 0
	for r := range t.Window {
		if good[r] = !preempted(t, b, r) && !preempted(t, c, r); good[r] {
			n++
		}
	}
	clean = float64(n) / math.Max(float64(len(good)), 1)
	clock, empty := t.Wall, t.Empty[0]
	if (clean < enoughClean || n < enoughPairs) && len(t.CPU) > max(b, c) && len(t.CPU[b]) == len(good) {
		clock, empty, good = t.CPU, t.Empty[1], nil
	}
	logs, times = make([][]float64, t.Windows), make([][]float64, t.Windows)
	take := func(r int, clock [][]int64, empty int64) {
		w := t.Window[r]
		tb, tc := perPass(t, clock, empty, b, r), perPass(t, clock, empty, c, r)
		logs[w] = append(logs[w], math.Log(tb/tc))
		times[w] = append(times[w], tc)
	}
	for r := range t.Window {
		if good == nil || good[r] {
			take(r, clock, empty)
		}
	}
	if good == nil || len(t.CPU) <= max(b, c) || len(t.CPU[b]) != len(good) {
		return logs, times, clean
	}
	// A call that takes longer than the system lets a thread run is preempted every time. Its
	// windows must stay: they take most of the time.
	lost := make([]bool, t.Windows)
	for w := range lost {
		lost[w] = len(logs[w]) == 0
	}
	for r, w := range t.Window {
		if lost[w] {
			take(r, t.CPU, t.Empty[1])
		}
	}
	return logs, times, clean
}

// perPass returns the time of one pass of variant v in a round.
func perPass(t *rt.Timing, clock [][]int64, empty int64, v, round int) float64 {
	return math.Max(float64(clock[v][round]-empty), 1) / float64(t.Passes[v])
}

// preempted reports whether the wall clock ran while the thread did not. The
// thread's clock is read outside the wall clock, so that without a
// preemption it shows a little more, not less.
func preempted(t *rt.Timing, v, round int) bool {
	if len(t.CPU[v]) <= round {
		return false // no thread clock here: every slice counts, and the median bears it
	}
	wall := t.Wall[v][round]
	return wall-t.CPU[v][round] > 2000+wall/200
}

// nanos returns the time of a call of variant v: for each window the median of the undisturbed
// slices, and the mean over windows.
func nanos(t *rt.Timing, v int) float64 { return perCall(t, v, 0.5, nil) }

// visited returns the windows that a timing reached.
func visited(t *rt.Timing) []bool {
	seen := make([]bool, t.Windows)
	for _, w := range t.Window {
		seen[w] = true
	}
	return seen
}

// perCall does what nanos does with another quantile than the median, over some of the windows or
// all (nil). With few undisturbed slices the processor clock serves instead.
func perCall(t *rt.Timing, v int, q float64, among []bool) float64 {
	// Count the slices that the system left alone.
	n := 0
	for r := range t.Window {
		if !preempted(t, v, r) {
			n++
		}
	}
	useCPU := float64(n) < enoughClean*float64(len(t.Window)) && len(t.CPU[v]) == len(t.Window)
	// Sort the times by window. The processor's clock is the fallback for windows without an
	// undisturbed slice.
	byWindow, byCPU := make([][]float64, t.Windows), make([][]float64, t.Windows)
	for r, w := range t.Window {
		if len(t.CPU[v]) == len(t.Window) {
			byCPU[w] = append(byCPU[w], perPass(t, t.CPU, t.Empty[1], v, r))
		}
		if !useCPU && !preempted(t, v, r) {
			byWindow[w] = append(byWindow[w], perPass(t, t.Wall, t.Empty[0], v, r))
		}
	}
	for w := range byWindow {
		if len(byWindow[w]) == 0 { // always preempted: see pairs
			byWindow[w] = byCPU[w]
		}
	}
	// Weigh the windows as their records are in production.
	sum, weights := 0.0, 0.0
	for w, x := range byWindow {
		if len(x) > 0 && (among == nil || among[w]) {
			slices.Sort(x)
			sum += special.Quantile(x, q) * weight(t, w)
			weights += weight(t, w)
		}
	}
	return sum / max(weights, math.SmallestNonzeroFloat64) / float64(t.Calls)
}
