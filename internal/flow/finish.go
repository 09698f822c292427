package flow

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/verify"
	"github.com/beagle-go/beagle/mutate/rules"
)

// A Field is what a search leaves: its members, the best first, and how many
// competed.
type Field struct {
	Ranked []string `json:"ranked"` // candidate IDs
	Tried  int      `json:"tried"`
}

// A Judged is the winner with its evidence, or the original when nothing won.
type Judged struct {
	Winner      beagle.Candidate     `json:"winner"`
	Verdict     *beagle.Verdict      `json:"verdict,omitempty"`     // the full one of the winner
	Measurement *beagle.Measurement  `json:"measurement,omitempty"` // of the winner, or of the best that did not win
	Lineage     []beagle.LineageStep `json:"lineage,omitempty"`
	Rejected    []string             `json:"rejected,omitempty"` // finalists that fell, with the reason
	Why         string               `json:"why"`
	Seconds     float64              `json:"seconds"`

	Measured *beagle.Origin `json:"measured,omitempty"` // the earlier run that measured; nil for this one
	Verified *beagle.Origin `json:"verified,omitempty"` // and the one that verified
}

const (
	finalists    = 3
	worthATry    = 1.01                  // screened ratio below which nothing is confirmed: the accept rule asks for more
	asGoodAs     = 0.97                  // share of a version's speed that a simpler one must reach to be preferred
	compareTime  = 80 * time.Millisecond // of timing for each version that is compared with its neighbours
	emptyMeasure = 2 * time.Second
)

// Judge gives the finalists of a search the full measurement and the full
// verification, and takes apart the winner.
func (a *Activities) Judge(ctx context.Context, run string, f Field) (*Judged, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	in := beagle.HashOf("field", f, x.spec.Fuzz, x.spec.Measure, x.spec.MinGain, x.spec.Seed, bench.Rule)
	key := x.key("judged", x.root.ID, in)
	var known kept[Judged]
	if x.store.Cached(key, &known) {
		return x.known(known, start), nil
	}
	out, err := x.judge(ctx, f)
	if err != nil {
		return nil, err
	}
	out.Seconds = time.Since(start).Seconds()
	return out, x.store.Cache(key, kept[*Judged]{x.origin(), out})
}

// Confirm is the part of Judge that measures the finalists. It returns those
// that are faster, the preferred one first; Judge finds the measurements in the
// store.
func (a *Activities) Confirm(ctx context.Context, run string, f Field) ([]string, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	field, ms, _, err := x.confirmed(ctx, f)
	if err != nil || len(field) == 0 {
		return nil, err
	}
	var faster []string
	for _, i := range preference(field, ms) {
		if ms[i].Faster {
			faster = append(faster, field[i].ID)
		}
	}
	return faster, nil
}

// Prove is the part of Judge that verifies a finalist in full, which needs no
// quiet machine. It reports whether the finalist behaves; Judge finds the
// verdict in the store.
func (a *Activities) Prove(ctx context.Context, run string, f Field, candidate string) (bool, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return false, err
	}
	field, ms, _, err := x.confirmed(ctx, f)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(field, func(c beagle.Candidate) bool { return c.ID == candidate })
	if i < 0 {
		return false, fmt.Errorf("candidate %s is no finalist of run %s", candidate, run)
	}
	v, _, err := x.proven(ctx, field[i])
	return err == nil && v.OK() && ms[i].Faster, err
}

// confirmed are the finalists with their measurements, and which earlier run made
// these.
func (x *session) confirmed(ctx context.Context, f Field) ([]beagle.Candidate, []beagle.Measurement, *beagle.Origin, error) {
	field, err := once(x, "finalists", x.root.ID, beagle.HashOf("ranked", f.Ranked), func() ([]beagle.Candidate, error) { return x.finalists(ctx, f.Ranked) })
	if err != nil || len(field) == 0 {
		return nil, nil, nil, err
	}
	in := beagle.HashOf("confirmed", field, f.Tried, x.spec.Measure, x.spec.MinGain, x.spec.Seed, bench.Rule)
	ms, from, err := traced(x, "confirmed", x.root.ID, in, func() ([]beagle.Measurement, error) {
		x.watch.Stage("measure", fmt.Sprintf("%d finalists over 10 to 30 link layouts, at most %v", len(field), x.spec.Measure))
		ms, err := x.confirm(ctx, field, f.Tried, x.spec.Measure)
		if err == nil {
			err = x.byClass(ctx, field, ms)
		}
		return ms, err
	})
	return field, ms, from, err
}

