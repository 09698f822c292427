package watch

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// A Watch follows one service. Make one with [New], or read one from JSON.
type Watch struct {
	Config  Config               `json:"config"`
	Targets []Target             `json:"targets,omitempty"`
	Windows []Window             `json:"windows"`
	Known   map[string]time.Time `json:"known"`             // when each finding was made, so that it is reported once
	Skipped []Skipped            `json:"skipped,omitempty"` // by the latest window
}

// New returns a watch without windows.
func New(c Config, targets ...Target) *Watch {
	return &Watch{Config: c.withDefaults(), Targets: targets, Known: map[string]time.Time{}}
}

// Add takes the next window and returns the new findings. A window that cannot be used changes
// nothing.
func (w *Watch) Add(next Window) ([]Finding, error) {
	if err := next.check(); err != nil {
		return nil, err
	}
	if n := len(w.Windows); n > 0 && next.Start.Before(w.Windows[n-1].End.Add(-time.Second)) {
		return nil, fmt.Errorf("the window starts at %s, before the end of the one before: it was added before, "+
			"or clocks are apart", next.Start.Format(time.RFC3339))
	}
	w.Windows = append(w.Windows, next)
	if extra := len(w.Windows) - w.Config.Keep; extra > 0 {
		w.Windows = slices.Delete(w.Windows, 0, extra)
	}
	w.Skipped = nil
	found := append(w.shifts(), w.ofTargets()...)
	return slices.DeleteFunc(found, w.isRepeat), nil
}

// isRepeat reports whether a finding was made before, and notes it. A shift of the same kind in
// the same function is new again only where it began after the last one was found. A lasting
// finding is new again if it went away in between.
func (w *Watch) isRepeat(f Finding) bool {
	last, ok := w.Known[key(f.Kind, f.Function)]
	if ok && (f.Kind.lasts() || !f.Since.After(last)) {
		return true
	}
	w.Known[key(f.Kind, f.Function)] = w.lastWindow().End
	return false
}

func key(k Kind, function string) string { return string(k) + " " + function }

// A shift is a function whose share changed, before the filters.
type shift struct {
	function string
	at       int // index of the first window after the change, in the windows that were searched
	before   float64
	after    float64
	change   Interval // of the share
	p        float64
}

// shifts returns the functions whose share changed and did not change back.
func (w *Watch) shifts() []Finding {
	look := tabulate(w.Windows[max(0, len(w.Windows)-w.Config.Look):])
	if look.n < 2*w.Config.Settle || w.Config.Season > 1 && look.n < 3*w.Config.Season {
		return nil
	}
	var all []shift
	var p []float64
	for _, function := range look.largeFunctions(w.Config.LeastShare) {
		s := w.shift(look.flat[function])
		s.function = function
		all = append(all, s)
		p = append(p, s.p)
	}
	q := falseDiscoveryRates(p)
	var out []Finding
	for i, s := range all {
		if q[i] > w.Config.FalseRate {
			continue
		}
		if why := w.filter(look, s); why != "" {
			w.Skipped = append(w.Skipped, Skipped{s.function, look.windows[s.at].Start, why})
			continue
		}
		out = append(out, w.describeShift(look, s, q[i]))
	}
	return out
}

// shift finds the last change point of a series and measures the change there.
func (w *Watch) shift(s series) shift {
	none := shift{p: 1}
	shares := make([]float64, len(s.hits))
	for i := range shares {
		shares[i] = s.hits[i] / s.samples[i]
	}
	shares = w.deseason(shares)
	if calm(shares) {
		return none
	}
	points := ChangePoints(shares, w.Config.Points)
	if len(points) == 0 {
		return none
	}
	at := points[len(points)-1].Index
	from := 0
	if len(points) > 1 {
		from = points[len(points)-2].Index
	}
	if at-from < max(w.Config.Settle, w.Config.Season) || len(shares)-at < w.Config.Settle {
		return none
	}
	out := w.measure(s, from, at, at, len(shares))
	// The change point was chosen among all windows: each was a test.
	out.p = min(1, out.p*float64(len(shares)))
	return out
}

// calm reports whether no split of a series into two has means that are three
// standard errors apart: then no change point can be significant. It is cheap,
// and most series are calm.
func calm(z []float64) bool {
	mean, variance := spread(z)
	n, passed := float64(len(z)), 0.0
	for i := range len(z) - 1 {
		passed += z[i] - mean
		left := float64(i + 1)
		if passed*passed*n > 9*variance*left*(n-left) {
			return false
		}
	}
	return true
}

// deseason takes the mean of the same phase off each value and adds the mean of
// all.
func (w *Watch) deseason(shares []float64) []float64 {
	season := w.Config.Season
	if season <= 1 || len(shares) < 2*season {
		return shares
	}
	mean := sum(shares) / float64(len(shares))
	out := make([]float64, len(shares))
	for phase := range season {
		total, n := 0.0, 0.0
		for i := phase; i < len(shares); i += season {
			total += shares[i]
			n++
		}
		for i := phase; i < len(shares); i += season {
			out[i] = shares[i] - total/n + mean
		}
	}
	return out
}

