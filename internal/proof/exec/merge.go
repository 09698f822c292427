package exec

import (
	"encoding/binary"
	"slices"

	"github.com/beagle-go/beagle/internal/proof/term"
)

// shapeOf returns the shape of a value: all but its terms. Two values of one shape can become
// one.
func shapeOf(v Value) string { return string(appendShape(nil, v, false)) }

// appendShape writes a value's shape. With steer, constant integers belong to
// it: they are positions, which must stay constants.
func appendShape(b []byte, v Value, steer bool) []byte {
	// Two values of one shape can be merged. Each kind begins with a letter of its own, and lengths
	// are part of the shape.
	num := func(n int) { b = binary.AppendVarint(b, int64(n)) }
	switch v := v.(type) {
	case *term.Term:
		// Positions steer the run, so states with different ones must stay apart.
		if steer && v.IsConst() && v.W > 8 {
			return binary.AppendUvarint(append(b, 'k'), v.Val)
		}
		b = append(b, 't', byte(v.W))
	case *Str:
		b = append(b, 's')
		num(len(v.B))
	// Two slices merge only as views of the same memory: what differs in place or length stays
	// apart.
	case *Slice:
		b = append(b, 'l')
		b = appendShape(b, &v.At, steer)
		num(v.Off)
		num(v.Len)
		num(v.Cap)
		if v.Nil {
			b = append(b, 'n')
		}
		if v.Grown {
			b = append(b, 'g')
		}
	case *Ptr:
		b = append(b, 'p')
		num(v.Obj)
		// The path to a part of an object belongs to the pointer.
		for _, s := range v.Path {
			num(s.I)
			// A step by a term is identified by the term.
			if s.Sym != nil {
				num(-1 - s.Sym.ID())
				num(s.N)
			}
		}
	case *Agg:
		b = append(b, 'a')
		num(len(v.Elems))
		if v.Shared {
			b = append(b, 'h')
		}
		// The elements of an array are data and not positions.
		for _, e := range v.Elems {
			b = appendShape(b, e, steer && !v.Array)
		}
	case *Iface:
		if v.Type == nil {
			return append(b, 'z')
		}
		b = append(append(b, 'i'), v.Type.String()...)
		b = appendShape(b, v.V, steer)
	case *Func:
		b = append(b, 'f')
		if v.Fn != nil {
			b = append(b, v.Fn.String()...)
		}
		for _, e := range v.Bind {
			b = appendShape(b, e, steer)
		}
	case Opaque:
		b = append(append(b, 'o'), v.What...)
	case Poison:
		b = append(append(b, 'x'), v.Why...)
	case nil:
		b = append(b, '-')
	default:
		giveUp("%s", poisonReason(v))
	}
	return append(b, ';')
}

// merge returns a where the condition holds and b elsewhere. Both have one shape.
func (m *Machine) merge(c *term.Term, a, b Value) Value {
	switch x := a.(type) {
	// Numbers are chosen by the condition; what consists of parts is merged part by part. Equal
	// parts stay one value.
	case *term.Term:
		return m.Pool.Ite(c, x, b.(*term.Term))
	case *Str:
		y := b.(*Str)
		if x == y {
			return x
		}
		out := &Str{B: make([]*term.Term, len(x.B))}
		for i := range out.B {
			out.B[i] = m.Pool.Ite(c, x.B[i], y.B[i])
		}
		return out
	case *Agg:
		y := b.(*Agg)
		if x == y {
			return x
		}
		return &Agg{Elems: m.mergeList(c, x.Elems, y.Elems), Array: x.Array, Shared: x.Shared}
	case *Iface:
		if x.Type == nil {
			return x
		}
		return &Iface{Type: x.Type, V: m.merge(c, x.V, b.(*Iface).V)}
	case *Func:
		return &Func{Fn: x.Fn, Bind: m.mergeList(c, x.Bind, b.(*Func).Bind)}
	}
	return a // equal, since the shapes are
}

func (m *Machine) mergeList(c *term.Term, a, b []Value) []Value {
	out := make([]Value, len(a))
	for i := range out {
		if a[i] != nil {
			out[i] = m.merge(c, a[i], b[i])
		}
	}
	return out
}

