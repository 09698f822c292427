package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
)

// Options bound a full measurement. The zero value works.
type Options struct {
	// timing time without builds; 0 is 20 s. A slow function takes longer, since below the least
	// number of rounds there is no answer
	Budget  time.Duration
	MinGain float64 // gain below which nothing is called faster: 0.01 is 1 %
	// judge by the times alone, also when the machine code is the original's: for trials of the
	// judge itself
	Blind     bool
	Fresh     []beagle.Record // inputs drawn anew from the facets; none: not measured
	FreshGaps string          // what the fresh inputs lack, in words; "" for nothing
	Score     beagle.Score    // by which versions are judged; zero is their time
	PGO       string          // the module's profile, which production builds use; "" if it has none
	Seed      uint64          // of layouts, orders and sequences
	// for a sifting: at most this many rounds of layouts, while it is open which of a pair is
	// faster
	Rounds int
	// Brief leaves out the repetition with profile-guided optimisation, which links as many
	// programs as the first look, and all rounds of a sifting but the first: most tests have pairs
	// of versions that are equally fast, of which no round would tell the faster one. It is for
	// tests of whole searches.
	Brief bool
	Log   func(string) // progress, a line at a time; may be nil
}

const (
	defaultBudget = 20 * time.Second
	minHoldout    = 16 // records below which the holdout is reported but decides nothing
	// Shares of the budget. The layouts get most, since they decide; the rest
	// is spent only on a candidate that they find faster.
	layoutShare, apartShare, pgoShare = 0.7, 0.15, 0.15
	// Time that a candidate with large tables takes beyond the budget.
	coldShare = 0.15
	// Shares of a layout's time for inputs other than the training ones.
	holdoutPart, freshPart = 0.2, 0.15
)

func (o Options) defaults() Options {
	if o.Budget <= 0 {
		o.Budget = defaultBudget
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return o
}

// A rig builds binaries and times variants in them. The first variants are the
// original, the next as many the first candidate, and so on. Tests simulate it.
type rig interface {
	// build links everything in a first layout; failed names the candidates
	// that the compiler refused.
	build(ctx context.Context, pgo string, layout uint64) (im image, failed map[int]string, err error)
	// relink links the same code in other layouts.
	relink(ctx context.Context, im image, layouts []uint64) ([]image, error)
	// time runs the request in a fresh process. A failure says how the
	// process ended without a reply.
	time(ctx context.Context, im image, q *rt.Time) (*rt.TimeReply, string, error)
	// timeApart runs two requests in a fresh process each, at the same time.
	timeApart(ctx context.Context, im image, qs [2]*rt.Time) ([2]*rt.TimeReply, string, error)
	// profile makes the profile that a build with PGO takes from one of the
	// variants at work; the module's own profile, if there is one.
	profile(ctx context.Context, im image, q *rt.Time) (path string, err error)
	sameCode(candidate int) bool
	discard(im image) // it will not be timed again
}

// An image is one linked binary.
type image interface {
	align(variant int) int // entry address modulo 64; -1 when it is not known
	seed() uint64
}

// A finalist holds the results of one candidate so far.
type finalist struct {
	copies         []int  // its variants
	fail           string // why it could not be measured
	knowledge      knowledge
	settled        bool // nothing more is asked about the gain of one that was found
	train          []layoutResult
	holdout        []layoutResult
	fresh          []layoutResult
	pgo            []layoutResult
	cold           []layoutResult
	table          int64 // bytes of tables that it has and the original has not
	apartEstimates []Estimate
	missed         int     // layouts on which processes apart had nothing in common to compare
	halves         [2]bool // alignments that occur
	baseline       []beagle.Resources
	best           []beagle.Resources
}

// A confirmer measures the finalists together.
type confirmer struct {
	rig       rig
	options   Options
	rng       *rand.Rand
	copies    int // of each version in a binary
	sets      []set
	finalists []*finalist
	tried     int // candidates from which these were chosen
	subject
	course
}

// A subject is the function that a confirmer measures, with its inputs.
type subject struct {
	inPlace bool // the rig is a Place: nothing is repeated apart, cold or with a profile
	slow    bool // the function is: fewer copies are timed
	mutates bool
	panics  bool
	held    int             // records in the holdout set
	skipped int             // recorded calls on which the original panics
	untimed map[string]bool // sets on all of whose records it does
}

// A course is what a confirmer has spent and seen so far.
type course struct {
	timeBudget timeBudget
	schedule   schedule
	control    []layoutResult // of the original against itself
	accidents  int            // processes that died
	gcByte     float64
}

// schedule holds how the last joint process divided the time of the training inputs.
type schedule struct {
	calls   int // of a slice
	windows int
	visits  bool // each record has a window of its own
}

// A set is a group of inputs with its share of the budget and the place where
// its results belong.
type set struct {
	file  string
	share float64
	into  func(*finalist) *[]layoutResult
}

// copiesOf returns how many copies of each version a binary holds. Each copy draws another place,
// by which the layout decides; it costs a share of the slices, of which there are plenty.
func copiesOf(candidates int) int {
	if candidates == 1 {
		return 4
	}
	return 3
}

// originals returns the variants of the baseline.
func (m *confirmer) originals() []int { return numbersFrom(0, m.copies) }

func numbersFrom(first, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = first + i
	}
	return out
}

