package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
)

// A near miss is found by a search guided by counterexamples. Each round tries the widest contract
// of the grammar that excludes all counterexamples so far and keeps every recorded call. A
// difference under it joins the counterexamples. The ladder's own checks try the contract, so they
// would accept the proposed one.

// NearBudget bounds the search for a contract. A field of zero means the default.
type NearBudget struct {
	Rounds  int           // contracts to try; 6
	Exhaust time.Duration // of the last look at each contract; 1 s of processor time
	Fuzz    time.Duration // of the last look, too; 2 s, negative leaves it out
}

const (
	maxConjuncts = 3
	nearLook     = 250 * time.Millisecond // of the first, short exhaustion
	lossSamples  = 1024                   // generated inputs that weigh the conditions
	ignoreLoss   = 0.02                   // the price of ignoring a difference, as a share of the inputs excluded
	atomLoss     = 0.1                    // the price of one more conjunct
)

// NearContract is a contract under which a rejected candidate would pass.
type NearContract struct {
	beagle.NearMiss
	Conjuncts []*source.Predicate // the conditions beyond the target's own contract

	Bin *harness.Binary // original and candidate; the caller removes it
}

// Nearest looks for the widest simple contract under which a candidate that v rejects would have
// passed. It returns nil if there is none, or none in time.
func Nearest(
	ctx context.Context, e *Env, c beagle.Candidate, corpus *beagle.Corpus, v *beagle.Verdict, b NearBudget,
) (*NearContract, error) {
	if !mayBeNear(v) {
		return nil, nil
	}
	b.Rounds, b.Exhaust, b.Fuzz = cmp.Or(b.Rounds, 6), cmp.Or(b.Exhaust, time.Second), cmp.Or(b.Fuzz, 2*time.Second)
	s := &nearMissSearch{e: e, c: c, corpus: corpus, budget: b}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	near, err := s.search(ctx, v.Counterexample.Args)
	if near == nil {
		s.bin.Remove()
	}
	return near, err
}

// mayBeNear reports whether a contract could excuse a verdict. State, races and goroutines do not
// depend on the input.
func mayBeNear(v *beagle.Verdict) bool {
	x := v.Counterexample
	if x == nil || len(x.Args) == 0 {
		return false
	}
	switch v.Status {
	case beagle.Wrong, beagle.Hung, beagle.Crashed:
		return slices.Contains([]string{"result", "panic", "argument", "alias", "hang", "crash"}, x.Kind)
	}
	return false
}

// An atom is one part of a contract: a condition, or a difference to ignore.
type atom struct {
	more   int    // its position among the conditions; -1 for a difference
	ignore string // the difference
	loss   float64
	hits   []bool // the counterexamples that it excludes or ignores
}

type nearMissSearch struct {
	e      *Env
	c      beagle.Candidate
	corpus *beagle.Corpus
	budget NearBudget
	preds  []*source.Predicate
	bin    *harness.Binary
	atoms  []*atom
	found  []beagle.Record // counterexamples
}

// begin builds a program that knows the grammar's conditions, and drops the conditions that a
// recorded call violates. It leaves no program behind if it fails.
func (s *nearMissSearch) begin(ctx context.Context) (err error) {
	defer func() {
		if err != nil && s.bin != nil {
			s.bin.Remove()
		}
	}()
	// Build both versions together with all conditions of the grammar.
	recorded := s.recorded()
	s.preds = s.e.Unit.Conditions.Grammar(longest(recorded))
	vs := harness.Versions(&s.e.Unit.Target, s.c)
	if s.bin, err = s.e.Builder.BuildWith(ctx, vs, s.preds, harness.Link{FuncAlign: 64}); err != nil {
		return err
	}
	// Test which conditions hold for all recorded calls, and how many generated inputs each
	// excludes.
	kept, err := s.bin.Sift(ctx, s.e.Box, recorded)
	if err != nil {
		return err
	}
	sample := beagle.Spread(s.corpus.Generated, lossSamples)
	weighed, err := s.bin.Sift(ctx, s.e.Box, sample)
	if err != nil {
		return err
	}
	own := s.e.Builder.OwnPredicates()
	for i := range s.preds {
		if excluded(kept, own+i, len(recorded)) == 0 {
			loss := float64(excluded(weighed, own+i, len(sample))) / float64(max(len(sample), 1))
			s.atoms = append(s.atoms, &atom{more: i, loss: loss})
		}
	}
	// A difference that the contract may ignore is an atom too.
	for _, kind := range beagle.Ignorable {
		if kind != beagle.IgnoreIO && !slices.Contains(s.e.Unit.Target.Contract.Ignore, kind) {
			s.atoms = append(s.atoms, &atom{more: -1, ignore: kind, loss: ignoreLoss})
		}
	}
	return nil
}

