package rt

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"
)

// Exhaust is the request of the exhaust mode: the original and one candidate
// receive generated inputs, small ones first. Nothing is drawn at random but
// what the last phase does, and that is seeded.
type Exhaust struct {
	Variant int      `json:"variant"`
	Records []string `json:"records,omitempty"` // files; their first records surround the generated values
	Bases   int      `json:"bases,omitempty"`   // records to use; 0 means 4
	Ints    []int64  `json:"ints,omitempty"`    // integer and rune constants of either version
	Strings []string `json:"strings,omitempty"` // string constants of either version
	// characters and bytes that either version compares with, the most telling first
	Marks []rune `json:"marks,omitempty"`
	// lengths that the code of either version hints at: sizes, masks, shifts, narrow types
	Lens   []int    `json:"lens,omitempty"`
	Runes  []rune   `json:"runes,omitempty"` // ends of the character classes that the versions ask the library about
	Words  int      `json:"words,omitempty"` // length that words should reach; 0 means 9
	Seed   uint64   `json:"seed,omitempty"`
	Panics string   `json:"panics,omitempty"`
	Budget int64    `json:"budget,omitempty"` // nanoseconds; 0 means one second
	Max    int      `json:"max,omitempty"`    // cases; 0 means no limit
	Each   int      `json:"each,omitempty"`   // cases of one phase; 0 means no limit
	Skip   []string `json:"skip,omitempty"`   // phases to leave out: the original does not survive them
	Slow   []string `json:"slow,omitempty"`   // those of them for which it is only too slow

	Case *int `json:"case,omitempty"` // only show this case, and run the original on it
}

// An ExhaustReply says what was covered.
type ExhaustReply struct {
	Cases    int     `json:"cases"`
	Phases   []Phase `json:"phases"`
	Unstable int     `json:"unstable,omitempty"`
	Opaque   int     `json:"opaque,omitempty"`
	Outside  int     `json:"outside,omitempty"` // inputs that the contract excludes; not among Cases
	Millis   float64 `json:"millis"`
	Cap      int64   `json:"cap,omitempty"`     // the original is too slow for larger numbers
	CapLen   int     `json:"cap_len,omitempty"` // and for longer sequences; 0 when no limit was met
	Diff     *Diff   `json:"diff,omitempty"`
	Shown    *Diff   `json:"shown,omitempty"` // for Case
}

// A Phase is one way of making inputs.
type Phase struct {
	Name  string `json:"name"`
	Cases int    `json:"cases"`
	Done  bool   `json:"done"`           // all of it
	Time  int64  `json:"time,omitempty"` // nanoseconds of processor time
	Note  string `json:"note,omitempty"` // how far it got
}

// caseShift splits a case number into 1 + phase and index. Numbers below
// 1 << caseShift are those of records.
const caseShift = 26

// PhaseOf names the phase of a case number; empty for a record.
func PhaseOf(id int) string {
	if i := id>>caseShift - 1; i >= 0 && i < len(phaseNames) {
		return phaseNames[i]
	}
	return ""
}

// Phases returns the number of phases.
func Phases() int { return len(phaseNames) }

// phaseNames has the names of phases, in their order. It stands apart from them, so that Beagle,
// which asks for names alone, holds none of the code that makes cases.
var phaseNames = []string{
	"numbers", "negative", "bounds", "fields", "lengths", "bytes", "places", "contexts", "changed", "related",
	"twins", "covering", "collided", "pairs", "words", "classes", "inside", "runes", "sizes", "inner", "torn", "runs",
	"spare", "long", "random", "shared", "deep", "samples", "solved", "odd",
}

