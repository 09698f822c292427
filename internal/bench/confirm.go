package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
)

// Options are what a full measurement may spend and use. The zero value
// works.
type Options struct {
	Budget  time.Duration   // timing time in all, builds not counted; 0 is 10 s
	Layouts int             // link layouts; 0, and anything below, is 8
	Fresh   []beagle.Record // inputs drawn anew from the facets; none: not measured
	PGO     string          // the module's profile, which production builds use; "" if it has none
	Seed    uint64          // of layouts, orders and sequences
	Log     func(string)    // progress, a line at a time; may be nil
}

const (
	defaultBudget = 10 * time.Second
	minHoldout    = 16 // records below which the holdout is reported but decides nothing
	// Shares of the budget. Training inputs get most, since their interval
	// decides; processes apart need the rest of the time to be worth anything.
	trainShare, holdoutShare, freshShare, apartShare, pgoShare = 0.35, 0.1, 0.1, 0.25, 0.2
)

func (o Options) defaults() Options {
	if o.Budget <= 0 {
		o.Budget = defaultBudget
	}
	o.Layouts = max(o.Layouts, minLayouts)
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return o
}

// A lab builds binaries and times variants in them. Variants 0 and 1 are the
// original; candidate i is at 2+2i and 3+2i. Tests simulate it.
type lab interface {
	// build links everything in a first layout; failed names the candidates
	// that the compiler refused.
	build(ctx context.Context, pgo string, layout uint64) (im image, failed map[int]string, err error)
	relink(ctx context.Context, im image, layout uint64) (image, error)
	// time runs the request in a fresh process. A failure says how the
	// process ended without a reply.
	time(ctx context.Context, im image, q *rt.Time) (*rt.TimeReply, string, error)
	// profile makes the profile that a build with PGO takes from one of the
	// variants at work; the module's own profile, if there is one.
	profile(ctx context.Context, im image, q *rt.Time) (path string, err error)
	sameCode(candidate int) bool
}

// An image is one linked binary.
type image interface {
	align(variant int) int // entry address modulo 64; -1 when it is not known
	seed() uint64
}

// A trial is what is known of one candidate so far.
type trial struct {
	copies   [2]int // its variants
	fail     string // why it could not be measured
	train    []layoutResult
	holdout  []layoutResult
	fresh    []layoutResult
	pgo      []layoutResult
	apart    []Estimate
	halves   [2]bool // alignment classes that occur
	baseline []beagle.Resources
	best     []beagle.Resources
}

// A confirmer measures the finalists together.
type confirmer struct {
	lab     lab
	o       Options
	sets    []set
	mutates bool
	panics  bool
	rng     *rand.Rand
	trials  []*trial
	control []layoutResult
	gcByte  float64
	held    int // records in the holdout set
}

// A set is a group of inputs with its share of the budget and the place where
// its results belong.
type set struct {
	file  string
	share float64
	into  func(*trial) *[]layoutResult
}

// originals are the variants of the baseline.
var originals = [2]int{0, 1}

func (m *confirmer) run(ctx context.Context, tried int) ([]beagle.Measurement, error) {
	m.o.Log("linking layouts")
	images, err := m.images(ctx, m.o.PGO)
	if err != nil {
		return nil, err
	}
	for _, t := range m.live() {
		t.halves = possibleHalves(images, t)
	}
	m.rng.Shuffle(len(images), func(i, j int) { images[i], images[j] = images[j], images[i] })
	for i, im := range images {
		m.o.Log(fmt.Sprintf("measuring layout %d of %d", i+1, len(images)))
		if err := m.layout(ctx, im, len(images)); err != nil {
			return nil, err
		}
	}
	if len(images) > 0 {
		if err := m.withPGO(ctx, images[0]); err != nil {
			return nil, err
		}
	}
	out := make([]beagle.Measurement, len(m.trials))
	for i, t := range m.trials {
		out[i] = m.measurement(t, i, tried)
	}
	return out, nil
}

// live are the trials that can still be measured.
func (m *confirmer) live() []*trial {
	var out []*trial
	for _, t := range m.trials {
		if t.fail == "" {
			out = append(out, t)
		}
	}
	return out
}

