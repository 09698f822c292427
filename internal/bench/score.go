package bench

import (
	"fmt"
	"math"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/special"
)

// notSlower is the time ratio above which a version that is ranked by its counts alone counts as
// no slower than the original: a margin for noise.
const notSlower = 0.98

// Least returns the ratio below which the time of a part may surely not fall, be it a benchmark of
// several. A mix has none: its weights say what time is given for.
func Least(s beagle.Score) float64 {
	switch {
	case s.TimeAlone():
		return 1
	case s.Counts():
		return notSlower
	}
	return 0
}

// scored estimates the score of variant c against variant b, as [Compare] does the time. Where the
// counts alone are ranked, a version that surely takes longer is worth no more than its time.
func scored(s beagle.Score, t *rt.Timing, b, c int) Estimate {
	e := Compare(t, b, c)
	if s.TimeAlone() || math.IsInf(e.SE, 1) {
		return e
	}
	memory := s.Memory(costs(t, b), costs(t, c))
	if s.Counts() && e.Log+special.Normal95*e.SE < math.Log(notSlower) && e.Log < memory {
		return e
	}
	e.Log, e.SE = s.Time*e.Log+memory, s.Time*e.SE
	return e
}

// costs returns a timing's counts for a variant.
func costs(t *rt.Timing, v int) beagle.Resources {
	return beagle.Resources{Allocs: t.Allocs[v], Bytes: t.Bytes[v]}
}

// scored turns a figure for the time into one for the score: its logarithm times the weight of
// time, plus the part of the counts.
func (c Combined) scored(weight, memory float64) Combined {
	if c.N == 0 {
		return c
	}
	out := c
	out.Log, out.Mean = weight*c.Log+memory, weight*c.Mean+memory
	out.SE, out.sliceError = weight*c.SE, weight*c.sliceError
	out.logs = make([]float64, len(c.logs))
	for i, log := range c.logs {
		out.logs[i] = weight*log + memory
	}
	out.Ratio = scoredRatio(c.Ratio, weight, memory)
	return out
}

func scoredRatio(r beagle.Ratio, weight, memory float64) beagle.Ratio {
	of := func(x float64) float64 { return math.Min(math.Exp(memory)*math.Pow(x, weight), math.MaxFloat64) }
	return beagle.Ratio{Point: of(r.Point), Low: of(r.Low), High: of(r.High)}
}

// inScore returns the evidence with scores in place of times, for a score that includes time. The
// control is the original against itself, which allocates the same.
func (e *Case) inScore() *Case {
	// Memory is the same in all layouts: an allocation is counted and not timed.
	w, memory := e.Score.TimeWeight(), e.Score.Memory(e.Baseline, e.Best)
	out := *e
	out.Train, out.Control = e.Train.scored(w, memory), e.Control.scored(w, 0)
	out.Layouts = nil
	// Score each layout, each half, and each further kind of inputs that was measured.
	for _, l := range e.Layouts {
		l.Ratio = scoredRatio(l.Ratio, w, memory)
		out.Layouts = append(out.Layouts, l)
	}
	for i := range e.Halves {
		out.Halves[i] = e.Halves[i].scored(w, memory)
	}
	for _, c := range []**Combined{&out.Holdout, &out.Fresh, &out.Apart, &out.PGO, &out.Cold} {
		if *c != nil {
			s := (*c).scored(w, memory)
			*c = &s
		}
	}
	return &out
}

// scoreWords say of a score what doubts say of a time.
var scoreWords = strings.NewReplacer("times as fast", "times the score", "slower", "worse", "faster", "better")

// countDoubts hold the doubts where the counts alone are ranked. Counts are exact, so the only
// doubt is whether the version takes longer.
var countDoubts = []doubt{sameCode, notFewer, tooFewLayouts, longer, longerElsewhere, longerWithCollector}

// notFewer wants the counts to fall by as much as the user wants at least.
func notFewer(e *Case, _ beagle.Ratio) string {
	if fewer(e.Score, e.Baseline, e.Best, e.MinGain) {
		return ""
	}
	return fmt.Sprintf("it does not allocate less: %s", counts(e.Baseline, e.Best))
}

// fewer reports whether the counts gain as much as is wanted.
func fewer(s beagle.Score, original, version beagle.Resources, minGain float64) bool {
	memory := s.Memory(original, version)
	return memory > 0 && memory >= math.Log1p(minGain)
}

