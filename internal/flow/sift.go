package flow

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
)

// A choice holds the finalists of a field.
type choice struct {
	Finalists []evolve.Finalist `json:"finalists"`
	Made      []beagle.Attempt  `json:"made,omitempty"` // the judge's own versions, those that fell too
}

// sifted chooses the finalists of a field. The search screened them in one link layout; sifted
// compares them over several first. The layout's luck must neither choose who is measured in full,
// nor keep a step that buys nothing.
func (jd *judge) sifted(ctx context.Context, f Field) (choice, error) {
	if len(f.Leads) == 0 || len(f.Leads) == 1 && len(f.Leads[0].Compared()) == 0 {
		return choice{Finalists: f.Finalists}, nil
	}
	in, err := jd.meter.measuring(ctx, "sifted", f.Leads, jd.spec.Fastest)
	if err != nil {
		return choice{}, err
	}
	return keepStage(jd.works, "sifted", jd.works.root.ID, in, func() (choice, error) {
		order, err := jd.rank(ctx, f.Leads)
		if err != nil || len(order) == 0 {
			return choice{}, err
		}
		leads := make([]*evolve.Lead, len(order))
		for k, i := range order {
			leads[k] = &f.Leads[i]
		}
		out, err := jd.trimmed(ctx, leads)
		out.Finalists = jd.distinct(out.Finalists)
		return out, err
	})
}

// distinct keeps the first finalist of each machine code: among forms of one lead, the shortest.
// Only chance could choose between two with the same code, and each takes time from all others.
func (jd *judge) distinct(list []evolve.Finalist) (out []evolve.Finalist) {
	seen := map[string]bool{}
	for _, f := range list {
		code := f.ID
		if v, ok := jd.works.verdict(f.ID); ok && v.Static.CodeHash != "" {
			code = v.Static.CodeHash
		}
		if !seen[code] {
			seen[code] = true
			out = append(out, f)
		}
	}
	return out
}

// rank compares the leads over several layouts.
func (jd *judge) rank(ctx context.Context, leads []evolve.Lead) ([]int, error) {
	if len(leads) == 1 {
		return []int{0}, nil
	}
	ids := make([]string, len(leads))
	for i := range leads {
		ids[i] = leads[i].ID
	}
	jd.watch.Stage("sift", fmt.Sprintf("the best %d versions over %d link layouts", len(ids), bench.SiftLayouts))
	found, err := jd.sift(ctx, ids, nil)
	if err != nil {
		return nil, err
	}
	return evolve.Rank(leads, found.Ratios), nil
}

// maxCompared bounds the forms of a comparison that lack a step or a bundle. The best lead has all
// of its own.
const maxCompared = 16

// trimmed returns the forms of the leads to measure in full, the best lead first. The best lead has
// four forms: without the steps whose gain is not shown, without those that do not look as if they
// gained anything, as the search preferred it, and as it was found. The full measurement prefers
// the simplest that is about as fast as the others. The third form is there because two steps may
// each be needless while the other is there. Every other lead has the first form only.
func (jd *judge) trimmed(ctx context.Context, leads []*evolve.Lead) (out choice, err error) {
	spare, err := jd.spare(ctx, leads)
	if err != nil {
		return out, err
	}
	for i, l := range leads {
		// Leave out the steps that the lead may do without.
		cuts := slices.CompactFunc(spare[i], slices.Equal[[]int])
		if i > 0 {
			cuts = cuts[:min(len(cuts), 1)]
		}
		for _, cut := range cuts {
			f, made, err := jd.leadWithout(ctx, l, cut)
			if err != nil {
				return out, err
			}
			out.Made = append(out.Made, made...)
			if f != nil {
				out.Finalists = append(out.Finalists, *f)
			}
		}
		// Add the forms that the search knows.
		switch {
		case i == 0:
			out.Finalists = append(out.Finalists, l.Short, evolve.Finalist{ID: l.ID})
		case len(cuts) == 0:
			out.Finalists = append(out.Finalists, l.Short)
		case len(cuts[0]) == 0:
			out.Finalists = append(out.Finalists, evolve.Finalist{ID: l.ID})
		}
	}
	return out, nil
}

