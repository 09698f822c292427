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
	"github.com/beagle-go/beagle/internal/verify"
)

// A Proposed is what became of a proposal: a candidate's ID, or why there is
// none.
type Proposed struct {
	Proposal  int           `json:"proposal"`
	Candidate string        `json:"candidate,omitempty"`
	Steps     []beagle.Step `json:"steps,omitempty"`
	Refused   string        `json:"refused,omitempty"`
	Private   bool          `json:"private,omitempty"` // its source holds captured values that models may not see
	Shape     string        `json:"shape,omitempty"`   // of what a model wrote: the same for texts that differ in comments and local names alone
}

// Propose makes the candidates of proposals. The versions between a parent and
// the end of a stack are kept too, since the report shows every step.
func (a *Activities) Propose(ctx context.Context, run string, proposals []evolve.Proposal) ([]Proposed, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	first, last := span(proposals)
	if err := x.readFaults(last); err != nil {
		return nil, err
	}
	for {
		out, chains, err := x.proposeAll(proposals)
		if err != nil {
			return nil, err
		}
		// When a rule fails, none of these proposals has it: which of them were
		// made before it failed depends on which processor was faster.
		again, err := x.keepFaults(first)
		if err != nil {
			return nil, err
		}
		if !again {
			return out, x.putChains(out, chains)
		}
	}
}

// span returns the first and the last ID of proposals.
func span(proposals []evolve.Proposal) (first, last int) {
	for i, p := range proposals {
		if last = max(last, p.ID); i == 0 || p.ID < first {
			first = p.ID
		}
	}
	return first, last
}