// run measures all finalists, in looks of a few layouts each, and sums them up. tried is how many
// candidates the search had, for the correction of the best.
func (m *confirmer) run(ctx context.Context, tried int) ([]beagle.Measurement, error) {
	m.tried = tried
	m.options.Log("linking layouts")
	images, err := m.images(ctx, m.options.PGO, knowledgeOpen, firstLook(len(m.finalists), m.tried))
	if err != nil {
		return nil, err
	}
	// Find out which alignments a candidate can have at all, before evidence on both is asked for.
	for _, t := range m.live() {
		t.halves = m.possibleHalves(images, t)
	}
	if len(images) > 0 {
		if err := m.measure(ctx, images); err != nil {
			return nil, err
		}
		if err := m.repeat(ctx, images); err != nil {
			return nil, err
		}
	}
	out := make([]beagle.Measurement, len(m.finalists))
	for i, t := range m.finalists {
		out[i] = m.measurement(t, i)
	}
	return out, nil
}

// live returns the finalists that can still be measured.
func (m *confirmer) live() []*finalist { return liveFinalists(m.finalists) }

// liveFinalists returns those of some finalists that can still be measured.
func liveFinalists(ts []*finalist) (out []*finalist) {
	for _, t := range ts {
		if t.fail == "" {
			out = append(out, t)
		}
	}
	return out
}

// layout measures one image: every candidate of which something is to be found out.
func (m *confirmer) layout(ctx context.Context, im image) error {
	ts := m.timed()
	// Time these candidates together with the original. Each layout starts with the
	// versions that it can compare.
	variants := m.cast(im, ts)
	if len(variants) == 0 {
		return nil
	}
	m.timeBudget.layouts++
	m.timeBudget.versions += len(ts) + 1
	m.options.Log(fmt.Sprintf("measuring layout %d", m.timeBudget.layouts))
	q := m.request(variants, m.sets, float64(planned)/m.timeBudget.pace())
	// The cost of a collected byte is measured once.
	q.GC = m.gcByte == 0
	reply, err := m.joint(ctx, im, q)
	if err != nil || reply == nil {
		return err
	}
	if q.GC {
		m.gcByte = reply.GCByte
	}
	// Enter the pairs of each set of inputs. A set whose inputs all panic is not timed again.
	ts = liveFinalists(ts) // without those that killed the process
	for i, s := range m.sets {
		if t := &reply.Sets[i]; len(t.Window) > 0 {
			m.collect(im, q, t, ts, s.into)
		} else if t.Skipped > 0 {
			m.untimed[s.file] = true
		}
	}
	// The training inputs also show how alike two copies of the original are, what a call
	// allocates, and how the time was divided.
	train := &reply.Sets[0]
	m.skipped = train.Skipped
	m.aa(im, q, train)
	m.resources(q, train, ts)
	m.schedule = schedule{train.Calls, train.Windows, len(train.Weights) > 0}
	m.slow = m.slow || len(train.Window) < enoughPairs // fewer copies, more rounds
	return nil
}

