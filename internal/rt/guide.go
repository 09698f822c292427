package rt

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"
)

// GuideRequest asks for the guided search for differences, in a program
// whose versions are traced. The search mutates inputs towards decisions that
// neither version has taken yet. It ends when a long series of inputs shows
// nothing new, and its decisions depend on counts and the seed.
type GuideRequest struct {
	Exhaust       // the versions, the constants, and the records that the search starts from
	Sites   int   `json:"sites"`
	Cap     int64 `json:"cap,omitempty"`     // largest number in an argument; 0 means no limit
	CapLen  int   `json:"cap_len,omitempty"` // the same for lengths
	Stop    int   `json:"stop,omitempty"`    // only show this input, and run the original on it
	// do not search: only run the records and the whole exhaustion, and say what they reach
	Reach bool `json:"reach,omitempty"`
	// random mutants without news that end the search at the least; 0 means the default
	IdleInputs  int     `json:"idle,omitempty"`
	IdlePortion float64 `json:"portion,omitempty"` // and as a portion of all so far; 0 means the default
}

// A GuideReply says how far the search got.
type GuideReply struct {
	Inputs    int     `json:"inputs"`              // compared inputs
	Kept      int     `json:"kept"`                // of them, because they showed something new
	Last      int     `json:"last"`                // the input that showed something new last
	Saturated bool    `json:"saturated"`           // the search ended because it met nothing new
	Unreached [][]int `json:"unreached,omitempty"` // by side, 0 or 1: the sites that never took it
	Unstable  int     `json:"unstable,omitempty"`
	Millis    float64 `json:"millis"` // processor time
	Diff      *Diff   `json:"diff,omitempty"`
	Shown     *Diff   `json:"shown,omitempty"` // for Stop
}

// The search ends after this many random mutants without news, and not before
// those without news are this portion of all.
const (
	idleInputs  = 60_000
	idlePortion = 1.0 / 3
)

// huge are the phases of the exhaustion whose inputs are too large to say much of
// branches: time would end them, each time elsewhere.
var huge = []string{"sizes", "inner", "long", "deep", "samples"}

// seedCases is the number of cases of each phase of the exhaustion that start a search.
const seedCases = 1500

// guided runs the search that a guide asks for, beginning with the records and with those cases of
// an exhaustion that reach something new.
func (h *Harness[A, R]) guided(q *GuideRequest) (any, error) {
	startTrace(q.Sites)
	x, s, err := h.exhauster(&q.Exhaust)
	if err != nil {
		return nil, err
	}
	// The guide knows no types: it calls and compares through these functions.
	g := newGuide(q, x.args.domain, x.args.v.Type().PkgPath(), h.Types)
	g.clone = func(p any) any { return Clone(p.(*A)) }
	g.call = func(id int, p any) *Diff { return s.check.compare(id, p.(*A)) }
	g.slow = func(id int, p any) bool { return x.slowFor(func() { s.check.original(id, p.(*A)) }) }
	g.describe = func(id int, p any) *Diff {
		s.check.original(id, p.(*A))
		return s.check.diff(id, p.(*A), "result", "")
	}
	// Seeds are the records, and the cases of an exhaustion that reached something new.
	for _, path := range q.Records {
		list, _, err := LoadArgs[A](path, h.Types)
		if err != nil {
			return nil, err
		}
		for i := range list {
			g.seeds = append(g.seeds, &list[i])
		}
	}
	x.before, x.after = func() { beginRun(false) }, func() {
		if g.out.Inputs++; endRun() > 0 && !q.Reach {
			g.keep(Clone(&s.a))
		}
	}
	if q.Reach {
		for _, p := range g.seeds {
			g.reach(p)
		}
	}
	if q.Stop == 0 || PhaseOf(q.Stop) == "" {
		x.run()
	}
	// Only what the seeds reach was asked for.
	if q.Reach {
		return g.reply(), nil
	}
	g.out.Diff = x.out.Diff
	g.search()
	g.out.Unstable = x.check.unstable
	if g.out.Diff != nil && x.out.Diff == nil {
		beginRun(false)
		g.out.Diff = s.check.smaller(g.out.Diff)
	}
	return g.reply(), nil
}

