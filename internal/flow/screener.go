package flow

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/parallel"
	"github.com/beagle-go/beagle/internal/verify"
)

// A screener takes batches of candidates through the cheap end of the ladder.
type screener struct {
	setting
	inputs   *inputs
	rewriter *rewriter
	verifier *verifier
	preview  preview
}

// evaluate takes the candidates mine of a batch up the ladder: see [Activities.EvaluateShare].
func (s *screener) evaluate(ctx context.Context, batch, mine []string, foresee Foresee) (*EvaluatedBatch, error) {
	switch out, err := s.takePreview(batch, mine); {
	case err != nil:
		return nil, err
	case out != nil:
		return out, s.rewriter.keepLaterFaults()
	}
	b := s.begin(batch, len(mine))
	b.foresee = foresee
	if err := b.run(ctx, batch, mine); err != nil {
		return nil, err
	}
	if err := s.rewriter.keepLaterFaults(); err != nil {
		return nil, err
	}
	return &EvaluatedBatch{Candidates: b.out, Cost: b.cost}, b.keep()
}

// run evaluates the candidates mine of a batch.
func (b *batchState) run(ctx context.Context, batch, mine []string) error {
	b.glance(batch, mine)
	if err := b.admit(ctx, mine); err != nil {
		return err
	}
	return b.evaluate(ctx)
}

// begin starts the evaluation of n candidates of a batch.
func (s *screener) begin(batch []string, n int) *batchState {
	return &batchState{screener: s, out: make([]Evaluation, n), place: places(batch), codes: map[string]string{}}
}

// A batchState is the state of an evaluation: of a batch of candidates, or of a share of one.
type batchState struct {
	*screener
	out     []Evaluation
	live    []entrant
	program candidateProgram
	place   map[string]int    // of each candidate in the whole batch
	codes   map[string]string // machine-code hash -> the first of the batch that is known to have it
	foresee Foresee           // nil if the next generation is unknown
	early   func([]entrant)   // receives those that have their verdicts early; nil if all have them at once
	cost    Split
}

// An entrant is a candidate that has passed all checks so far.
type entrant struct {
	out       int // index in batchState.out
	variant   int // index in the binary
	candidate beagle.Candidate
}

// admit looks up the candidates mine, and gives the unknown ones the static checks.
func (b *batchState) admit(ctx context.Context, mine []string) error {
	var fresh []entrant
	for i, id := range mine {
		c, err := b.works.candidate(id)
		if err != nil {
			return err
		}
		b.out[i] = Evaluation{Candidate: id, Parents: c.Parents, Steps: c.Steps}
		if !b.recall(i, c) {
			fresh = append(fresh, entrant{out: i, candidate: c})
		}
	}
	start := time.Now()
	defer func() { b.cost.Verify += time.Since(start) }()
	err := parallel.Do(len(fresh), func(k int) error {
		v, err := b.verifier.static(ctx, fresh[k].candidate)
		if err == nil {
			b.out[fresh[k].out].Verdict = *v
		}
		return err
	})
	b.cost.Candidates += len(fresh)
	b.live = append(b.live, fresh...)
	b.dropFallen()
	return err
}

// recall takes over a known verdict on a candidate; it returns false if there is none.
func (b *batchState) recall(i int, c beagle.Candidate) bool {
	known, ok := b.storedVerdict(c.ID)
	if !ok {
		return false
	}
	o := &b.out[i]
	o.StoredVerdict, o.Cached = known, true
	if b.rewriter.lacks(known.Without) {
		o.Moves, o.Without = b.rewriter.moves(c)
	}
	b.cost.Cached++
	return true
}

// evaluate builds the admitted candidates, and takes them through verification and screening.
func (b *batchState) evaluate(ctx context.Context) error {
	if len(b.live) == 0 {
		return nil
	}
	if err := b.build(ctx); err != nil {
		return err
	}
	defer b.program.Remove()
	if b.early == nil || len(b.live) < 2 {
		return b.compare(ctx)
	}
	// Have verdicts on some before the others are compared.
	all := slices.Clone(b.live)
	some := max(1, len(all)/earlyShare)
	b.live = slices.Clone(all[:some])
	if err := b.compare(ctx); err != nil {
		return err
	}
	b.early(all[:some])
	b.live = all[some:]
	return b.compare(ctx)
}

