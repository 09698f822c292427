package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/beagle-go/beagle"
)

// An Entry is a version of a run's target that was found or written elsewhere.
type Entry struct {
	Name   string `json:"name"`
	Source string `json:"source"` // a candidate file
}

// A Compared is the verdict on an entry.
type Compared struct {
	Name    string          `json:"name"`
	Verdict *beagle.Verdict `json:"verdict"`
	Advice  []beagle.Advice `json:"advice,omitempty"` // what a person could still change in it
}

// Compare gives several versions the verdict that a search would give its
// winner, and measures all that behave as the original against it in the same
// programs: their ratios can be set side by side.
func (a *Activities) Compare(ctx context.Context, run string, entries []Entry) ([]Compared, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	out := make([]Compared, len(entries))
	var field []beagle.Candidate
	at := map[string]int{} // candidate -> its place in the field
	ids := make([]string, len(entries))
	for i, e := range entries {
		c := x.written(e)
		out[i], ids[i] = Compared{Name: e.Name, Advice: x.rewriter.advice(c.Source)}, c.ID
		if out[i].Verdict, err = x.assess(ctx, c); err != nil {
			return nil, err
		}
		if _, known := at[c.ID]; out[i].Verdict.OK() && c.ID != x.works.root.ID && !known {
			at[c.ID], field = len(field), append(field, c)
		}
	}
	if len(field) == 0 {
		return out, nil
	}
	budget := x.spec.Measure * time.Duration(len(field)+1) / 2
	x.watch.Stage("measure", fmt.Sprintf("%d versions over 10 to 30 link layouts, at most %v", len(field), budget))
	ms, err := x.confirm(ctx, field, 1, budget)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		if place, ok := at[id]; ok {
			measured(out[i].Verdict, &ms[place])
		}
	}
	return out, nil
}

// written makes a candidate of an entry.
func (x *session) written(e Entry) beagle.Candidate {
	text := e.Source
	if formatted, err := x.unit.Normalize(text); err == nil {
		text = formatted // otherwise the parse check says what is wrong
	}
	c := beagle.NewCandidate(text, []string{x.works.root.ID}, nil)
	c.Note = e.Name
	return c
}

// assess gives a version the whole ladder but for the measurement.
func (x *session) assess(ctx context.Context, c beagle.Candidate) (*beagle.Verdict, error) {
	if c.ID == x.works.root.ID {
		return &beagle.Verdict{Candidate: c.ID, Status: beagle.Equal, Stage: "parse", Reason: "it is the original"}, nil
	}
	x.watch.Stage("verify", fmt.Sprintf("%s: all inputs, exhaustion, %v of fuzzing", c.Note, x.spec.Fuzz))
	return once(x.works, "full", c.ID, fmt.Sprint(x.spec.Fuzz), func() (*beagle.Verdict, error) { return x.verifier.full(ctx, c) })
}

// measured completes the verdict on a version that behaves as the original.
func measured(v *beagle.Verdict, m *beagle.Measurement) {
	v.Final, v.Stage, v.Status = m, "measure", beagle.Equal
	if m.Faster {
		v.Status, v.Reason = beagle.Accepted, ""
	} else {
		v.Reason = "not confirmed to be faster: " + m.Why
	}
}
