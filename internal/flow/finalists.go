package flow

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/verify"
)

const (
	finalists   = 3
	worthATry   = 1.01                  // screened ratio below which nothing is confirmed: the accept rule asks for more
	asGoodAs    = 0.97                  // share of a version's speed that a simpler one must reach to be preferred
	compareTime = 80 * time.Millisecond // of timing for each version that is compared with its neighbours
)

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
		v, err := x.survive(c.Source, func() (*beagle.Verdict, error) { return verify.Quick(ctx, x.verify, bin, i+1, c, x.corpus) })
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
