package exec

import (
	"fmt"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/proof/term"
)

// sizeOf returns a value's size as a number, where it is known: the value of a number itself, or a
// length.
func sizeOf(v Value) (int, bool) {
	switch v := v.(type) {
	case *term.Term:
		return int(v.Signed()), v.IsConst()
	case *Str:
		return len(v.B), true
	case *Slice:
		return v.Len, true
	}
	return 0, false
}

// step runs one instruction. done says that the state has left the block, or
// goes on as several states.
func (a *activation) step(s *state, in ssa.Instruction) (split []*state, done bool) {
	switch in := in.(type) {
	// A phi was set by the jump.
	case *ssa.Phi, *ssa.DebugRef:
	case *ssa.Jump:
		a.jump(s, s.blockOf(a).Succs[0])
		return nil, true
	case *ssa.If:
		a.branch(s, in)
		return nil, true
	case *ssa.Return:
		a.ret(s, in)
		return nil, true
	case *ssa.Panic:
		a.end(s, &Outcome{Kind: Panicked})
		return nil, true
	// A defer is refused where it stands, so no call is left to run here.
	case *ssa.RunDefers:
	case *ssa.Store:
		if p := a.pointer(s, in.Addr); p != nil {
			a.m.store(s, p, a.value(s, in.Val))
		}
	case *ssa.Call:
		return a.callInstr(s, in)
	// Everything else computes a value. Several states may come of it, such as one for each
	// position.
	case ssa.Value:
		x, split, ok := a.compute(s, in)
		if !ok {
			return split, true
		}
		if !s.dead {
			a.set(s, in, x)
		}
	default:
		giveUp("%s", instructionName(in))
	}
	return nil, false
}

func (s *state) blockOf(a *activation) *ssa.BasicBlock { return a.p.fn.Blocks[s.block] }

// instructionName names an instruction that is not followed, for the reason that is shown.
func instructionName(in ssa.Instruction) string {
	switch in.(type) {
	case *ssa.Go:
		return "a go statement"
	case *ssa.Defer:
		return "a defer statement"
	case *ssa.Send, *ssa.Select:
		return "a channel operation"
	case *ssa.MapUpdate, *ssa.MakeMap, *ssa.Lookup:
		return "a map"
	}
	return fmt.Sprintf("an instruction of kind %T", in)
}

// branch goes both ways, each with its condition, unless the condition rules one out.
func (a *activation) branch(s *state, in *ssa.If) {
	c := a.term(s, in.Cond)
	// The state goes on in one direction, and a copy of it in the other.
	b := s.blockOf(a)
	yes, no := s, s.fork()
	a.assume(yes, c)
	a.assume(no, a.m.Pool.Not(c))
	// An observer gets each side of the program's own decisions.
	if a.m.observe && !c.IsConst() && (a.m.depth == 1 || in.Parent().Pkg == a.m.prog.pkg) {
		for _, side := range []*state{yes, no} {
			when := a.m.Pool.Bool(false)
			if !side.dead {
				when = a.m.Pool.All(side.pc...)
			}
			a.m.Branches = append(a.m.Branches, Branch{Pos: in.Cond.Pos(), Side: side == yes, When: when})
		}
	}
	// A side whose condition cannot hold is not followed.
	if !yes.dead {
		a.jump(yes, b.Succs[0])
	}
	if !no.dead {
		a.jump(no, b.Succs[1])
	}
}

func (a *activation) ret(s *state, in *ssa.Return) {
	o := &Outcome{Kind: Returned}
	for _, r := range in.Results {
		o.Results = append(o.Results, a.value(s, r))
	}
	a.end(s, o)
}

// pointer reads a pointer that is about to be followed; nil ends the path.
func (a *activation) pointer(s *state, v ssa.Value) *Ptr {
	x := a.value(s, v)
	p, ok := x.(*Ptr)
	if !ok {
		giveUp("%s", poisonReason(x))
	}
	if p.Obj == 0 {
		a.end(s, &Outcome{Kind: Panicked})
		s.dead = true
		return nil
	}
	return p
}

// compute returns the value of an instruction. ok is false when the state splits.
func (a *activation) compute(s *state, in ssa.Value) (v Value, split []*state, ok bool) {
	switch in := in.(type) {
	case *ssa.Index, *ssa.IndexAddr, *ssa.Slice, *ssa.MakeSlice:
		return a.indexed(s, in)
	case *ssa.Next:
		return a.next1(s, in)
	case *ssa.Convert:
		return a.convert(s, in.X, in.Type())
	}
	return a.simple(s, in), nil, true
}