// meet joins two path conditions: their common part, the rest of each, and both as one list.
func (m *Machine) meet(a, b []*term.Term) (first *term.Term, both []*term.Term) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	x, y := m.Pool.All(a[n:]...), m.Pool.All(b[n:]...)
	both = a[:n:n]
	if or := m.Pool.Or(x, y); !or.True() {
		both = append(both, or)
	}
	// Any condition that holds on the first path and not on the second tells
	// them apart; the shorter one makes smaller terms.
	if ny := m.Pool.Not(y); len(b)-n < len(a)-n || ny == x {
		return ny, both
	}
	return x, both
}

// absorb merges another path of the same key.
func (m *Machine) absorb(s, o *state) {
	c, pc := m.meet(s.pc, o.pc)
	s.env, s.heap = m.mergeList(c, s.env, o.env), m.mergeList(c, s.heap, o.heap)
	s.pc = pc
	for i := range s.turns {
		s.turns[i] = max(s.turns[i], o.turns[i])
		s.prog[i] = min(s.prog[i], o.prog[i])
	}
}

// tidy drops the objects that the function made and nothing reaches any more,
// and numbers the others in the order in which the registers lead to them.
// The first keep objects were there before.
func (m *Machine) tidy(s *state, keep int) {
	first := keep
	if len(s.heap) == keep || m.starting { // package variables lead to objects too, unseen from here
		return
	}
	// Visit the objects in the order in which they are reached: from older objects first, and then
	// from the registers. So two states that built the same have the same numbers.
	to := map[int]int{}
	var order []int
	var visit func(v Value)
	reach := func(id int) {
		if id > first && to[id] == 0 {
			order = append(order, id)
			to[id] = first + len(order)
			visit(s.heap[id-1])
		}
	}
	visit = func(v Value) { eachPtr(v, func(p *Ptr) { reach(p.Obj) }) }
	for _, v := range s.heap[:keep] {
		visit(v)
	}
	for _, v := range s.env {
		visit(v)
	}
	// Nothing moves if all objects are still there in this order.
	same := len(order) == len(s.heap)-keep
	for i, id := range order {
		same = same && id == first+1+i
	}
	if same {
		return
	}
	// Put the objects into their new order, and change all pointers.
	heap := append([]Value(nil), s.heap[:keep]...)
	for _, id := range order {
		heap = append(heap, s.heap[id-1])
	}
	for i := range heap {
		heap[i] = renumber(heap[i], to, first)
	}
	s.heap, s.env = heap, slices.Clone(s.env)
	for i := range s.env {
		s.env[i] = renumber(s.env[i], to, first)
	}
}

// eachPtr visits the pointers in a value. Numbers in a list are passed over quickly: most lists
// hold nothing else.
func eachPtr(v Value, do func(*Ptr)) {
	switch v := v.(type) {
	case *Ptr:
		do(v)
	case *Slice:
		do(&v.At)
	case *Agg:
		for _, e := range v.Elems {
			if _, ok := e.(*term.Term); ok {
				continue
			}
			eachPtr(e, do)
		}
	case *Iface:
		eachPtr(v.V, do)
	case *Func:
		for _, e := range v.Bind {
			eachPtr(e, do)
		}
	}
}

// renumber returns a value with other numbers for its objects. Without such a pointer it is the
// value itself.
func renumber(v Value, to map[int]int, first int) Value {
	// Most values hold no such pointer, and sharing them keeps equal parts one value.
	has := false
	eachPtr(v, func(p *Ptr) { has = has || p.Obj > first })
	if !has {
		return v
	}
	id := func(old int) int {
		if n, ok := to[old]; ok {
			return n
		}
		return old
	}
	list := func(in []Value) []Value {
		out := make([]Value, len(in))
		for i, e := range in {
			out[i] = renumber(e, to, first)
		}
		return out
	}
	// Only pointers have a number; the other kinds are rebuilt around them.
	switch v := v.(type) {
	case *Ptr:
		return &Ptr{Obj: id(v.Obj), Path: v.Path}
	case *Slice:
		c := *v
		c.At.Obj = id(v.At.Obj)
		return &c
	case *Agg:
		return &Agg{Elems: list(v.Elems), Array: v.Array, Shared: v.Shared}
	case *Iface:
		return &Iface{Type: v.Type, V: renumber(v.V, to, first)}
	case *Func:
		return &Func{Fn: v.Fn, Bind: list(v.Bind)}
	}
	return v
}
