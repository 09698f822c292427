package exec

import (
	"context"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/proof/term"
)

// A Machine runs the functions of one program. It is for one goroutine.
type Machine struct {
	Pool    *term.Pool
	IntBits int // of int: 64 or 32
	States  int // how many may be made
	Turns   int // of one loop, before the rest of it is given up

	prog  *Program
	lib   *Library
	plans map[*ssa.Function]*plan
	variables
	states int
	depth  int
	ctx    context.Context

	Wraps    []Wrap
	Branches []Branch
	observe  bool
	fill     func(t types.Type, w int) *term.Term // makes constants in place of the input's variables, if set

	Tick func() // is called for each state; it may panic with [LimitReached]
}

// variables are those of packages, with their values after initialisation.
type variables struct {
	base     []Value // objects of package variables
	globals  map[*ssa.Global]int
	starting bool
	started  map[*ssa.Package]bool
	bars     map[int]string // objects that may change after the start of the program
	closed   map[int]string // objects that were never filled
	uses     map[*ssa.Package]map[*ssa.Global][]ssa.Instruction
	lost     string // why nothing that initialisation fills can be trusted
}

// A Wrap is a sum or product that may exceed its width. On constant arguments
// it does.
type Wrap struct {
	Pos   token.Pos
	Width int
}

// A Branch is one side of a decision.
type Branch struct {
	Pos  token.Pos
	Side bool
	When *term.Term // the path and the side
}

// A Kind is the way in which an outcome ends.
type Kind int

// The kinds of outcomes.
const (
	Returned Kind = iota
	Panicked
	Unknown // Why names the code that is not understood
)

// An Outcome is one way in which a call may end.
type Outcome struct {
	Kind    Kind
	When    *term.Term
	Results []Value
	Why     string

	pc   []*term.Term
	heap []Value
}

// NewMachine returns a machine that runs functions of p over a pool.
func NewMachine(ctx context.Context, p *Program, lib *Library, pool *term.Pool) *Machine {
	return &Machine{Pool: pool, IntBits: 64, States: 20000, Turns: 300, prog: p, lib: lib, ctx: ctx,
		plans: map[*ssa.Function]*plan{}, variables: variables{
			globals: map[*ssa.Global]int{}, started: map[*ssa.Package]bool{}, bars: map[int]string{},
			closed: map[int]string{},
		}}
}

// activation is one call of a function at work.
type activation struct {
	m       *Machine
	p       *plan
	keep    int // objects that were there before the call
	pending map[string]*state
	queue   []*state
	out     map[string]*Outcome
	list    []*Outcome
}

// maxDepth bounds calls within calls.
const maxDepth = 40

// call runs a function and returns its outcomes.
func (m *Machine) call(fn *ssa.Function, args, bind []Value, pc []*term.Term, heap []Value) (out []*Outcome) {
	if m.depth >= maxDepth {
		return []*Outcome{{Kind: Unknown, Why: "calls within calls beyond a depth of 40", pc: pc, heap: heap}}
	}
	m.depth++
	depth := m.depth
	// If the machine gives up in the function, the call's outcome is unknown, under the condition
	// of its start.
	defer func() {
		m.depth = depth - 1
		if r := recover(); r != nil {
			u, ok := r.(unknown)
			if !ok {
				panic(r)
			}
			out = []*Outcome{{Kind: Unknown, Why: u.why, pc: pc, heap: heap}}
		}
	}()
	// Start with the arguments in their registers. Run one state after the other, in the order that
	// lets paths meet.
	p := m.planOf(fn)
	a := &activation{m: m, p: p, keep: len(heap), pending: map[string]*state{}, out: map[string]*Outcome{}}
	s := &state{
		env:   make([]Value, len(p.reg)),
		heap:  heap,
		pc:    pc,
		turns: make([]int, len(p.loops)),
		prog:  make([]int, len(p.loops)),
	}
	// Captured variables are registers as parameters are.
	for i, v := range fn.Params {
		s.env[p.reg[v]] = args[i]
	}
	for i, v := range fn.FreeVars {
		s.env[p.reg[v]] = bind[i]
	}
	a.run(s)
	for len(a.queue) > 0 {
		a.run(a.next())
	}
	return a.list
}

