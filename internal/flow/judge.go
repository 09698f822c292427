package flow

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/inorder"
)

// A judge decides which finalist wins, and whether a version from outside is faster and behaves as
// the original does.
type judge struct {
	spec     *Spec
	watch    Watcher
	ready    *Prepared
	works    *works
	rewriter *rewriter
	door     *door
	verifier *verifier
	lab      *lab
	meter    *meter
	mender   *mender
	pedigree *pedigree
}

// A Field holds the finalists that a search hands to the judge.
type Field struct {
	Finalists []evolve.Finalist `json:"finalists"`       // as far as one layout tells, the most promising first
	Leads     []evolve.Lead     `json:"leads,omitempty"` // that the judge makes finalists of
	Tried     int               `json:"tried"`           // how many versions competed
}

// A Judged is the winner with its evidence, or the original when nothing won.
type Judged struct {
	Winner      beagle.Candidate     `json:"winner"`
	Verdict     *beagle.Verdict      `json:"verdict,omitempty"`     // the full one of the winner
	Measurement *beagle.Measurement  `json:"measurement,omitempty"` // of the winner, or of the best that did not win
	Lineage     []beagle.LineageStep `json:"lineage,omitempty"`
	Again       beagle.Ratio         `json:"again,omitzero"`      // of the winner, timed beside its steps; zero if it was not
	Rejected    []string             `json:"rejected,omitempty"`  // finalists that fell, with the reason
	NearMiss    *beagle.NearMiss     `json:"near_miss,omitempty"` // of the first of them that has one
	Why         string               `json:"why"`
	Seconds     float64              `json:"seconds"`

	Measured *beagle.Origin `json:"measured,omitempty"` // the earlier run that measured; nil for this one
	Verified *beagle.Origin `json:"verified,omitempty"` // and the one that verified
}

// emptyMeasure is the time for measuring the original against itself, when nothing is left to
// measure.
const emptyMeasure = 2 * time.Second

// Judge measures the finalists of a search in full, verifies them in full, and takes apart the
// winner.
func (a *Activities) Judge(ctx context.Context, run string, f Field) (*Judged, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	return x.judge.field(ctx, f)
}

// field judges a field unless the store has the judgement.
func (jd *judge) field(ctx context.Context, f Field) (*Judged, error) {
	start := time.Now()
	in, err := jd.meter.measuring("field", f, jd.spec.Fuzz, jd.spec.Strict, jd.spec.Fastest)
	if err != nil {
		return nil, err
	}
	key := jd.works.key("judged", jd.works.root.ID, in)
	var known kept[Judged]
	if jd.works.store.Cached(key, &known) {
		return jd.known(known, start), nil
	}
	out, err := jd.decide(ctx, f)
	if err != nil {
		return nil, err
	}
	out.Seconds = time.Since(start).Seconds()
	return out, jd.works.store.Cache(key, kept[*Judged]{jd.works.origin(), out})
}

// Confirm does the part of Judge that measures the finalists. It returns those that are faster, the
// preferred one first; Judge finds the measurements in the store.
func (a *Activities) Confirm(ctx context.Context, run string, f Field) ([]string, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	return x.judge.faster(ctx, f)
}

// faster returns the IDs of the finalists that are faster, the preferred one first.
func (jd *judge) faster(ctx context.Context, f Field) ([]string, error) {
	field, ms, _, err := jd.confirmed(ctx, f)
	if err != nil || len(field) == 0 {
		return nil, err
	}
	var faster []string
	for _, i := range preference(field, ms, jd.spec.Fastest) {
		if ms[i].Faster {
			faster = append(faster, field[i].ID)
		}
	}
	return faster, nil
}

// Prove does the part of Judge that verifies a finalist in full, which needs no quiet machine. It
// reports whether the finalist behaves; Judge finds the verdict in the store.
func (a *Activities) Prove(ctx context.Context, run string, f Field, candidate string) (bool, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return false, err
	}
	return x.judge.proves(ctx, f, candidate)
}

// proves reports whether a finalist behaves and is faster.
func (jd *judge) proves(ctx context.Context, f Field, candidate string) (bool, error) {
	field, ms, _, err := jd.confirmed(ctx, f)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(field, func(c beagle.Candidate) bool { return c.ID == candidate })
	if i < 0 {
		return false, fmt.Errorf("candidate %s is not a finalist of run %s", candidate, jd.works.run)
	}
	v, _, err := jd.verifier.proven(ctx, field[i])
	return err == nil && v.OK() && ms[i].Faster, err
}