// simple computes a value of instructions that neither split nor loop.
func (a *activation) simple(s *state, in ssa.Value) Value {
	switch in := in.(type) {
	case *ssa.Alloc:
		return &Ptr{Obj: a.m.alloc(s, a.m.zero(in.Type().Underlying().(*types.Pointer).Elem()))}
	case *ssa.BinOp:
		return a.binary(s, in)
	case *ssa.UnOp:
		return a.unary(s, in)
	// These change the type and not the value.
	case *ssa.ChangeType:
		return a.value(s, in.X)
	case *ssa.ChangeInterface:
		return a.value(s, in.X)
	case *ssa.Extract:
		return a.field(a.value(s, in.Tuple), in.Index)
	case *ssa.Field:
		return a.field(a.value(s, in.X), in.Field)
	case *ssa.FieldAddr:
		if p := a.pointer(s, in.X); p != nil {
			return sub(p, Step{I: in.Field})
		}
		return nil
	case *ssa.MakeInterface:
		return &Iface{Type: in.X.Type(), V: a.value(s, in.X)}
	// A call of a closure passes the captured values to its function.
	case *ssa.MakeClosure:
		f := &Func{Fn: in.Fn.(*ssa.Function)}
		for _, b := range in.Bindings {
			f.Bind = append(f.Bind, a.value(s, b))
		}
		return f
	// A range over a string is an object with the position. A map has no order.
	case *ssa.Range:
		x, ok := a.value(s, in.X).(*Str)
		if !ok {
			giveUp("a map")
		}
		return &Ptr{Obj: a.m.alloc(s, &Agg{Elems: []Value{x, a.m.Pool.Const(64, 0)}})}
	case *ssa.SliceToArrayPointer:
		return a.arrayPointer(s, in)
	case *ssa.TypeAssert:
		return a.assert(s, in)
	}
	giveUp("%s", instructionName(in.(ssa.Instruction)))
	return nil
}

func (a *activation) field(v Value, i int) Value {
	g, ok := v.(*Agg)
	if !ok {
		giveUp("%s", poisonReason(v))
	}
	return g.Elems[i]
}

// arrayPointer makes a pointer to an array of a slice's memory. The array must be that whole
// memory, since a pointer leads to objects and their parts.
func (a *activation) arrayPointer(s *state, in *ssa.SliceToArrayPointer) Value {
	x, ok := a.value(s, in.X).(*Slice)
	n := int(in.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Array).Len())
	// A pointer to an array without elements is nil if the slice is.
	if !ok || x.Off != 0 && x.Len >= n || n == 0 {
		giveUp("an array in the middle of a slice's memory")
	}
	// Go panics where the slice is too short.
	if x.Len < n {
		a.end(s, &Outcome{Kind: Panicked})
		s.dead = true
		return nil
	}
	if g, ok := a.m.load(s, &x.At).(*Agg); !ok || len(g.Elems) != n {
		giveUp("an array that is a part of a slice's memory")
	}
	p := x.At
	return &p
}

// assert runs a type assertion. Dynamic types are constants.
func (a *activation) assert(s *state, in *ssa.TypeAssert) Value {
	x, ok := a.value(s, in.X).(*Iface)
	if !ok {
		giveUp("an interface value")
	}
	// Only the type checker knows which types have the methods.
	if types.IsInterface(in.AssertedType) {
		giveUp("an assertion to an interface")
	}
	// An opaque error has a type that is not known here.
	if o, ok := x.V.(Opaque); ok {
		giveUp("an assertion on what %s made", o.What)
	}
	// The type is known, so the answer is too, and no path splits.
	hit := x.Type != nil && sameType(x.Type, in.AssertedType)
	v := a.m.zero(in.AssertedType)
	if hit {
		v = x.V
	}
	if in.CommaOk {
		return &Agg{Elems: []Value{v, a.m.Pool.Bool(hit)}}
	}
	if !hit {
		a.end(s, &Outcome{Kind: Panicked})
		s.dead = true
	}
	return v
}

