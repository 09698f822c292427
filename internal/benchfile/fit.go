package benchfile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/similarity"
)

// A Fitter is the work of making a benchmark's profile like production's.
type Fitter struct {
	Production *hotspots.Subtree
	Halves     [2]*hotspots.Subtree // of production's profiles, the earlier ones first; nil with one alone
	Split      [2]*hotspots.Subtree // production's samples, divided by chance: one part to fit, one held out
	Needed     float64              // similarity, such as 0.98
	Seconds    float64              // of each profile
	Limit      time.Duration        // of the search for another form; 0 for none
	PGO        string               // profile for the compiler, "" for none
	State      string               // warm, cold or auto
	Say        func(string)

	longest  float64         // seconds of a profile of calls that are a small part of the time; 0 for no bound
	itself   *beagle.SelfFit // the comparison of production with itself, once it was made
	programs programs
	planted  func(context.Context, *Plan) (*Run, error) // profiles of tests; nil for real ones
}

// Compare returns how alike the profile of a run is to production's.
func (f *Fitter) Compare(run *hotspots.Subtree) *beagle.BenchmarkFit {
	p := f.Production
	out := &beagle.BenchmarkFit{Target: p.Target, Share: p.Share, Needed: f.Needed, Seconds: f.Seconds}
	out.Callees, out.Lines = similarities(p, run)
	for _, c := range p.Callers[:min(len(p.Callers), mostCallers)] {
		out.Callers = append(out.Callers, beagle.CallerShare{Function: c.Target, Share: c.Share})
	}
	out.Itself = f.self()
	worst := similarity.Worst(out.Callees, out.Lines)
	out.Reached = worst.Estimate >= f.Needed
	out.Shown = min(out.Callees.Low, out.Lines.Low) >= f.Needed
	return out
}

// self compares production with itself: its earlier profiles with the later ones, or else halves of
// its samples. It returns nil without halves.
func (f *Fitter) self() *beagle.SelfFit {
	halves := f.Halves
	byTime := halves[0] != nil && halves[1] != nil
	if !byTime {
		halves = f.Split
	}
	if f.itself == nil && halves[0] != nil && halves[1] != nil {
		f.itself = &beagle.SelfFit{ByTime: byTime}
		f.itself.Callees, f.itself.Lines = similarities(halves[0], halves[1])
	}
	return f.itself
}

// mostCallers bounds the callers that a comparison lists.
const mostCallers = 5

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

	groups []*hotspots.Subtree // profiles of single groups, once they were taken
}

// Fit profiles the plan's benchmark and compares it with production. While the two are clearly not
// alike, it tries pauses, calls that are handed over, inputs that lie in memory and not in caches,
// inputs with one part far away, more or fewer inputs until they repeat, and then other shares of
// the groups. It keeps the first form that is alike enough, or the most alike one. The plan becomes
// that form.
//
// The best of several forms looks better than it is, by chance. So forms are compared with one half
// of production's samples. The chosen one is profiled anew, and compared with the other half.
//
// The search ends at its limit, and when the context ends. Fit then returns the most alike form so
// far, and a warning. A context that ends before the first comparison is an error.
func (f *Fitter) Fit(ctx context.Context, p *Plan) (*beagle.BenchmarkFit, error) {
	defer f.close()
	p.Be(f.State)
	f.longest = f.Limit.Seconds() / ofJudged
	first, err := f.attempt(ctx, *p, "the recorded shares")
	if err != nil {
		return nil, err
	}
	if !unlike(first) {
		return f.conclude([]*try{first}, first), nil
	}
	// Fit to one half.
	fitter := *f
	fitter.longest = f.Limit.Seconds() / ofTried
	held := f.Split[0] != nil && f.Split[1] != nil
	if held {
		fitter.Production = f.Split[0]
		first.fit = fitter.Compare(first.run.Subtree)
	}
	tries, best, ended, err := fitter.limited(ctx, first)
	if err != nil {
		return nil, err
	}
	*p = best.plan
	if best == first { // compare it with all samples again: nothing was chosen
		first.fit = f.Compare(first.run.Subtree)
		return f.conclude(tries, best, ended...), nil
	}
	if !held || ctx.Err() != nil {
		return fitter.conclude(tries, best, append(ended, notHeld)...), nil
	}
	// Compare the form with the other half.
	fitter.Production, fitter.longest = f.Split[1], f.longest
	last, err := fitter.attempt(ctx, best.plan, "profiled anew, against the samples that were held out")
	if ctx.Err() != nil {
		fitter.Production = f.Split[0]
		return fitter.conclude(tries, best, append(ended, notHeld)...), nil
	}
	if err != nil {
		return nil, err
	}
	last.fit.Held = true
	last.groups = best.groups
	return fitter.conclude(append(tries, last), last, ended...), nil
}