func (x *session) judge(ctx context.Context, f Field) (*Judged, error) {
	field, ms, from, err := x.confirmed(ctx, f)
	if err != nil {
		return nil, err
	}
	if len(field) == 0 {
		return x.nothing(ctx, f.Tried)
	}
	x.tellReused("measure", from)
	j := &Judged{Winner: x.root, Measured: from}
	for _, i := range preference(field, ms) {
		if j.Measurement == nil {
			j.Measurement = &ms[i]
			j.Why = "The best version was not confirmed to be faster: " + ms[i].Why + "."
		}
		if !ms[i].Faster {
			continue
		}
		won, err := x.tryWinner(ctx, j, field[i], &ms[i])
		if err != nil || won {
			return j, err
		}
	}
	return j, nil
}

// tryWinner gives a candidate that is faster the full verification.
func (x *session) tryWinner(ctx context.Context, j *Judged, c beagle.Candidate, m *beagle.Measurement) (bool, error) {
	v, from, err := x.proven(ctx, c)
	if err != nil {
		return false, err
	}
	x.tellReused("verify", from)
	if !v.OK() {
		j.Rejected = append(j.Rejected, fmt.Sprintf("%s (%s): %s by %s: %s", c.ID[:8], steps(c), v.Status, v.Stage, v.Reason))
		j.Why = "What was faster is not equivalent: " + v.Reason
		return false, nil
	}
	v.Status, v.Stage, v.Final = beagle.Accepted, "measure", m
	j.Winner, j.Verdict, j.Measurement, j.Verified = c, v, m, from
	j.Why = fmt.Sprintf("At least %.2f times as fast, and no difference in %d comparisons.", m.Corrected.Low, cases(v))
	j.Lineage, err = x.lineage(ctx, c)
	return true, err
}

// proven is the full verification of a finalist, and which earlier run made it.
func (x *session) proven(ctx context.Context, c beagle.Candidate) (*beagle.Verdict, *beagle.Origin, error) {
	return traced(x, "full", c.ID, fmt.Sprint(x.spec.Fuzz), func() (*beagle.Verdict, error) {
		x.watch.Stage("verify", fmt.Sprintf("%s: all inputs, exhaustion, %v of fuzzing", steps(c), x.spec.Fuzz))
		return x.full(ctx, c)
	})
}

func cases(v *beagle.Verdict) int {
	n := 0
	for _, c := range v.Checks {
		n += c.Cases
	}
	return n
}

func steps(c beagle.Candidate) string {
	names := make([]string, len(c.Steps))
	for i, s := range c.Steps {
		names[i] = label(s)
	}
	if len(names) == 0 {
		return "hand-written"
	}
	return strings.Join(names, " + ")
}

// preference orders finalists: by what they promise at least, but of those
// that promise about as much as the best the one with the least to read comes
// first.
func preference(cs []beagle.Candidate, ms []beagle.Measurement) []int {
	order := make([]int, len(ms))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ms[b].Corrected.Low, ms[a].Corrected.Low) })
	best, least := order[0], asGoodAs*ms[order[0]].Corrected.Low
	for i, at := range order[1:] {
		shorter := len(cs[at].Source) < len(cs[best].Source)
		if ms[at].Faster && shorter && ms[at].Corrected.Low >= least {
			best = at
			copy(order[1:i+2], order[:i+1])
			order[0] = at
		}
	}
	return order
}

// nothing measures the original against itself, so that even a run without a
// finalist says what the function costs and what the machine can tell.
func (x *session) nothing(ctx context.Context, tried int) (*Judged, error) {
	ms, err := x.confirm(ctx, []beagle.Candidate{x.root}, tried, min(x.spec.Measure, emptyMeasure))
	if err != nil {
		return nil, err
	}
	why := fmt.Sprintf("None of %d versions was faster in the quick measurement.", tried)
	switch {
	case len(x.ready.Moves) == 0:
		why = fmt.Sprintf("None of the %d rewrites applies to this function.", len(x.work.mutators))
	case tried == 0:
		why = "The rewrites that apply make no new version of this function."
	}
	return &Judged{Winner: x.root, Measurement: &ms[0], Why: why}, nil
}