// unary reads memory, or negates.
func (a *activation) unary(s *state, in *ssa.UnOp) Value {
	p := a.m.Pool
	switch in.Op {
	case token.MUL:
		// A value without fields has nothing to read.
		if t := in.Type(); isEmpty(t) {
			return a.m.zero(t)
		}
		// Reading an unknown value gives up with its reason.
		if ptr := a.pointer(s, in.X); ptr != nil {
			v := a.m.load(s, ptr)
			if x, ok := v.(Poison); ok {
				giveUp("%s", x.Why)
			}
			return v
		}
		return nil
	case token.NOT, token.XOR:
		return p.Not(a.term(s, in.X))
	case token.SUB:
		return p.Neg(a.term(s, in.X))
	}
	giveUp("the operation %s", in.Op)
	return nil
}

func isEmpty(t types.Type) bool {
	u, ok := t.Underlying().(*types.Struct)
	return ok && u.NumFields() == 0
}

// indexed runs what has a position that must be a constant, or lies in memory
// at one that need not be.
func (a *activation) indexed(s *state, in ssa.Value) (Value, []*state, bool) {
	switch in := in.(type) {
	case *ssa.Index:
		return a.index(s, in)
	case *ssa.IndexAddr:
		return a.indexAddr(s, in)
	case *ssa.MakeSlice:
		return a.makeSlice(s, in)
	}
	return a.slice(s, in.(*ssa.Slice))
}

// demandBelow demands that an index is below a length.
func (a *activation) demandBelow(s *state, v ssa.Value, n int) *term.Term {
	i := a.term(s, v)
	if signedType(v.Type()) && i.W < 64 {
		i = a.m.Pool.SExt(i, 64)
	} else {
		i = a.m.Pool.ZExt(i, 64)
	}
	a.require(s, a.m.Pool.Ult(i, a.m.Pool.Const(64, uint64(n))), "index")
	return i
}

// index reads an element of a string or an array by its value.
func (a *activation) index(s *state, in *ssa.Index) (Value, []*state, bool) {
	var list []Value
	switch x := a.value(s, in.X).(type) {
	case *Str:
		// Most indexes are constants in reach.
		if i := a.term(s, in.Index); i.IsConst() && i.Val < uint64(len(x.B)) {
			return x.B[i.Val], nil, true
		}
		for _, b := range x.B {
			list = append(list, b)
		}
	case *Agg:
		list = x.Elems
	default:
		giveUp("%s", poisonReason(x))
	}
	// Out of range, the path ends in a panic.
	i := a.demandBelow(s, in.Index, len(list))
	if s.dead {
		return nil, nil, true
	}
	// Otherwise the element is chosen by a term. Elements that are no numbers have shapes, so the
	// state splits.
	if i.IsConst() {
		return list[i.Val], nil, true
	}
	if _, ok := list[0].(*term.Term); !ok {
		if split := a.pick(s, in.Index, a.term(s, in.Index), len(list)); split != nil {
			return nil, split, false
		}
	}
	return a.m.selectValue(list[:max(1, clip(i, len(list)))], i), nil, true
}

// clip returns how many of n elements an index can reach.
func clip(i *term.Term, n int) int {
	if _, hi := i.Bounds(); hi < uint64(n) {
		return int(hi) + 1
	}
	return n
}

// indexAddr makes a pointer to an element of a slice or an array.
func (a *activation) indexAddr(s *state, in *ssa.IndexAddr) (Value, []*state, bool) {
	var at *Ptr
	off, n := 0, 0
	// Both have elements in memory; a slice begins somewhere in it.
	switch x := a.value(s, in.X).(type) {
	case *Slice:
		p := x.At
		at, off, n = &p, x.Off, x.Len
	case *Ptr:
		at = a.pointer(s, in.X)
		n = int(in.X.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Array).Len())
	default:
		giveUp("%s", poisonReason(x))
	}
	if s.dead {
		return nil, nil, true
	}
	i := a.demandBelow(s, in.Index, n)
	if s.dead {
		return nil, nil, true
	}
	// A constant index is a step of the path; any other is a step with a term, if all elements are
	// of one shape.
	if i.IsConst() {
		return sub(at, Step{I: off + int(i.Val)}), nil, true
	}
	// Elements of several shapes cannot be one element by a term.
	g, ok := a.m.load(s, at).(*Agg)
	if !ok {
		giveUp("an element of something that could not be computed")
	}
	if !areTerms(g.Elems[off : off+n]) {
		return nil, a.pick(s, in.Index, a.term(s, in.Index), n), false
	}
	return sub(at, Step{I: off, Sym: i, N: clip(i, n)}), nil, true
}

