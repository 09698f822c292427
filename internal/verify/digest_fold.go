package verify

import (
	"go/constant"
	"go/token"
	"go/types"
	"math/bits"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/syntax"
)

// folds finds the loops that fold elements into a number in such a way that different lists give
// the same number. It marks the results of these loops.
func (d *digestFlow) folds() {
	// With exact loops a sum counts; with rough ones only a hash does.
	for _, exact := range []bool{true, false} {
		loops := d.loops
		if !exact {
			loops = d.rough
		}
		groups := map[int][]node{}
		for n, id := range loops {
			groups[id] = append(groups[id], n)
		}
		for id, nodes := range groups {
			m := &fold{d: d, in: loops, id: id}
			m.record(nodes)
			switch how := m.mixes(exact); {
			case how == strong, how == weak && exact && !m.position(nodes):
				for _, n := range nodes {
					d.level[n] = max(d.level[n], how)
				}
			}
		}
	}
	d.spread(d.level, d.flows)
	// A sum of sums depends on where an element stood, so it mixes like a hash.
	for n := range d.loops {
		if b, ok := n.(*ssa.BinOp); ok && d.level[n] == weak && (b.Op == token.ADD || b.Op == token.SUB) &&
			(d.sums(b, b.X) || d.sums(b, b.Y)) {
			d.level[n] = strong
		}
	}
	d.spread(d.level, d.flows)
}

// sums reports whether x is a sum of elements that another loop made.
func (d *digestFlow) sums(in *ssa.BinOp, x ssa.Value) bool {
	return d.level[x] >= weak && d.loops[x] != d.loops[in] && d.loops[x] != 0
}

// A fold is a cycle of numbers: the number that a loop or a recursion accumulates.
type fold struct {
	d  *digestFlow
	in map[node]int
	id int

	element, sum, parity, product         depth // how elements enter the number
	left, right, xor, table, number, rest bool
	hashed                                bool // by an operator with no other use
}

func (m *fold) isInside(v ssa.Value) bool { return m.in[v] == m.id }

// record records how the instructions of a cycle treat its number.
func (m *fold) record(nodes []node) {
	for _, n := range nodes {
		switch v := n.(type) {
		case *ssa.BinOp:
			if syntax.Has(v.Type(), types.IsNumeric) && !compares(v.Op) {
				m.operator(v)
			}
		case *ssa.UnOp:
			if at, ok := v.X.(*ssa.IndexAddr); ok && m.isInside(at.Index) {
				m.table = true
			}
		case *ssa.Call:
			m.call(v)
		}
	}
}

// call records a function of math/bits in the cycle.
func (m *fold) call(v *ssa.Call) {
	fn := v.Call.StaticCallee()
	if fn == nil || packageOf(fn) != "math/bits" {
		return
	}
	for _, a := range v.Call.Args {
		if !m.isInside(a) {
			m.element = max(m.element, m.d.elements[a])
		}
	}
	switch fn.Name() {
	case "Add", "Add32", "Add64", "Sub", "Sub32", "Sub64":
	default:
		m.hashed = true
	}
}

// operator records the effect of one operator on the number.
func (m *fold) operator(v *ssa.BinOp) {
	// Let x be the number of the cycle, and y the other operand.
	x, y := v.X, v.Y
	if !m.isInside(x) {
		x, y = y, x
	}
	both := m.isInside(y)
	var from depth
	if !both {
		from = m.d.elements[y]
		m.element = max(m.element, from)
	}
	// Note how the operator mixes the other operand into the number.
	switch v.Op {
	case token.MUL:
		switch _, constant := y.(*ssa.Const); {
		case both, constant && !isBase(y):
			m.hashed = true
		case constant:
			m.number = true
		default:
			m.product = max(m.product, from)
			m.number = m.number || from == none
		}
	case token.ADD, token.SUB:
		if both {
			m.multiplied(v)
		} else {
			m.sum = max(m.sum, from)
		}
	case token.XOR:
		if both {
			m.hashed = true
		}
		m.xor = true
		m.parity = max(m.parity, from)
	case token.SHL:
		m.left = m.left || m.isInside(v.X)
	case token.SHR:
		m.right = m.right || m.isInside(v.X)
	case token.REM:
		m.rest = m.rest || !both && m.isInside(v.X)
	}
}

// multiplied handles a number that enters its own successor twice: a multiplication spelled with
// shifts.
func (m *fold) multiplied(v *ssa.BinOp) {
	k, known := m.factor(v, 0)
	switch {
	case !known:
	case isBaseNumber(k):
		m.number = true
	case k > 2:
		m.hashed = true
	}
}