// A guidedSearch is a search under way. Inputs are pointers to the struct of the arguments.
// Functions hide its type, since code that depends on the type is compiled for each target.
type guidedSearch struct {
	q   *GuideRequest
	rng *rand.Rand
	*domain
	*maker
	clone    func(p any) any
	call     func(id int, p any) *Diff
	slow     func(id int, p any) bool // whether the original is, for the input that was called last
	describe func(id int, p any) *Diff

	seeds  []any
	kept   []*keptInput
	queue  []*keptInput // not yet matched
	cap    int64
	capLen int
	begun  time.Duration
	end    time.Duration
	over   bool
	next   int // number of the next input
	drawn  int // mutants drawn at random so far
	last   int // of them, when something new was met last
	out    GuideReply
}

// A keptInput is an input that showed something new.
type keptInput struct {
	args  any
	size  int // of its texts and lists
	picks int // how often it was mutated, long inputs counting more
	pairs []tracePair
}

// newGuide makes a search with the request's limits, or with the usual ones where it names none.
func newGuide(q *GuideRequest, d *domain, pkg string, types map[string]reflect.Type) *guidedSearch {
	g := &guidedSearch{
		q:      q,
		rng:    rand.New(rand.NewPCG(q.Seed, 11)),
		domain: d,
		maker:  newMaker(pkg, types),
		cap:    q.Cap,
		capLen: q.CapLen,
	}
	if g.cap == 0 {
		g.cap = math.MaxInt64
	}
	if g.capLen == 0 {
		g.capLen = maxGrown
	}
	if q.IdleInputs == 0 {
		q.IdleInputs = idleInputs
	}
	if q.IdlePortion == 0 {
		q.IdlePortion = idlePortion
	}
	budget := time.Duration(q.Budget)
	if budget == 0 {
		budget = time.Second
	}
	// The budget is processor time: the machine may do other things.
	g.begun = ProcessCPU()
	g.end = g.begun + budget
	// Without a goal to reach, each seed is tried briefly, and huge inputs are left to other
	// phases.
	if !q.Reach {
		q.Each = seedCases
		q.Skip = append(slices.Clone(q.Skip), huge...)
	}
	return g
}

// keep adds an input to those that are mutated.
func (g *guidedSearch) keep(p any) {
	k := &keptInput{args: p}
	for _, at := range g.places(p) {
		if at.kind == textPlace || at.kind == listPlace {
			k.size += at.v.Len()
		}
	}
	g.kept, g.queue = append(g.kept, k), append(g.queue, k)
	g.out.Last, g.last = g.out.Inputs, g.drawn
}

// search runs until a difference, saturation or the end of the budget.
func (g *guidedSearch) search() {
	// Try the seeds first. One must be kept in any case, to have something to change.
	for _, p := range g.seeds {
		if g.stopped() {
			return
		}
		g.try(p)
	}
	if len(g.kept) == 0 && len(g.seeds) > 0 {
		g.keep(g.seeds[0])
	}
	// An input that has just been kept is matched at once: what it was compared with is still
	// fresh.
	for !g.stopped() && len(g.kept) > 0 {
		if n := len(g.queue); n > 0 {
			k := g.queue[n-1]
			g.queue = g.queue[:n-1]
			g.match(k)
			continue
		}
		// Stop once new inputs show nothing new for long.
		if g.saturated() {
			g.out.Saturated = true
			return
		}
		k := g.pick()
		// Large inputs get fewer mutants, since each costs more. Two is the least.
		for range max(mutationsEach*usualSize/(usualSize+k.size), 2) {
			if g.stopped() {
				return
			}
			g.drawn++
			g.try(g.mutant(k))
		}
	}
}

