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
	"github.com/beagle-go/beagle/internal/tail"
)

// A judge decides which finalist wins, and whether a version from outside is faster and behaves as
// the original does.
type judge struct {
	setting
	rewriter *rewriter
	door     *door
	screener *screener
	verifier *verifier
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

// A Conclusion is the winner with its evidence, or the original when nothing won.
type Conclusion struct {
	Winner      beagle.Candidate     `json:"winner"`
	Verdict     *beagle.Verdict      `json:"verdict,omitempty"`     // the full one of the winner
	Measurement *beagle.Measurement  `json:"measurement,omitempty"` // of the winner, or of the best that did not win
	Lineage     []beagle.LineageStep `json:"lineage,omitempty"`
	Again       beagle.Ratio         `json:"again,omitzero"`      // of the winner, timed beside its steps; zero if it was not
	Rejected    []string             `json:"rejected,omitempty"`  // finalists that fell, with the reason
	NearMiss    *beagle.NearMiss     `json:"near_miss,omitempty"` // of the first of them that has one
	Made        []beagle.Attempt     `json:"made,omitempty"`      // for the log: the versions that the judge made
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
func (a *Activities) Judge(ctx context.Context, run string, f Field) (*Conclusion, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	return x.judge.field(ctx, f)
}

// field judges a field unless the store has the judgement.
func (jd *judge) field(ctx context.Context, f Field) (*Conclusion, error) {
	start := time.Now()
	in, err := jd.meter.measuring(ctx, "field", f, jd.spec.Fuzz, jd.spec.Strict, jd.spec.Fastest)
	if err != nil {
		return nil, err
	}
	key := jd.works.key("judged", jd.works.root.ID, in)
	var known keptResult[Conclusion]
	if jd.works.store.Cached(key, &known) {
		return jd.stored(known, start), nil
	}
	out, err := jd.decide(ctx, f)
	if err != nil {
		return nil, err
	}
	out.Seconds = time.Since(start).Seconds()
	return out, jd.works.store.Cache(key, keptResult[*Conclusion]{jd.works.origin(), out})
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
	found, err := jd.confirmed(ctx, f)
	if err != nil {
		return nil, err
	}
	var faster []string
	for _, f := range found.finalists {
		if f.measured.Faster {
			faster = append(faster, f.candidate.ID)
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
	found, err := jd.confirmed(ctx, f)
	if err != nil {
		return false, err
	}
	list := found.finalists
	i := slices.IndexFunc(list, func(f measuredFinalist) bool { return f.candidate.ID == candidate })
	if i < 0 {
		return false, fmt.Errorf("candidate %s is not a finalist of run %s", candidate, jd.works.run)
	}
	v, _, err := jd.verifier.proven(ctx, list[i].candidate)
	return err == nil && v.OK() && list[i].measured.Faster, err
}

// A measuredFinalist is a finalist with its full measurement.
type measuredFinalist struct {
	candidate beagle.Candidate
	measured  *beagle.Measurement
}

// A confirmation holds the measured finalists of a field.
type confirmation struct {
	finalists []measuredFinalist // the preferred one first
	made      []beagle.Attempt   // see [Conclusion.Made]
	from      *beagle.Origin     // the earlier run that measured them; nil for this one
}

// confirmed measures the finalists of a field.
func (jd *judge) confirmed(ctx context.Context, f Field) (*confirmation, error) {
	// Choose the finalists.
	chosen, err := jd.sifted(ctx, f)
	if err != nil {
		return nil, err
	}
	field, err := jd.works.finalists(chosen.Finalists)
	if err != nil || len(field) == 0 {
		return &confirmation{}, err
	}
	// Measure them in full, on the common classes of inputs too.
	in, err := jd.meter.measuring(ctx, "confirmed", field, f.Tried)
	if err != nil {
		return nil, err
	}
	ms, from, err := traced(jd.works, "confirmed", jd.works.root.ID, in, func() ([]beagle.Measurement, error) {
		jd.watch.Stage("measure",
			fmt.Sprintf("%s over 10 to 30 link layouts, at most %v beside the links",
				tail.Plural(len(field), "finalist"), jd.spec.Measure))
		ms, err := jd.meter.confirm(ctx, field, f.Tried, jd.spec.Measure)
		if err == nil {
			err = jd.meter.byClass(ctx, field, ms)
		}
		return ms, err
	})
	if err != nil {
		return nil, err
	}
	// Put the preferred one first.
	out := &confirmation{made: chosen.Made, from: from}
	for i, c := range field {
		out.finalists = append(out.finalists, measuredFinalist{c, &ms[i]})
	}
	orderFinalists(out.finalists, jd.spec.Fastest)
	return out, nil
}

// decide tries the confirmed finalists in the order of preference until one passes the full
// verification.
func (jd *judge) decide(ctx context.Context, f Field) (*Conclusion, error) {
	found, err := jd.confirmed(ctx, f)
	if err != nil {
		return nil, err
	}
	if len(found.finalists) == 0 {
		return jd.measureOriginal(ctx, f)
	}
	jd.tellReused("measure", found.from)
	best := found.finalists[0].measured
	j := &Conclusion{
		Winner: jd.works.root, Measured: found.from, Measurement: best, Made: found.made,
		Why: "The best version was not confirmed to be faster: " + best.Why + ".",
	}
	for i, f := range found.finalists {
		if !f.measured.Faster {
			continue
		}
		r, err := jd.tryWinner(ctx, f)
		if err != nil {
			return nil, err
		}
		j.Why, j.NearMiss, j.Rejected = r.why, cmp.Or(j.NearMiss, r.near), append(j.Rejected, r.rejected...)
		j.Made = append(j.Made, r.made...)
		if i == 0 || r.won() { // the second measurement may have refuted the best
			j.Measurement = r.measured
		}
		if r.won() {
			j.Winner, j.Verdict, j.Verified, j.Lineage, j.Again = r.candidate, r.verdict, r.verified, r.lineage,
				r.beside
			break
		}
	}
	return j, nil
}

// A ruling says whether a finalist that is faster wins.
type ruling struct {
	measuredFinalist // with the measurement as the second one leaves it, or the guarded form that won

	why      string
	rejected []string         // what fell, with the reason: the finalist, and its guarded form
	near     *beagle.NearMiss // of a finalist that fell
	made     []beagle.Attempt // its guarded form, for the log

	// of a winner: see Conclusion
	verdict  *beagle.Verdict
	verified *beagle.Origin
	lineage  []beagle.LineageStep
	beside   beagle.Ratio
}

func (r *ruling) won() bool { return r.verdict != nil }

// tryWinner gives a finalist that is faster the full verification.
func (jd *judge) tryWinner(ctx context.Context, f measuredFinalist) (*ruling, error) {
	// Verify in full. A version that falls may win in its guarded form.
	c := f.candidate
	v, from, err := jd.verifier.proven(ctx, c)
	if err != nil {
		return nil, err
	}
	jd.tellReused("verify", from)
	if !v.OK() {
		why := fmt.Sprintf("%s (%s): %s by %s: %s", c.ID[:8], steps(c), v.Status, v.Stage, v.Reason)
		return jd.tryGuarded(ctx, f, v, why)
	}
	// Time the winner again, beside its steps. The second measurement may refute it.
	lineage, again, err := jd.pedigree.lineage(ctx, c)
	if err != nil {
		return nil, err
	}
	if why := refuted(f.measured.Worth(), again); why != "" {
		m := *f.measured
		m.Faster, m.Why = false, why
		return &ruling{
			measuredFinalist: measuredFinalist{c, &m},
			why:              "The best version was not confirmed to be faster: " + why + ".",
			rejected:         []string{fmt.Sprintf("%s (%s): %s", c.ID[:8], steps(c), why)},
		}, nil
	}
	v.Status, v.Stage, v.Final = beagle.Accepted, "measure", f.measured
	return &ruling{
		measuredFinalist: f, verdict: v, verified: from, lineage: lineage, beside: again,
		why: fmt.Sprintf("%s, and no difference in %d comparisons.", jd.spec.gains(f.measured), cases(v)),
	}, nil
}

// measureOriginal measures the original against itself. So even a run without a finalist reports
// what the function costs and how exactly the machine measures.
func (jd *judge) measureOriginal(ctx context.Context, f Field) (*Conclusion, error) {
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
	return &Conclusion{Winner: jd.works.root, Measurement: &ms[0], Why: why}, nil
}

// stored returns a judgement from the store. Its time is that of this run alone.
func (jd *judge) stored(k keptResult[Conclusion], start time.Time) *Conclusion {
	j, from := &k.Value, jd.works.otherRun(k.Origin)
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

// orderFinalists orders finalists by their least gain. The one that is easiest to read comes first
// among those about as fast as the best. All were timed in the same layouts, which tells more about
// two finalists than their intervals do.
func orderFinalists(list []measuredFinalist, fastest bool) {
	inorder.By(list, func(a, b measuredFinalist) int {
		return cmp.Compare(b.measured.Worth().Low, a.measured.Worth().Low)
	})
	best := list[0].measured
	least := evolve.AsGoodAs(best.Worth().Low, fastest)
	for i, f := range list {
		simpler := cmp.Or(cmp.Compare(readingEffort(f.candidate.Source), readingEffort(list[0].candidate.Source)),
			cmp.Compare(len(f.candidate.Steps), len(list[0].candidate.Steps))) < 0
		asGood := f.measured.Worth().Low >= least || !fastest && asGoodAs(f.measured, best)
		if f.measured.Faster && simpler && asGood { // move it to the front
			copy(list[1:i+1], list[:i])
			list[0] = f
		}
	}
}

// asGoodAs reports whether a finalist gives up no more than [evolve.AsGoodAs] allows, in the
// layouts that both were timed in.
func asGoodAs(simpler, best *beagle.Measurement) bool {
	over, point := bench.PairedRatio(simpler, best), best.Corrected.Point
	return best.Score == nil && over.Low > 0 && point > 0 && over.Point >= evolve.AsGoodAs(point, false)/point
}

// tryGuarded tries one more finalist in place of one that fell with verdict v: its guarded form, if
// it is a near miss. The ruling says why the first one fell, too.
func (jd *judge) tryGuarded(ctx context.Context, f measuredFinalist, v *beagle.Verdict, fell string) (*ruling, error) {
	r := &ruling{measuredFinalist: f, why: "What was faster is not equivalent: " + v.Reason, rejected: []string{fell}}
	// Look for the contract, once for this candidate.
	c, tried := f.candidate, f.measured.Tried
	near, err := keepStage(jd.works, "near", c.ID, fmt.Sprint(jd.spec.Fuzz, jd.spec.Strict, tried, jd.spec.Measure),
		func() (*beagle.NearMiss, error) { return jd.mender.find(ctx, c, v, tried) })
	if err != nil || near == nil {
		return r, jd.mender.forgive(ctx, v, err)
	}
	r.near = near
	r.rejected[0] += fmt.Sprintf("; it would be right under %s", near.Flag)
	g := near.Guarded
	if g == nil {
		return r, nil
	}
	// The guarded form is a candidate with one more step. The log has it, whether it wins or not.
	steps := append(slices.Clone(c.Steps),
		beagle.Step{Mutator: guardStep, Site: "unless " + near.Contract.Requires, Class: beagle.E3})
	guarded := beagle.NewCandidate(g.Source, []string{c.ID}, steps)
	logged := func(out *ruling) *ruling {
		out.made = append(out.made, beagle.Attempt{Candidate: guarded.ID, Parents: guarded.Parents, Steps: steps,
			Status: g.Status, Stage: guardStep, Reason: g.Reason})
		return out
	}
	if g.Status != beagle.Accepted {
		return logged(r), nil
	}
	if err := jd.works.putCandidates(guarded); err != nil {
		return nil, err
	}
	second, err := jd.tryWinner(ctx, measuredFinalist{guarded, g.Measure})
	if err != nil {
		return nil, err
	}
	// Join the rulings. A guarded form that fell leaves the finalist's measurement.
	second.near, second.rejected = near, append(r.rejected, second.rejected...)
	if second.won() {
		return logged(second), nil
	}
	if m := second.measured; !m.Faster {
		g.Measure, g.Status, g.Reason = m, beagle.Equal, "not confirmed to be faster: "+m.Why
	}
	second.measuredFinalist = f
	return logged(second), nil
}
