package rollout

import (
	"fmt"
	"math"
)

// interval returns a track's confidence sequence under the plan, as wide as the drift of the effect
// asks, and processes where they differ by more than chance.
func (e *Experiment) interval(t *Track, m Metric) Interval {
	_, times, _ := e.widened(t, m, false)
	return t.interval(m, e.tuning(), e.Plan.Alpha, times)
}

// gainInterval returns the interval that a gain must have: as wide as processes ask in any case. A
// reason that only holds a version back need not hold for other processes.
func (e *Experiment) gainInterval(t *Track, m Metric) Interval {
	_, times, _ := e.widened(t, m, true)
	return t.interval(m, e.tuning(), e.Plan.Alpha, times)
}

// widened returns how many times the variance of independent blocks of equal processes the interval
// takes, for its drift alone and in all, and how processes differ.
func (e *Experiment) widened(t *Track, m Metric, elsewhere bool) (drift, times float64, b ProcessSpread) {
	drift = t.drift(e.Plan.MostLag).Variance
	times, b = drift, t.compareProcesses(m, drift)
	if wide := b.halfWidth(e.Plan.Alpha); wide > 0 && (elsewhere || b.Deviation > 0) {
		half := halfWidth(float64(t.Moments.N), times*t.variance(m), e.tuning(), e.Plan.Alpha)
		times *= max(1, wide*wide/(half*half))
	}
	return drift, times, b
}

func (e *Experiment) tuning() float64 { return tuning(e.Plan.Alpha, float64(e.Plan.Horizon)) }

// harm returns which guardrail got worse, or "". A guardrail is worse when its difference is beyond
// doubt above zero, and the estimate is above the margin. Harm counts whether or not the experiment
// is valid, and whether or not it lasts: to stop is always safe.
func (e *Experiment) harm() string {
	for _, g := range e.Plan.Guardrails {
		for _, t := range []*Track{e.State.Effect[g.Metric], e.State.After[g.Metric]} {
			if t != nil && e.isWorse(g, t) {
				return fmt.Sprintf("guardrail %s is worse: %s, margin %s", g.Metric,
					g.Metric.Span(e.currentInterval(t, g.Metric)),
					g.Metric.Text(g.Margin))
			}
		}
	}
	return ""
}

// currentInterval returns the interval of the blocks so far in these very processes, whether or not
// the effect lasts and others would show it.
func (e *Experiment) currentInterval(t *Track, m Metric) Interval {
	return t.interval(m, e.tuning(), e.Plan.Alpha, 1)
}

func (e *Experiment) isWorse(g Guardrail, t *Track) bool {
	i := e.currentInterval(t, g.Metric)
	if i.Estimate <= g.Margin {
		return false
	}
	if i.N >= e.Plan.LeastBlocks && i.Low > 0 {
		return true
	}
	// Events are counted block by block too, which needs no variance and no least number of blocks.
	signs := t.Signs
	return measures[g.Metric].rare && signs.Worse > signs.Better && signs.logE() > -math.Log(e.Plan.Alpha/2)
}

// missingGuardrail returns which guardrail has no data, or "".
func (e *Experiment) missingGuardrail() string {
	for _, g := range e.Plan.Guardrails {
		if t := e.State.Effect[g.Metric]; t == nil || t.Moments.N == 0 {
			return fmt.Sprintf("guardrail %s has no data: send its counters, or take it out of the plan", g.Metric)
		}
	}
	return ""
}

// doubt returns the first reason not to ship, or "".
func (e *Experiment) doubt() string {
	if cause := e.missingGuardrail(); cause != "" {
		return cause
	}
	if cause := e.whyInvalid(); cause != "" {
		return cause
	}
	if cause := e.State.Late.tooFewCalls(e.Plan.LeastTimed); cause != "" {
		return cause
	}
	// Both copies of the original were preempted by chance, so the candidate stands beside each.
	for _, tracks := range []map[Metric]*Track{e.State.Effect, e.State.Beyond} {
		if cause := e.suspected(tracks); cause != "" {
			return cause
		}
	}
	for _, g := range e.Plan.Guardrails {
		if g.HarmOnly {
			continue
		}
		i := e.interval(e.State.Effect[g.Metric], g.Metric)
		if i.N < e.Plan.LeastBlocks || i.High >= g.Margin {
			return fmt.Sprintf("guardrail %s is not yet non-inferior: %s, margin %s", g.Metric, g.Metric.Span(i),
				g.Metric.Text(g.Margin))
		}
	}
	why := ""
	for _, m := range e.Plan.Success {
		doubt := e.lacksSuccess(m)
		if doubt == "" {
			return ""
		}
		if why != "" {
			why += "; "
		}
		why += doubt
	}
	return why
}

