package patterns

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode"

	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
)

// A pathFinder finds where a regular expression matches an ASCII text, and its groups. It walks
// along the text from each start, and remembers the last place at which a match was complete. Where
// two ways go on with a byte, it takes the first and keeps the second for when the first ends.
//
// The order of the ways is that of package regexp, which prefers the leftmost start and then the
// first alternative: ways after a complete match are never taken. To go back may take long, so it
// gives up after some steps, and package regexp decides.
//
// With (a|ab)c on "abc", the first way is behind a, wants a c and finds b. So the kept way goes on,
// through ab to the c.
type pathFinder struct {
	states []passState
	first  int  // the state at the begin of the text
	later  int  // the state at any other start
	groups int  // with the whole match
	back   bool // whether it may have to go back
}

// maxBack is how many ways are kept at a time.
const maxBack = 16

// A passState is a place in the pattern after a byte, or at a start.
type passState struct {
	edges   []passEdge
	done    *passEnd // a match that is complete here, in front of a byte
	doneEnd *passEnd // and at the end of the text
}

// A passEdge goes on with the bytes of a set. slots are the ends of groups that lie in front of the
// byte.
type passEdge struct {
	set    characters.Class
	beyond bool // whether it goes on with some characters that are not ASCII
	to     int
	slots  []int
}

// A passEnd is a complete match with the ends of groups that lie there.
type passEnd struct{ slots []int }

var errLooksAround = errors.New("the pattern looks at lines or words, or matches without a byte")

// newPathFinder refuses patterns that look at lines or words, and those that can match at any place
// without a byte.
func newPathFinder(pattern string) (*pathFinder, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	// Groups are counted before simplification, which may copy them.
	groups := re.MaxCap() + 1
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	b := &passBuilder{prog: prog, known: map[uint32]int{}}
	o := &pathFinder{groups: groups}
	// The start differs: only at the beginning of the text does ^ hold. States that are found on
	// the way queue up.
	o.first, o.later = b.add(uint32(prog.Start), true), b.add(uint32(prog.Start), false)
	for i := 0; i < len(b.queue); i++ {
		s, err := b.state(b.queue[i])
		if err != nil {
			return nil, err
		}
		o.states = append(o.states, s)
	}
	o.back = b.back
	// A match of no byte would be possible everywhere, so that every search ends at once.
	if s := o.states[o.later]; s.done != nil || s.doneEnd != nil {
		return nil, errLooksAround
	}
	return o, nil
}

type passBuilder struct {
	prog  *syntax.Prog
	queue []passPlace
	known map[uint32]int // from an instruction after a byte to its state
	back  bool           // whether two ways go on with one byte
}

type passPlace struct {
	pc    uint32
	begin bool // of the text
}

// add numbers a place. The two starts are never shared with places after a byte.
func (b *passBuilder) add(pc uint32, begin bool) int {
	b.queue = append(b.queue, passPlace{pc, begin})
	return len(b.queue) - 1
}

// state follows all instructions that consume nothing, once in front of a byte and once at the end
// of the text.
func (b *passBuilder) state(at passPlace) (s passState, err error) {
	// Some patterns have far more states than text.
	if len(b.queue) > maxStates {
		return s, errPattern
	}
	// $ and \b may hold at the end of the text only, so it has a walk of its own.
	end := &passWalk{b: b, begin: at.begin, end: true, seen: map[uint32]bool{}}
	if err := end.follow(at.pc, nil); err != nil {
		return s, err
	}
	within := &passWalk{b: b, begin: at.begin, seen: map[uint32]bool{}}
	if err := within.follow(at.pc, nil); err != nil {
		return s, err
	}
	return passState{edges: within.edges, done: within.done, doneEnd: end.done}, nil
}

// A passWalk visits the instructions after a place in the order of their priority.
type passWalk struct {
	b          *passBuilder
	begin, end bool
	seen       map[uint32]bool
	edges      []passEdge
	done       *passEnd
}

// follow goes through the instructions that consume nothing, in the order of their priority, and
// collects the steps that consume a byte. Visited instructions are left out: a path of higher
// priority has been there.
func (w *passWalk) follow(pc uint32, slots []int) error {
	if w.done != nil || w.seen[pc] {
		return nil
	}
	w.seen[pc] = true
	inst := &w.b.prog.Inst[pc]
	switch inst.Op {
	// The first branch of an alternative has priority.
	case syntax.InstAlt, syntax.InstAltMatch:
		if err := w.follow(inst.Out, slots); err != nil {
			return err
		}
		return w.follow(inst.Arg, slots)
	// Groups note their positions. Clip keeps two branches from sharing the memory of their lists.
	case syntax.InstCapture:
		return w.follow(inst.Out, append(slices.Clip(slots), int(inst.Arg)))
	case syntax.InstNop:
		return w.follow(inst.Out, slots)
	// Only the beginning and the end of the text can be decided for the whole step.
	case syntax.InstEmptyWidth:
		switch op := syntax.EmptyOp(inst.Arg); {
		case op != syntax.EmptyBeginText && op != syntax.EmptyEndText:
			return errLooksAround
		case op == syntax.EmptyBeginText && w.begin, op == syntax.EmptyEndText && w.end:
			return w.follow(inst.Out, slots)
		}
		return nil
	// A match ends the walk: all that comes later has a lower priority.
	case syntax.InstMatch:
		w.done = &passEnd{slots}
		return nil
	case syntax.InstFail:
		return nil
	}
	return w.consume(inst, slots)
}

// consume adds an edge.
func (w *passWalk) consume(inst *syntax.Inst, slots []int) error {
	// At the end of the text there is no byte.
	if w.end {
		return nil
	}
	// Collect the bytes that the instruction takes. If an edge of higher priority takes one of them
	// as well, the walk may have to come back to this one.
	e := passEdge{slots: slots, beyond: matchesBeyond(inst)}
	for c := range 0x80 {
		if e.set[c] = inst.MatchRune(rune(c)); !e.set[c] {
			continue
		}
		for _, other := range w.edges {
			w.b.back = w.b.back || other.set[c]
		}
	}
	// The state after the byte may be known.
	to, ok := w.b.known[inst.Out]
	if !ok {
		to = w.b.add(inst.Out, false)
		w.b.known[inst.Out] = to
	}
	e.to = to
	w.edges = append(w.edges, e)
	return nil
}

// matchesBeyond reports whether an instruction takes characters that are not ASCII.
func matchesBeyond(inst *syntax.Inst) bool {
	if inst.Op == syntax.InstRuneAny || inst.Op == syntax.InstRuneAnyNotNL {
		return true
	}
	for _, r := range inst.Rune {
		if r >= 0x80 {
			return true
		}
	}
	// (?i)k matches the Kelvin sign, too.
	if syntax.Flags(inst.Arg)&syntax.FoldCase != 0 && len(inst.Rune) == 1 {
		for r := unicode.SimpleFold(inst.Rune[0]); r != inst.Rune[0]; r = unicode.SimpleFold(r) {
			if r >= 0x80 {
				return true
			}
		}
	}
	return false
}

// anchored reports whether a match begins at the begin of the text or nowhere.
func (f *pathFinder) anchored() bool { return len(f.states[f.later].edges) == 0 }

// oneStart reports whether the begin of the text is like any other start.
func (f *pathFinder) oneStart() bool {
	return fmt.Sprint(f.states[f.first]) == fmt.Sprint(f.states[f.later]) &&
		f.states[f.first].done == nil && f.states[f.first].doneEnd == nil
}