// spare returns the steps that leads may do without: those whose gain is not shown, and those that
// do not look as if they gained anything. A lead that was not compared without its steps has none.
func (jd *judge) spare(ctx context.Context, leads []*evolve.Lead) ([][][]int, error) {
	out := make([][][]int, len(leads))
	var ids []string
	var pairs [][2]int
	var wholes []int // of the leads, in ids
	// Pair each lead with its forms that lack a bundle or a step, as far as the layouts allow.
	for _, l := range leads {
		forms := l.Compared()
		if jd.spec.Fastest || len(forms) == 0 || len(pairs)+len(forms) > maxCompared && len(pairs) > 0 {
			break
		}
		whole := len(ids)
		wholes = append(wholes, whole)
		ids = append(ids, l.ID)
		for _, p := range forms {
			pairs = append(pairs, [2]int{len(ids), whole})
			ids = append(ids, p.ID)
		}
	}
	// Time the pairs.
	if len(pairs) == 0 {
		return out, nil
	}
	jd.watch.Stage("sift", fmt.Sprintf("the best versions without some of their steps, %d, over %d link layouts",
		len(pairs), bench.SiftLayouts))
	found, err := jd.sift(ctx, ids, pairs)
	if err != nil {
		return nil, err
	}
	// Hand each lead its own share of the gains, in the same order.
	gains := found.Over
	for i, at := range wholes {
		n := len(leads[i].Compared())
		unshown, useless := leads[i].Spare(gains[:n], found.Ratios[at])
		gains = gains[n:]
		out[i] = [][]int{unshown, useless}
		jd.tellSpare(leads[i], unshown)
	}
	return out, nil
}

// tellSpare names the steps of a lead whose gain is not shown.
func (jd *judge) tellSpare(l *evolve.Lead, steps []int) {
	names := make([]string, len(steps))
	for i, step := range steps {
		names[i] = label(l.Loosened(step))
	}
	if len(names) > 0 {
		jd.watch.Note("sift", "no gain is shown of "+strings.Join(names, ", "))
	}
}

// leadWithout returns a lead without some steps, or without as many of them as a behaving version
// is known for. It returns nil if there is nothing to leave out. made holds the version that it
// made for that.
func (jd *judge) leadWithout(
	ctx context.Context, l *evolve.Lead, cut []int,
) (f *evolve.Finalist, made []beagle.Attempt, err error) {
	near, exact := l.Nearest(cut)
	if !exact && len(cut) > 0 && len(cut) < len(l.Steps) {
		if f, made, err = jd.makeVersion(ctx, l.Less(cut)); f != nil || err != nil {
			return f, made, err
		}
	}
	if near == nil {
		return nil, made, nil
	}
	return &near.Finalist, made, nil
}

// sift compares versions over several layouts.
func (jd *judge) sift(ctx context.Context, ids []string, pairs [][2]int) (*bench.Sifting, error) {
	cs := make([]beagle.Candidate, len(ids))
	for i, id := range ids {
		var err error
		if cs[i], err = jd.works.candidate(id); err != nil {
			return nil, err
		}
	}
	const rounds = 2
	return jd.lab.evidence.sift(ctx, cs, pairs, rounds)
}

// makeVersion makes the version of these steps, which the search did not make. It evaluates and
// settles the version as the search would, and returns the log's entry. The finalist is nil if the
// steps make no version that behaves.
func (jd *judge) makeVersion(ctx context.Context, steps []beagle.Step) (*evolve.Finalist, []beagle.Attempt, error) {
	// Take the steps on the original.
	c := jd.works.root
	for i := range steps {
		var err error
		if c, err = jd.pedigree.retrace(c, steps[:i+1]); refusalReason(err) != "" {
			return nil, nil, nil // the step needs one that is left out
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if c.ID == jd.works.root.ID {
		return nil, nil, nil
	}
	// Evaluate and settle the version.
	if err := jd.works.putCandidates(c); err != nil {
		return nil, nil, err
	}
	ids := []string{c.ID}
	b, err := jd.screener.evaluate(ctx, ids, ids, nil)
	if err != nil {
		return nil, nil, err
	}
	if err := Settle(jd.works.store, jd.works.run, b.Candidates); err != nil {
		return nil, nil, err
	}
	// A version with the same machine code counts: this one has fewer steps to read.
	e := &b.Candidates[0]
	log := []beagle.Attempt{e.attempt(0)}
	if !e.Verdict.OK() && !jd.behaves(e.Verdict.Twin) {
		return nil, log, nil
	}
	return &evolve.Finalist{ID: c.ID, Steps: c.Steps}, log, nil
}

// behaves reports whether an evaluated version other than the original behaves.
func (jd *judge) behaves(id string) bool {
	v, ok := jd.works.verdict(id)
	return ok && v.OK() && id != jd.works.root.ID
}