// suspected returns which guardrail that shows only harm may be worse, or "".
func (e *Experiment) suspected(tracks map[Metric]*Track) string {
	for _, g := range e.Plan.Guardrails {
		if t := tracks[g.Metric]; g.HarmOnly && t != nil && t.suspect(g) {
			return fmt.Sprintf("guardrail %s may be worse, though not beyond doubt: %s, margin %s", g.Metric,
				g.Metric.Span(e.interval(t, g.Metric)), g.Metric.Text(g.Margin))
		}
	}
	return ""
}

// lacksSuccess returns why a success metric is not better beyond doubt, or "".
func (e *Experiment) lacksSuccess(m Metric) string {
	for _, with := range []struct {
		tracks map[Metric]*Track
		name   string
	}{{e.State.Effect, "original"}, {e.State.Beyond, "placebo"}} {
		if with.name == "placebo" && e.Plan.NoPlacebo {
			continue
		}
		t := with.tracks[m]
		if t == nil || t.Moments.N < e.Plan.LeastBlocks {
			return fmt.Sprintf("%s has too few blocks against the %s", m, with.name)
		}
		least := e.Plan.leastGain(m)
		if i := e.gainInterval(t, m); i.High >= -least {
			return fmt.Sprintf("%s is not better than the %s%s beyond doubt: %s",
				m, with.name, leastGain(least), m.Span(i))
		}
	}
	if e.Plan.Unit == Pods {
		return e.betterAcrossPods(m)
	}
	return ""
}

// leastGain returns the relative gain that a success metric must show beyond doubt.
func (p Plan) leastGain(m Metric) float64 {
	if m == FunctionTime {
		return max(p.LeastGain, p.LeastFunctionGain)
	}
	return p.LeastGain
}

// leastGain says a least gain, if there is one.
func leastGain(least float64) string {
	if least == 0 {
		return ""
	}
	return fmt.Sprintf(" by %g %%", 100*least)
}

// whyInvalid returns why the comparison says nothing, or "".
func (e *Experiment) whyInvalid() string {
	if cause := e.unfollowed(e.State.Effect, e.State.Beyond); cause != "" {
		return cause
	}
	for _, m := range e.Plan.metrics() {
		if cause := e.correlated(m); cause != "" {
			return cause
		}
	}
	if e.Plan.NoPlacebo {
		return ""
	}
	for _, m := range e.Plan.Success {
		t := e.State.Placebo[m]
		if t == nil || t.Moments.N < e.Plan.LeastBlocks {
			if e.has(m) {
				return fmt.Sprintf("not valid: the placebo has too few blocks in %s", m)
			}
			continue
		}
		if luck := e.luck(m); luck > 0 && e.gain(m) <= luck {
			return fmt.Sprintf("not valid: two copies of the original differ in %s by %s: link order moves this "+
				"service, and only a gain of more than %s exceeds that; align the functions and build again", m,
				m.Span(e.interval(t, m)), m.Text(luck))
		}
	}
	return ""
}

// unfollowed returns the data that a state of an earlier version lacks, or "". Such a state does
// not tell in which process its blocks were, and how they followed each other. Too few blocks of
// this version could not show that they drift, or that processes differ. It leaves out the placebo:
// above a third of the traffic that meets the original no more.
func (e *Experiment) unfollowed(all ...map[Metric]*Track) string {
	for _, m := range e.Plan.metrics() {
		for _, tracks := range all {
			t := tracks[m]
			if t == nil {
				continue
			}
			if n, least := t.followed(), min(t.Moments.N, e.Plan.LeastBlocks); n < least {
				return fmt.Sprintf("not valid: an earlier version of Beagle compared %d blocks in %s, and did not "+
					"keep the figures that this one needs: %d more are needed", t.Moments.N-n, m, least-n)
			}
		}
	}
	return ""
}

// correlated returns why a metric's blocks tell too little of each other's truth, or "". Noise that
// outlasts a block shows in the placebo too, whose truth cannot drift. Where only the candidate's
// blocks correlate its effect drifts, and the interval is as wide as that asks.
func (e *Experiment) correlated(m Metric) string {
	t, placebo := e.State.Effect[m], e.State.Placebo[m]
	if t == nil {
		return ""
	}
	quiet := placebo != nil && placebo.followed() >= e.Plan.LeastBlocks &&
		!remembers(placebo.lag(), placebo.followed(), e.Plan.MostLag)
	if r := t.lag(); r > e.Plan.MostLag && !quiet {
		return fmt.Sprintf("not valid: the lag-1 correlation of blocks in %s is %.2f, above %.2f, and no placebo "+
			"shows that only the effect drifts: blocks are shorter than the memory of the noise; make them longer",
			m, r, e.Plan.MostLag)
	}
	if cause := t.drift(e.Plan.MostLag).unsettled(m); cause != "" {
		return cause
	}
	if t := e.State.Beyond[m]; t != nil {
		return t.drift(e.Plan.MostLag).unsettled(m)
	}
	return ""
}

