package benchfile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/similarity"
)

// A Fitter is the work of making a benchmark's profile like production's.
type Fitter struct {
	Production *hotspots.Subtree
	Halves     [2]*hotspots.Subtree // of production's profiles, the earlier ones first; nil with one alone
	Needed     float64              // similarity, such as 0.98
	Seconds    float64              // of each profile
	PGO        string               // profile for the compiler, "" for none
	State      string               // warm, cold or auto
	Say        func(string)
}

// Compare returns how alike the profile of a run is to production's.
func (f *Fitter) Compare(run *hotspots.Subtree) *beagle.BenchmarkFit {
	p := f.Production
	out := &beagle.BenchmarkFit{Target: p.Target, Share: p.Share, Needed: f.Needed, Seconds: f.Seconds}
	out.Callees, out.Lines = similarities(p, run)
	if a, b := f.Halves[0], f.Halves[1]; a != nil && b != nil {
		out.Itself = &beagle.SelfFit{}
		out.Itself.Callees, out.Itself.Lines = similarities(a, b)
	}
	worst := similarity.Worst(out.Callees, out.Lines)
	out.Reached = worst.Estimate >= f.Needed
	out.Shown = min(out.Callees.Low, out.Lines.Low) >= f.Needed
	return out
}

// similarities compares two profiles of the code below a target.
func similarities(a, b *hotspots.Subtree) (callees, lines beagle.Similarity) {
	return similarity.Compare(shape(a.Callees, a.Effective), shape(b.Callees, b.Effective)),
		similarity.Compare(shape(a.Lines, a.Effective), shape(b.Lines, b.Effective))
}

func shape(parts map[string]float64, samples float64) similarity.Shape {
	return similarity.Shape{Parts: parts, Samples: samples}
}

// A try is a form of the benchmark with its profile.
type try struct {
	plan Plan
	fit  *beagle.BenchmarkFit
	what string
	run  *Run
}

// Fit profiles the plan's benchmark and compares it with production. While the two are clearly not
// alike, it tries calls that are handed over, then inputs that lie in memory and not in caches, and
// then other shares of the groups. It keeps the first form that is alike enough, or the most alike
// one. The plan becomes that form.
func (f *Fitter) Fit(ctx context.Context, p *Plan) (*beagle.BenchmarkFit, error) {
	var tries []*try
	attempt := func(plan Plan, what string) (*try, error) {
		t, err := f.attempt(ctx, plan, what)
		if err == nil {
			tries = append(tries, t)
		}
		return t, err
	}
	// Begin with the form that --state names, or with the plainest one.
	p.Cold, p.Handed = f.State == "cold", f.State == "handed"
	best, err := attempt(*p, "the recorded shares")
	if err != nil {
		return nil, err
	}
	// A service reads the input just before the call: let the benchmark do so, with other work.
	if unlike(best) && f.State == "auto" {
		handed, err := f.hand(*p, attempt)
		if err != nil {
			return nil, err
		}
		if handed != nil && better(handed, best) {
			best = handed
		}
	}
	// Inputs that lie in memory are the other way to a call that waits for its data.
	if unlike(best) && f.State == "auto" && p.CanBeCold() && !best.plan.Handed {
		other := *p
		other.Cold = true
		t, err := attempt(other, "the recorded shares")
		if err != nil {
			return nil, err
		}
		if better(t, best) {
			best = t
		}
	}
	// Last, doubt the recorded shares of the groups themselves.
	if unlike(best) && len(p.Groups) > 1 {
		plan, err := f.reweigh(ctx, best)
		if err != nil {
			return nil, err
		}
		if plan != nil {
			t, err := attempt(*plan, "shares moved towards production's profile")
			if err != nil {
				return nil, err
			}
			if better(t, best) {
				best = t
			}
		}
	}
	*p = best.plan
	return f.conclude(tries, best), nil
}

// hand returns the most alike form whose calls are handed over. It adds other work, four times as
// much in each step, while that makes the form more alike, and then tries half a step to each side.
// A form that cannot be run, as one that the module's version of Go does not know, is no gain; nil
// if that holds for all.
func (f *Fitter) hand(p Plan, attempt func(Plan, string) (*try, error)) (*try, error) {
	p.Handed = true
	var best *try
	gains := func(work int) (bool, error) {
		p.Work = work
		t, err := attempt(p, "the recorded shares")
		var failed *beagle.UsageError
		if errors.As(err, &failed) {
			f.Say(p.state() + ": " + failed.What)
			return false, nil
		}
		if err != nil || best != nil && score(t) <= score(best) {
			return false, err
		}
		best = t
		return unlike(t), nil
	}
	// Grow the other work while that gains, then look to both sides of the best.
	const first, step = 4, 4
	more, err := gains(0)
	for work := first; more && err == nil && work <= maxWork; work *= step {
		more, err = gains(work)
	}
	if err != nil || best == nil {
		return nil, err
	}
	for _, work := range []int{best.plan.Work / 2, best.plan.Work * 2} {
		if work == 0 || work > maxWork || !unlike(best) {
			continue
		}
		if _, err := gains(work); err != nil {
			return nil, err
		}
	}
	return best, nil
}