// proposeAll makes what proposals ask for, with the versions on the way.
func (x *session) proposeAll(proposals []evolve.Proposal) ([]Proposed, [][]beagle.Candidate, error) {
	out := make([]Proposed, len(proposals))
	chains := make([][]beagle.Candidate, len(proposals))
	err := parallel(len(proposals), func(i int) error {
		out[i] = Proposed{Proposal: proposals[i].ID}
		chain, err := x.propose(proposals[i])
		if r := refused(err); r != "" {
			out[i].Refused, err = r, nil
		}
		chains[i] = chain
		return err
	})
	return out, chains, err
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
		out[i].Candidate, out[i].Steps, out[i].Private = c.ID, c.Steps, x.private(c)
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
		if x.off(p.Move.Mutator, p.ID) {
			return nil, refusal("the rule " + p.Move.Mutator + " is off in this run")
		}
		if c, err = x.work.apply(c, *p.Move); err != nil {
			return nil, err
		}
		chain = append(chain, c)
	}
	rng := rand.New(rand.NewPCG(p.Seed, 1))
	for _, wish := range p.Then {
		if x.off(wish.Mutator, p.ID) {
			continue
		}
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

// evaluated is what the store keeps of an evaluation.
type evaluated struct {
	Verdict beagle.Verdict `json:"verdict"`
	Moves   []beagle.Move  `json:"moves,omitempty"`
	Without []string       `json:"without,omitempty"` // rules that failed, of which Moves has none
}

// An Evaluated is the verdict on one candidate.
type Evaluated struct {
	Candidate string         `json:"candidate"`
	Parents   []string       `json:"parents,omitempty"`
	Steps     []beagle.Step  `json:"steps,omitempty"`
	Verdict   beagle.Verdict `json:"verdict"`
	Moves     []beagle.Move  `json:"moves,omitempty"`
	Without   []string       `json:"without,omitempty"` // rules that failed, of which Moves has none
	Cached    bool           `json:"cached"`
}

// An Assessed is a batch, or a worker's share of one, after its evaluation.
type Assessed struct {
	Candidates []Evaluated `json:"candidates"`
	Cost       Split       `json:"cost"`
}

// Evaluate takes a whole batch of candidates through the cheap end of the
// ladder, and settles it.
func (a *Activities) Evaluate(ctx context.Context, run string, ids []string) (*Assessed, error) {
	out, err := a.Assess(ctx, run, ids, ids)
	if err != nil {
		return nil, err
	}
	return out, Settle(a.Store, run, out.Candidates)
}

// Assess takes candidates through the cheap end of the ladder: policy, one
// build for all, quick verification of each in a process of its own, and one
// screening measurement for those that are left. Verdicts that the store has
// are not made again.
//
// batch is the whole batch in its order, mine the part of it to assess, in the
// same order. Several workers may assess parts of one batch at once: nothing
// that they find counts for the run before Settle.
func (a *Activities) Assess(ctx context.Context, run string, batch, mine []string) (*Assessed, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(x.refresh(), x.readFaults(0)); err != nil {
		return nil, err
	}
	b := &group{x: x, out: make([]Evaluated, len(mine)), place: places(batch), codes: map[string]string{}}
	b.glance(batch, mine)
	for i, id := range mine {
		if err := b.admit(ctx, i, id); err != nil {
			return nil, err
		}
	}
	if err := b.judge(ctx); err != nil {
		return nil, err
	}
	if err := x.keepLaterFaults(); err != nil {
		return nil, err
	}
	return &Assessed{Candidates: b.out, Cost: b.cost}, b.keep()
}

// A group is a batch of candidates under evaluation, or a share of one.
type group struct {
	x     *session
	out   []Evaluated
	live  []entrant
	bin   *harness.Binary
	place map[string]int    // of each candidate in the whole batch
	codes map[string]string // machine-code hash -> the first of the batch that is known to have it
	cost  Split
}

// An entrant is a candidate that nothing speaks against so far.
type entrant struct {
	out       int // index in group.out
	variant   int // index in the binary
	candidate beagle.Candidate
}

// admit looks a candidate up, and gives it to the static checks if it is new.
func (b *group) admit(ctx context.Context, i int, id string) error {
	x := b.x
	c, err := x.candidate(id)
	if err != nil {
		return err
	}
	b.out[i] = Evaluated{Candidate: id, Parents: c.Parents, Steps: c.Steps}
	if known, ok := b.known(id); ok {
		b.out[i].Verdict, b.out[i].Moves, b.out[i].Without, b.out[i].Cached = known.Verdict, known.Moves, known.Without, true
		if x.lacks(known.Without) {
			b.out[i].Moves, b.out[i].Without = x.moves(c.Source)
		}
		b.cost.Cached++
		return nil
	}
	start := time.Now()
	v, err := x.survive(c.Source, func() (*beagle.Verdict, error) { return verify.Static(ctx, x.verify, c, x.corpus) })
	b.cost.Verify += time.Since(start)
	if err != nil {
		return err
	}
	b.out[i].Verdict = *v
	b.cost.Candidates++
	if v.OK() {
		b.live = append(b.live, entrant{out: i, candidate: c})
	}
	return nil
}

func (b *group) judge(ctx context.Context) error {
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
func (b *group) look() (wait func()) {
	live := slices.Clone(b.live)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, e := range live {
			o := &b.out[e.out]
			o.Moves, o.Without = b.x.moves(e.candidate.Source)
		}
	}()
	return func() { <-done }
}

// build compiles all in one program, and leaves out what does not compile, what
// spoils the program's start, and what compiles to machine code that was judged
// before.
func (b *group) build(ctx context.Context) error {
	var candidates []beagle.Candidate
	for i := range b.live {
		b.live[i].variant = i + 1
		candidates = append(candidates, b.live[i].candidate)
	}
	start := time.Now()
	bin, spoilt, err := verify.Build(ctx, b.x.verify, candidates, harness.Link{FuncAlign: 64})
	b.cost.Build += time.Since(start)
	if err != nil {
		return err
	}
	b.bin = bin
	b.filter(func(e entrant, v *beagle.Verdict) {
		if why, failed := bin.Failed[e.variant]; failed {
			v.Status, v.Stage, v.Reason = beagle.Invalid, "compile", why
			return
		}
		if f := spoilt[e.variant-1]; f != nil {
			v.Status, v.Stage, v.Reason = f.Status, f.Stage, f.Reason
			return
		}
		v.Static = bin.Static[e.variant]
		if first := b.first(v.Static.CodeHash, e.candidate.ID); first != e.candidate.ID {
			duplicate(v, first)
		}
	})
	return nil
}

// known is the verdict that the store has on a candidate. Whether the candidate
// is a duplicate depends on those that this run met before it, so that word of
// another run does not count.
func (b *group) known(id string) (evaluated, bool) {
	var o evaluated
	if !b.x.store.Shelved(b.x.key("evaluated", id, ""), &o) {
		return o, false
	}
	if first := b.first(o.Verdict.Static.CodeHash, id); first != id {
		duplicate(&o.Verdict, first)
		return o, true
	}
	return o, o.Verdict.Status != beagle.Duplicate
}

func duplicate(v *beagle.Verdict, first string) {
	v.Status, v.Stage, v.Reason = beagle.Duplicate, "compile", "the same machine code as "+first
	v.Twin = first
}

// filter lets check change verdicts and drops the entrants that fell.
func (b *group) filter(check func(entrant, *beagle.Verdict)) {
	b.live = slices.DeleteFunc(b.live, func(e entrant) bool {
		v := &b.out[e.out].Verdict
		check(e, v)
		return !v.OK()
	})
}

// verify compares each with the original, in processes of their own.
func (b *group) verify(ctx context.Context) error {
	start := time.Now()
	defer func() { b.cost.Verify += time.Since(start) }()
	err := parallel(len(b.live), func(i int) error {
		e := b.live[i]
		v, err := b.x.survive(e.candidate.Source, func() (*beagle.Verdict, error) {
			return verify.Quick(ctx, b.x.verify, b.bin, e.variant, e.candidate, b.x.corpus)
		})
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

func (b *group) screen(ctx context.Context) error {
	if len(b.live) == 0 {
		return nil
	}
	start := time.Now()
	defer func() { b.cost.Screen += time.Since(start) }()
	variants := make([]int, len(b.live))
	for i, e := range b.live {
		variants[i] = e.variant
	}
	budget := screenTime * time.Duration(len(variants)+1)
	b.x.timing.Lock()
	defer b.x.timing.Unlock()
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
	return b.screenClasses(ctx)
}

// keep puts every new verdict into the store.
func (b *group) keep() error {
	for _, o := range b.out {
		if o.Cached {
			continue
		}
		if err := b.x.putVerdict(o); err != nil {
			return err
		}
	}
	return nil
}