// notHeld warns of a fit that no other samples have confirmed.
const notHeld = "the form was chosen by the samples that it is compared with here, so it looks more alike than it " +
	"is; no others were held out"

// limited searches until the limit, or until the context ends. It returns all forms that were
// tried, the most alike one, and a warning if it ended early.
func (f *Fitter) limited(ctx context.Context, first *try) (tries []*try, best *try, ended []string, err error) {
	within, cancel := ctx, func() {}
	if f.Limit > 0 {
		within, cancel = context.WithTimeout(ctx, f.Limit)
		f.Say(fmt.Sprintf("less alike than needed: trying other forms for at most %v", f.Limit))
	}
	defer cancel()
	tries = []*try{first}
	best, err = f.search(within, first, func(plan Plan, what string) (*try, error) {
		t, err := f.attempt(within, plan, what)
		if err == nil {
			tries = append(tries, t)
		}
		return t, err
	})
	if err == nil || within.Err() == nil {
		return tries, best, nil, err
	}
	best = mostAlike(tries)
	why := fmt.Sprintf("after %v (--time)", f.Limit)
	if ctx.Err() != nil {
		why = "when it was interrupted"
	}
	return tries, best, []string{"the search for a form ended " + why + ", and not all forms were tried"}, nil
}

// search tries other forms than the first, and returns the most alike one.
func (f *Fitter) search(
	ctx context.Context, first *try, attempt func(Plan, string) (*try, error),
) (best *try, err error) {
	best = first
	// Others take the caches while a service waits: the call finds less of what it keeps.
	if f.State == "auto" {
		if best, err = f.pause(first, attempt); err != nil {
			return nil, err
		}
	}
	p := best.plan
	// A service reads the input just before the call: let the benchmark do so, with other work.
	if unlike(best) && f.State == "auto" {
		handed, err := f.hand(p, attempt)
		if err != nil {
			return nil, err
		}
		if handed != nil && better(handed, best) {
			best = handed
		}
	}
	// Inputs that lie in memory are the other way to a call that waits for its data.
	near := best
	if unlike(best) && f.State == "auto" && p.CanBeCold() && !best.plan.Handed {
		t, err := attempt(p.cold(), "the recorded shares")
		if err != nil {
			return nil, err
		}
		if better(t, best) {
			best = t
		}
	}
	// One part of an input may be near and another far away.
	if unlike(best) && f.State == "auto" && len(p.movable()) > 1 {
		t, err := f.parts(near, attempt)
		if err != nil {
			return nil, err
		}
		if better(t, best) {
			best = t
		}
	}
	if unlike(best) && len(best.plan.Far) == 0 {
		if best, err = f.scale(best, attempt); err != nil {
			return nil, err
		}
	}
	// Last, doubt the recorded shares of the groups themselves.
	if unlike(best) && len(p.Groups) > 1 {
		plan, groups, err := f.reweigh(ctx, best)
		if err != nil {
			return nil, err
		}
		best.groups = groups
		if plan != nil {
			t, err := attempt(*plan, "shares moved towards production's profile")
			if err != nil {
				return nil, err
			}
			if t.groups = groups; better(t, best) {
				best = t
			}
		}
	}
	return best, nil
}