// phases are in the order in which they run, with their shares of the time. Each makes its cases in
// the exhauster's arguments, and calls yield for each, until that returns false.
var phases = []struct {
	name  string
	share float64
	cases func(x *exhauster, yield func() bool)
}{
	{"numbers", 1, (*exhauster).numbers}, {"negative", 1, (*exhauster).negative}, {"bounds", 1, (*exhauster).bounds},
	{"fields", 2, (*exhauster).fields}, {"lengths", 2, (*exhauster).lengths}, {"bytes", 3, (*exhauster).bytes},
	{"places", 4, (*exhauster).places}, {"contexts", 2, (*exhauster).contexts},
	{"changed", 3, (*exhauster).visitChanged},
	{"related", 2, (*exhauster).related}, {"twins", 2, (*exhauster).twins}, {"covering", 2, (*exhauster).covering},
	{"collided", 1, (*exhauster).collided}, {"pairs", 2, (*exhauster).pairs}, {"words", 3, (*exhauster).allWords},
	{"classes", 3, (*exhauster).classWords}, {"inside", 3, (*exhauster).putPieces}, {"runes", 3, (*exhauster).runes},
	{"sizes", 6, (*exhauster).sizes}, {"inner", 1, (*exhauster).inner}, {"torn", 2, (*exhauster).tornTexts},
	{"runs", 2, (*exhauster).markRuns}, {"spare", 1, (*exhauster).spare}, {"long", 2, (*exhauster).long},
	{"random", 3, (*exhauster).random}, {"shared", 1, (*exhauster).shared}, {"deep", 1, (*exhauster).deep},
	{"samples", 2, (*exhauster).samples}, {"solved", 1, (*exhauster).solved}, {"odd", 1, (*exhauster).oddWords},
}

// slowCase bounds the original's time on a generated input. Beyond it, larger ones are left out.
const slowCase = 5 * time.Millisecond

// dearCase is the length of a call beside which a look at the clock costs little.
const dearCase = 20 * time.Microsecond

func (h *Harness[A, R]) exhaust(q *Exhaust) (any, error) {
	x, _, err := h.exhauster(q)
	if err != nil {
		return nil, err
	}
	if q.Case != nil {
		x.show(*q.Case)
	} else {
		x.run()
	}
	return x.reply(), nil
}

// exhauster makes an exhauster, and the stand on which it makes its cases.
func (h *Harness[A, R]) exhauster(q *Exhaust) (*exhauster, *stand[A, R], error) {
	if q.Variant < 0 || q.Variant >= len(h.Variants) {
		return nil, nil, fmt.Errorf("exhaust: there is no variant %d", q.Variant)
	}
	// A stand holds one case at a time, for both versions.
	s := &stand[A, R]{check: newChecker(startWatchdog(h), q.Variant, q.Panics), plain: coderFor[A]().flat}
	x := &exhauster{q: q, start: time.Now(), end: math.MaxInt, stand: s, check: &s.check.checkCounts}
	v := reflect.ValueOf(&s.a).Elem()
	x.args = arguments{domain: newDomain(q, reflect.TypeFor[A]().PkgPath()), from: s, v: v}
	x.args.slots = slotsOf(v.Type(), x.args.home)
	// Nothing is left out until the original is found to be slow.
	x.limits = limits{cap: math.MaxInt64, capLen: math.MaxInt, off: q.Case != nil}
	if err := s.load(h, x); err != nil {
		return nil, nil, err
	}
	return x, s, nil
}

func (x *exhauster) reply() *ExhaustReply {
	if x.cap != math.MaxInt64 {
		x.out.Cap = x.cap
	}
	if x.capLen != math.MaxInt {
		x.out.CapLen = x.capLen
	}
	x.out.Unstable, x.out.Opaque, x.out.Outside = x.check.unstable, x.check.opaque, x.check.outside
	x.out.Millis = float64(time.Since(x.start).Microseconds()) / 1000
	return &x.out
}

// An exhauster makes cases, and has them tried. It knows no types, since code that depends on the
// types of the arguments is compiled for each target: it sees the case by reflection, and tries it
// on a stand.
type exhauster struct {
	q     *Exhaust
	start time.Time
	stand interface {
		compare(id int) *Diff // runs both versions on the case
		smaller(d *Diff) *Diff
		keeps() bool               // whether the case is one of the contract
		original(id int)           // runs the original alone; the other methods report on that run
		shown(id int) *Diff        // the result of that run
		panicked() *thrown         // nil if it returned
		snapshot() ([]byte, error) // of its arguments and results
	}
	check *checkCounts // what the stand counts

	args arguments // of the case
	limits

	phase, index  int    // that number the case
	before, after func() // each case, if set
	end           int    // number of cases to stop at
	out           ExhaustReply
}