// earlyShare is the reciprocal of the share of a batch that has its verdicts early.
const earlyShare = 4

// compare takes the entrants of a program through verification and screening.
func (b *batchState) compare(ctx context.Context) error {
	if err := b.verify(ctx); err != nil {
		return err
	}
	if err := b.profile(ctx, byModel); err != nil { // their moves depend on it
		return err
	}
	// While one processor times, another looks for what can come next.
	next := b.look()
	defer next.end()
	if err := b.screen(ctx, next); err != nil {
		return err
	}
	return b.profile(ctx, b.fastest())
}

// byModel reports whether the last step of an entrant is a model's.
func byModel(e entrant) bool {
	n := len(e.candidate.Steps)
	return n > 0 && e.candidate.Steps[n-1].Mutator == evolve.ByAuthor
}

// fastest picks the entrant that was screened as the fastest: models may be asked to
// improve it.
func (b *batchState) fastest() func(entrant) bool {
	var best string
	low := 1.0
	for _, e := range b.live {
		if s := b.out[e.out].Verdict.Screen; s != nil && s.Low > low {
			best, low = e.candidate.ID, s.Low
		}
	}
	return func(e entrant) bool { return e.candidate.ID == best }
}

// profile finds out where the time of some entrants goes and what they cost, for
// models.
func (b *batchState) profile(ctx context.Context, which func(entrant) bool) error {
	if !b.spec.Models.On() {
		return nil
	}
	start := time.Now()
	defer func() { b.cost.Screen += time.Since(start) }()
	b.lab.timing.Lock()
	defer b.lab.timing.Unlock()
	for _, e := range b.live {
		o := &b.out[e.out]
		if !which(e) || o.Insight != nil {
			continue
		}
		in, err := b.program.look(ctx, e.variant)
		if err != nil {
			return err
		}
		if in != nil {
			in.Texts = byText(e.candidate.Source, in.Lines)
			b.works.memory.keepInsight(e.candidate.ID, in)
		}
		o.Insight = in
	}
	return nil
}

// build compiles all entrants into one program. It drops those that do not compile, that spoil the
// program's start, or whose machine code was judged before.
func (b *batchState) build(ctx context.Context) error {
	var candidates []beagle.Candidate
	for i := range b.live {
		b.live[i].variant = i + 1
		candidates = append(candidates, b.live[i].candidate)
	}
	start := time.Now()
	t, err := b.lab.evidence.assemble(ctx, candidates)
	b.cost.Build += time.Since(start)
	if err != nil {
		return err
	}
	b.program = t
	b.filter(func(e entrant, v *beagle.Verdict) {
		if r := t.refusal(e.variant); r != nil {
			v.Status, v.Stage, v.Reason = r.Status, r.Stage, r.Reason
			return
		}
		v.Static = t.static(e.variant)
		if first := b.ownerOf(v.Static.CodeHash, e.candidate.ID); first != e.candidate.ID {
			duplicate(v, first)
		}
	})
	return nil
}