// recorded returns the calls that a real caller made. It returns none if Beagle made up all inputs.
func (s *nearMissSearch) recorded() []beagle.Record {
	if s.corpus.GeneratedOnly {
		return nil
	}
	return slices.Concat(s.corpus.Train, s.corpus.Holdout)
}

// excluded counts the records that violate a condition.
func excluded(s *rt.Sifted, pred, n int) int {
	out := 0
	for i := range n {
		if pred >= len(s.Each) || !rt.Has(s.Each[pred], i) {
			out++
		}
	}
	return out
}

// longest returns the greatest length of each parameter among records.
func longest(records []beagle.Record) func(param int) int {
	most := map[int]int{}
	for _, r := range records {
		v, err := rt.ParseValue(r.Args)
		if err != nil {
			continue
		}
		for i := range v.Elems {
			most[i] = max(most[i], len(v.Elems[i].Str), len(v.Elems[i].Elems))
		}
	}
	return func(i int) int { return most[i] }
}

// search narrows a contract until no input of the checks differs under it; nil if it finds none.
func (s *nearMissSearch) search(ctx context.Context, args []byte) (*NearContract, error) {
	for range s.budget.Rounds {
		if known := slices.ContainsFunc(s.found, func(r beagle.Record) bool {
			return string(r.Args) == string(args)
		}); known {
			return nil, nil // the contract should exclude this input, and does not
		}
		if err := s.learn(ctx, args); err != nil {
			return nil, err
		}
		set := s.cheapest()
		if set == nil {
			return nil, nil
		}
		found, err := s.try(ctx, set)
		if err != nil {
			return nil, err
		}
		if found == nil {
			return s.nearContract(ctx, set)
		}
		if found.Diff == nil || len(found.Diff.Args) == 0 ||
			found.Diff.Check != "" && found.Diff.Check != rt.CheckRoom {
			return nil, nil // no condition on the inputs excuses this difference
		}
		args = found.Diff.Args
	}
	return nil, nil
}

// learn adds a counterexample and tests which atoms excuse it.
func (s *nearMissSearch) learn(ctx context.Context, args []byte) error {
	record := beagle.Record{Args: args, Weight: 1}
	s.found = append(s.found, record)
	sifted, err := s.bin.Sift(ctx, s.e.Box, []beagle.Record{record})
	if err != nil {
		return err
	}
	for _, a := range s.atoms {
		hit := false
		if a.more >= 0 {
			hit = excluded(sifted, s.e.Builder.OwnPredicates()+a.more, 1) == 1
		} else if hit, err = s.agree(ctx, args, s.terms([]*atom{a})); err != nil {
			return err
		}
		a.hits = append(a.hits, hit)
	}
	return nil
}

// agree reports whether both versions do the same on one input under terms.
func (s *nearMissSearch) agree(ctx context.Context, args []byte, terms *rt.Terms) (bool, error) {
	j := s.job(terms)
	path, remove, err := j.writeRecord(args)
	if err != nil {
		return false, err
	}
	defer remove()
	var reply rt.ReplayReply
	exit, err := j.bin.Run(ctx, s.e.Box, &rt.Request{
		Replay: &rt.Replay{Variant: 1, Records: []string{"one"}, Panics: j.panics()},
	}, &reply,
		harness.RunOptions{CPU: -1, Files: map[string]string{"one": path}})
	return err == nil && exit == nil && reply.Diff == nil, err
}

// terms returns the target's own contract with some atoms added.
func (s *nearMissSearch) terms(set []*atom) *rt.Terms {
	t := &rt.Terms{Ignore: slices.Clone(s.e.Unit.Target.Contract.Ignore)}
	for i := range s.e.Builder.OwnPredicates() {
		t.Requires = append(t.Requires, i)
	}
	for _, a := range set {
		if a.more >= 0 {
			t.Requires = append(t.Requires, s.e.Builder.OwnPredicates()+a.more)
		} else {
			t.Ignore = append(t.Ignore, a.ignore)
		}
	}
	return t
}