// run makes the phases one after the other. Each gets its share of what is left, so that time that
// one does not use goes to the next.
func (x *exhauster) run() {
	total := 0.0
	for _, p := range phases {
		total += p.share
	}
	budget := time.Duration(x.q.Budget)
	if budget == 0 {
		budget = time.Second
	}
	end := ProcessCPU() + budget
	// A bound on cases does not depend on the machine's speed, as time does.
	if x.q.Max > 0 {
		x.end = x.q.Max
	}
	for i, p := range phases {
		now := ProcessCPU()
		x.deadline = now + time.Duration(float64(end-now)*p.share/total)
		total -= p.share
		x.runPhase(i)
		if x.out.Diff != nil || x.out.Cases >= x.end {
			return
		}
	}
}

// runPhase runs a phase.
func (x *exhauster) runPhase(i int) {
	name := phases[i].name
	for _, s := range x.q.Skip {
		if s == name {
			note := "left out: the original crashes there"
			if slices.Contains(x.q.Slow, s) {
				note = "left out: the original is too slow for it"
			}
			x.out.Phases = append(x.out.Phases, Phase{Name: s, Note: note})
			return
		}
	}
	x.phase, x.index, x.patience, x.cut = i, 0, slowCase, false
	p := Phase{Name: name, Done: true}
	start := ProcessCPU()
	phases[i].cases(x, x.alsoTied(func() bool {
		x.index++
		if x.index >= 1<<caseShift {
			p.Done, p.Note = false, "more cases than can be numbered"
			return false
		}
		// Stop at the end of the time, or of the cases.
		if (x.index&15 == 0 || x.check.took > dearCase) && x.late() || x.out.Cases >= x.end ||
			x.q.Each > 0 && p.Cases >= x.q.Each {
			p.Done = false
			return false
		}
		// Compare. A difference ends all phases; an input outside of the contract is no case.
		if x.before != nil {
			x.before()
		}
		outside := x.check.outside
		d := x.stand.compare(x.id())
		if x.after != nil {
			x.after()
		}
		if d != nil {
			x.out.Cases, p.Cases = x.out.Cases+1, p.Cases+1
			x.out.Diff = x.stand.smaller(d)
			return false
		}
		if x.check.outside > outside {
			return true
		}
		x.out.Cases++
		p.Cases++
		if x.slow() {
			p.Done = false
			p.Note = fmt.Sprintf("stopped where the original takes %v", x.check.took.Round(time.Millisecond))
			return false
		}
		return true
	}))
	p.Done = p.Done && !x.cut
	p.Time = int64(ProcessCPU() - start)
	if p.Cases > 0 {
		x.out.Phases = append(x.out.Phases, p)
	}
}

// slow reports whether the original is too slow for the current case.
func (x *exhauster) slow() bool { return x.slowFor(func() { x.stand.original(x.id()) }) }

// slowFor reports whether the original is too slow for the input that it got
// last, and gets again. More runs tell a slow call from one that was preempted, or
// that paid for a collection.
func (x *exhauster) slowFor(again func()) bool {
	for range 3 {
		if x.check.took <= x.patience {
			return false
		}
		start := ProcessCPU()
		again()
		x.check.took = min(x.check.took, ProcessCPU()-start)
	}
	return x.check.took > x.patience
}

// pass counts n cases that are left out, so that the numbers of later cases do not depend on the
// original's speed.
func (x *exhauster) pass(n int) {
	x.index += n
	x.cut = true
}

// unless makes a case if the reason to leave it out does not hold.
func (x *exhauster) unless(out bool, yield func() bool) bool {
	if out {
		x.pass(1)
		return true
	}
	return yield()
}

// brief reports whether this is the quick check, which has no time for large inputs.
func (x *exhauster) brief() bool { return x.q.Budget > 0 && x.q.Budget < int64(deepBudget) }

func (x *exhauster) id() int { return (x.phase+1)<<caseShift | x.index }

// show makes one case again.
func (x *exhauster) show(id int) {
	i, index := id>>caseShift-1, id&(1<<caseShift-1)
	if i < 0 || i >= len(phases) {
		return
	}
	x.phase, x.index, x.deadline = i, 0, math.MaxInt64
	// All cases before it are made again without a call, since each may rest on those before.
	phases[i].cases(x, x.alsoTied(func() bool {
		x.index++
		if x.index < index {
			return true
		}
		x.stand.original(id)
		x.out.Shown = x.stand.shown(id)
		return false
	}))
}