func counts(original, version beagle.Resources) string {
	return fmt.Sprintf("%.4g against %.4g allocations a call, %.4g against %.4g bytes", version.Allocs,
		original.Allocs, version.Bytes, original.Bytes)
}

// longer wants it shown that the version takes no longer.
func longer(e *Case, corrected beagle.Ratio) string {
	if corrected.Low >= notSlower {
		return ""
	}
	return fmt.Sprintf("it may take longer: %.3f times as fast, and as little as %.3f for all that was tried; %.2f is "+
		"asked for", corrected.Point, corrected.Low, notSlower)
}

// longerElsewhere wants no repetition to speak against that.
func longerElsewhere(e *Case, _ beagle.Ratio) string {
	for _, x := range []struct {
		where string
		c     *Combined
	}{
		{"with its entry in the first half of 64 bytes", &e.Halves[0]},
		{"with its entry in the second half of 64 bytes", &e.Halves[1]},
		{"on held-out inputs", e.Holdout}, {"on freshly drawn inputs", e.Fresh},
		{"in a process of its own", e.Apart}, {"with profile-guided optimisation", e.PGO},
		{"with cold caches", e.Cold},
	} {
		if x.c != nil && x.c.N > 1 && x.c.upperBound() < math.Log(notSlower) {
			return fmt.Sprintf("it takes longer %s: %.3f times as fast there", x.where, x.c.Ratio.Point)
		}
	}
	return ""
}

// longerWithCollector charges the collector to a version that allocates more bytes in fewer pieces.
func longerWithCollector(e *Case, corrected beagle.Ratio) string {
	extra, baseline := e.Best.GC-e.Baseline.GC, e.Baseline.Nanos
	if baseline <= 0 || extra < countedGC*baseline {
		return ""
	}
	if with := baseline / (baseline/corrected.Low + extra); with < notSlower {
		return fmt.Sprintf("it takes longer with the collector's time (%s): as little as %.3f times as fast",
			counts(e.Baseline, e.Best), with)
	}
	return ""
}

// judgeScore judges the measurement of a finalist by the score.
func (m *confirmer) judgeScore(t *finalist, look int) knowledge {
	train, s := caseFrom(t.train).Train, m.options.Score
	if s.TimeAlone() {
		return judge(train, look, len(m.finalists), m.tried, m.options.MinGain)
	}
	original, version := typical(t.baseline), typical(t.best)
	if !s.Counts() {
		scored := train.scored(s.Time, s.Memory(original, version))
		return judge(scored, look, len(m.finalists), m.tried, m.options.MinGain)
	}
	switch {
	case train.N >= minLayouts && !fewer(s, original, version, m.options.MinGain):
		return knowledgeFutile
	case train.N >= layoutsALook && train.Ratio.High < notSlower:
		return knowledgeFutile
	case train.N >= minLayouts && train.Correct(len(m.finalists), m.tried).Low >= notSlower:
		return knowledgeFaster
	}
	return knowledgeOpen
}

// score enters a measurement's result by the score, and whether it is better.
func (m *confirmer) score(out *beagle.Measurement, e *Case) {
	// Time alone is what all figures speak of already.
	s := e.Score
	if s.TimeAlone() {
		out.Faster, out.Why = decideGain(e, out.Corrected)
		return
	}
	// A score of counts is exact, and most doubts are about times.
	if s.Counts() {
		r := s.Of(out.Corrected, e.Baseline, e.Best)
		out.Score = &r
		out.Faster, out.Why = decideBy(countDoubts, e, out.Corrected)
		return
	}
	// A mix turns the evidence into scores, which are decided like times.
	in := e.inScore()
	r := in.Train.Correct(len(m.finalists), m.tried)
	out.Score = &r
	out.Faster, out.Why = decideGain(in, r)
	if out.Why != "" {
		out.Why = fmt.Sprintf("by %s: %s", s.Quantity(), scoreWords.Replace(out.Why))
	}
}

// withCollector returns a ratio when the version's extra time in the collector is added: a score is
// turned back into the time that it was made of, and made again.
func (e *Case) withCollector(ratio, extra float64) float64 {
	factor, w := math.Exp(e.Score.Memory(e.Baseline, e.Best)), e.Score.TimeWeight()
	time := math.Pow(ratio/factor, 1/w)
	return factor * math.Pow(e.Baseline.Nanos/(e.Baseline.Nanos/time+extra), w)
}
