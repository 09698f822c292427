package exec

import (
	"go/token"
	"go/types"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/syntax"
)

// A plan holds the facts about a function before it runs.
type plan struct {
	fn     *ssa.Function
	reg    map[ssa.Value]int
	live   [][]int // by block: registers that are needed at its beginning
	steer  []bool  // by register: a position, length or count that must stay a constant
	rank   []int   // by block: its place in an order that puts loops' exits last
	loops  []*loop // outer ones first
	within [][]int // by block: the loops around it, the outermost first
}

// A loop is a header and what leads back to it.
type loop struct {
	header int
	body   map[int]bool
	drive  []drive // registers that tell how far it is
}

// A drive is a register that grows (or, negative, shrinks) with each turn.
type drive struct{ reg, sign int }

// planOf returns the plan of a function, and makes it at the first call.
func (m *Machine) planOf(fn *ssa.Function) *plan {
	if p := m.plans[fn]; p != nil {
		return p
	}
	// Each parameter, captured variable and instruction with a value has a register.
	p := &plan{fn: fn, reg: map[ssa.Value]int{}}
	add := func(v ssa.Value) { p.reg[v] = len(p.reg) }
	for _, v := range fn.Params {
		add(v)
	}
	for _, v := range fn.FreeVars {
		add(v)
	}
	// One register for each value, whichever block it is in: in SSA form it is set at one place.
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			if v, ok := in.(ssa.Value); ok {
				add(v)
			}
		}
	}
	p.order()
	p.findLoops()
	p.findLive()
	p.findSteer()
	p.findDrives()
	m.plans[fn] = p
	return p
}

// order ranks the blocks in reverse postorder.
func (p *plan) order() {
	seen := make([]bool, len(p.fn.Blocks))
	p.rank = make([]int, len(p.fn.Blocks))
	n := len(p.fn.Blocks)
	var visit func(b *ssa.BasicBlock)
	// A block is numbered after all that it leads to, from the highest number down: so it has a
	// smaller rank, except along the edges of a loop.
	visit = func(b *ssa.BasicBlock) {
		seen[b.Index] = true
		for _, s := range b.Succs {
			if !seen[s.Index] {
				visit(s)
			}
		}
		n--
		p.rank[b.Index] = n
	}
	visit(p.fn.Blocks[0])
}

// findLoops finds the loops by the edges that lead back to a block that dominates their start.
// Edges with the same target belong to one loop.
func (p *plan) findLoops() {
	byHeader := map[int]*loop{}
	for _, b := range p.fn.Blocks {
		for _, h := range b.Succs {
			// An edge back to a block that does not dominate would be a second entry.
			if !h.Dominates(b) {
				if p.rank[h.Index] <= p.rank[b.Index] {
					giveUp("a loop with two entries")
				}
				continue
			}
			// Two edges back to one block are one loop with a continue.
			l := byHeader[h.Index]
			if l == nil {
				l = &loop{header: h.Index, body: map[int]bool{h.Index: true}}
				byHeader[h.Index] = l
			}
			l.add(b)
		}
	}
	// Sort the loops from the outside to the inside.
	p.within = make([][]int, len(p.fn.Blocks))
	for r := range len(p.fn.Blocks) { // headers of outer loops have smaller ranks
		for _, b := range p.fn.Blocks {
			if l := byHeader[b.Index]; l != nil && p.rank[b.Index] == r {
				for x := range l.body {
					p.within[x] = append(p.within[x], len(p.loops))
				}
				p.loops = append(p.loops, l)
			}
		}
	}
}

func (l *loop) add(b *ssa.BasicBlock) {
	if !l.body[b.Index] {
		l.body[b.Index] = true
		for _, q := range b.Preds {
			l.add(q)
		}
	}
}

// findLive finds the registers that are needed at the beginning of each block,
// its phis included.
func (p *plan) findLive() {
	live := make([]map[int]bool, len(p.fn.Blocks))
	for i := range live {
		live[i] = map[int]bool{}
	}
	// Values are needed before they are used, so go backwards. Loops take several rounds, until no
	// set grows any more.
	for changed := true; changed; {
		changed = false
		for i := len(p.fn.Blocks) - 1; i >= 0; i-- {
			b := p.fn.Blocks[i]
			if now := p.liveIn(b, p.liveOut(b, live)); len(now) != len(live[i]) {
				live[i], changed = now, true
			}
		}
	}
	// The order of the registers must not depend on the maps: states are compared in it.
	p.live = make([][]int, len(live))
	for i, set := range live {
		for r := range len(p.reg) {
			if set[r] {
				p.live[i] = append(p.live[i], r)
			}
		}
	}
}

