package exec

import (
	"github.com/beagle-go/beagle/internal/proof/term"
)

// A state is one path, or several that met, on its way through a function.
type state struct {
	env   []Value // by register
	heap  []Value // object n is heap[n-1]
	pc    []*term.Term
	turns []int // by loop
	prog  []int // by loop: how far it is
	block int
	at    int // instruction
	dead  bool
}

func (s *state) fork() *state {
	c := *s
	c.env = append([]Value(nil), s.env...)
	c.heap = append([]Value(nil), s.heap...)
	c.pc = s.pc[:len(s.pc):len(s.pc)]
	c.turns = append([]int(nil), s.turns...)
	c.prog = append([]int(nil), s.prog...)
	return &c
}

// alloc makes an object.
func (m *Machine) alloc(s *state, v Value) int {
	s.heap = append(s.heap, v)
	return len(s.heap)
}

func (v *variables) object(s *state, id int) Value {
	if id < 0 {
		if why := v.barred(id); why != "" {
			giveUp("%s", why)
		}
		return v.base[-id-1]
	}
	return s.heap[id-1]
}

// load reads the target of a pointer that is not nil.
func (m *Machine) load(s *state, p *Ptr) Value {
	return m.part(m.object(s, p.Obj), p.Path)
}

// part follows a path into a value. A step by a term chooses among the elements in reach, each with
// the rest of the path.
func (m *Machine) part(v Value, path []Step) Value {
	for i, st := range path {
		// A value without parts is unknown, and holds the reason.
		a, ok := v.(*Agg)
		if !ok {
			giveUp("%s", poisonReason(v))
		}
		// A known step is taken at once.
		if st.Sym == nil {
			v = a.Elems[st.I]
			continue
		}
		// Below a step by a term the paths are followed in every element, and what they end at is
		// chosen from.
		list := make([]Value, st.N)
		for k := range list {
			list[k] = m.part(a.Elems[st.I+k], path[i+1:])
		}
		return m.selectValue(list, st.Sym)
	}
	return v
}

// selectValue returns the element at an index. Elements must be of one shape.
func (m *Machine) selectValue(list []Value, index *term.Term) Value {
	// Numbers are chosen by a term of their own, which the pool can simplify.
	if _, ok := list[0].(*term.Term); ok {
		terms := make([]*term.Term, len(list))
		for i, v := range list {
			t, ok := v.(*term.Term)
			if !ok {
				giveUp("%s", poisonReason(v))
			}
			terms[i] = t
		}
		return m.Pool.Select(terms, index)
	}
	// Other values are chosen one after the other, and must be of one shape to be merged.
	out := list[len(list)-1]
	first := shapeOf(list[0])
	for i := len(list) - 2; i >= 0; i-- {
		if shapeOf(list[i]) != first || shapeOf(out) != first {
			giveUp("an index that is no constant, into elements of different lengths")
		}
		out = m.merge(m.Pool.Eq(index, m.Pool.Const(index.W, uint64(i))), list[i], out)
	}
	return out
}

// store writes the target of a pointer that is not nil.
func (m *Machine) store(s *state, p *Ptr, v Value) {
	if p.Obj < 0 {
		if !m.starting {
			giveUp("a write to a package variable")
		}
		m.base[-p.Obj-1] = m.withPart(m.base[-p.Obj-1], p.Path, v)
		return
	}
	i := p.Obj - 1
	s.heap[i] = m.withPart(s.heap[i], p.Path, v)
}

// withPart returns a value with a part of it exchanged.
func (m *Machine) withPart(old Value, path []Step, v Value) Value {
	if len(path) == 0 {
		return v
	}
	a, ok := old.(*Agg)
	if !ok {
		giveUp("%s", poisonReason(old))
	}
	// Strings cannot change, so the memory behind one may not.
	if a.Shared {
		giveUp("a write to memory that a string shares")
	}
	st := path[0]
	// Values are never changed in place: other states hold them too.
	c := &Agg{Elems: append([]Value(nil), a.Elems...), Array: a.Array}
	if st.Sym == nil {
		c.Elems[st.I] = m.withPart(a.Elems[st.I], path[1:], v)
		return c
	}
	// A step by a term writes to each element in reach, under the condition that it is the one.
	for k := range st.N {
		now := m.withPart(a.Elems[st.I+k], path[1:], v)
		if shapeOf(now) != shapeOf(a.Elems[st.I+k]) {
			giveUp("a write at an index that is no constant, of another length")
		}
		hit := m.Pool.Eq(st.Sym, m.Pool.Const(st.Sym.W, uint64(k)))
		c.Elems[st.I+k] = m.merge(hit, now, a.Elems[st.I+k])
	}
	return c
}

// elems reads the elements of a slice.
func (m *Machine) elems(s *state, x *Slice) []Value {
	if x.Len == 0 {
		return nil
	}
	a, ok := m.load(s, &x.At).(*Agg)
	if !ok {
		giveUp("a slice of something that could not be computed")
	}
	return a.Elems[x.Off : x.Off+x.Len]
}

// newSlice makes a slice over new memory.
func (m *Machine) newSlice(s *state, list []Value, capacity int, zero Value) *Slice {
	a := &Agg{Elems: append([]Value(nil), list...), Array: true}
	for len(a.Elems) < capacity {
		a.Elems = append(a.Elems, zero)
	}
	return &Slice{At: Ptr{Obj: m.alloc(s, a)}, Len: len(list), Cap: capacity}
}

// writeElems writes to a slice's memory from one of its places on.
func (m *Machine) writeElems(s *state, x *Slice, at int, list []Value) {
	if len(list) == 0 {
		return
	}
	a, ok := m.load(s, &x.At).(*Agg)
	if !ok || a.Shared {
		giveUp("a write to memory that a string shares, or that could not be computed")
	}
	c := &Agg{Elems: append([]Value(nil), a.Elems...), Array: true}
	copy(c.Elems[x.Off+at:], list)
	m.store(s, &x.At, c)
}

func sub(p *Ptr, st Step) *Ptr {
	return &Ptr{Obj: p.Obj, Path: append(p.Path[:len(p.Path):len(p.Path)], st)}
}

func poisonReason(v Value) string {
	if p, ok := v.(Poison); ok {
		return p.Why
	}
	return "a value that the translation does not know"
}
