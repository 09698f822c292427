package bench

import (
	"fmt"
	"math"
	"time"

	"github.com/beagle-go/beagle"
)

const (
	layoutPart   = 2.0 / 3 // share of the layouts that must agree
	minAlignment = 2       // layouts in which each alignment must have been seen
	countedGC    = 0.001   // share of the time from which on the collector's counts: the bytes of maps vary by more
	modest       = 0.02    // logarithm of the gain that a repetition need not exceed, however large the gain
	// confidence of the interval whose upper end, an 80 % bound, shows too little when a repetition
	// has failed
	lenient = 0.6
)

// Rule names the rule of decision. A measurement stored under another rule keeps no decision of its
// own.
const Rule = "three looks, large tables with cold caches"

// A Case is all that the decision about one candidate rests on.
type Case struct {
	Layouts []beagle.Layout
	Train   Combined
	Found   bool // the layouts agree more than chance lets them, see looks
	// how many layouts the plan had, and the time for all of them, if the time ended before; else 0
	Planned  int
	Longer   time.Duration
	MinGain  float64     // the least gain that counts: 0.01 is 1 %
	Halves   [2]Combined // entry in the lower and the upper half of 64 bytes
	Possible [2]bool     // halves in which original and candidate occur at all
	Control  Combined    // the original against its own copies, measured in any case
	Holdout  *Combined
	Fresh    *Combined
	Apart    *Combined
	PGO      *Combined
	Cold     *Combined // with cold caches, for a candidate with large tables
	Baseline beagle.Resources
	Best     beagle.Resources
	SameCode bool // the machine code is the original's
	Score    beagle.Score
}

// A doubt is one reason for which a candidate is not called faster; its
// result is empty when it does not apply.
type doubt func(e *Case, corrected beagle.Ratio) string

// doubts holds the doubts in order; the first that applies is the answer.
var doubts = []doubt{
	sameCode, noisyHost, slower, tooFewLayouts, notSurely, tooLittle, notInMostLayouts, notOnAverage, notInBothHalves,
	notOnNewInputs, notApart, notWithColdCaches, notWithPGO, notWithCollector,
}

// decideGain decides whether the candidate is faster, and if not, why.
func decideGain(e *Case, corrected beagle.Ratio) (faster bool, why string) {
	return decideBy(doubts, e, corrected)
}

func decideBy(doubts []doubt, e *Case, corrected beagle.Ratio) (faster bool, why string) {
	for _, d := range doubts {
		if why := d(e, corrected); why != "" {
			return false, why
		}
	}
	return true, ""
}

func sameCode(e *Case, _ beagle.Ratio) string {
	if e.SameCode {
		return "no difference: the machine code is the same as the original's"
	}
	return ""
}

// noisyHost refuses to judge when the original differs from its own copies, in
// the same binaries, as surely as a candidate must, and by half as much as this
// one or more.
func noisyHost(e *Case, _ beagle.Ratio) string {
	c := e.Control
	if c.N < minLayouts || 2*math.Abs(c.Log) < math.Abs(e.Train.Log) {
		return ""
	}
	if alpha := looks[0] / 2; detects(c.logs, alpha) || detects(negated(c.logs), alpha) {
		return fmt.Sprintf("the machine is too noisy to judge: the original differs from its own copy by %s",
			percent(c.Ratio.Point))
	}
	return ""
}

func negated(logs []float64) []float64 {
	out := make([]float64, len(logs))
	for i, x := range logs {
		out[i] = -x
	}
	return out
}

func slower(e *Case, _ beagle.Ratio) string {
	if r := e.Train.Ratio; e.Train.N > 0 && r.High < 1 {
		return fmt.Sprintf("slower: %.3f times as fast (at most %.3f)", r.Point, r.High)
	}
	return ""
}

func tooFewLayouts(e *Case, _ beagle.Ratio) string {
	if e.Train.N < minLayouts {
		return fmt.Sprintf("only %d layouts could be compared, %d are needed", e.Train.N, minLayouts)
	}
	return ""
}

// notSurely doubts a candidate whose lower bound, corrected for all that was tried, is not above 1.
// It says whether more time could help.
func notSurely(e *Case, corrected beagle.Ratio) string {
	r := e.Train.Ratio
	switch {
	case e.Found && corrected.Low > 1:
		return ""
	// Say the plainest reason first: the raw interval holds 1 already.
	case r.Low <= 1:
		return fmt.Sprintf("no difference: %.3f times as fast (%.3f to %.3f)%s", r.Point, r.Low, r.High, e.hurried())
	case e.Planned > 0:
		return fmt.Sprintf("not sure yet: %.3f times as fast (%.3f to %.3f)%s", corrected.Point, corrected.Low,
			corrected.High, e.hurried())
	case corrected.Low > 1:
		return fmt.Sprintf("no sure difference: %.3f times as fast, but the %d layouts agree no better than by chance",
			corrected.Point, e.Train.N)
	}
	return fmt.Sprintf("no sure difference: %.3f times as fast, but as little as %.3f for all that was tried",
		corrected.Point, math.Min(corrected.Low, r.Low))
}