// storedVerdict returns the store's verdict on a candidate. Whether the candidate is a duplicate
// depends on those that this run met before it, so another run's word on that does not count.
func (b *batchState) storedVerdict(id string) (StoredVerdict, bool) {
	o, ok := b.works.evaluation(id)
	if !ok {
		return o, false
	}
	if first := b.ownerOf(o.Verdict.Static.CodeHash, id); first != id {
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
func (b *batchState) filter(check func(entrant, *beagle.Verdict)) {
	b.live = slices.DeleteFunc(b.live, func(e entrant) bool {
		v := &b.out[e.out].Verdict
		check(e, v)
		return !v.OK()
	})
}

// dropFallen drops the entrants whose verdicts say that they fell.
func (b *batchState) dropFallen() { b.filter(func(entrant, *beagle.Verdict) {}) }

// verify compares each entrant with the original. Versions that only rules made share a process on
// each processor. Those that fail there, and all others, get a process of their own.
func (b *batchState) verify(ctx context.Context) error {
	start := time.Now()
	defer func() { b.cost.Verify += time.Since(start) }()
	// Divide the entrants.
	var alone []entrant
	shares := make([][]entrant, runtime.NumCPU())
	for i, e := range b.live {
		if e.candidate.ByRules() {
			shares[i%len(shares)] = append(shares[i%len(shares)], e)
		} else {
			alone = append(alone, e)
		}
	}
	// Compare those of the rules together.
	left := make([][]entrant, len(shares))
	err := parallel.Do(len(shares), func(i int) (err error) {
		left[i], err = b.verifyTogether(ctx, shares[i])
		return err
	})
	if err != nil {
		return errors.Join(err, ctx.Err())
	}
	// Compare all others alone, and those that the shared processes left open.
	alone = append(alone, slices.Concat(left...)...)
	err = parallel.Do(len(alone), func(i int) error {
		e := alone[i]
		v, err := b.verifier.quick(ctx, b.program, e.variant, e.candidate)
		if err == nil {
			merge(&b.out[e.out].Verdict, v)
		}
		return err
	})
	b.dropFallen()
	return errors.Join(err, ctx.Err())
}

// verifyTogether returns the entrants that need a process of their own.
func (b *batchState) verifyTogether(ctx context.Context, share []entrant) (alone []entrant, err error) {
	if len(share) < 2 {
		return share, nil
	}
	list := make([]verify.Entrant, len(share))
	for i, e := range share {
		list[i] = verify.Entrant{Version: e.variant, Candidate: e.candidate}
	}
	verdicts, err := b.program.compareTogether(ctx, list)
	if err != nil {
		return nil, err
	}
	for i, v := range verdicts {
		if v == nil {
			alone = append(alone, share[i])
			continue
		}
		merge(&b.out[share[i].out].Verdict, v)
	}
	return alone, nil
}

// merge adds the findings of a later stage to a verdict.
func merge(into *beagle.Verdict, v *beagle.Verdict) {
	into.Status, into.Stage, into.Reason, into.Counterexample = v.Status, v.Stage, v.Reason, v.Counterexample
	into.Checks = append(into.Checks, v.Checks...)
	into.Warnings = append(into.Warnings, v.Warnings...)
}

// screenTime bounds the quick measurement of one candidate.
const screenTime = 20 * time.Millisecond

// screen times the entrants beside the original, and then those that look faster on each common
// class. The outlook sees the verdicts between the two.
func (b *batchState) screen(ctx context.Context, next *outlook) error {
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
	// Nothing else may disturb the measurement.
	b.lab.timing.Lock()
	defer b.lab.timing.Unlock()
	ratios, err := b.program.screen(ctx, variants, budget)
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
	b.dropFallen()
	return b.screenClasses(ctx, next)
}

// screenClasses times the entrants that look faster on each common class. The
// caller holds the timing lock.
func (b *batchState) screenClasses(ctx context.Context, next *outlook) error {
	var faster []entrant
	var variants []int
	for _, e := range b.live {
		if b.out[e.out].Verdict.Screen.Low > 1 {
			faster, variants = append(faster, e), append(variants, e.variant)
		}
	}
	if len(faster) == 0 {
		return nil
	}
	b.showScreened(next)
	found, err := b.program.classes(ctx, variants, searchTime)
	if err != nil {
		return err
	}
	for i, e := range faster {
		v := &b.out[e.out].Verdict
		v.InputClasses = append(v.InputClasses, found[i]...)
	}
	return nil
}

// keep puts every new verdict into the store.
func (b *batchState) keep() error {
	for _, o := range b.out {
		if o.Cached {
			continue
		}
		if err := b.works.putVerdict(o); err != nil {
			return err
		}
	}
	return nil
}

// places numbers the candidates of a batch.
func places(batch []string) map[string]int {
	out := make(map[string]int, len(batch))
	for i, id := range batch {
		out[id] = i
	}
	return out
}

// glance looks up what others may have found about the rest of the batch: in a run whose verdicts
// are known, no duplicate is evaluated again.
func (b *batchState) glance(batch, mine []string) {
	for _, id := range batch {
		if slices.Contains(mine, id) {
			continue
		}
		if o, ok := b.works.evaluation(id); ok {
			b.ownerOf(o.Verdict.Static.CodeHash, id)
		}
	}
}

// ownerOf returns the candidate that stands for a machine code. That is the run's settled one, or
// else the first in the order of this batch that is known.
func (b *batchState) ownerOf(code, id string) string {
	if code == "" {
		return id
	}
	if first := b.works.codes().ownerOf(code); first != "" {
		return first
	}
	if other, ok := b.codes[code]; ok && b.place[other] < b.place[id] {
		return other
	}
	b.codes[code] = id
	return id
}
