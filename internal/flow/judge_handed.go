package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/tail"
)

// A HandVersion is a version of a run's target that the search did not make.
type HandVersion struct {
	Name   string `json:"name"`
	Source string `json:"source"` // a candidate file
}

// A Compared is the verdict on an entry.
type Compared struct {
	Name    string          `json:"name"`
	Verdict *beagle.Verdict `json:"verdict"`
	Advice  []beagle.Advice `json:"advice,omitempty"` // changes that a person could still make
}

// Compare gives several versions the verdict that a search would give its winner. It measures all
// that behave as the original in the same programs, so their ratios can be set side by side.
func (a *Activities) Compare(ctx context.Context, run string, entries []HandVersion) ([]Compared, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	return x.judge.compare(ctx, entries)
}

// compare judges entries: see [Activities.Compare].
func (jd *judge) compare(ctx context.Context, entries []HandVersion) ([]Compared, error) {
	out := make([]Compared, len(entries))
	var field []beagle.Candidate
	verdicts := map[string][]*beagle.Verdict{} // on the entries of the field, by candidate
	// Judge the behaviour of each entry, and collect those that pass in one field.
	for i, e := range entries {
		out[i].Name = e.Name
		c, err := jd.enter(ctx, e, &out[i])
		if err != nil {
			return nil, err
		}
		v := out[i].Verdict
		if !v.OK() || c.ID == jd.works.root.ID {
			continue
		}
		if verdicts[c.ID] == nil {
			field = append(field, c)
		}
		verdicts[c.ID] = append(verdicts[c.ID], v)
	}
	if len(field) == 0 {
		return out, nil
	}
	// Measure the field, so that its ratios can be compared.
	budget := jd.spec.Measure * time.Duration(len(field)+1) / 2
	jd.watch.Stage("measure",
		fmt.Sprintf("%s over 10 to 30 link layouts, at most %v beside the links", tail.Plural(len(field), "version"),
			budget))
	ms, err := jd.meter.confirm(ctx, field, 1, budget)
	if err != nil {
		return nil, err
	}
	for i, c := range field {
		for _, v := range verdicts[c.ID] {
			completeVerdict(v, &ms[i])
		}
	}
	return out, nil
}

// enter admits an entry, lists advice for it, and runs all checks but the measurement.
func (jd *judge) enter(ctx context.Context, e HandVersion, out *Compared) (c beagle.Candidate, err error) {
	out.Verdict, err = jd.verifier.survive(e.Source, func() (*beagle.Verdict, error) {
		arrived := jd.door.admit(e.Source, partial)
		c = arrived.Candidate
		c.Note = e.Name
		if v := jd.door.oversized(arrived); v != nil {
			return v, nil
		}
		out.Advice = jd.rewriter.advice(c)
		return jd.verifyFull(ctx, c)
	})
	return c, err
}

// verifyFull runs all checks but the measurement on a version.
func (jd *judge) verifyFull(ctx context.Context, c beagle.Candidate) (*beagle.Verdict, error) {
	if c.ID == jd.works.root.ID {
		return &beagle.Verdict{Candidate: c.ID, Status: beagle.Equal, Stage: "parse", Reason: "it is the original"}, nil
	}
	jd.watch.Stage("verify", c.Note+": "+jd.verifier.lab.evidence.work())
	return keepStage(jd.works, "full", c.ID, fmt.Sprint(jd.spec.Fuzz), func() (*beagle.Verdict, error) {
		return jd.verifier.full(ctx, c)
	})
}

// judgeSource judges a text from outside: see [Activities.JudgeSource].
func (jd *judge) judgeSource(ctx context.Context, text, name string) (*beagle.Verdict, error) {
	// Refuse what cannot be read, then judge the behaviour.
	arrived := jd.door.admit(text, partial)
	if v := jd.door.oversized(arrived); v != nil {
		return v, nil
	}
	c := arrived.Candidate
	c.Note = name
	jd.watch.Stage("verify", name+": "+jd.verifier.lab.evidence.work())
	v, err := jd.verifier.full(ctx, c)
	if err != nil {
		return nil, err
	}
	if !v.OK() {
		if err := jd.mender.offer(ctx, c, v, 1); err != nil {
			return nil, err
		}
		return arrived.mapLines(v, name), nil
	}
	if c.ID == jd.works.root.ID {
		v.Status, v.Reason = beagle.Equal, "it is the original"
		return v, nil
	}
	if jd.spec.NoMeasure {
		return v, nil
	}
	// Measure the version.
	jd.watch.Stage("measure", fmt.Sprintf("10 to 30 link layouts, at most %v beside the links", jd.spec.Measure))
	ms, err := jd.meter.confirm(ctx, []beagle.Candidate{c}, 1, jd.spec.Measure)
	if err != nil {
		return nil, err
	}
	completeVerdict(v, &ms[0])
	return v, nil
}

// completeVerdict completes the verdict on a version that behaves as the original.
func completeVerdict(v *beagle.Verdict, m *beagle.Measurement) {
	v.Final, v.Stage, v.Status = m, "measure", beagle.Equal
	if m.Faster {
		v.Status, v.Reason = beagle.Accepted, ""
	} else {
		v.Reason = "not confirmed to be faster: " + m.Why
	}
}