// luck returns the gain that link order alone may show, where two copies of the original differ
// beyond doubt, and else 0. The candidate is a third copy. If the luck of copies is normal and
// alike, a third one beats the better of two by c times their difference with a chance of
// atan(sqrt(3)/(2c+1))/pi. The luck is the multiple for which that is alpha/2. It multiplies times,
// so it is normal in their logarithms, and no luck is a gain of all.
func (e *Experiment) luck(m Metric) float64 {
	t := e.State.Placebo[m]
	if e.Plan.NoPlacebo || t == nil {
		return 0
	}
	i := e.interval(t, m)
	if i.Low <= 0 && i.High >= 0 {
		return 0
	}
	c := (math.Sqrt(3)/math.Tan(math.Pi*e.Plan.Alpha/2) - 1) / 2
	return -math.Expm1(-c * max(-math.Log1p(max(i.Low, -1)), math.Log1p(i.High)))
}

// gain returns the least gain over both copies of the original that is beyond doubt.
func (e *Experiment) gain(m Metric) float64 {
	least := math.Inf(1)
	for _, t := range []*Track{e.State.Effect[m], e.State.Beyond[m]} {
		if t == nil || t.Moments.N < e.Plan.LeastBlocks {
			return 0
		}
		least = min(least, -e.gainInterval(t, m).High)
	}
	return least
}

// has reports whether a metric has any data.
func (e *Experiment) has(m Metric) bool {
	t := e.State.Effect[m]
	return t != nil && t.Moments.N > 0
}

// A MetricRow is one metric's row in a report.
type MetricRow struct {
	Metric  Metric    `json:"metric"`
	Role    string    `json:"role"` // "success" or "guardrail"
	Effect  Interval  `json:"effect"`
	Placebo *Interval `json:"placebo,omitempty"`
	Margin  float64   `json:"margin,omitempty"`
	P       float64   `json:"p"`   // always valid, for no difference
	Lag     float64   `json:"lag"` // lag-1 correlation of blocks
	// PlaceboLag is the lag-1 correlation of the placebo's blocks.
	PlaceboLag float64 `json:"placebo_lag"`
	// Widened is the factor by which the effect's interval is wider than for independent blocks of
	// processes that are alike.
	Widened float64 `json:"widened"`
	// Processes is the number of processes behind the effect, and Between the standard deviation of
	// its truth from one to the next; 0 where chance explains their differences.
	Processes int     `json:"processes,omitempty"`
	Between   float64 `json:"between,omitempty"`
	Says      string  `json:"says"`
}

// Standings returns every metric as it stands, success metrics first.
func (e *Experiment) Standings() []MetricRow {
	var out []MetricRow
	// A success metric must be shown to be better.
	for _, m := range e.Plan.Success {
		s := e.metricRow(m, "success")
		s.Says = "better"
		if doubt := e.lacksSuccess(m); doubt != "" {
			s.Says = doubt
		}
		out = append(out, s)
	}
	// Harm is to be excluded.
	for _, g := range e.Plan.Guardrails {
		s := e.metricRow(g.Metric, "guardrail")
		s.Margin = g.Margin
		t := e.State.Effect[g.Metric]
		switch {
		case t == nil || t.Moments.N == 0:
			s.Says = "no data"
		case e.isWorse(g, t):
			s.Says = "worse"
		case g.HarmOnly && s.Effect.N >= e.Plan.LeastBlocks && !t.suspect(g):
			s.Says = "not worse"
		case !g.HarmOnly && s.Effect.N >= e.Plan.LeastBlocks && s.Effect.High < g.Margin:
			s.Says = "non-inferior"
		default:
			s.Says = "undecided"
		}
		out = append(out, s)
	}
	return out
}

func (e *Experiment) metricRow(m Metric, role string) MetricRow {
	s := MetricRow{Metric: m, Role: role, P: 1, Widened: 1}
	if t := e.State.Effect[m]; t != nil {
		drift, times, b := e.widened(t, m, role == "success")
		s.Effect = t.interval(m, e.tuning(), e.Plan.Alpha, times)
		s.Lag, s.Widened, s.Processes, s.Between = t.lag(), math.Sqrt(times), b.Processes, b.Deviation
		if s.P = t.pValue(m, e.tuning(), drift); role == "success" || b.Deviation > 0 {
			s.P = max(s.P, b.pValue(t.Moments.Mean))
		}
	}
	if t := e.State.Placebo[m]; t != nil {
		i := e.interval(t, m)
		s.Placebo, s.PlaceboLag = &i, t.lag()
	}
	return s
}