// layout measures one image: everybody together, then each alone.
func (m *confirmer) layout(ctx context.Context, im image, images int) error {
	q := m.request(m.sets, float64(images))
	q.GC = m.gcByte == 0
	reply, err := m.joint(ctx, im, q)
	if err != nil || reply == nil {
		return err
	}
	if q.GC {
		m.gcByte = reply.GCByte
	}
	for i, s := range m.sets {
		m.collect(im, q, &reply.Sets[i], s.into)
	}
	m.aa(im, &reply.Sets[0])
	m.resources(q, &reply.Sets[0])
	return m.alone(ctx, im, &reply.Sets[0], images)
}

// request asks for all live variants over the sets, each with its share of the
// budget of one of so many processes.
func (m *confirmer) request(sets []set, processes float64) *rt.Time {
	q := &rt.Time{Variants: originals[:], Seed: m.rng.Uint64(), Mutates: m.mutates, SkipPanics: m.panics}
	for _, t := range m.live() {
		q.Variants = append(slices.Clone(q.Variants), t.copies[:]...)
	}
	for _, s := range sets {
		q.Sets = append(q.Sets, rt.TimeSet{Records: s.file, Budget: m.nanos(s.share / processes)})
	}
	return q
}

func (m *confirmer) nanos(share float64) int64 { return int64(share * float64(m.o.Budget)) }

// joint times all variants in one process. When it dies, each candidate is
// tried alone with the original, and those that kill the process are out; the
// reply is nil when nobody is left.
func (m *confirmer) joint(ctx context.Context, im image, q *rt.Time) (*rt.TimeReply, error) {
	reply, failure, err := m.lab.time(ctx, im, q)
	if err != nil || failure == "" {
		return reply, err
	}
	if _, alone, err := m.lab.time(ctx, im, only(q, originals[:])); err != nil || alone != "" {
		return nil, orError(err, "the original cannot be timed: "+alone)
	}
	guilty := false
	for _, t := range m.live() {
		_, f, err := m.lab.time(ctx, im, only(q, append(slices.Clone(originals[:]), t.copies[:]...)))
		if err != nil {
			return nil, err
		}
		if f != "" {
			t.fail, guilty = "it died while it was timed: "+f, true
		}
	}
	switch {
	case !guilty:
		return nil, fmt.Errorf("timing all variants together failed, each alone did not: %s", failure)
	case len(m.live()) == 0:
		return nil, nil
	}
	q.Variants = m.request(nil, 1).Variants
	return m.joint(ctx, im, q)
}

func orError(err error, text string) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%s", text)
}

// only is the request for some of the variants.
func only(q *rt.Time, variants []int) *rt.Time {
	c := *q
	c.Variants = variants
	return &c
}

// collect compares the copies in one timing.
func (m *confirmer) collect(im image, q *rt.Time, t *rt.Timing, into func(*trial) *[]layoutResult) {
	at := func(v int) int { return slices.Index(q.Variants, v) }
	compare := func(b, c int) copyPair {
		return copyPair{[2]int{im.align(b), im.align(c)}, Compare(t, at(b), at(c))}
	}
	for _, tr := range m.live() {
		var pairs []copyPair
		for _, b := range originals {
			for _, c := range tr.copies {
				pairs = append(pairs, compare(b, c))
			}
		}
		if r, ok := stratify(im.seed(), pairs); ok {
			*into(tr) = append(*into(tr), r)
		}
	}
}

// aa compares the original with its own copy.
func (m *confirmer) aa(im image, t *rt.Timing) {
	pair := copyPair{[2]int{im.align(originals[0]), im.align(originals[1])}, Compare(t, 0, 1)}
	if r, ok := stratify(im.seed(), []copyPair{pair}); ok {
		m.control = append(m.control, r)
	}
}

