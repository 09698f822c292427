package flow

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/verify"
)

// A Proposed is what became of a proposal: a candidate's ID, or why there is
// none.
type Proposed struct {
	Proposal  int           `json:"proposal"`
	Candidate string        `json:"candidate,omitempty"`
	Steps     []beagle.Step `json:"steps,omitempty"`
	Refused   string        `json:"refused,omitempty"`
}

// Propose makes the candidates of proposals. The versions between a parent and
// the end of a stack are kept too, since the report shows every step.
func (a *Activities) Propose(ctx context.Context, run string, proposals []evolve.Proposal) ([]Proposed, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	out := make([]Proposed, len(proposals))
	chains := make([][]beagle.Candidate, len(proposals))
	err = parallel(len(proposals), func(i int) error {
		out[i] = Proposed{Proposal: proposals[i].ID}
		chain, err := x.propose(proposals[i])
		if r := refused(err); r != "" {
			out[i].Refused, err = r, nil
		}
		chains[i] = chain
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, x.putChains(out, chains)
}

// putChains keeps what proposals made, in their order: which way to a text is
// the first must not depend on which processor was faster.
func (x *session) putChains(out []Proposed, chains [][]beagle.Candidate) error {
	for i, chain := range chains {
		for _, c := range chain {
			if err := x.putCandidate(c); err != nil {
				return err
			}
		}
		if out[i].Refused != "" {
			continue
		}
		c, err := x.candidate(chain[len(chain)-1].ID)
		if err != nil {
			return err
		}
		out[i].Candidate, out[i].Steps = c.ID, c.Steps
	}
	return nil
}

// parallel does n independent things, as many at once as there are processors.
func parallel(n int, do func(i int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, n)
	slots := make(chan struct{}, runtime.NumCPU())
	for i := range n {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = do(i)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// propose takes the proposal's move and then its wishes, and returns the version
// after each. A wish that fits nowhere is left out.
func (x *session) propose(p evolve.Proposal) (chain []beagle.Candidate, err error) {
	c, err := x.candidate(p.Parent)
	if err != nil {
		return nil, err
	}
	if p.Move != nil {
		if c, err = x.work.apply(c, x.notes(c.ID), *p.Move); err != nil {
			return nil, err
		}
		chain = append(chain, c)
	}
	rng := rand.New(rand.NewPCG(p.Seed, 1))
	for _, wish := range p.Then {
		next, err := x.work.wish(c, wish, rng)
		if refused(err) != "" {
			continue
		}
		if err != nil {
			return nil, err
		}
		c, chain = next, append(chain, next)
	}
	if len(chain) == 0 {
		return nil, refusal("none of the wished steps fits")
	}
	return chain, nil
}

// notes are the compiler's account of a candidate that was built before.
func (x *session) notes(id string) []beagle.Note {
	if id == x.root.ID {
		return x.ready.Root.Static.Notes
	}
	var o evaluated
	if x.store.Cached(x.key("evaluated", id, ""), &o) {
		return o.Verdict.Static.Notes
	}
	return nil
}

// evaluated is what the store keeps of an evaluation.
type evaluated struct {
	Verdict beagle.Verdict `json:"verdict"`
	Moves   []beagle.Move  `json:"moves,omitempty"`
}

// An Evaluated is the verdict on one candidate.
type Evaluated struct {
	Candidate string         `json:"candidate"`
	Parents   []string       `json:"parents,omitempty"`
	Steps     []beagle.Step  `json:"steps,omitempty"`
	Verdict   beagle.Verdict `json:"verdict"`
	Moves     []beagle.Move  `json:"moves,omitempty"`
	Cached    bool           `json:"cached"`
}

// Evaluate takes candidates through the cheap end of the ladder: policy, one
// build for all, quick verification of each in a process of its own, and one
// screening measurement for those that are left. Verdicts that the store has
// are not made again.
func (a *Activities) Evaluate(ctx context.Context, run string, ids []string) ([]Evaluated, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	x.remember(x.ready.Root.Static.CodeHash, x.root.ID)
	b := &batch{x: x, out: make([]Evaluated, len(ids))}
	for i, id := range ids {
		if err := b.admit(ctx, i, id); err != nil {
			return nil, err
		}
	}
	if err := b.judge(ctx); err != nil {
		return nil, err
	}
	if err := b.keep(); err != nil {
		return nil, err
	}
	return b.out, x.learn(b.out)
}

// A batch is a group of candidates under evaluation.
type batch struct {
	x    *session
	out  []Evaluated
	live []entrant
	bin  *harness.Binary
}

// An entrant is a candidate that nothing speaks against so far.
type entrant struct {
	out       int // index in batch.out
	variant   int // index in the binary
	candidate beagle.Candidate
}

// admit looks a candidate up, and gives it to the static checks if it is new.
func (b *batch) admit(ctx context.Context, i int, id string) error {
	x := b.x
	c, err := x.candidate(id)
	if err != nil {
		return err
	}
	b.out[i] = Evaluated{Candidate: id, Parents: c.Parents, Steps: c.Steps}
	if known, ok := x.known(id); ok {
		b.out[i].Verdict, b.out[i].Moves, b.out[i].Cached = known.Verdict, known.Moves, true
		x.cost.Cached++
		return nil
	}
	start := time.Now()
	v, err := verify.Static(ctx, x.verify, c, x.corpus)
	x.cost.Verify += time.Since(start)
	if err != nil {
		return err
	}
	b.out[i].Verdict = *v
	x.cost.Candidates++
	if v.OK() {
		b.live = append(b.live, entrant{out: i, candidate: c})
	}
	return nil
}

func (b *batch) judge(ctx context.Context) error {
	if len(b.live) == 0 {
		return nil
	}
	if err := b.build(ctx); err != nil {
		return err
	}
	defer b.bin.Remove()
	if err := b.verify(ctx); err != nil {
		return err
	}
	// While one processor times, another looks for what can come next.
	wait := b.look()
	defer wait()
	return b.screen(ctx)
}

// look finds the next moves of the entrants in the background, one after the
// other, so that it keeps to one processor. The returned function waits for it.
func (b *batch) look() (wait func()) {
	live := slices.Clone(b.live)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, e := range live {
			o := &b.out[e.out]
			o.Moves = b.x.work.moves(e.candidate.Source, o.Verdict.Static.Notes)
		}
	}()
	return func() { <-done }
}

// build compiles all in one program, and leaves out what does not compile and
// what compiles to machine code that was judged before.
func (b *batch) build(ctx context.Context) error {
	variants := []harness.Variant{{ID: b.x.root.ID, Source: b.x.root.Source}}
	for i := range b.live {
		b.live[i].variant = i + 1
		variants = append(variants, harness.Variant{ID: b.live[i].candidate.ID, Source: b.live[i].candidate.Source})
	}
	start := time.Now()
	bin, err := b.x.builder.Build(ctx, variants, harness.Link{FuncAlign: 64})
	b.x.cost.Build += time.Since(start)
	if err != nil {
		return err
	}
	b.bin = bin
	b.filter(func(e entrant, v *beagle.Verdict) {
		if why, failed := bin.Failed[e.variant]; failed {
			v.Status, v.Stage, v.Reason = beagle.Invalid, "compile", why
			return
		}
		v.Static = bin.Static[e.variant]
		if first := b.x.remember(v.Static.CodeHash, e.candidate.ID); first != e.candidate.ID {
			duplicate(v, first)
		}
	})
	return nil
}

// known is the verdict that the store has on a candidate. Whether the candidate
// is a duplicate depends on those that this run met before it, so that word of
// another run does not count.
func (x *session) known(id string) (evaluated, bool) {
	var o evaluated
	if !x.store.Cached(x.key("evaluated", id, ""), &o) {
		return o, false
	}
	if first := x.remember(o.Verdict.Static.CodeHash, id); first != id {
		duplicate(&o.Verdict, first)
		return o, true
	}
	return o, o.Verdict.Status != beagle.Duplicate
}

func duplicate(v *beagle.Verdict, first string) {
	v.Status, v.Stage, v.Reason = beagle.Duplicate, "compile", "the same machine code as "+first
}

// remember returns the first candidate of the run with this machine code. It is
// kept in the store, since the run may go on in another process.
func (x *session) remember(code, id string) string {
	if code == "" {
		return id
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if first, ok := x.codes[code]; ok {
		return first
	}
	key := store.Key{Kind: "code", Candidate: code, Extra: x.run}
	first := id
	if !x.store.Cached(key, &first) {
		// One that is not kept costs an evaluation, no more.
		_ = x.store.Cache(key, id)
	}
	x.codes[code] = first
	return first
}

// filter lets check change verdicts and drops the entrants that fell.
func (b *batch) filter(check func(entrant, *beagle.Verdict)) {
	b.live = slices.DeleteFunc(b.live, func(e entrant) bool {
		v := &b.out[e.out].Verdict
		check(e, v)
		return !v.OK()
	})
}

// verify compares each with the original, in processes of their own.
func (b *batch) verify(ctx context.Context) error {
	start := time.Now()
	defer func() { b.x.cost.Verify += time.Since(start) }()
	err := parallel(len(b.live), func(i int) error {
		e := b.live[i]
		v, err := verify.Quick(ctx, b.x.verify, b.bin, e.variant, e.candidate, b.x.corpus)
		if err == nil {
			merge(&b.out[e.out].Verdict, v)
		}
		return err
	})
	b.filter(func(entrant, *beagle.Verdict) {})
	return errors.Join(err, ctx.Err())
}

// merge adds what a later stage found to a verdict.
func merge(into *beagle.Verdict, v *beagle.Verdict) {
	into.Status, into.Stage, into.Reason, into.Counterexample = v.Status, v.Stage, v.Reason, v.Counterexample
	into.Checks = append(into.Checks, v.Checks...)
	into.Warnings = append(into.Warnings, v.Warnings...)
}

// screenTime is what one candidate's quick measurement may take.
const screenTime = 20 * time.Millisecond

func (b *batch) screen(ctx context.Context) error {
	if len(b.live) == 0 {
		return nil
	}
	start := time.Now()
	defer func() { b.x.cost.Screen += time.Since(start) }()
	variants := make([]int, len(b.live))
	for i, e := range b.live {
		variants[i] = e.variant
	}
	budget := screenTime * time.Duration(len(variants)+1)
	ratios, err := bench.Screen(ctx, b.x.bench, b.bin, variants, b.x.corpus, budget)
	if err != nil {
		return err
	}
	for i, e := range b.live {
		v := &b.out[e.out].Verdict
		v.Stage = "screen"
		if ratios[i] == (beagle.Ratio{}) {
			v.Status, v.Reason = beagle.Crashed, "it ended the process in which it was timed"
			continue
		}
		v.Screen = &ratios[i]
	}
	b.filter(func(entrant, *beagle.Verdict) {})
	return nil
}

// keep puts every new verdict into the store.
func (b *batch) keep() error {
	for _, o := range b.out {
		if o.Cached {
			continue
		}
		if err := b.x.store.Cache(b.x.key("evaluated", o.Candidate, ""), evaluated{o.Verdict, o.Moves}); err != nil {
			return err
		}
	}
	return nil
}

// learn takes the inputs on which candidates failed into the run's corpus, as
// inputs for verification only, so that later candidates are tried on them
// first.
func (x *session) learn(out []Evaluated) error {
	known := map[string]bool{}
	for _, r := range x.corpus.Generated {
		known[string(r.Args)] = true
	}
	before := len(x.corpus.Generated)
	for _, o := range out {
		if ce := o.Verdict.Counterexample; ce != nil && len(ce.Args) > 0 && !known[string(ce.Args)] {
			known[string(ce.Args)] = true
			x.corpus.Generated = append(x.corpus.Generated, beagle.Record{Args: ce.Args, Weight: 1, Source: counterexample})
		}
	}
	if len(x.corpus.Generated) == before {
		return nil
	}
	return x.store.Save(x.run, "counterexamples", fromRun(x.corpus))
}

// counterexample is the source of such records.
const counterexample = "counterexample"

// fromRun are the records that the run itself found.
func fromRun(c *beagle.Corpus) []beagle.Record {
	return slices.DeleteFunc(slices.Clone(c.Generated), func(r beagle.Record) bool { return r.Source != counterexample })
}