// next takes the state that comes first.
func (a *activation) next() *state {
	best := 0
	for i := 1; i < len(a.queue); i++ {
		if a.p.comesFirst(a.queue[i], a.queue[best]) {
			best = i
		}
	}
	s := a.queue[best]
	a.queue[best] = a.queue[len(a.queue)-1]
	a.queue = a.queue[:len(a.queue)-1]
	delete(a.pending, a.key(s))
	return s
}

// run takes a state to the end of its block, with all that it splits into.
func (a *activation) run(s *state) {
	work := []*state{s}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		a.m.tickState()
		work = append(work, a.block(s)...)
	}
}

// tickState counts a state. The count bounds the work the same on each machine, the tick and the
// context by time.
func (m *Machine) tickState() {
	m.states++
	if m.states > m.States {
		panic(LimitReached{"more than the allowed number of states"})
	}
	if m.Tick != nil {
		m.Tick()
	}
	if m.ctx.Err() != nil {
		panic(LimitReached{"the work was called off"})
	}
}

// LimitReached is the value of a machine's panic at a limit.
type LimitReached struct{ Why string }

// block runs a state to the end of its block. A state that splits at an
// instruction comes back as several.
func (a *activation) block(s *state) (split []*state) {
	// An instruction that is not understood ends this state only. At the start of a program it may
	// spoil a variable instead, and the state goes on.
	defer func() {
		if r := recover(); r != nil {
			u, ok := r.(unknown)
			if !ok {
				panic(r)
			}
			if a.m.starting && a.m.depth == 1 && a.spoil(s, u.why) {
				split = []*state{s}
				return
			}
			a.end(s, &Outcome{Kind: Unknown, Why: u.why})
			split = nil
		}
	}()
	// A state that split begins at the instruction after.
	b := a.p.fn.Blocks[s.block]
	for ; s.at < len(b.Instrs); s.at++ {
		more, done := a.step(s, b.Instrs[s.at])
		if done || s.dead {
			return more
		}
	}
	return nil
}

// end adds an outcome; it meets another of its shape.
func (a *activation) end(s *state, o *Outcome) {
	// Number the objects anew, so that outcomes that built the same have one key.
	o.pc, o.heap = s.pc, s.heap
	keyed := *s
	keyed.env = o.Results
	if o.Kind != Returned {
		keyed.env = nil
	}
	a.m.tidy(&keyed, a.keep)
	o.heap = keyed.heap
	if o.Kind == Returned {
		o.Results = keyed.env
	}
	// Outcomes meet if their results and memory are of one shape. For the outermost call positions
	// need not agree: nothing is computed with them any more.
	key := []byte{byte(o.Kind)}
	key = append(key, o.Why...)
	for _, v := range o.Results {
		key = appendShape(key, v, a.m.depth > 1)
	}
	for _, v := range o.heap {
		key = appendShape(key, v, a.m.depth > 1)
	}
	// An outcome of the same shape joins the one that is there.
	if have := a.out[string(key)]; have != nil {
		c, pc := a.m.meet(have.pc, o.pc)
		have.Results = a.m.mergeList(c, have.Results, o.Results)
		have.heap = a.m.mergeList(c, have.heap, o.heap)
		have.pc = pc
		return
	}
	a.out[string(key)] = o
	a.list = append(a.list, o)
}

// jump goes to another block.
func (a *activation) jump(s *state, to *ssa.BasicBlock) {
	from := s.block
	if !a.phis(s, to) {
		return
	}
	// Keep what the block needs: states that agree on that can meet, whatever else they computed.
	env := make([]Value, len(s.env))
	for _, r := range a.p.live[to.Index] {
		env[r] = s.env[r]
	}
	s.env, s.block, s.at = env, to.Index, 0
	// Count the turns of the loops that begin here, and note how far each has come.
	for i, l := range a.p.loops {
		switch {
		case l.header == to.Index && l.body[from]:
			s.turns[i]++
			s.prog[i]++
		case l.header == to.Index:
			s.turns[i], s.prog[i] = 0, 0
		}
		if l.header == to.Index {
			if n, ok := l.progress(s.env); ok {
				s.prog[i] = n
			}
			if s.turns[i] > a.m.Turns {
				a.end(s, &Outcome{Kind: Unknown, Why: "a loop may take more turns than were followed"})
				return
			}
		}
	}
	// Meet a state that waits at the same place with the same shape.
	a.m.tidy(s, a.keep)
	key := a.key(s)
	if have := a.pending[key]; have != nil {
		a.m.absorb(have, s)
		return
	}
	a.pending[key] = s
	a.queue = append(a.queue, s)
}