// factor returns by how much v multiplies the number of the cycle.
func (m *fold) factor(v ssa.Value, steps int) (k uint64, known bool) {
	if !m.isInside(v) {
		return 0, true // an addend
	}
	// The number itself counts once. Operators add and multiply the counts of their operands.
	b, ok := v.(*ssa.BinOp)
	if !ok || steps > maxSteps {
		return 1, true
	}
	x, knownX := m.factor(b.X, steps+1)
	y, knownY := m.factor(b.Y, steps+1)
	switch b.Op {
	case token.ADD:
		return x + y, knownX && knownY
	case token.SUB:
		return x - y, knownX && knownY
	case token.SHL, token.MUL:
		c, ok := b.Y.(*ssa.Const)
		if !ok || c.Value == nil || c.Value.Kind() != constant.Int {
			return 0, false
		}
		by := c.Uint64()
		if b.Op == token.SHL {
			by = 1 << by
		}
		return x * by, knownX
	}
	return 0, false
}

// mixes returns how well the fold mixes. It returns none for a fold that only counts, selects,
// collects bits or reads a number in some base.
func (m *fold) mixes(exact bool) depth {
	if m.element == none {
		return none
	}
	if m.hashed || m.rest && (m.number || m.left) || exact && (m.xor && (m.right || m.table) || m.left && m.right) {
		return strong
	}
	if m.number || m.left {
		return none
	}
	if m.sum == strong || m.parity == strong || m.product == strong {
		return weak
	}
	return none
}

// position reports whether a sum is a position: code uses it as an index.
func (m *fold) position(nodes []node) bool {
	if m.sum == none || m.parity != none || m.product != none {
		return false
	}
	return slices.ContainsFunc(nodes, func(n node) bool {
		v, ok := n.(ssa.Value)
		if !ok || v.Referrers() == nil {
			return false
		}
		return slices.ContainsFunc(*v.Referrers(), func(in ssa.Instruction) bool {
			switch in := in.(type) {
			case *ssa.IndexAddr:
				return in.Index == v
			case *ssa.Index:
				return in.Index == v
			case *ssa.Lookup:
				return in.Index == v && !syntax.Is[*types.Map](in.X.Type())
			case *ssa.Slice:
				return in.Low == v || in.High == v || in.Max == v
			}
			return false
		})
	})
}

// isBase reports whether v is a constant that is the base of some notation.
func isBase(v ssa.Value) bool {
	k, ok := v.(*ssa.Const)
	if !ok || k.Value == nil || k.Value.Kind() != constant.Int {
		return false
	}
	u, exact := constant.Uint64Val(k.Value)
	return exact && isBaseNumber(u)
}

// isBaseNumber reports whether some notation has k as its base. A power of two or of ten shifts old
// digits out of the number, so long inputs reveal it.
func isBaseNumber(k uint64) bool {
	for tens := uint64(10); tens <= 1e18; tens *= 10 {
		if k == tens {
			return true
		}
	}
	return k < 31 || bits.OnesCount64(k) == 1 || slices.Contains([]uint64{32, 36, 52, 58, 60, 62, 85}, k)
}

// cycles numbers the nodes that lie on cycles of a graph, from 1. Nodes of one cycle share a
// number. It uses Tarjan's algorithm.
func cycles(edges map[node][]node) map[node]int {
	t := &tarjan{edges: edges, index: map[node]int{}, low: map[node]int{}, on: map[node]bool{}, out: map[node]int{}}
	for n := range edges {
		if t.index[n] == 0 {
			t.visit(n)
		}
	}
	return t.out
}

type tarjan struct {
	edges      map[node][]node
	index, low map[node]int
	on         map[node]bool
	stack      []node
	out        map[node]int
	groups     int
}

// visit numbers the nodes below one in depth-first order, and closes the cycles that end in it.
func (t *tarjan) visit(n node) {
	t.index[n] = len(t.index) + 1
	t.low[n] = t.index[n]
	t.stack = append(t.stack, n)
	t.on[n] = true
	self := false
	for _, to := range t.edges[n] {
		self = self || to == n
		if t.index[to] == 0 {
			t.visit(to)
			t.low[n] = min(t.low[n], t.low[to])
		} else if t.on[to] {
			t.low[n] = min(t.low[n], t.index[to])
		}
	}
	if t.low[n] == t.index[n] {
		t.close(n, self)
	}
}

// close takes one group off the stack.
func (t *tarjan) close(n node, self bool) {
	at := slices.Index(t.stack, n)
	group := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	if len(group) > 1 || self {
		t.groups++
	}
	for _, m := range group {
		t.on[m] = false
		if len(group) > 1 || self {
			t.out[m] = t.groups
		}
	}
}
