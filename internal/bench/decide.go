package bench

import (
	"fmt"
	"math"

	"github.com/beagle-go/beagle"
)

// Bar is the gain that a candidate must surely have to be called faster.
const Bar = 1.02

const (
	minLayouts = 8       // layouts below which nothing is called faster
	layoutPart = 7.0 / 8 // share of the layouts that must agree
	minClass   = 2       // layouts in which each alignment class must have been seen
)

// Evidence is all that the decision about one candidate rests on.
type Evidence struct {
	Layouts  []beagle.Layout
	Train    Combined
	Classes  [2]Combined // entry in the lower and the upper half of 64 bytes
	Possible [2]bool     // classes that occur at all for original and candidate
	Control  Combined    // the original against its own copy: the noise floor
	Holdout  *Combined
	Fresh    *Combined
	Apart    *Combined
	PGO      *Combined
	Baseline beagle.Resources
	Best     beagle.Resources
	SameCode bool // the machine code is the original's
}

// A doubt is one reason for which a candidate is not called faster; its
// result is empty when it does not apply.
type doubt func(e *Evidence, corrected beagle.Ratio) string

// doubts are asked in this order; the first that applies is the answer.
var doubts = []doubt{
	sameCode, noisyHost, slower, tooFewLayouts, notSurely, notInAllLayouts, notInBothClasses,
	notOnNewInputs, notApart, notWithPGO, notWithCollector,
}

// Decide says whether the candidate is faster, and if not, why.
func Decide(e *Evidence, corrected beagle.Ratio) (faster bool, why string) {
	for _, d := range doubts {
		if why := d(e, corrected); why != "" {
			return false, why
		}
	}
	return true, ""
}

func sameCode(e *Evidence, _ beagle.Ratio) string {
	if e.SameCode {
		return "no difference: the machine code is the same as the original's"
	}
	return ""
}

// noisyHost refuses to judge when the original seems faster or slower than its
// own copy, in the same binaries, by as much as would be called a gain.
func noisyHost(e *Evidence, _ beagle.Ratio) string {
	if c := e.Control; c.N >= 4 && (c.Ratio.Low > Bar || c.Ratio.High < 1/Bar) {
		return fmt.Sprintf("the machine is too noisy to judge: the original differs from its own copy by %s", percent(c.Ratio.Point))
	}
	return ""
}

func slower(e *Evidence, _ beagle.Ratio) string {
	if r := e.Train.Ratio; e.Train.N > 0 && r.High < 1 {
		return fmt.Sprintf("slower: %.3f times as fast (at most %.3f)", r.Point, r.High)
	}
	return ""
}

func tooFewLayouts(e *Evidence, _ beagle.Ratio) string {
	if e.Train.N < minLayouts {
		return fmt.Sprintf("only %d layouts could be compared, %d are needed", e.Train.N, minLayouts)
	}
	return ""
}

func notSurely(e *Evidence, corrected beagle.Ratio) string {
	switch {
	case corrected.Low > Bar:
		return ""
	case e.Train.Ratio.Point < Bar:
		return fmt.Sprintf("no difference: %.3f times as fast (%.3f to %.3f)", e.Train.Ratio.Point, e.Train.Ratio.Low, e.Train.Ratio.High)
	}
	return fmt.Sprintf("no sure difference: %.3f times as fast, but as little as %.3f for all that was tried; above %.2f is needed", corrected.Point, corrected.Low, Bar)
}

func notInAllLayouts(e *Evidence, _ beagle.Ratio) string {
	n := 0
	for _, l := range e.Layouts {
		if l.Ratio.Point > 1 {
			n++
		}
	}
	if float64(n) < layoutPart*float64(len(e.Layouts)) {
		return fmt.Sprintf("faster in %d of %d code layouts only", n, len(e.Layouts))
	}
	return ""
}

func notInBothClasses(e *Evidence, _ beagle.Ratio) string {
	for i, c := range e.Classes {
		where := fmt.Sprintf("entry at %d to %d bytes modulo 64", 32*i, 32*i+31)
		switch {
		case !e.Possible[i]:
		case c.N < minClass:
			return fmt.Sprintf("only %d layouts could be compared with the %s, %d are needed", c.N, where, minClass)
		case c.Ratio.Point <= Bar:
			return fmt.Sprintf("no difference with the %s: %.3f times as fast", where, c.Ratio.Point)
		}
	}
	return ""
}

func notOnNewInputs(e *Evidence, _ beagle.Ratio) string {
	for _, x := range []struct {
		name string
		c    *Combined
	}{{"held-out inputs", e.Holdout}, {"freshly drawn inputs", e.Fresh}} {
		if x.c != nil && x.c.N > 0 && x.c.Ratio.Point <= Bar {
			return fmt.Sprintf("the gain does not carry over to %s: %.3f times as fast there", x.name, x.c.Ratio.Point)
		}
	}
	return ""
}

// notApart wants at least half of the gain (of its logarithm) where original
// and candidate do not share a process. Processes are not paired, so the
// interval is wide, and only what it excludes counts.
func notApart(e *Evidence, _ beagle.Ratio) string {
	if a := e.Apart; a != nil && a.N > 0 && (a.Ratio.High < math.Sqrt(e.Train.Ratio.Point) || a.Ratio.Point <= 1) {
		return fmt.Sprintf("the gain is not there in processes of their own: %.3f times as fast there, %.3f side by side", a.Ratio.Point, e.Train.Ratio.Point)
	}
	return ""
}

func notWithPGO(e *Evidence, _ beagle.Ratio) string {
	if p := e.PGO; p != nil && p.N > 0 && p.Ratio.Point < 1 {
		return fmt.Sprintf("with profile-guided optimisation it is slower: %.3f times as fast", p.Ratio.Point)
	}
	return ""
}

// notWithCollector counts the collector against a candidate that allocates
// more: a service pays it, a slice without collections does not.
func notWithCollector(e *Evidence, corrected beagle.Ratio) string {
	extra := e.Best.GC - e.Baseline.GC
	if extra <= 0 || e.Baseline.Nanos <= 0 {
		return ""
	}
	baseline := e.Baseline.Nanos
	if low := baseline / (baseline/corrected.Low + extra); low <= Bar {
		return fmt.Sprintf("it allocates more (%.0f against %.0f bytes a call): with the collector's time it is surely no more than %.3f times as fast", e.Best.Bytes, e.Baseline.Bytes, low)
	}
	return ""
}

func percent(ratio float64) string { return fmt.Sprintf("%.1f %%", 100*math.Abs(ratio-1)) }