// scale returns the most alike form with more inputs until they repeat, or else with fewer: four
// times in each step, while that makes it clearly more alike. The number that was drawn says
// nothing of production, but chance should not change it: that could hide that weights are wrong.
func (f *Fitter) scale(best *try, attempt func(Plan, string) (*try, error)) (*try, error) {
	const step, most = 4, 64
	from := best
	for _, way := range []int{1, -1} {
		for factor := step; factor <= most && unlike(best); factor *= step {
			plan := from.plan.scaled(way * factor)
			if plan == nil {
				break
			}
			t, err := attempt(*plan, "the recorded shares")
			if err != nil {
				return nil, err
			}
			if !clearlyBetter(t, best) {
				break
			}
			best = t
		}
		if best != from {
			break
		}
	}
	return best, nil
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

// clearlyBetter reports whether a try is at least more alike than the estimate of another one.
func clearlyBetter(a, b *try) bool {
	return score(a) > min(b.fit.Callees.Estimate, b.fit.Lines.Estimate)
}

// mostAlike returns the most alike of some forms. Another number of inputs must be clearly better,
// as in a search that comes to its end.
func mostAlike(tries []*try) *try {
	best := tries[0]
	for _, t := range tries[1:] {
		is := better
		if t.plan.Scale != best.plan.Scale {
			is = clearlyBetter
		}
		if is(t, best) {
			best = t
		}
	}
	return best
}

// score returns how alike a form is at least. By its estimate, a form with few samples would win by
// chance, and then even be taken for one that is as alike as needed.
func score(t *try) float64 { return min(t.fit.Callees.Low, t.fit.Lines.Low) }

// attempt profiles one form.
func (f *Fitter) attempt(ctx context.Context, plan Plan, what string) (*try, error) {
	what += ", " + plan.state()
	profile := f.profile
	if f.planted != nil {
		profile = f.planted
	}
	run, err := profile(ctx, &plan)
	if err != nil {
		return nil, err
	}
	t := &try{plan: plan, fit: f.Compare(run.Subtree), what: what, run: run}
	f.Say(fmt.Sprintf("%s: %.1f %% alike by callee, %.1f %% by line, %.0f samples", what, 100*t.fit.Callees.Estimate,
		100*t.fit.Lines.Estimate, run.Subtree.Effective))
	return t, nil
}

const (
	mostLonger = 8  // times as long is a form profiled whose calls are a small part of its time
	ofTried    = 12 // and no longer than this part of the limit, so that the search gets far
	ofJudged   = 4  // the same for the first form and the chosen one
	mostMore   = 4  // times production's samples are enough: more hardly narrow the interval
	firstPart  = 0.2
	mostParts  = 6 // in which a form is profiled
	longerPart = 3 // times all before, at most: the start of the program takes more of a short one
)

// profile builds and profiles a form. It begins with a part of the seconds, which tells how many
// samples it takes in a second, and goes on in longer ones.
func (f *Fitter) profile(ctx context.Context, plan *Plan) (*Run, error) {
	b, err := f.program(ctx, plan, Form{Fast: true})
	if err != nil {
		return nil, err
	}
	run := &Run{}
	pattern := "^" + plan.Benchmarks()[0] + "$"
	seconds := firstPart * f.Seconds
	for part := 0; part < mostParts && seconds > 0; part++ {
		err = b.extend(ctx, run, pattern, seconds, plan.numbers())
		missed := run.Subtree == nil && run.Seconds < f.Seconds && ctx.Err() == nil // by so few samples
		if err != nil && !missed {
			return nil, err
		}
		seconds = f.more(run, plan.partial())
	}
	if run.Subtree == nil {
		return nil, err
	}
	return run, b.Lacks(run, f.Production)
}

// more returns for how many more seconds a form is profiled: until it has had its own, or its
// samples are enough. Where it is partial, calls may be a small part of its time.
func (f *Fitter) more(run *Run, partial bool) float64 {
	most := f.Seconds
	if s := run.Subtree; s != nil {
		if partial {
			longer := most * min(1/s.Share, mostLonger)
			if f.longest > 0 {
				longer = min(longer, f.longest)
			}
			most = max(most, longer)
		}
		if enough := mostMore * f.Production.Effective; enough > 0 {
			most = min(most, enough/s.Effective*run.Seconds)
		}
	}
	if left := most - run.Seconds; left > most/10 {
		return min(left, longerPart*run.Seconds)
	}
	return 0
}

// partial reports whether most of the benchmark's time may be no call's.
func (p *Plan) partial() bool { return p.Work > 0 || p.Pause > 0 || p.through() }

// conclude returns the best try's fit, with all tries, the reasons why the rest is not alike, and
// warnings.
func (f *Fitter) conclude(tries []*try, best *try, warnings ...string) *beagle.BenchmarkFit {
	out := best.fit
	out.Warnings = append(out.Warnings, warnings...)
	for _, t := range tries {
		out.Tried = append(out.Tried, beagle.BenchmarkTry{
			What: t.what, Callees: t.fit.Callees.Estimate, Lines: t.fit.Lines.Estimate, Nanos: t.run.call(),
			Moved: t.plan.moved, Accepted: t == best,
		})
	}
	f.Explain(out, best.run, best.groups...)
	if caller := best.plan.Unit.Target.Spec(); best.plan.through() {
		if share := f.below(caller); share < mostBelow {
			out.Warnings = append(out.Warnings, fmt.Sprintf("%.0f %% of production's time below the function is below "+
				"%s too; the benchmark has nothing of the rest", 100*share, caller))
		}
	}
	return out
}

// mostBelow is the share from which on the other callers are too few to be noticed.
const mostBelow = 0.95

// below returns how much of the time below the function is below one of its callers.
func (f *Fitter) below(caller string) float64 {
	for _, c := range f.Production.Callers {
		if c.Target == caller {
			return c.Share
		}
	}
	return 0
}

// Explain says of the parts that are clearly not alike why a benchmark may not match them, and how
// much of the distance that makes. It also says what longer profiles would show. groups are
// profiles of single groups of inputs, if there are any.
func (f *Fitter) Explain(fit *beagle.BenchmarkFit, run *Run, groups ...*hotspots.Subtree) {
	fit.Why, fit.Lost = nil, nil
	var halves beagle.SelfFit
	if fit.Itself != nil && fit.Itself.ByTime {
		halves = *fit.Itself
	}
	x := explainer{f.Production, run, groups}
	for _, by := range []struct {
		kind   string
		of     beagle.Similarity
		halves []beagle.SimilarPart
	}{{"callee", fit.Callees, halves.Callees.Parts}, {"line", fit.Lines, halves.Lines.Parts}} {
		const told, small = 5, 0.005
		lost := map[cause]float64{}
		for i := range by.of.Parts {
			p := &by.of.Parts[i]
			points := math.Abs(p.Production-p.Benchmark) / 2
			if !p.Clear {
				lost[byChance] += points
				continue
			}
			why := x.cause(by.kind, *p)
			lost[why] += points
			if fit.Reached || 2*points < small {
				continue
			}
			if p.Why = whys[why]; i < told {
				fit.Why = append(fit.Why,
					fmt.Sprintf("%s %s: %.1f %% of production's time%s, %.1f %% of the benchmark's: %s", by.kind,
						p.Name, 100*p.Production, inHalves(by.halves, p.Name), 100*p.Benchmark, p.Why))
			}
		}
		for c, why := range whys {
			if lost[cause(c)] >= 0.0005 {
				fit.Lost = append(fit.Lost, beagle.LostSimilarity{By: by.kind, Share: lost[cause(c)], Why: why})
			}
		}
	}
	// Estimate how much longer the profiles must be, where these cannot show the similarity.
	if fit.Shown || min(fit.Callees.High, fit.Lines.High) < fit.Needed {
		return
	}
	p, b := f.Production, run.Subtree
	callees := similarity.SamplesNeeded(shape(p.Callees, p.Effective), shape(b.Callees, b.Effective), f.Needed)
	lines := similarity.SamplesNeeded(shape(p.Lines, p.Effective), shape(b.Lines, b.Effective), f.Needed)
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

// Measure compares the plan's benchmark with production as it is.
func (f *Fitter) Measure(ctx context.Context, p *Plan) (*beagle.BenchmarkFit, error) {
	defer f.close()
	t, err := f.attempt(ctx, *p, "the recorded shares")
	if err != nil {
		return nil, err
	}
	return f.conclude([]*try{t}, t), nil
}