// measure compares the windows [at, to) with [from, until), phase by phase of
// the season where both sides have that phase.
func (w *Watch) measure(s series, from, until, at, to int) shift {
	season := max(1, w.Config.Season)
	before := make([]series, season)
	for i := from; i < until; i++ {
		before[i%season].add(s.hits[i], s.samples[i])
	}
	// The share before, as it would have been in the phases that came after.
	hits, samples, expected, base := 0.0, 0.0, 0.0, 0.0
	for i := at; i < to; i++ {
		b := before[i%season]
		if sum(b.samples) == 0 {
			continue
		}
		hits += s.hits[i]
		samples += s.samples[i]
		expected += s.samples[i] * sum(b.hits) / sum(b.samples)
	}
	for _, b := range before {
		base += sum(b.samples)
	}
	if samples == 0 || base == 0 {
		return shift{p: 1}
	}
	wide := max(dispersion(s, from, until, season), dispersion(s, at, to, season), 1)
	a, n := expected/samples*base/wide, base/wide
	b, m := hits/wide, samples/wide
	return shift{at: at, before: a / n, after: b / m, change: proportionChange(a, n, b, m), p: proportionP(a, n, b, m)}
}

// dispersion returns how much more the windows' shares vary than samples alone would: Pearson's
// chi-square over its degrees of freedom.
func dispersion(s series, from, to, season int) float64 {
	phases := make([]series, season)
	for i := from; i < to; i++ {
		phases[i%season].add(s.hits[i], s.samples[i])
	}
	statistic, freedom := 0.0, 0.0
	for _, p := range phases {
		share := sum(p.hits) / max(1, sum(p.samples))
		if share <= 0 || share >= 1 || len(p.hits) < 2 {
			continue
		}
		for i := range p.hits {
			off := p.hits[i] - share*p.samples[i]
			statistic += off * off / (share * (1 - share) * p.samples[i])
		}
		freedom += float64(len(p.hits) - 1)
	}
	if freedom == 0 {
		return 1
	}
	return statistic / freedom
}

// filter returns why a shift is no finding, or "".
func (w *Watch) filter(look *table, s shift) string {
	common := look.commonFactor(w.Config.LeastShare, s)
	least := w.Config.LeastChange * s.before
	drift := (common - 1) * s.before // the share's change that comes from others' changes
	if s.change.Low-drift < least && s.change.High-drift > -least {
		return "the change is smaller than the least change, or others' changes explain it"
	}
	if w.wentAway(look, s) {
		return "it went away"
	}
	if where := w.movedWithin(look, s, common); where != "" {
		return "the cost only moved within " + where
	}
	return ""
}

// wentAway reports whether the last windows show less than half of the change.
func (w *Watch) wentAway(look *table, s shift) bool {
	late := w.measure(look.flat[s.function], 0, s.at, look.n-max(3, w.Config.Settle/2), look.n)
	return late.change.Estimate*s.change.Estimate < s.change.Estimate*s.change.Estimate/2
}

// movedWithin returns the caller or the package within which a cost moved, or "". It
// moved where the whole changed by less than half as much as the function did,
// both beyond the common factor.
func (w *Watch) movedWithin(look *table, s shift, common float64) string {
	if caller := look.caller[s.function]; caller != "" && w.steady(look.cumulative(caller), s, common) {
		return caller
	}
	name := PackageOf(s.function)
	whole := look.ofPackage(name)
	if sum(whole.hits) > 1.05*sum(look.flat[s.function].hits) && w.steady(whole, s, common) {
		return name
	}
	return ""
}

func (w *Watch) steady(whole series, s shift, common float64) bool {
	before := ratio(whole, 0, s.at)
	if sum(whole.hits) == 0 || before > 0.9 {
		return false // everything is in it: it cannot change
	}
	d := w.measure(whole, 0, s.at, s.at, len(whole.hits))
	change := s.after - common*s.before
	return math.Abs(d.change.Estimate-(common-1)*before) < math.Abs(change)/2
}

// describeShift describes a shift that passed the filters.
func (w *Watch) describeShift(look *table, s shift, q float64) Finding {
	at := look.windows[s.at]
	f := Finding{Kind: Regression, Service: at.Service, Function: s.function, Since: at.Start,
		Before: s.before, After: s.after, Change: s.change, Q: q}
	f.Cause = cause(look.windows[s.at-1], at, s.function)
	f.Command = "beagle evolve " + s.function
	if s.change.Estimate < 0 {
		f.Kind, f.Command = Improvement, "beagle explain "+s.function
	}
	return f
}

// cause names the other changes between two windows.
func cause(before, after Window, function string) string {
	a, b := before.row(function).Source, after.row(function).Source
	switch {
	case a != b && a != "" && b != "":
		return "the function's source changed"
	case before.Go != after.Go:
		return fmt.Sprintf("the toolchain changed from %s to %s", before.Go, after.Go)
	case before.Build != after.Build:
		return fmt.Sprintf("build %s was deployed", after.Build)
	}
	return "no deploy at that time: the load or its inputs changed"
}