// liveOut returns the registers that are needed at the end of a block, if live are those that are
// needed at the beginning of each.
func (p *plan) liveOut(b *ssa.BasicBlock, live []map[int]bool) map[int]bool {
	out := map[int]bool{}
	for _, s := range b.Succs {
		// A successor sets its phis on the way in. Another successor may still need the old value
		// of the same register: the exit of a loop that returns what the last turn but one found.
		need := maps.Clone(live[s.Index])
		phis := phisOf(s)
		for _, phi := range phis {
			delete(need, p.reg[phi])
		}
		// The phis need what comes along this edge. A block may be there twice, for both branches.
		for _, phi := range phis {
			for k, q := range s.Preds {
				if q == b {
					p.use(need, phi.Edges[k])
				}
			}
		}
		maps.Copy(out, need)
	}
	return out
}

// liveIn returns the registers that are needed at the beginning of a block, if out are those that
// are needed at its end. It changes out.
func (p *plan) liveIn(b *ssa.BasicBlock, out map[int]bool) map[int]bool {
	// From the end to the beginning: what is set need not be there before, and what is used must
	// be.
	for _, in := range slices.Backward(b.Instrs) {
		if phi, ok := in.(*ssa.Phi); ok {
			out[p.reg[phi]] = true // set on the way in
			continue
		}
		if v, ok := in.(ssa.Value); ok {
			delete(out, p.reg[v])
		}
		for _, o := range in.Operands(nil) {
			p.use(out, *o)
		}
	}
	return out
}

// phisOf returns the phis of a block, which come first in it.
func phisOf(b *ssa.BasicBlock) (phis []*ssa.Phi) {
	for _, in := range b.Instrs {
		phi, ok := in.(*ssa.Phi)
		if !ok {
			break
		}
		phis = append(phis, phi)
	}
	return phis
}

// use adds the register of a value, if it has one: constants and functions have none.
func (p *plan) use(set map[int]bool, v ssa.Value) {
	if r, ok := p.reg[v]; ok {
		set[r] = true
	}
}

// findSteer marks the integers that decide how loops run and where memory is
// read, and all that they are computed from.
func (p *plan) findSteer() {
	p.steer = make([]bool, len(p.reg))
	// mark follows a value to the values that it is computed from.
	var mark func(v ssa.Value)
	mark = func(v ssa.Value) {
		r, ok := p.reg[v]
		if v == nil || !ok || p.steer[r] {
			return
		}
		p.steer[r] = true
		// Through numbers only: what is read from memory is not followed.
		switch v := v.(type) {
		case *ssa.Phi, *ssa.BinOp, *ssa.Extract:
			for _, o := range v.(ssa.Instruction).Operands(nil) {
				mark(*o)
			}
		case *ssa.Convert:
			mark(v.X)
		case *ssa.ChangeType:
			mark(v.X)
		case *ssa.UnOp:
			if v.Op == token.SUB {
				mark(v.X)
			}
		}
	}
	// Start from indexes, sizes, integers that leave the function, and tests that end loops.
	for _, b := range p.fn.Blocks {
		for _, in := range b.Instrs {
			switch in := in.(type) {
			case *ssa.IndexAddr:
				// Where memory is read, and how much of it is made.
				mark(in.Index)
			case *ssa.Index:
				mark(in.Index)
			case *ssa.Slice:
				mark(in.Low)
				mark(in.High)
				mark(in.Max)
			case *ssa.MakeSlice:
				mark(in.Len)
				mark(in.Cap)
			case *ssa.Next:
				mark(in)
			case *ssa.Call:
				// A callee or the caller may loop as often as an integer says.
				for _, a := range in.Call.Args {
					if isInt(a.Type()) {
						mark(a)
					}
				}
			case *ssa.Return:
				for _, a := range in.Results {
					if isInt(a.Type()) {
						mark(a)
					}
				}
			case *ssa.If:
				// A comparison that ends a loop.
				if cmp, ok := in.Cond.(*ssa.BinOp); ok && p.leaves(b) && syntax.IsInteger(cmp.X.Type()) {
					mark(cmp.X)
					mark(cmp.Y)
				}
			}
		}
	}
}