// request asks for variants over the sets, each with its share of the budget of one of several
// processes.
func (m *confirmer) request(variants []int, sets []set, processes float64) *rt.Time {
	q := &rt.Time{Variants: variants, Seed: m.rng.Uint64(), Mutates: m.mutates, SkipPanics: m.panics}
	for i, s := range sets { // recorded, held out, and drawn to be like the recorded ones
		q.Sets = append(q.Sets, rt.TimeSet{
			Records: s.file, Budget: m.nanos(s.share / processes), Alike: i > 0, Optional: i > 0,
		})
	}
	return q
}

func (m *confirmer) nanos(share float64) int64 { return int64(share * float64(m.options.Budget)) }

// forgiven reports whether a process that died may be tried again: it happens
// on a machine short of memory, but not often.
func (m *confirmer) forgiven() bool {
	m.accidents++
	return m.accidents <= 2
}

// time has the rig time a program, and adds up what that took.
func (m *confirmer) time(ctx context.Context, im image, q *rt.Time) (*rt.TimeReply, string, error) {
	reply, failure, err := m.rig.time(ctx, im, q)
	if err == nil && failure == "" {
		for i := range reply.Sets {
			m.timeBudget.spent += time.Duration(reply.Sets[i].Millis * float64(time.Millisecond))
		}
	}
	return reply, failure, err
}

// joint times all variants in one process. If the process dies, it tries each candidate alone with
// the original, and drops those that kill the process. The reply is nil if no candidate is left, or
// if they die only together.
func (m *confirmer) joint(ctx context.Context, im image, q *rt.Time) (*rt.TimeReply, error) {
	// Most processes live. A failure that the machine may have caused is tried once more.
	reply, failure, err := m.time(ctx, im, q)
	if err != nil || failure == "" {
		return reply, err
	}
	if m.forgiven() {
		return m.joint(ctx, im, q)
	}
	// Is the original the cause? Then leave out the inputs on which it panics.
	originals := intersect(q.Variants, m.originals())
	_, alone, err := m.time(ctx, im, forVariants(q, originals))
	if err == nil && alone != "" && !m.panics {
		m.panics, q.SkipPanics = true, true // an input that the corpus's facets say nothing of
		return m.joint(ctx, im, q)
	}
	if err != nil || alone != "" {
		return nil, orError(err, "the original cannot be timed: "+alone+"; if a call takes long, record smaller inputs")
	}
	// Otherwise try each candidate alone with the original. Those that die are out.
	guilty := false
	var left []int
	for _, t := range m.live() {
		copies := intersect(q.Variants, t.copies)
		if len(copies) == 0 {
			continue
		}
		_, f, err := m.time(ctx, im, forVariants(q, slices.Concat(originals, copies)))
		if err != nil {
			return nil, err
		}
		if len(originals)+len(copies) == len(q.Variants) && f == "" {
			f = failure // no other variant was there, again and again
		}
		if f != "" {
			t.fail, guilty = "it died while it was timed: "+f, true
			continue
		}
		left = append(left, copies...)
	}
	// If all live by themselves, they need too much together: time fewer copies.
	if !guilty && !m.slow { // together they need too much: the next layouts time fewer copies
		m.slow = true
		return nil, nil
	}
	// If that was not enough, one of them has to go.
	if worst := m.worstCandidate(q.Variants); !guilty && worst != nil {
		worst.fail = "there was no room to time it beside the others: " + failure
		left = slices.DeleteFunc(left, func(v int) bool { return slices.Contains(worst.copies, v) })
	}
	if len(left) == 0 {
		return nil, nil
	}
	q.Variants = slices.Concat(originals, left)
	return m.joint(ctx, im, q)
}

// worstCandidate returns the live candidate among some variants that looks worst so far.
func (m *confirmer) worstCandidate(variants []int) *finalist {
	var out *finalist
	for _, t := range m.live() {
		if len(intersect(variants, t.copies)) > 0 && (out == nil || m.lowGain(t) <= m.lowGain(out)) {
			out = t
		}
	}
	return out
}

