package exec

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/proof/term"
)

// builtin runs a built-in function.
func (a *activation) builtin(s *state, in *ssa.Call, name string) (Value, []*state, bool) {
	// The last result says whether the call has one value; a split into several states says how it
	// goes on.
	args := in.Call.Args
	arg := func(i int) Value { return a.value(s, args[i]) }
	switch name {
	case "len", "cap":
		return a.length(name, arg(0)), nil, true
	case "append":
		return a.grow(s, in, arg(0), arg(1)), nil, true
	case "copy":
		return a.copy(s, arg(0), arg(1)), nil, true
	case "min", "max":
		return a.extreme(s, in, name), nil, true
	// clear on a map is refused, since maps are not followed.
	case "clear":
		if x, ok := arg(0).(*Slice); ok {
			zero := a.m.zero(args[0].Type().Underlying().(*types.Slice).Elem())
			list := make([]Value, x.Len)
			for i := range list {
				list[i] = zero
			}
			a.m.writeElems(s, x, 0, list)
			return &Agg{}, nil, true
		}
	// The compiler's own functions behind wrappers and package unsafe.
	case "ssa:wrapnilchk":
		return arg(0), nil, true
	case "SliceData":
		if x, ok := arg(0).(*Slice); ok && x.Cap > 0 {
			return sub(&x.At, Step{I: x.Off}), nil, true
		}
	case "String":
		return a.unsafeString(s, in)
	}
	giveUp("the built-in function %s", name)
	return nil, nil, true
}

// length returns len or cap of a value as a constant. The capacity of a slice that grew depends on
// the runtime.
func (a *activation) length(name string, v Value) Value {
	n := 0
	switch v := v.(type) {
	case *Str:
		n = len(v.B)
	case *Slice:
		n = v.Len
		// append chooses the capacity by size classes, which another toolchain may have otherwise.
		if name == "cap" {
			if n = v.Cap; v.Grown {
				giveUp("the capacity of a slice that grew")
			}
		}
	case *Agg:
		n = len(v.Elems)
	default:
		giveUp("the length of %s", poisonReason(v))
	}
	return a.m.Pool.Const(a.m.IntBits, uint64(n))
}

// contents returns the elements of a slice or the bytes of a string.
func (m *Machine) contents(s *state, v Value) []Value {
	switch v := v.(type) {
	case *Str:
		out := make([]Value, len(v.B))
		for i, b := range v.B {
			out[i] = b
		}
		return out
	case *Slice:
		return m.elems(s, v)
	}
	giveUp("%s", poisonReason(v))
	return nil
}

// grow is append.
func (a *activation) grow(s *state, in *ssa.Call, to, what Value) Value {
	x, ok := to.(*Slice)
	if !ok {
		giveUp("%s", poisonReason(to))
	}
	// Appending nothing returns the slice itself, even nil.
	list := a.m.contents(s, what)
	if len(list) == 0 {
		return x
	}
	n := x.Len + len(list)
	if n > 1<<14 {
		giveUp("a slice of more than %d elements", 1<<14)
	}
	// Room behind the slice is written in place, which others may see.
	if n <= x.Cap {
		c := *x
		c.Len = n
		a.m.writeElems(s, &c, x.Len, list)
		return &c
	}
	// Otherwise the elements move to new memory. Its capacity is the runtime's choice, so no
	// code may ask for it.
	all := append(append([]Value(nil), a.m.elems(s, x)...), list...)
	out := a.m.newSlice(s, all, max(n, 2*x.Cap), a.m.zero(in.Type().Underlying().(*types.Slice).Elem()))
	out.Grown = true
	return out
}

func (a *activation) copy(s *state, to, from Value) Value {
	x, ok := to.(*Slice)
	if !ok {
		giveUp("%s", poisonReason(to))
	}
	list := a.m.contents(s, from)
	n := min(x.Len, len(list))
	a.m.writeElems(s, x, 0, append([]Value(nil), list[:n]...))
	return a.m.Pool.Const(a.m.IntBits, uint64(n))
}

// extreme is min or max of integers.
func (a *activation) extreme(s *state, in *ssa.Call, name string) Value {
	p := a.m.Pool
	// The order is that of the type, and the first of equal values stays: for integers they are the
	// same.
	less := p.Ult
	if signedType(in.Type()) {
		less = p.Slt
	}
	best := a.term(s, in.Call.Args[0])
	for _, v := range in.Call.Args[1:] {
		t := a.term(s, v)
		c := less(t, best)
		if name == "max" {
			c = less(best, t)
		}
		best = p.Ite(c, t, best)
	}
	return best
}

// unsafeString returns a string over the memory of a slice, which may not be written afterwards.
func (a *activation) unsafeString(s *state, in *ssa.Call) (Value, []*state, bool) {
	// A string of no bytes has no memory.
	n := a.term(s, in.Call.Args[1])
	if n.IsConst() && n.Val == 0 {
		return &Str{}, nil, true
	}
	// Where the pointer is nil, the path has ended in a panic.
	ptr := a.pointer(s, in.Call.Args[0])
	if ptr == nil {
		return nil, nil, true
	}
	// The pointer must lead to an element of an array, from which the string begins.
	if len(ptr.Path) == 0 || ptr.Path[len(ptr.Path)-1].Sym != nil {
		giveUp("a string over memory that is no array")
	}
	last := len(ptr.Path) - 1
	array := &Ptr{Obj: ptr.Obj, Path: ptr.Path[:last]}
	g, ok := a.m.load(s, array).(*Agg)
	if !ok || !g.Array {
		giveUp("a string over memory that is no array")
	}
	from := ptr.Path[last].I
	// A length that is not constant splits the state into one for each length.
	if !n.IsConst() {
		return nil, a.pick(s, in.Call.Args[1], n, len(g.Elems)-from+1), false
	}
	if int(n.Val) > len(g.Elems)-from {
		giveUp("a string beyond the memory of a slice")
	}
	// The bytes are those of the memory now.
	out := &Str{}
	for _, e := range g.Elems[from : from+int(n.Val)] {
		t, ok := e.(*term.Term)
		if !ok || t.W != 8 {
			giveUp("a string over memory that holds no bytes")
		}
		out.B = append(out.B, t)
	}
	// Note that a string shares the memory: a later write would change the string.
	if !g.Shared {
		a.m.store(s, array, &Agg{Elems: g.Elems, Array: true, Shared: true})
	}
	return out, nil, true
}