// hurried says that the time ended before the plan did, and what to do about it.
func (e *Case) hurried() string {
	if e.Planned == 0 {
		return ""
	}
	return fmt.Sprintf(", and the time was over after %d of up to %d layouts: measure longer, with --measure %v",
		e.Train.N, e.Planned, e.Longer)
}

func tooLittle(e *Case, corrected beagle.Ratio) string {
	if corrected.Point < 1+e.MinGain {
		return fmt.Sprintf("a small difference: %.3f times as fast (%.3f to %.3f), and less than %.3f does not count",
			corrected.Point, corrected.Low, corrected.High, 1+e.MinGain)
	}
	return ""
}

func notInMostLayouts(e *Case, _ beagle.Ratio) string {
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

// notOnAverage wants the mean to show a gain too: a version that is a little
// faster in most places and much slower in a few is slower in the end. The
// layout that is farthest off is left out, as it may have been disturbed.
func notOnAverage(e *Case, _ beagle.Ratio) string {
	if mean := e.Train.mostMean(); mean <= 0 {
		return fmt.Sprintf("faster in most code layouts, but so much slower in others that the mean is %.3f",
			math.Exp(mean))
	}
	return ""
}

// lacks reports whether a repetition speaks against the gain: whether even the 80 % bound of its
// result is below half of the gain, or below a modest one.
func lacks(c *Combined, e *Case) bool {
	return c != nil && c.N > 0 && c.upperBound() < math.Min(e.Train.Log/2, modest)
}

// upperBound returns the 80 % bound of the log ratio, or the only value that there is. Repetitions
// have little time, so the bound leaves room for all error that their slices claim: a doubt must
// not rest on noise.
func (c *Combined) upperBound() float64 {
	if c.N == 1 {
		return c.Log
	}
	_, high := c.bounds(lenient)
	return math.Max(high, c.Log+normalQuantile((1+lenient)/2)*c.sliceError)
}

func notInBothHalves(e *Case, _ beagle.Ratio) string {
	for i := range e.Halves {
		c := &e.Halves[i]
		where := fmt.Sprintf("entry at %d to %d bytes modulo 64", 32*i, 32*i+31)
		switch {
		case !e.Possible[i]:
		case c.N < minAlignment:
			return fmt.Sprintf("only %d layouts could be compared with the %s, %d are needed", c.N, where, minAlignment)
		case lacks(c, e):
			return fmt.Sprintf("no difference with the %s: %.3f times as fast", where, c.Ratio.Point)
		}
	}
	return ""
}

func notOnNewInputs(e *Case, _ beagle.Ratio) string {
	for _, x := range []struct {
		name string
		c    *Combined
	}{{"held-out inputs", e.Holdout}, {"freshly drawn inputs", e.Fresh}} {
		if lacks(x.c, e) {
			return fmt.Sprintf("the gain does not carry over to %s: %.3f times as fast there", x.name, x.c.Ratio.Point)
		}
	}
	return ""
}

// notApart wants at least half of the gain (of its logarithm) where original
// and candidate do not share a process.
func notApart(e *Case, _ beagle.Ratio) string {
	if a := e.Apart; a != nil && a.N > 0 && (a.Ratio.High < math.Sqrt(e.Train.Ratio.Point) || lacks(a, e)) {
		return fmt.Sprintf("the gain is not there in processes of their own: %.3f times as fast there, %.3f side by "+
			"side", a.Ratio.Point, e.Train.Ratio.Point)
	}
	return ""
}

// notWithColdCaches wants a candidate with large tables to win when other work
// has emptied the caches.
func notWithColdCaches(e *Case, _ beagle.Ratio) string {
	if c := e.Cold; c != nil && c.N > 0 && c.Ratio.Point <= 1 {
		return fmt.Sprintf("its tables do not pay with cold caches: %.3f times as fast with other work between the "+
			"calls", c.Ratio.Point)
	}
	return ""
}

func notWithPGO(e *Case, _ beagle.Ratio) string {
	if p := e.PGO; p != nil && p.N > 0 && p.upperBound() < 0 {
		return fmt.Sprintf("with profile-guided optimisation it is slower: %.3f times as fast", p.Ratio.Point)
	}
	return ""
}

// notWithCollector counts the collector against a candidate that allocates
// more: a service pays it, a slice without collections does not.
func notWithCollector(e *Case, corrected beagle.Ratio) string {
	extra, baseline := e.Best.GC-e.Baseline.GC, e.Baseline.Nanos
	if baseline <= 0 || extra < countedGC*baseline {
		return ""
	}
	with := func(ratio float64) float64 { return e.withCollector(ratio, extra) }
	if with(corrected.Low) <= 1 || with(corrected.Point) < 1+e.MinGain {
		return fmt.Sprintf("it allocates more (%.0f against %.0f bytes a call): with the collector's time it is %.3f "+
			"times as fast, and as little as %.3f",
			e.Best.Bytes, e.Baseline.Bytes, with(corrected.Point), with(corrected.Low))
	}
	return ""
}

func percent(ratio float64) string { return fmt.Sprintf("%.1f %%", 100*math.Abs(ratio-1)) }