// unlike reports whether the samples exclude that a form is as alike as needed. Otherwise the
// difference may be chance, and must not move weights.
func unlike(t *try) bool {
	return !t.fit.Reached && min(t.fit.Callees.High, t.fit.Lines.High) < t.fit.Needed
}

// better reports whether a try is more alike by more than estimates vary. Recorded shares are
// evidence: the more of the calls a try moves away from them, the more it must gain.
func better(a, b *try) bool { return score(a) > score(b)+0.01+0.1*a.plan.moved }

// score returns how alike a form is at least. By its estimate, a form with few samples would win by
// chance, and then even be taken for one that is as alike as needed.
func score(t *try) float64 { return min(t.fit.Callees.Low, t.fit.Lines.Low) }

// mostLonger bounds how much longer a form is profiled whose calls are a small part of its time.
const mostLonger = 8

// attempt builds and profiles one form.
func (f *Fitter) attempt(ctx context.Context, plan Plan, what string) (*try, error) {
	what += ", " + plan.state()
	text, err := plan.File(Form{Apart: true})
	if err != nil {
		return nil, err
	}
	b, err := Build(ctx, plan.Unit, plan.Path(), text, f.PGO)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	pattern := "^" + plan.Benchmarks()[0] + "$"
	run, err := b.Profile(ctx, pattern, f.Seconds)
	if err == nil && plan.Work > 0 { // most of the time is no call's
		run, err = b.Profile(ctx, pattern, f.Seconds*min(1/run.Subtree.Share, mostLonger))
	}
	if err != nil {
		return nil, err
	}
	t := &try{plan: plan, fit: f.Compare(run.Subtree), what: what, run: run}
	f.Say(fmt.Sprintf("%s: %.1f %% alike by callee, %.1f %% by line, %.0f samples", what, 100*t.fit.Callees.Estimate,
		100*t.fit.Lines.Estimate, run.Subtree.Effective))
	return t, nil
}

const (
	leastMoved = 0.005 // a smaller change of the weights is noise
	apartShare = 0.01  // of the calls: smaller groups keep their weight, few samples would move it
)

// reweigh profiles each group alone and finds the shares of the groups that make the whole most
// likely. It returns nil when that changes nothing.
func (f *Fitter) reweigh(ctx context.Context, from *try) (*Plan, error) {
	// Build a benchmark with a part for each group.
	plan := from.plan
	text, err := plan.File(Form{Apart: true})
	if err != nil {
		return nil, err
	}
	b, err := Build(ctx, plan.Unit, plan.Path(), text, f.PGO)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	f.Say(fmt.Sprintf("profiling each of %d groups alone", len(plan.Groups)))
	// Profile the groups that have a notable share.
	var shapes []similarity.Shape
	var costs, start []float64
	var which []int
	for i, g := range plan.Groups {
		if g.Share < apartShare {
			continue
		}
		run, err := b.Profile(ctx, fmt.Sprintf("^Benchmark%sApart$/^g%d$", plan.name(), i),
			max(0.5, f.Seconds*math.Sqrt(g.Share)/2))
		if err != nil {
			return nil, err
		}
		which = append(which, i)
		costs = append(costs, run.call())
		start = append(start, g.Weight*run.call())
		shapes = append(shapes, jointShape(run.Subtree))
	}
	if len(which) < 2 {
		return nil, nil
	}
	// Find the shares whose sum is most like production.
	weights := similarity.Mix(jointShape(f.Production), shapes, start)
	return plan.weighed(which, weights, costs), nil
}

// jointShape returns a shape over callees and lines at once: each has half of the time.
func jointShape(s *hotspots.Subtree) similarity.Shape {
	out := similarity.Shape{Parts: map[string]float64{}, Samples: s.Effective}
	for name, v := range s.Callees {
		out.Parts["callee "+name] += v
	}
	for name, v := range s.Lines {
		out.Parts["line "+name] += v
	}
	return out
}

// weighed returns the plan with other weights of some groups. shares are of the time, costs the
// time of one call. The groups together keep the share of the calls that they had.
func (p *Plan) weighed(which []int, shares, costs []float64) *Plan {
	out := *p
	out.Groups = append([]Group{}, p.Groups...)
	had, sum := 0.0, 0.0
	calls := make([]float64, len(which))
	for k, i := range which {
		had += p.Groups[i].Weight
		calls[k] = shares[k] / max(costs[k], 0.1)
		sum += calls[k]
	}
	if sum == 0 {
		return nil
	}
	for k, i := range which {
		out.Groups[i].Weight = had * calls[k] / sum
		out.moved += math.Abs(out.Groups[i].Weight-p.Groups[i].Share) / 2
	}
	if out.moved < leastMoved {
		return nil
	}
	return &out
}

