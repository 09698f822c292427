package flow

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate/llm"
)

// A briefer gathers what a prompt says of the target and of the versions that a proposal names.
type briefer struct {
	setting
	inputs   *inputs
	rewriter *rewriter

	lessons []llm.Lesson
	called  []llm.Callee                      // functions that the target calls
	listing atomic.Pointer[[]llm.Instruction] // of the original, once it is known
}

// readParts reads the parts that every prompt has.
func (b *briefer) readParts() (err error) {
	if b.lessons, err = llm.LoadLessons(b.spec.Models.Lessons...); err == nil {
		b.called = b.callees()
	}
	return err
}

// describe gathers what is known of the target.
func (b *briefer) describe(ctx context.Context) (*Described, error) {
	parent, err := b.version(ctx, b.works.root.ID)
	if err != nil {
		return nil, err
	}
	d := &Described{Findings: b.ready.Findings, InPlace: b.ready.InPlace, Briefing: &llm.Briefing{
		Kind: llm.Improve, Target: &b.unit.Target, Facets: b.inputs.facets(), Callees: b.callees(), Parent: *parent,
	}}
	for _, m := range b.ready.Moves {
		d.Rewrites = append(d.Rewrites, m.Mutator)
	}
	inorder.Sort(d.Rewrites)
	d.Rewrites = slices.Compact(d.Rewrites)
	return d, nil
}

// brief gathers the facts for a proposal's prompt. It comes from the proposal and the store
// alone, so asking again gives the same.
func (b *briefer) brief(ctx context.Context, p evolve.Proposal) (*llm.Briefing, error) {
	e := &llm.Briefing{
		Kind: llm.Improve, Redact: b.spec.Redacted(), Target: &b.unit.Target, Facets: b.inputs.facets(),
		Callees: b.called, Lessons: b.lessons,
	}
	e.Calls = b.ready.Calls
	parent, err := b.version(ctx, p.Parent)
	if err != nil {
		return nil, err
	}
	e.Parent = *parent
	if p.Mate != "" {
		if e.Mate, err = b.version(ctx, p.Mate); err != nil {
			return nil, err
		}
		e.Kind = llm.Crossover
	}
	for _, id := range p.Examples {
		v, err := b.version(ctx, id)
		if err != nil {
			return nil, err
		}
		e.Good = append(e.Good, *v)
	}
	return e, b.ledger(e, p)
}

// ledger gathers the attempts so far.
func (b *briefer) ledger(e *llm.Briefing, p evolve.Proposal) error {
	for _, list := range []struct {
		ids []string
		to  *[]llm.Attempt
	}{{p.Tried, &e.Tried}, {p.Ideas, &e.Ideas}} {
		for _, id := range list.ids {
			if list.to == &e.Tried && slices.Contains(p.Ideas, id) {
				continue // it has its line among the ideas
			}
			t, err := b.attempt(id)
			if err != nil {
				return err
			}
			*list.to = append(*list.to, *t)
		}
	}
	for _, r := range p.Rules {
		e.Rules = append(e.Rules, llm.Rule(r))
	}
	return nil
}

// goesOn turns the evidence into that of the next turn of a conversation, whose last reply made a
// candidate.
func (b *briefer) goesOn(e *llm.Briefing, p evolve.Proposal) error {
	id := p.Parent
	if p.Fell != "" {
		id = p.Fell
	}
	last, err := b.attempt(id)
	if err != nil {
		return err
	}
	e.Kind, e.Continues, e.Last = llm.Follow, true, last
	return nil
}

// version returns a candidate in the form that prompts show.
func (b *briefer) version(ctx context.Context, id string) (*llm.Version, error) {
	c, err := b.works.candidate(id)
	if err != nil {
		return nil, err
	}
	v := &llm.Version{ID: id, Source: c.Source, Steps: c.Steps, Static: b.ready.Root.Static}
	if id == b.works.root.ID {
		v.Profile, v.Cost = b.ready.Profile, b.ready.Cost
		v.Assembly, err = b.assembly(ctx, c)
		return v, err
	}
	if o, ok := b.works.verdict(id); ok {
		v.Static, v.Ratio = o.Static, o.Screen
		v.Classes = inputClasses(o.InputClasses)
	}
	if in := b.works.insight(id); in != nil {
		if v.Cost = &in.Cost; in.Samples >= bench.EnoughSamples/4 { // else the shares say little
			v.Profile = in.Lines
		}
		v.Assembly, err = b.assembly(ctx, c)
	}
	return v, err
}

// attempt describes the fate of a candidate for a prompt. It describes the last step only if the
// search knew the step's parent. The store may learn of a version in the middle of a stack at any
// time, and then the same prompt could not be made again.
func (b *briefer) attempt(id string) (*llm.Attempt, error) {
	c, err := b.works.candidate(id)
	if err != nil {
		return nil, err
	}
	v, _ := b.works.verdict(id)
	t := &llm.Attempt{
		Note: c.Note, Status: v.Status, Stage: v.Stage, Reason: v.Reason,
		Ratio: v.Screen, Counterexample: v.Counterexample,
	}
	if ce := v.Counterexample; ce != nil && ce.Difference() != "" {
		t.Reason = ce.Difference() // the values are in the counterexample
	}
	t.Steps = slices.Clone(c.Steps)
	for i := range t.Steps {
		if t.Steps[i].Mutator == evolve.ByAuthor {
			t.Steps[i].Param = "" // an ID, which says nothing to a model
		}
	}
	if n := len(c.Steps); n > 0 {
		t.By = label(c.Steps[n-1])
	}
	for _, k := range v.InputClasses {
		if evolve.Pays(k) {
			t.Slower = append(t.Slower, inputClasses([]beagle.InputClassRatio{k})...)
		}
	}
	n := len(c.Steps)
	if v.Screen == nil || len(c.Parents) == 0 || n == 0 || c.Steps[n-1].Mutator != evolve.ByAuthor {
		return t, nil
	}
	if c.Parents[0] == b.works.root.ID {
		t.Gain = v.Screen
	} else if before, ok := b.works.verdict(c.Parents[0]); ok && before.Screen != nil {
		gain := v.Screen.Over(*before.Screen)
		t.Gain = &gain
	}
	return t, nil
}

func inputClasses(list []beagle.InputClassRatio) []llm.InputClass {
	var out []llm.InputClass
	for _, k := range list {
		out = append(out, llm.InputClass{Name: k.Name, Share: k.Share, Ratio: &k.Ratio})
	}
	return out
}

// label names the author of a step: a rewrite or a model.
func label(s beagle.Step) string {
	if s.Site == siteHandedIn {
		return siteHandedIn
	}
	if s.Mutator == evolve.ByAuthor {
		return "model " + s.Site
	}
	return s.Mutator
}

// assembly returns the compiler's assembly of a version. A run makes it once, and never while
// something is being timed.
func (b *briefer) assembly(ctx context.Context, c beagle.Candidate) ([]llm.Instruction, error) {
	original := c.ID == b.works.root.ID
	if known := b.listing.Load(); original && known != nil {
		return *known, nil
	}
	is, err := keepStage(b.works, "assembly", c.ID, "", func() ([]harness.Instruction, error) {
		return b.lab.assembly(ctx, c)
	})
	out := make([]llm.Instruction, len(is))
	for i, in := range is {
		out[i] = llm.Instruction(in)
	}
	if err == nil && original {
		b.listing.Store(&out)
	}
	return out, err
}