// confirmed returns the finalists with their measurements, and the earlier run that made these.
func (jd *judge) confirmed(
	ctx context.Context, f Field,
) ([]beagle.Candidate, []beagle.Measurement, *beagle.Origin, error) {
	chosen, err := jd.sifted(ctx, f)
	if err != nil {
		return nil, nil, nil, err
	}
	field, err := jd.works.finalists(chosen)
	if err != nil || len(field) == 0 {
		return nil, nil, nil, err
	}
	in, err := jd.meter.measuring("confirmed", field, f.Tried)
	if err != nil {
		return nil, nil, nil, err
	}
	ms, from, err := traced(jd.works, "confirmed", jd.works.root.ID, in, func() ([]beagle.Measurement, error) {
		jd.watch.Stage("measure",
			fmt.Sprintf("%d finalists over 10 to 30 link layouts, at most %v", len(field), jd.spec.Measure))
		ms, err := jd.meter.confirm(ctx, field, f.Tried, jd.spec.Measure)
		if err == nil {
			err = jd.meter.byClass(ctx, field, ms)
		}
		return ms, err
	})
	return field, ms, from, err
}

// decide tries the confirmed finalists in the order of preference until one passes the full
// verification.
func (jd *judge) decide(ctx context.Context, f Field) (*Judged, error) {
	field, ms, from, err := jd.confirmed(ctx, f)
	if err != nil {
		return nil, err
	}
	if len(field) == 0 {
		return jd.nothing(ctx, f)
	}
	jd.tellReused("measure", from)
	j := &Judged{Winner: jd.works.root, Measured: from}
	for _, i := range preference(field, ms, jd.spec.Fastest) {
		if j.Measurement == nil {
			j.Measurement = &ms[i]
			j.Why = "The best version was not confirmed to be faster: " + ms[i].Why + "."
		}
		if !ms[i].Faster {
			continue
		}
		won, err := jd.tryWinner(ctx, j, field[i], &ms[i])
		if err != nil || won {
			return j, err
		}
	}
	return j, nil
}

// tryWinner gives a candidate that is faster the full verification.
func (jd *judge) tryWinner(ctx context.Context, j *Judged, c beagle.Candidate, m *beagle.Measurement) (bool, error) {
	// Verify in full. A version that falls may win in its guarded form.
	v, from, err := jd.verifier.proven(ctx, c)
	if err != nil {
		return false, err
	}
	jd.tellReused("verify", from)
	if !v.OK() {
		j.Rejected = append(j.Rejected,
			fmt.Sprintf("%s (%s): %s by %s: %s", c.ID[:8], steps(c), v.Status, v.Stage, v.Reason))
		j.Why = "What was faster is not equivalent: " + v.Reason
		return jd.tryGuarded(ctx, j, c, v, m.Tried)
	}
	// Time the winner again, beside its steps. The second measurement may refute it.
	lineage, again, err := jd.pedigree.lineage(ctx, c)
	if err != nil {
		return false, err
	}
	if why := refuted(m.Worth(), again); why != "" {
		j.Rejected = append(j.Rejected, fmt.Sprintf("%s (%s): %s", c.ID[:8], steps(c), why))
		j.Why = "The best version was not confirmed to be faster: " + why + "."
		m.Faster, m.Why = false, why
		return false, nil
	}
	v.Status, v.Stage, v.Final = beagle.Accepted, "measure", m
	j.Winner, j.Verdict, j.Measurement, j.Verified, j.Lineage, j.Again = c, v, m, from, lineage, again
	j.Why = fmt.Sprintf("%s, and no difference in %d comparisons.", jd.spec.gains(m), cases(v))
	return true, nil
}

// nothing measures the original against itself. So even a run without a finalist reports what the
// function costs and what the machine can tell.
func (jd *judge) nothing(ctx context.Context, f Field) (*Judged, error) {
	ms, err := jd.meter.confirm(ctx, []beagle.Candidate{jd.works.root}, f.Tried, min(jd.spec.Measure, emptyMeasure))
	if err != nil {
		return nil, err
	}
	why := fmt.Sprintf("None of %d versions was faster in the quick measurement.", f.Tried)
	switch {
	case len(f.Leads) > 0:
		why = fmt.Sprintf("None of %d versions was faster: the best %d looked so in one link layout, and not over "+
			"several.", f.Tried, len(f.Leads))
	case len(jd.ready.Moves) == 0:
		why = fmt.Sprintf("None of the %d rewrites applies to this function.", len(jd.rewriter.work.mutators))
	case f.Tried == 0:
		why = "The rewrites that apply make no new version of this function."
	}
	return &Judged{Winner: jd.works.root, Measurement: &ms[0], Why: why}, nil
}

