package flow

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/verify"
)

// A Field is what a search leaves: what to measure in full, the most promising
// first, and how many competed.
type Field struct {
	Finalists []evolve.Finalist `json:"finalists"`
	Tried     int               `json:"tried"`
}

// A Judged is the winner with its evidence, or the original when nothing won.
type Judged struct {
	Winner      beagle.Candidate     `json:"winner"`
	Verdict     *beagle.Verdict      `json:"verdict,omitempty"`     // the full one of the winner
	Measurement *beagle.Measurement  `json:"measurement,omitempty"` // of the winner, or of the best that did not win
	Lineage     []beagle.LineageStep `json:"lineage,omitempty"`
	Rejected    []string             `json:"rejected,omitempty"`  // finalists that fell, with the reason
	NearMiss    *beagle.NearMiss     `json:"near_miss,omitempty"` // of the first of them that has one
	Why         string               `json:"why"`
	Seconds     float64              `json:"seconds"`

	Measured *beagle.Origin `json:"measured,omitempty"` // the earlier run that measured; nil for this one
	Verified *beagle.Origin `json:"verified,omitempty"` // and the one that verified
}

// emptyMeasure is of the original against itself, when nothing is left to measure.
const emptyMeasure = 2 * time.Second

// Judge gives the finalists of a search the full measurement and the full
// verification, and takes apart the winner.
func (a *Activities) Judge(ctx context.Context, run string, f Field) (*Judged, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	in, err := x.measuring("field", f, x.spec.Fuzz, x.spec.Strict)
	if err != nil {
		return nil, err
	}
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
	field, err := x.finalists(f.Finalists)
	if err != nil || len(field) == 0 {
		return nil, nil, nil, err
	}
	in, err := x.measuring("confirmed", field, f.Tried)
	if err != nil {
		return nil, nil, nil, err
	}
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
		return x.tryGuarded(ctx, j, c, v, m.Tried)
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
	best, least := order[0], evolve.AsGoodAs*ms[order[0]].Corrected.Low
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

// confirm is the full measurement.
func (x *session) confirm(ctx context.Context, cs []beagle.Candidate, tried int, budget time.Duration) ([]beagle.Measurement, error) {
	fresh, told, err := x.fresh(ctx, x.spec.Seed^0xf4e54)
	if err != nil {
		return nil, err
	}
	return bench.Confirm(ctx, x.bench, x.unit, cs, x.corpus, tried, bench.Options{
		Budget: budget, MinGain: x.spec.MinGain, Fresh: fresh, Told: told, PGO: x.modulePGO(), Seed: x.spec.Seed,
	})
}

// measuring names a measurement in the store: what is measured, how, and on top
// of which profile.
func (x *session) measuring(kind string, what ...any) (string, error) {
	var profile []byte
	if path := x.modulePGO(); path != "" {
		var err error
		if profile, err = os.ReadFile(path); err != nil {
			return "", fmt.Errorf("reading the module's profile: %w; mend it or take it away", err)
		}
	}
	return beagle.HashOf(kind, append(what, x.spec.Measure, x.spec.MinGain, x.spec.Seed, bench.Rule, profile)...), nil
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
	v, err := x.survive(c.Source, func() (*beagle.Verdict, error) {
		return verify.Full(ctx, x.verify, c, x.corpus, verify.Budget{Fuzz: fuzz})
	})
	if err == nil {
		x.assure(v)
	}
	return v, err
}