// areTerms reports whether elements can be chosen among by terms.
func areTerms(list []Value) bool {
	for _, v := range list {
		switch v := v.(type) {
		case *term.Term:
		case *Agg:
			if !areTerms(v.Elems) {
				return false
			}
		// A choice of objects or lengths is no choice of numbers.
		default:
			return false
		}
	}
	return true
}

// makeSlice makes a slice. Length and capacity must be constants, or few enough values to split by.
func (a *activation) makeSlice(s *state, in *ssa.MakeSlice) (Value, []*state, bool) {
	const most = 1 << 12
	length, capacity := a.term(s, in.Len), a.term(s, in.Cap)
	// Both sizes are treated alike.
	for _, x := range []struct {
		v ssa.Value
		t *term.Term
	}{{in.Len, length}, {in.Cap, capacity}} {
		if x.t.IsConst() {
			if x.t.Val > most {
				giveUp("a slice of more than %d elements, or of a negative length", most)
			}
			continue
		}
		if _, hi := x.t.Bounds(); hi > 512 {
			giveUp("a slice whose length is not constant")
		}
		_, hi := x.t.Bounds()
		return nil, a.pick(s, x.v, x.t, int(hi)+1), false
	}
	n, c := int(length.Val), int(capacity.Val)
	// make panics if the length exceeds the capacity. A negative length is beyond the limit above.
	if n > c {
		a.end(s, &Outcome{Kind: Panicked})
		s.dead = true
		return nil, nil, true
	}
	// All elements are the one zero, which is never changed: a store makes a new list.
	zero := a.m.zero(in.Type().Underlying().(*types.Slice).Elem())
	list := make([]Value, n)
	for i := range list {
		list[i] = zero
	}
	return a.m.newSlice(s, list, c, zero), nil, true
}

// slice is x[low:high:max].
func (a *activation) slice(s *state, in *ssa.Slice) (Value, []*state, bool) {
	var view Slice
	var str *Str
	most := 0
	// Find what is cut, and how far its memory goes.
	switch x := a.value(s, in.X).(type) {
	case *Str:
		str, most = x, len(x.B)
		view.Len = most
	case *Slice:
		view, most = *x, x.Cap
	case *Ptr:
		p := a.pointer(s, in.X)
		if p == nil {
			return nil, nil, true
		}
		most = int(in.X.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Array).Len())
		view = Slice{At: *p, Len: most, Cap: most}
	default:
		giveUp("%s", poisonReason(x))
	}
	p := a.m.Pool
	// Bounds that are left out have their defaults. All are compared with 64 bits.
	at := func(v ssa.Value, def int) *term.Term {
		if v == nil {
			return p.Const(64, uint64(def))
		}
		return p.Resize(a.term(s, v), 64, signedType(v.Type()))
	}
	low, high, end := at(in.Low, 0), at(in.High, view.Len), at(in.Max, most)
	// 0 <= low <= high <= max <= capacity, as unsigned numbers. Otherwise it panics.
	in64 := func(x, y *term.Term) *term.Term { return p.Not(p.Ult(y, x)) } // x <= y
	ok := p.All(in64(low, high), in64(high, end), in64(end, p.Const(64, uint64(most))))
	a.require(s, ok, "slice")
	if s.dead {
		return nil, nil, true
	}
	// The bounds must be constants: each possible value is a state of its own.
	for _, v := range []ssa.Value{in.Low, in.High, in.Max} {
		if v == nil {
			continue
		}
		if split := a.pick(s, v, a.term(s, v), most+1); split != nil {
			return nil, split, false
		}
	}
	// From here on the bounds are constants.
	lo, hi := int(low.Val), int(high.Val)
	if str != nil {
		return &Str{B: str.B[lo:hi]}, nil, true
	}
	// The elements beyond the length are unknown after append.
	if view.Grown && hi > view.Len {
		giveUp("memory beyond the length of a slice that grew")
	}
	view.Off, view.Len, view.Cap = view.Off+lo, hi-lo, int(end.Val)-lo
	return &view, nil, true
}