// mutationsEach is the number of mutants of an input made in a row.
const mutationsEach = 32

// saturated counts random mutants only: the substitutions that match makes are
// done once for each input, whether they show anything or not.
func (g *guidedSearch) saturated() bool {
	idle := g.drawn - g.last
	return idle >= g.q.IdleInputs && float64(idle) >= g.q.IdlePortion*float64(g.drawn)
}

func (g *guidedSearch) stopped() bool {
	return g.over || g.out.Diff != nil
}

// pick prefers what was mutated less.
func (g *guidedSearch) pick() *keptInput {
	best := g.kept[g.rng.IntN(len(g.kept))]
	for range 2 {
		if k := g.kept[g.rng.IntN(len(g.kept))]; k.picks < best.picks {
			best = k
		}
	}
	best.picks += 1 + best.size/usualSize
	return best
}

// usualSize is the size of an input above which it is mutated less: others are
// tried in the time that it takes.
const usualSize = 128

// try compares the versions on an input, and keeps it if it shows something new.
func (g *guidedSearch) try(p any) {
	v := reflect.ValueOf(p).Elem()
	// Inputs beyond the original's limits are not called at all.
	if g.over || !respectsLimits(v, g.cap, g.capLen) {
		return
	}
	g.next++
	id := g.next & (1<<caseShift - 1)
	// The request asks for one case: describe that one, and stop.
	if g.q.Stop == id {
		g.out.Shown, g.over = g.describe(id, p), true
		return
	}
	if g.next&63 == 0 && ProcessCPU() > g.end {
		g.over = true
		return
	}
	// Only decisions of this call count as new.
	beginRun(false)
	d := g.call(id, p)
	news := endRun() > 0 // before other calls, which would count too
	g.out.Inputs++
	// An input that makes the original slow lowers the limits. One that takes new branches joins
	// those that mutants are made of.
	switch {
	case d != nil:
		g.out.Diff = d
	case g.slow(id, p):
		g.lower(v)
	case news:
		g.keep(p)
	}
}

// reach runs both versions on a record.
func (g *guidedSearch) reach(p any) {
	g.next++
	beginRun(false)
	g.call(g.next&(1<<caseShift-1), p)
	g.out.Inputs++
}

// lower leaves out inputs like one that the original is too slow for.
func (g *guidedSearch) lower(v reflect.Value) {
	for i := range v.NumField() {
		f := reachable(v.Field(i))
		switch {
		case f.CanInt() && max(f.Int(), -f.Int()) > smallEnough:
			g.cap = min(g.cap, max(f.Int(), -f.Int())-1)
		case f.CanUint() && f.Uint() > smallEnough:
			g.cap = min(g.cap, int64(min(f.Uint()-1, math.MaxInt64)))
		case isSequence(f.Type()) && f.Len() > smallEnough:
			g.capLen = min(g.capLen, f.Len()-1)
		}
	}
}

// smallEnough is the least limit for slow originals.
const smallEnough = 64

func (g *guidedSearch) reply() *GuideReply {
	g.out.Kept = len(g.kept)
	g.out.Millis = float64((ProcessCPU() - g.begun).Microseconds()) / 1000
	g.out.Unreached = [][]int{{}, {}}
	for i := range trace.sites {
		for side := range 2 {
			if trace.sites[i].sides&(1<<side) == 0 {
				g.out.Unreached[side] = append(g.out.Unreached[side], i)
			}
		}
	}
	return &g.out
}

// respectsLimits reports whether the direct arguments respect the limits.
func respectsLimits(v reflect.Value, cap int64, capLen int) bool {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case f.CanInt() && (f.Int() > cap || f.Int() < -cap),
			f.CanUint() && cap < math.MaxInt64 && f.Uint() > uint64(cap),
			isSequence(f.Type()) && f.Len() > capLen:
			return false
		}
	}
	return true
}