// phis sets the phis of a block for the edge along which a state comes.
func (a *activation) phis(s *state, to *ssa.BasicBlock) bool {
	at := -1
	for k, q := range to.Preds {
		if q.Index == s.block {
			at = k
		}
	}
	// All are read before any is set: one may be the operand of another.
	var vals []Value
	for _, in := range to.Instrs {
		phi, ok := in.(*ssa.Phi)
		if !ok {
			break
		}
		vals = append(vals, a.value(s, phi.Edges[at]))
	}
	for i, v := range vals {
		s.env[a.p.reg[to.Instrs[i].(ssa.Value)]] = v
	}
	return true
}

func (a *activation) key(s *state) string {
	b := []byte{byte(s.block), byte(s.block >> 8)}
	for _, r := range a.p.live[s.block] {
		b = appendShape(b, s.env[r], a.p.steer[r])
	}
	for _, v := range s.heap {
		b = appendShape(b, v, true)
	}
	return string(b)
}

// value reads an operand.
func (a *activation) value(s *state, v ssa.Value) Value {
	switch v := v.(type) {
	case *ssa.Const:
		return a.m.constant(v)
	case *ssa.Global:
		return &Ptr{Obj: a.m.global(v)}
	case *ssa.Function:
		return &Func{Fn: v}
	}
	return s.env[a.p.reg[v]]
}

func (a *activation) term(s *state, v ssa.Value) *term.Term {
	x := a.value(s, v)
	t, ok := x.(*term.Term)
	if !ok {
		giveUp("%s", poisonReason(x))
	}
	return t
}

func (a *activation) set(s *state, v ssa.Value, x Value) { s.env[a.p.reg[v]] = x }

// assume narrows the path; a path that cannot be is dead.
func (a *activation) assume(s *state, c *term.Term) {
	switch {
	case c.True():
	case c.False():
		s.dead = true
	default:
		inv := a.m.Pool.Not(c)
		// A condition that is known adds nothing, and the opposite of a known one ends the path.
		// Conditions on one byte are decided by its table of 256 values.
		for _, have := range s.pc {
			if have == c {
				return
			}
			if have == inv || c.SameByte(have) && a.m.Pool.All(have, c).False() {
				s.dead = true
				return
			}
		}
		s.pc = append(s.pc[:len(s.pc):len(s.pc)], c)
	}
}

// require ends the path with a panic where a condition does not hold.
func (a *activation) require(s *state, c *term.Term, what string) {
	if c.True() {
		return
	}
	bad := s.fork()
	a.assume(bad, a.m.Pool.Not(c))
	if !bad.dead {
		a.end(bad, &Outcome{Kind: Panicked})
	}
	a.assume(s, c)
}

// pick splits a state into one for each value that an operand may have below
// n. It is nil when the operand is a constant.
func (a *activation) pick(s *state, v ssa.Value, t *term.Term, n int) []*state {
	// A constant needs no split.
	if t.IsConst() {
		return nil
	}
	r, ok := a.p.reg[v]
	if !ok {
		giveUp("an operand without a register")
	}
	if n > 4096 {
		giveUp("a position of too many possible values")
	}
	// Make a state for each value that is possible, with the value as a constant.
	var out []*state
	for k := n - 1; k >= 0; k-- {
		c := a.m.Pool.Eq(t, a.m.Pool.Const(t.W, uint64(k)))
		if c.False() {
			continue
		}
		f := s.fork()
		a.assume(f, c)
		if !f.dead {
			f.env[r] = a.m.Pool.Const(t.W, uint64(k))
			out = append(out, f)
		}
	}
	// No value is possible, so no run comes here.
	if out == nil {
		s.dead = true
		out = []*state{}
	}
	return out
}

// Begin forgets the work so far and allows this much again.
func (m *Machine) Begin(states, turns int) { m.states, m.States, m.Turns = 0, states, turns }