func orError(err error, text string) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%s", text)
}

// forVariants returns a request for some of the variants.
func forVariants(q *rt.Time, variants []int) *rt.Time {
	c := *q
	c.Variants = variants
	return &c
}

// collect compares the times of the copies in one timing.
func (m *confirmer) collect(im image, q *rt.Time, t *rt.Timing, ts []*finalist, into func(*finalist) *[]layoutResult) {
	m.collectBy(beagle.Score{}, im, q, t, ts, into)
}

// collectBy compares the copies in one timing by a score.
func (m *confirmer) collectBy(
	by beagle.Score, im image, q *rt.Time, t *rt.Timing, ts []*finalist, into func(*finalist) *[]layoutResult,
) {
	for _, tr := range ts {
		if r, ok := stratify(im.seed(),
			compareCopies(by, im, q, t, intersect(q.Variants, m.originals()), intersect(q.Variants, tr.copies))); ok {
			*into(tr) = append(*into(tr), r)
		}
	}
}

// compareCopies compares each of some variants with each of others, by a score; the zero one is
// time.
func compareCopies(by beagle.Score, im image, q *rt.Time, t *rt.Timing, base, cand []int) []copyPair {
	var pairs []copyPair
	for _, b := range base {
		for _, c := range cand {
			if im.align(b) == im.align(c) {
				pairs = append(pairs,
					copyPair{[2]int{b, c}, [2]int{im.align(b), im.align(c)},
						scored(by, t, slices.Index(q.Variants, b), slices.Index(q.Variants, c))})
			}
		}
	}
	return pairs
}

// aa compares the original with its own copies, as if half of them were a
// candidate.
func (m *confirmer) aa(im image, q *rt.Time, t *rt.Timing) {
	all := intersect(q.Variants, m.originals())
	pairs := compareCopies(beagle.Score{}, im, q, t, all[:len(all)/2], all[len(all)/2:])
	if r, ok := stratify(im.seed(), pairs); ok {
		m.control = append(m.control, r)
	}
}

// resources notes the cost of a call, from the copies together.
func (m *confirmer) resources(q *rt.Time, t *rt.Timing, ts []*finalist) {
	of := func(copies []int) (r beagle.Resources) {
		n := float64(len(copies))
		for _, v := range copies {
			i := slices.Index(q.Variants, v)
			r.Nanos += nanos(t, i) / n
			r.Allocs += t.Allocs[i] / n
			r.Bytes += t.Bytes[i] / n
		}
		r.GC = r.Bytes * m.gcByte
		return r
	}
	for _, tr := range ts {
		if copies := intersect(q.Variants, tr.copies); len(copies) > 0 {
			tr.baseline = append(tr.baseline, of(intersect(q.Variants, m.originals())))
			tr.best = append(tr.best, of(copies))
		}
	}
}

// newConfirmer prepares the measurement of n candidates.
func newConfirmer(l rig, n int, o Options) *confirmer {
	m := &confirmer{rig: l, options: o, copies: copiesOf(n), rng: rand.New(rand.NewPCG(o.Seed, 0xbea91e))}
	m.timeBudget.total = o.Budget
	m.untimed = map[string]bool{}
	for i := range n {
		m.finalists = append(m.finalists, &finalist{copies: numbersFrom((i+1)*m.copies, m.copies)})
	}
	return m
}

// inputSets returns the groups of inputs by their files; "" leaves one out, and its time goes to
// the training inputs.
func inputSets(train, holdout, fresh string) []set {
	sets := []set{{train, layoutShare, func(t *finalist) *[]layoutResult { return &t.train }}}
	for _, s := range []set{
		{holdout, holdoutPart * layoutShare, func(t *finalist) *[]layoutResult { return &t.holdout }},
		{fresh, freshPart * layoutShare, func(t *finalist) *[]layoutResult { return &t.fresh }},
	} {
		if s.file != "" {
			sets[0].share -= s.share
			sets = append(sets, s)
		}
	}
	return sets
}