// conclude returns the best try's fit, with all tries and the reasons why the rest is not alike.
func (f *Fitter) conclude(tries []*try, best *try) *beagle.BenchmarkFit {
	out := best.fit
	for _, t := range tries {
		out.Tried = append(out.Tried, beagle.BenchmarkTry{
			What: t.what, Callees: t.fit.Callees.Estimate, Lines: t.fit.Lines.Estimate, Nanos: t.run.call(),
			Moved: t.plan.moved, Accepted: t == best,
		})
	}
	f.Explain(out, best.run.Subtree)
	return out
}

// Explain says of the parts that are clearly not alike why a benchmark may not match them, and what
// longer profiles would show. run is the profile of the benchmark.
func (f *Fitter) Explain(fit *beagle.BenchmarkFit, run *hotspots.Subtree) {
	fit.Why = nil
	// explain gives a reason for each part that clearly differs, and reports the first few.
	explain := func(kind string, parts, halves []beagle.SimilarPart) {
		const told, small = 5, 0.005
		for i := range parts {
			p := &parts[i]
			if !p.Clear || math.Abs(p.Production-p.Benchmark) < small {
				continue
			}
			if p.Why = reason(kind, *p); len(fit.Why) < 2*told {
				fit.Why = append(fit.Why,
					fmt.Sprintf("%s %s: %.1f %% of production's time%s, %.1f %% of the benchmark's: %s",
						kind, p.Name, 100*p.Production, inHalves(halves, p.Name), 100*p.Benchmark, p.Why))
			}
		}
	}
	if !fit.Reached {
		var halves beagle.SelfFit
		if fit.Itself != nil {
			halves = *fit.Itself
		}
		explain("callee", fit.Callees.Parts, halves.Callees.Parts)
		explain("line", fit.Lines.Parts, halves.Lines.Parts)
	}
	// Estimate how much longer the profiles must be, where these cannot show the similarity.
	if fit.Shown || min(fit.Callees.High, fit.Lines.High) < fit.Needed {
		return
	}
	p := f.Production
	callees := similarity.SamplesNeeded(shape(p.Callees, p.Effective), shape(run.Callees, run.Effective), f.Needed)
	lines := similarity.SamplesNeeded(shape(p.Lines, p.Effective), shape(run.Lines, run.Effective), f.Needed)
	if callees > 0 && lines > 0 {
		fit.Enough = max(callees, lines)
	}
	fit.Warnings = append(fit.Warnings, tooFew(fit))
}

// inHalves describes which shares a part has in the halves of production's profiles.
func inHalves(halves []beagle.SimilarPart, name string) string {
	i := slices.IndexFunc(halves, func(p beagle.SimilarPart) bool { return p.Name == name })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf(" (%.1f and %.1f %% in its earlier and later profiles)", 100*halves[i].Production,
		100*halves[i].Benchmark)
}

// tooFew describes how many samples would show the estimate.
func tooFew(fit *beagle.BenchmarkFit) string {
	have := fit.Callees.Samples
	if fit.Enough == 0 {
		return fmt.Sprintf("%.0f samples of production are below the function, and no profile of a sensible length "+
			"shows %.4g %%", have, 100*fit.Needed)
	}
	text := fmt.Sprintf("%.0f samples of production are below the function; to show %.4g %%, of a benchmark that is "+
		"exactly alike, takes about %.0f, and as many of the benchmark's own", have, 100*fit.Needed, fit.Enough)
	if fit.Enough > have {
		text += fmt.Sprintf(": a profile %.0f times as long, or of more instances", math.Ceil(fit.Enough/max(have, 1)))
	}
	if own := fit.Callees.BenchSamples; own < fit.Enough {
		text += fmt.Sprintf(", and --seconds %.0f", math.Ceil(fit.Enough/max(own, 1)*max(fit.Seconds, 1)))
	}
	return text
}

// reason guesses from a part's name and shares what makes the difference.
func reason(kind string, p beagle.SimilarPart) string {
	switch {
	case p.Name == hotspots.Collector:
		return "it depends on the heap of the whole service, which a benchmark of one function does not have"
	case p.Benchmark == 0:
		return "no recorded input leads there: capture for longer, or at the hours when it happens"
	case p.Production == 0:
		return "production spends no time there: its calls have other inputs, or its build differs (--pgo)"
	case kind == "callee" && strings.HasPrefix(p.Name, "runtime.") && p.Production > p.Benchmark:
		return "Go's runtime takes longer in a large heap with many goroutines"
	case p.Production > p.Benchmark:
		return "production takes longer there: other inputs, or data that is not in its caches"
	}
	return "production takes less time there: other inputs, or its caller has just read the data, which then lies " +
		"in nearer caches than the benchmark's"
}

// Measure compares the plan's benchmark with production as it is.
func (f *Fitter) Measure(ctx context.Context, p *Plan) (*beagle.BenchmarkFit, error) {
	t, err := f.attempt(ctx, *p, "the recorded shares")
	if err != nil {
		return nil, err
	}
	return f.conclude([]*try{t}, t), nil
}