// leaves reports whether a branch at the end of b decides if a loop goes on.
func (p *plan) leaves(b *ssa.BasicBlock) bool {
	for _, i := range p.within[b.Index] {
		l := p.loops[i]
		if len(b.Succs) == 2 && l.body[b.Succs[0].Index] != l.body[b.Succs[1].Index] {
			return true
		}
	}
	return false
}

func isInt(t types.Type) bool {
	kind := syntax.Kind(t)
	return kind == types.Int || kind == types.Uint
}

// findDrives finds what grows or shrinks with each turn of a loop.
func (p *plan) findDrives() {
	for _, l := range p.loops {
		h := p.fn.Blocks[l.header]
		for _, in := range h.Instrs {
			phi, ok := in.(*ssa.Phi)
			if !ok {
				break
			}
			// Look at the values that come from inside of the loop.
			for k, q := range h.Preds {
				if !l.body[q.Index] {
					continue
				}
				if sign := p.direction(phi.Edges[k], phi, 6); sign != 0 {
					l.drive = append(l.drive, drive{p.reg[phi], sign})
					break
				}
			}
		}
	}
}

// direction returns whether v is a register made larger or smaller.
func (p *plan) direction(v ssa.Value, from *ssa.Phi, depth int) int {
	if depth == 0 {
		return 0
	}
	// A sum grows and a difference shrinks. A negative constant turns the direction around, and a
	// chain of steps is followed to its beginning.
	switch v := v.(type) {
	case *ssa.BinOp:
		c, ok := v.Y.(*ssa.Const)
		sign := map[token.Token]int{token.ADD: 1, token.SUB: -1, token.SHL: 1, token.SHR: -1, token.QUO: -1}[v.Op]
		if sign != 0 && v.X == from {
			if ok && c.Value != nil && syntax.IsInteger(c.Type()) && c.Int64() < 0 {
				return -sign
			}
			return sign
		}
		if v.Op == token.ADD && v.Y == from {
			return 1
		}
		if sign != 0 {
			return p.direction(v.X, from, depth-1)
		}
	case *ssa.Phi:
		if v == from {
			return 0
		}
		for _, e := range v.Edges {
			if s := p.direction(e, from, depth-1); s != 0 {
				return s
			}
		}
	// A slice that is cut gets shorter, and one that is appended to gets longer.
	case *ssa.Slice:
		return -1
	case *ssa.Call:
		if b, ok := v.Call.Value.(*ssa.Builtin); ok && b.Name() == "append" {
			return 1
		}
	case *ssa.Convert:
		return p.direction(v.X, from, depth-1)
	}
	return 0
}

// progress returns how far a loop is, by the registers that drive it; ok is false if none is a
// constant.
func (l *loop) progress(env []Value) (n int, ok bool) {
	for _, d := range l.drive {
		if size, is := sizeOf(env[d.reg]); is {
			n += d.sign * size
			ok = true
		}
	}
	return n, ok
}

// comesFirst reports whether a state in block a comes first.
func (p *plan) comesFirst(a, b *state) bool {
	// Compare the two places loop by loop, from the outermost in. Inside of the same loop the one
	// that has made less progress comes first, so that states meet at the head of the loop.
	x, y := p.within[a.block], p.within[b.block]
	for d := 0; ; d++ {
		ra, rb := p.rank[a.block], p.rank[b.block]
		if d < len(x) {
			ra = p.rank[p.loops[x[d]].header]
		}
		if d < len(y) {
			rb = p.rank[p.loops[y[d]].header]
		}
		switch {
		case ra != rb:
			// Where one place is in a further loop, that one comes first: the loop has to end
			// before the states can meet.
			return ra < rb
		case d >= len(x) || d >= len(y):
			return len(x) > len(y)
		case a.prog[x[d]] != b.prog[y[d]]:
			return a.prog[x[d]] < b.prog[y[d]]
		}
	}
}