func (s *nearMissSearch) job(terms *rt.Terms) *Job {
	return &Job{Env: s.e, Candidate: s.c, Corpus: s.corpus, bin: s.bin.WithTerms(terms), idx: 1, terms: terms,
		termConditions: s.preds,
		Budget:         s.e.budget(Budget{Exhaust: nearLook, Fuzz: s.budget.Fuzz, Race: -1})}
}

// cheapest returns the set of atoms that excuses all counterexamples and excludes least, or nil if
// three atoms are not enough.
func (s *nearMissSearch) cheapest() []*atom {
	var best []*atom
	least := 1e9
	var walk func(set []*atom, cost float64)
	walk = func(set []*atom, cost float64) {
		if cost >= least {
			return
		}
		open := s.firstUnexcused(set)
		if open < 0 {
			best, least = slices.Clone(set), cost
			return
		}
		if len(set) == maxConjuncts {
			return
		}
		for _, a := range s.atoms {
			if a.hits[open] {
				walk(append(set[:len(set):len(set)], a), cost+a.loss+atomLoss)
			}
		}
	}
	walk(nil, 0)
	return best
}

// firstUnexcused returns the first counterexample that no atom of a set excuses, or -1.
func (s *nearMissSearch) firstUnexcused(set []*atom) int {
	for i := range s.found {
		if !slices.ContainsFunc(set, func(a *atom) bool { return a.hits[i] }) {
			return i
		}
	}
	return -1
}

// try runs the ladder's checks on inputs under a contract. Checks that find most differences come
// first, and the long ones run only if the short ones found nothing.
func (s *nearMissSearch) try(ctx context.Context, set []*atom) (*Rejection, error) {
	j := s.job(s.terms(set))
	j.verdict = &beagle.Verdict{}
	if err := j.prepare(); err != nil {
		return nil, err
	}
	full := func(ctx context.Context, j *Job) (*Rejection, error) {
		j.Budget.Exhaust = s.budget.Exhaust
		return exhaust(ctx, j)
	}
	steps := []func(context.Context, *Job) (*Rejection, error){
		replayTrain, replayHoldout, replayGenerated, exhaust, full,
	}
	if s.budget.Fuzz > 0 {
		steps = append(steps, fuzz)
	}
	for _, step := range steps {
		j.result = beagle.CheckResult{}
		if found, err := step(ctx, j); found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}

// nearContract returns the contract and its support among the recorded calls.
func (s *nearMissSearch) nearContract(ctx context.Context, set []*atom) (*NearContract, error) {
	out := &NearContract{Bin: s.bin.WithTerms(s.terms(set))}
	// Join the target's own contract with the atoms.
	was := s.e.Unit.Target.Contract
	exprs, ignore := []string{was.Requires}, slices.Clone(was.Ignore)
	var flags, own []string
	for _, a := range set {
		if a.more >= 0 {
			p := s.preds[a.more]
			exprs, own, out.Conjuncts = append(exprs, p.Text), append(own, p.Text), append(out.Conjuncts, p)
		} else {
			ignore = append(ignore, a.ignore)
		}
	}
	var err error
	if ignore, err = source.Ignores(ignore); err != nil {
		return nil, err
	}
	// Write the flags that state the added contract.
	if len(own) > 0 {
		flags = append(flags, "--requires "+quoted(source.And(own...)))
	}
	if len(ignore) > 0 {
		flags = append(flags, "--ignore "+strings.Join(ignore, ","))
	}
	out.Contract = beagle.Contract{Requires: source.And(exprs...), Ignore: ignore}
	out.Flag = strings.Join(flags, " ")
	// Count the recorded calls that the contract keeps.
	recorded := s.recorded()
	sifted, err := out.Bin.Sift(ctx, s.e.Box, recorded)
	if err != nil {
		return nil, err
	}
	for i := range recorded {
		if rt.Has(sifted.Kept, i) {
			out.Records[0]++
		}
	}
	out.Records[1] = len(recorded)
	return out, nil
}

// quoted makes one shell word of a text.
func quoted(s string) string { return fmt.Sprintf("'%s'", strings.ReplaceAll(s, "'", `'\''`)) }