// resources notes what a call costs, from the copies together.
func (m *confirmer) resources(q *rt.Time, t *rt.Timing) {
	of := func(copies [2]int) (r beagle.Resources) {
		for _, v := range copies {
			i := slices.Index(q.Variants, v)
			r.Nanos += nanos(t, i) / 2
			r.Allocs += t.Allocs[i] / 2
			r.Bytes += t.Bytes[i] / 2
		}
		r.GC = r.Bytes * m.gcByte
		return r
	}
	for _, tr := range m.live() {
		tr.baseline = append(tr.baseline, of(originals))
		tr.best = append(tr.best, of(tr.copies))
	}
}

// alone times the original and each candidate in processes of their own: ABBA,
// over the same inputs, with the joint process's number of calls.
func (m *confirmer) alone(ctx context.Context, im image, joint *rt.Timing, images int) error {
	live := m.live()
	processes := float64(images * 4 * max(len(live), 1))
	for _, t := range live {
		pairs := matched(im, t)
		if len(pairs) == 0 {
			continue
		}
		q := m.request([]set{{file: m.sets[0].file, share: apartShare}}, processes)
		q.Calls = joint.Calls
		q.Windows = m.windows(q, joint)
		var best [2]float64
		for _, side := range [4]int{0, 1, 1, 0} {
			reply, failure, err := m.lab.time(ctx, im, only(q, []int{pairs[0][side]}))
			if err != nil {
				return err
			}
			if failure != "" {
				t.fail = "it died while it was timed alone: " + failure
				break
			}
			// The lower quartile: without a partner in the same moment there
			// is nothing to divide a slow moment by.
			if took := perCall(&reply.Sets[0], 0, 0.25); best[side] == 0 || took < best[side] {
				best[side] = took
			}
		}
		if t.fail == "" {
			t.apart = append(t.apart, Estimate{Log: math.Log(best[0] / best[1])})
		}
	}
	return nil
}

// windows is how many the slower of two processes apart can visit three times,
// so that both see the same inputs.
func (m *confirmer) windows(q *rt.Time, joint *rt.Timing) int {
	slice := nanos(joint, 0) * float64(joint.Calls)
	return min(max(int(float64(q.Sets[0].Budget)/(6*slice)), 1), joint.Windows)
}

// withPGO measures on top of profile-guided optimisation. With a profile of
// the module's own, that is what all builds had.
func (m *confirmer) withPGO(ctx context.Context, im image) error {
	if m.o.PGO != "" || len(m.live()) == 0 {
		return nil
	}
	m.o.Log("measuring with profile-guided optimisation")
	q := m.request(m.sets[:1], 1)
	q.Profile = min(m.nanos(pgoShare/4), int64(time.Second))
	profile, err := m.lab.profile(ctx, im, q)
	if err != nil {
		return err
	}
	images, err := m.images(ctx, profile)
	if err != nil {
		return err
	}
	inputs := []set{{m.sets[0].file, pgoShare * 3 / 4, func(t *trial) *[]layoutResult { return &t.pgo }}}
	for _, im := range images {
		q := m.request(inputs, float64(len(images)))
		reply, err := m.joint(ctx, im, q)
		if err != nil || reply == nil {
			return err
		}
		m.collect(im, q, &reply.Sets[0], inputs[0].into)
	}
	return nil
}

// newConfirmer prepares the measurement of n candidates.
func newConfirmer(l lab, n int, o Options) *confirmer {
	m := &confirmer{lab: l, o: o, rng: rand.New(rand.NewPCG(o.Seed, 0xbea91e))}
	for i := range n {
		m.trials = append(m.trials, &trial{copies: [2]int{2 + 2*i, 3 + 2*i}})
	}
	return m
}

// inputSets are the groups of inputs by their files; "" leaves one out.
func inputSets(train, holdout, fresh string) []set {
	var out []set
	for _, s := range []set{
		{train, trainShare, func(t *trial) *[]layoutResult { return &t.train }},
		{holdout, holdoutShare, func(t *trial) *[]layoutResult { return &t.holdout }},
		{fresh, freshShare, func(t *trial) *[]layoutResult { return &t.fresh }},
	} {
		if s.file != "" {
			out = append(out, s)
		}
	}
	return out
}
