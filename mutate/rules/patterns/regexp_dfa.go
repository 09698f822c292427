package patterns

import (
	"errors"
	"fmt"
	"go/types"
	"regexp/syntax"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// A dfa decides whether an ASCII text holds a match of a regular expression. next holds the states
// from 0; matched and dead end the scan.
type dfa struct {
	next  [][128]int // for each state and byte, the next state
	final []bool     // whether the text may end in a state
}

const (
	matched = -1 // a match is complete, whatever follows
	dead    = -2 // no match can follow

	maxStates = 64
)

var errPattern = errors.New("the pattern needs more than a small automaton")

// newDFA builds the automaton by the subset construction. It decides only whether there is a match,
// so captures and the choice among matches do not matter. It refuses conditions other than the
// begin and the end of the text.
func newDFA(pattern string) (*dfa, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	b := &dfaBuilder{prog: prog, known: map[string]int{}, dfa: &dfa{}}
	// State 0 is the start. closure may find at once that there is no way to fail.
	if b.state(b.closure([]uint32{uint32(prog.Start)}, true)) != 0 {
		return nil, errors.New("the pattern matches everything, or nothing")
	}
	// Adding a row may find new sets, which queue up at the end.
	for i := 0; i < len(b.sets); i++ {
		row, err := b.row(b.sets[i])
		if err != nil {
			return nil, err
		}
		b.dfa.next = append(b.dfa.next, row)
		b.dfa.final = append(b.dfa.final, b.atEnd(b.sets[i]))
	}
	return b.dfa, b.err
}

type dfaBuilder struct {
	prog  *syntax.Prog
	sets  [][]uint32
	known map[string]int // from a set of instructions, as text, to its state
	dfa   *dfa
	err   error
}

// state numbers a set of instructions.
func (b *dfaBuilder) state(set []uint32) int {
	// Once there is a match, what else could match does not matter.
	for _, pc := range set {
		if b.prog.Inst[pc].Op == syntax.InstMatch {
			return matched
		}
	}
	if len(set) == 0 {
		return dead
	}
	// Two sets of the same instructions are one state.
	key := fmt.Sprint(set)
	n, ok := b.known[key]
	if !ok {
		n = len(b.sets)
		b.known[key] = n
		b.sets = append(b.sets, set)
	}
	return n
}

// row lists the state after each byte. A new match may begin after every byte.
func (b *dfaBuilder) row(set []uint32) (row [128]int, err error) {
	for c := range row {
		// A match that begins here, beside those that go on.
		from := []uint32{uint32(b.prog.Start)}
		for _, pc := range set {
			inst := &b.prog.Inst[pc]
			if consumesRune(inst) && inst.MatchRune(rune(c)) {
				from = append(from, inst.Out)
			}
		}
		row[c] = b.state(b.closure(from, false))
		if len(b.sets) > maxStates {
			return row, errPattern
		}
	}
	return row, nil
}

func consumesRune(i *syntax.Inst) bool {
	switch i.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// closure follows all instructions that consume nothing. Instructions that wait for the end of the
// text stay in the set.
func (b *dfaBuilder) closure(from []uint32, begin bool) []uint32 {
	// Keep the instructions still to follow on a stack. Each is followed once, since patterns may
	// have loops that consume nothing.
	seen := map[uint32]bool{}
	var out []uint32
	for len(from) > 0 {
		pc := from[len(from)-1]
		from = from[:len(from)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		// An alternative leads to both of its branches; groups do not matter for a mere match.
		switch inst := &b.prog.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			from = append(from, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			from = append(from, inst.Out)
		case syntax.InstEmptyWidth:
			// ^ holds at the beginning only. $ depends on what comes, so it stays in the set for
			// atEnd. Other tests look at the neighbouring characters, which the states do not know.
			switch syntax.EmptyOp(inst.Arg) {
			case syntax.EmptyBeginText:
				if begin {
					from = append(from, inst.Out)
				}
			case syntax.EmptyEndText:
				out = append(out, pc)
			default:
				b.err = errPattern
			}
		case syntax.InstFail:
		default:
			out = append(out, pc)
		}
	}
	// A sorted set is the state's name.
	inorder.Sort(out)
	return out
}

// atEnd reports whether a match is complete if the text ends in a set.
func (b *dfaBuilder) atEnd(set []uint32) bool {
	// Start after every $ of the set: at the end they all hold.
	var from []uint32
	for _, pc := range set {
		if inst := &b.prog.Inst[pc]; inst.Op == syntax.InstEmptyWidth &&
			syntax.EmptyOp(inst.Arg) == syntax.EmptyEndText {
			from = append(from, inst.Out)
		}
	}
	for seen := map[uint32]bool{}; len(from) > 0; {
		pc := from[len(from)-1]
		from = from[:len(from)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		// A match that needs no further character is complete. An instruction that consumes one
		// can't go on.
		switch inst := &b.prog.Inst[pc]; inst.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstAlt, syntax.InstAltMatch:
			from = append(from, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			from = append(from, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg) == syntax.EmptyEndText {
				from = append(from, inst.Out)
			} else {
				b.err = errPattern // ^ after $: only an empty text could match
			}
		}
	}
	return false
}

// classes groups the bytes that lead to the same states from everywhere. Class 0 holds all bytes
// beyond ASCII.
func (d *dfa) classes() (of [128]int, rows [][]int) {
	// Bytes with the same column are one class, which keeps the table small.
	known := map[string]int{}
	n := 1
	for c := range of {
		var column []int
		for s := range d.next {
			column = append(column, d.next[s][c])
		}
		key := fmt.Sprint(column)
		if known[key] == 0 {
			known[key] = n
			n++
			rows = append(rows, column)
		}
		of[c] = known[key]
	}
	return of, rows
}

// match runs the automaton. ask says that the text is not ASCII, so regexp must decide.
func (d *dfa) match(s string) (is, ask bool) {
	state := 0
	for i := range len(s) {
		// The table has ASCII only.
		if s[i] >= 0x80 {
			return false, true
		}
		switch state = d.next[state][s[i]]; state {
		case matched:
			return true, false
		case dead:
			return false, false
		}
	}
	return d.final[state], false
}

// patternOf returns what compile makes of the constant that regexp.MustCompile gave v, or nil.
func patternOf[T any](p *mutate.Pass, v *types.Var, compile func(pattern string) (*T, error)) *T {
	call, ok := p.IsCall(p.Initialiser(v), "regexp", "MustCompile")
	if !ok {
		return nil
	}
	// The pattern must be known now, to be compiled into code.
	pattern, ok := facts.ConstString(p, call.Args[0])
	if !ok {
		return nil
	}
	compiled, err := compile(pattern)
	if err != nil {
		return nil
	}
	return compiled
}