// finalists are the best few with different code, freed of steps that buy
// nothing, and the best with all of its steps.
func (x *session) finalists(ctx context.Context, ranked []string) ([]beagle.Candidate, error) {
	var field []beagle.Candidate
	for _, id := range ranked {
		if id == x.root.ID || len(field) == finalists {
			continue
		}
		var e evaluated
		if !x.store.Shelved(x.key("evaluated", id, ""), &e) || e.Verdict.Screen == nil || e.Verdict.Screen.Point < worthATry {
			continue
		}
		c, err := x.candidate(id)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(field, func(f beagle.Candidate) bool { return extends(c, f) }) {
			continue // it would be reduced to what is there
		}
		simple, err := x.simplify(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, f := range spare(field, simple, x.withoutDetours(c)) {
			if !slices.ContainsFunc(field, func(g beagle.Candidate) bool { return g.ID == f.ID }) {
				field = append(field, f)
			}
		}
	}
	return field, nil
}

// spare adds to the first finalist what it was before it was simplified. The
// quick measurement by which steps are left out may err, most of all on a busy
// machine, and then everything that was found would be lost: others that share a
// step with what is left are not looked at. The full measurement decides.
func spare(field []beagle.Candidate, simple, whole beagle.Candidate) []beagle.Candidate {
	if len(field) > 0 {
		return []beagle.Candidate{simple}
	}
	return []beagle.Candidate{simple, whole}
}

// extends reports whether a candidate takes all the steps of another, with the
// same parameters, and more.
func extends(c, of beagle.Candidate) bool {
	for _, s := range of.Steps {
		if !slices.ContainsFunc(c.Steps, func(t beagle.Step) bool { return t.Mutator == s.Mutator && t.Param == s.Param }) {
			return false
		}
	}
	return true
}

// simplify leaves out the steps that buy nothing: a maintainer should not have
// to read them. It measures the version without each of its steps, and then
// without the least useful one, the two least useful, and so on.
func (x *session) simplify(ctx context.Context, c beagle.Candidate) (beagle.Candidate, error) {
	c = x.withoutDetours(c)
	if len(c.Steps) < 2 {
		return c, nil
	}
	without := make([]beagle.Candidate, len(c.Steps))
	for i := range c.Steps {
		without[i] = x.retraceWithout(c, []int{i})
	}
	ratios, err := x.compareAll(ctx, without)
	if err != nil {
		return c, err
	}
	order := make([]int, len(c.Steps)) // the least useful first
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ratios[b].Point, ratios[a].Point) })
	fewer := []beagle.Candidate{c}
	for n := 1; n < len(order); n++ {
		fewer = append(fewer, x.retraceWithout(c, order[:n]))
	}
	if ratios, err = x.compareAll(ctx, fewer); err != nil {
		return c, err
	}
	for n := len(fewer) - 1; n > 0; n-- {
		if ratios[n].Point >= asGoodAs*ratios[0].Point {
			return fewer[n], nil
		}
	}
	return c, nil
}

// withoutDetours drops steps whose loss changes nothing, because a later one
// takes them back.
func (x *session) withoutDetours(c beagle.Candidate) beagle.Candidate {
	for i := range c.Steps {
		if shorter := x.retraceWithout(c, []int{i}); shorter.ID == c.ID && len(shorter.Steps) < len(c.Steps) {
			return x.withoutDetours(shorter)
		}
	}
	return c
}

// retraceWithout takes the steps of a candidate but some, from the original.
// A step that does not apply without those is left out too. What a model wrote
// cannot be taken again on something else: it stays, with all before it.
func (x *session) retraceWithout(c beagle.Candidate, skip []int) beagle.Candidate {
	at, first := x.writtenBase(c)
	for i, step := range c.Steps[first:] {
		if slices.Contains(skip, first+i) {
			continue
		}
		next, err := x.work.retrace(at, step)
		if err == nil && x.putCandidate(next) == nil {
			at = next
		}
	}
	return at
}

// writtenBase is the last version on the way to a candidate that a model
// wrote, with the number of steps up to it: the original and none without.
func (x *session) writtenBase(c beagle.Candidate) (beagle.Candidate, int) {
	for i := len(c.Steps) - 1; i >= 0; i-- {
		if c.Steps[i].Mutator != evolve.Written {
			continue
		}
		if base, err := x.candidate(c.Steps[i].Param); err == nil {
			base.Steps = slices.Clone(c.Steps[:i+1])
			return base, i + 1
		}
	}
	return x.root, 0
}

// compareAll verifies and screens versions in one program; the zero Ratio
// stands for one that does not behave.
func (x *session) compareAll(ctx context.Context, cs []beagle.Candidate) ([]beagle.Ratio, error) {
	variants := []harness.Variant{{ID: x.root.ID, Source: x.root.Source}}
	for _, c := range cs { // the original among them is compared with itself
		variants = append(variants, harness.Variant{ID: c.ID, Source: c.Source})
	}
	bin, err := x.builder.Build(ctx, variants, harness.Link{FuncAlign: 64})
	if err != nil {
		return nil, err
	}
	defer bin.Remove()
	var good []int
	for i, c := range cs {
		if _, failed := bin.Failed[i+1]; failed {
			continue
		}
		v, err := verify.Quick(ctx, x.verify, bin, i+1, c, x.corpus)
		if err != nil {
			return nil, err
		}
		if v.OK() {
			good = append(good, i+1)
		}
	}
	out := make([]beagle.Ratio, len(cs))
	ratios, err := bench.Screen(ctx, x.bench, bin, good, x.corpus, compareTime*time.Duration(len(good)+1))
	if err != nil {
		return nil, err
	}
	for i, v := range good {
		out[v-1] = ratios[i]
	}
	return out, nil
}