// known returns a judgement from the store. Its time is that of this run alone.
func (jd *judge) known(k kept[Judged], start time.Time) *Judged {
	j, from := &k.Value, jd.works.elsewhere(k.Origin)
	if from == nil {
		return j
	}
	if j.Measured == nil {
		j.Measured = from
	}
	if j.Verdict != nil && j.Verified == nil {
		j.Verified = from
	}
	j.Seconds = time.Since(start).Seconds()
	jd.tellReused("measure", j.Measured)
	jd.tellReused("verify", j.Verified)
	return j
}

// tellReused tells the watcher that an earlier run has done this stage.
func (jd *judge) tellReused(stage string, from *beagle.Origin) {
	if from != nil {
		jd.watch.Stage(stage,
			fmt.Sprintf("not again: run %s did it on %s UTC; --anew does it again", from.Run, from.At))
	}
}

// cases counts the compared inputs of a verdict.
func cases(v *beagle.Verdict) int {
	n := 0
	for _, c := range v.Checks {
		n += c.Cases
	}
	return n
}

// steps names the steps of a candidate.
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

// preference orders finalists by their least gain. Of those about as fast as the best, the one that
// is easiest to read comes first. All were timed in the same layouts, which tells more about two
// finalists than their intervals do.
func preference(cs []beagle.Candidate, ms []beagle.Measurement, fastest bool) []int {
	order := make([]int, len(ms))
	for i := range order {
		order[i] = i
	}
	inorder.By(order, func(a, b int) int { return cmp.Compare(ms[b].Worth().Low, ms[a].Worth().Low) })
	first, best, least := order[0], order[0], evolve.AsGoodAs(ms[order[0]].Worth().Low, fastest)
	for i, at := range order[1:] {
		simpler := cmp.Or(cmp.Compare(reading(cs[at].Source), reading(cs[best].Source)),
			cmp.Compare(len(cs[at].Steps), len(cs[best].Steps))) < 0
		asGood := ms[at].Worth().Low >= least || !fastest && asGoodAs(&ms[at], &ms[first])
		if ms[at].Faster && simpler && asGood {
			best = at
			copy(order[1:i+2], order[:i+1])
			order[0] = at
		}
	}
	return order
}

// asGoodAs reports whether a finalist gives up no more than [evolve.AsGoodAs] allows, in the
// layouts that both were timed in.
func asGoodAs(simpler, best *beagle.Measurement) bool {
	over, point := bench.Over(simpler, best), best.Corrected.Point
	return best.Score == nil && over.Low > 0 && point > 0 && over.Point >= evolve.AsGoodAs(point, false)/point
}

// tryGuarded tries one more finalist in place of a near miss that fell: its guarded form. It
// reports whether that won.
func (jd *judge) tryGuarded(
	ctx context.Context, j *Judged, c beagle.Candidate, v *beagle.Verdict, tried int,
) (bool, error) {
	// Look for the contract, once for this candidate.
	near, err := once(jd.works, "near", c.ID, fmt.Sprint(jd.spec.Fuzz, jd.spec.Strict, tried, jd.spec.Measure),
		func() (*beagle.NearMiss, error) { return jd.mender.find(ctx, c, v, tried) })
	if err != nil || near == nil {
		return false, jd.mender.forgive(ctx, v, err)
	}
	if j.NearMiss == nil {
		j.NearMiss = near
	}
	last := len(j.Rejected) - 1
	j.Rejected[last] += fmt.Sprintf("; it would be right under %s", near.Flag)
	g := near.Guarded
	if g == nil || g.Status != beagle.Accepted {
		return false, nil
	}
	// The guarded form is a candidate with one more step.
	steps := append(slices.Clone(c.Steps),
		beagle.Step{Mutator: guardStep, Site: "unless " + near.Contract.Requires, Class: beagle.E3})
	guarded := beagle.NewCandidate(g.Source, []string{c.ID}, steps)
	if err := jd.works.putCandidates(guarded); err != nil {
		return false, err
	}
	won, err := jd.tryWinner(ctx, j, guarded, g.Measure)
	if err == nil && !won && !g.Measure.Faster {
		g.Status, g.Reason = beagle.Equal, "not confirmed to be faster: "+g.Measure.Why
	}
	return won, err
}
