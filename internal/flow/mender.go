package flow

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/verify"
)

// A mender looks for a contract under which a rejected version would be right.
type mender struct {
	setting
	inputs   *inputs
	verifier *verifier
	meter    *meter
	// looks for the contract: [verify.Nearest]
	nearest func(
		context.Context, *verify.Env, beagle.Candidate, *beagle.Corpus, *beagle.Verdict, verify.NearBudget,
	) (*verify.NearContract, error)
}

// nearTime bounds the quick measurement of a near miss.
const nearTime = 400 * time.Millisecond

// offer ends the rejection of a version with the contract under which it would be right, if there
// is a simple one. The version stays rejected.
func (m *mender) offer(ctx context.Context, c beagle.Candidate, v *beagle.Verdict, tried int) error {
	_, err := m.find(ctx, c, v, tried)
	return m.forgive(ctx, v, err)
}

// find does the work of offer, and returns an error where the machinery failed. Whether there is
// such a contract is then unknown, and nothing is kept.
func (m *mender) find(
	ctx context.Context, c beagle.Candidate, v *beagle.Verdict, tried int,
) (*beagle.NearMiss, error) {
	if m.spec.Strict || m.lab.inPlace { // in place no input can be tried on a contract
		return nil, nil
	}
	err := m.nearMiss(ctx, c, v, tried)
	return v.NearMiss, err
}

// forgive turns a failed search for a contract into a warning of the verdict, which stands without
// it. The end of the run stays an error.
func (m *mender) forgive(ctx context.Context, v *beagle.Verdict, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	v.Warnings = append(v.Warnings, fmt.Sprintf("no contract could be looked for: %v", err))
	return nil
}

// nearMiss looks for the widest contract under which a rejected version would be right, and judges
// the guarded form.
func (m *mender) nearMiss(ctx context.Context, c beagle.Candidate, v *beagle.Verdict, tried int) error {
	if v.Counterexample == nil {
		return nil
	}
	m.watch.Stage("near miss", "is there a contract under which it would be right?")
	b := verify.NearBudget{}
	if m.spec.Fuzz == 0 {
		b.Fuzz = -1
	}
	// Find the contract, measure its gain, and count the call sites that keep to it.
	near, err := m.nearest(ctx, m.lab.verify, c, m.inputs.corpus(), v, b)
	if near == nil || err != nil {
		return err
	}
	defer near.Bin.Remove()
	v.NearMiss = &near.NearMiss
	if !m.spec.NoMeasure {
		if err := m.nearGain(ctx, near); err != nil {
			return err
		}
	}
	if len(near.Conjuncts) > 0 {
		proved, all, err := m.unit.Callers.CallSites(ctx, near.Conjuncts)
		if err != nil {
			v.Warnings = append(v.Warnings, fmt.Sprintf("the module's call sites could not be looked at: %v", err))
		}
		v.NearMiss.Sites = [2]int{proved, all}
	}
	// Judge the guarded form like a version from outside.
	g, err := m.guarded(c, near)
	if g == nil || err != nil {
		return err
	}
	v.NearMiss.Guarded, err = m.judgeGuarded(ctx, *g, tried)
	return err
}

// guarded returns the version with the original as the way for all other inputs. It returns nil if
// the contract is no condition on the inputs alone, or cannot be written.
func (m *mender) guarded(c beagle.Candidate, near *verify.NearContract) (*beagle.Candidate, error) {
	own := m.unit.Target.Contract.Ignore
	if len(near.Conjuncts) == 0 || len(near.Contract.Ignore) > len(own) {
		return nil, nil
	}
	src, err := m.unit.Writer.Guarded(c.Source, near.Conjuncts)
	if err != nil {
		m.watch.Note("guarded", fmt.Sprintf("it has no guarded form: %v", err))
		return nil, nil
	}
	steps := c.Steps
	if len(steps) > 0 { // a hand-written version has no steps; the checks recognise it by that
		steps = append(slices.Clone(steps),
			beagle.Step{Mutator: guardStep, Site: "unless " + near.Contract.Requires, Class: beagle.E3})
	}
	g := beagle.NewCandidate(src, []string{c.ID}, steps)
	g.Note = "the fast way where " + near.Contract.Requires + ", the original elsewhere"
	return &g, nil
}

// guardStep is the name of the step that makes a guarded form.
const guardStep = "guard"

// judgeGuarded gives a guarded form the full verdict, as for a hand-in.
func (m *mender) judgeGuarded(ctx context.Context, c beagle.Candidate, tried int) (*beagle.Guarded, error) {
	m.watch.Stage("guarded", "its fast way behind a guard, and the original for the rest: judged without the contract")
	out := &beagle.Guarded{Source: c.Source}
	v, _, err := m.verifier.proven(ctx, c)
	if err != nil {
		return nil, err
	}
	out.Status, out.Reason = v.Status, v.Reason
	if !v.OK() || m.spec.NoMeasure {
		return out, nil
	}
	ms, err := m.meter.confirm(ctx, []beagle.Candidate{c}, tried, m.spec.Measure)
	if err != nil {
		return nil, err
	}
	out.Measure, out.Status = &ms[0], beagle.Equal
	if ms[0].Faster {
		out.Status = beagle.Accepted
	} else {
		out.Reason = "not confirmed to be faster: " + ms[0].Why
	}
	return out, nil
}

// nearGain measures a near miss, quickly, on the recorded inputs that keep to
// its contract.
func (m *mender) nearGain(ctx context.Context, near *verify.NearContract) error {
	within := *m.inputs.corpus()
	var err error
	if within.Train, err = corpus.FilterByContract(ctx, near.Bin, m.lab.box, m.inputs.corpus().Train); err != nil ||
		len(within.Train) == 0 {
		return err
	}
	m.lab.timing.Lock()
	defer m.lab.timing.Unlock()
	ratios, err := bench.Screen(ctx, m.lab.bench, near.Bin, []int{1}, &within, nearTime)
	if err == nil && ratios[0] != (beagle.Ratio{}) {
		near.NearMiss.Gain = &ratios[0]
	}
	return err
}