// path is the version after each step of a candidate. The store knows one way
// to each text, which may not be the candidate's: its own steps are taken
// again, and only where that leads elsewhere the parents are followed.
func (x *session) path(c beagle.Candidate) ([]beagle.Candidate, error) {
	var chain []beagle.Candidate
	at := x.root
	for i := range c.Steps {
		next, err := x.retrace(at, c.Steps[:i+1])
		if err != nil {
			break
		}
		chain, at = append(chain, next), next
	}
	if len(chain) == len(c.Steps) && at.ID == c.ID {
		return chain, nil
	}
	chain = nil
	seen := map[string]bool{}
	for at := c; len(at.Steps) > 0 && !seen[at.ID]; {
		seen[at.ID] = true
		chain = append([]beagle.Candidate{at}, chain...)
		if len(at.Parents) == 0 {
			break
		}
		parent, err := x.candidate(at.Parents[0])
		if err != nil {
			return nil, err
		}
		at = parent
	}
	return chain, nil
}

// retrace takes the last of the steps on what the others have made.
func (x *session) retrace(at beagle.Candidate, steps []beagle.Step) (beagle.Candidate, error) {
	step := steps[len(steps)-1]
	if step.Mutator != evolve.Written {
		return x.work.retrace(at, step)
	}
	c, err := x.candidate(step.Param)
	c.Steps = slices.Clone(steps)
	return c, err
}

// lineage measures every step of the winner in one program.
func (x *session) lineage(ctx context.Context, c beagle.Candidate) ([]beagle.LineageStep, error) {
	chain, err := x.path(c)
	if err != nil {
		return nil, err
	}
	ratios, err := x.compareAll(ctx, chain)
	if err != nil {
		return nil, err
	}
	out := make([]beagle.LineageStep, len(chain))
	before := beagle.Ratio{Point: 1, Low: 1, High: 1}
	for i, at := range chain {
		step := at.Steps[len(at.Steps)-1]
		out[i] = beagle.LineageStep{Step: step, Why: x.explain(step), Ratio: ratios[i], Gain: quotient(ratios[i], before)}
		before = ratios[i]
	}
	return out, nil
}

// explain is what a rewrite says of itself, or a model of what it wrote.
func (x *session) explain(step beagle.Step) string {
	if step.Mutator == evolve.Written {
		by := "Written by the model " + step.Site
		if step.Site == handedIn {
			by = "Handed in while the search went on"
		}
		c, err := x.candidate(step.Param)
		if err != nil || c.Note == "" {
			return by + ", without an explanation."
		}
		return by + ", with the note: " + c.Note
	}
	if m := rules.Named(step.Mutator); m != nil {
		return m.Doc
	}
	return ""
}

// quotient of two independent ratios, with the interval that their logarithms
// give.
func quotient(a, b beagle.Ratio) beagle.Ratio {
	if a.Low <= 0 || b.Low <= 0 {
		return beagle.Ratio{}
	}
	half := math.Hypot(math.Log(a.High/a.Low), math.Log(b.High/b.Low)) / 2
	point := a.Point / b.Point
	return beagle.Ratio{Point: point, Low: point * math.Exp(-half), High: point * math.Exp(half)}
}

// confirm is the full measurement.
func (x *session) confirm(ctx context.Context, cs []beagle.Candidate, tried int, budget time.Duration) ([]beagle.Measurement, error) {
	return bench.Confirm(ctx, x.bench, x.unit, cs, x.corpus, tried, bench.Options{
		Budget: budget, MinGain: x.spec.MinGain, Fresh: x.fresh(), PGO: x.modulePGO(), Seed: x.spec.Seed,
	})
}

// modulePGO is the profile that production builds use: go build takes it from
// the directory of the main package. Of several in the module, the one nearest
// to the target counts.
func (x *session) modulePGO() string {
	t := &x.unit.Target
	var found []string
	filepath.WalkDir(t.Dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // what cannot be read holds no profile for us
		case d.IsDir() && path != t.Dir && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "vendor" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.Name() == "default.pgo":
			found = append(found, path)
		}
		return nil
	})
	if len(found) == 0 {
		return ""
	}
	shared := func(path string) int { return len(commonPrefix(path, t.PkgDir)) }
	return slices.MaxFunc(found, func(a, b string) int { return cmp.Or(shared(a)-shared(b), len(b)-len(a)) })
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// full is the whole ladder.
func (x *session) full(ctx context.Context, c beagle.Candidate) (*beagle.Verdict, error) {
	fuzz := x.spec.Fuzz
	if fuzz == 0 {
		fuzz = -1 // leaves it out
	}
	return verify.Full(ctx, x.verify, c, x.corpus, verify.Budget{Fuzz: fuzz})
}
