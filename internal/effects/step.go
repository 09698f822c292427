package effects

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/syntax"
)

// solve applies all instructions again and again until nothing changes.
func (u *unit) solve() {
	// Each step only adds to sets that are bounded, so this ends.
	for u.changed = true; u.changed; {
		u.changed = false
		// Functions may be entered while this goes on, so the length is asked for each time.
		for i := 0; i < len(u.fns); i++ {
			for _, b := range u.fns[i].Blocks {
				for _, in := range b.Instrs {
					u.at = in
					u.p.took(1)
					u.step(in)
				}
			}
		}
	}
	u.at = nil
}

// step applies one instruction: it lets the sets of places grow by what the instruction may assign,
// load or store.
func (u *unit) step(in ssa.Instruction) {
	switch in := in.(type) {
	case *ssa.Alloc, *ssa.MakeSlice, *ssa.MakeMap, *ssa.MakeChan:
		u.grow(in.(ssa.Value), 0, u.single(u.fresh(in)))
	case *ssa.MakeInterface:
		u.box(in)
	case *ssa.MakeClosure:
		u.closure(in)
	// Without an order of statements, a phi is all of its edges.
	case *ssa.Phi:
		for _, e := range in.Edges {
			u.assign(in, u.value(e))
		}
	case *ssa.ChangeType:
		u.assign(in, u.value(in.X))
	case *ssa.ChangeInterface:
		u.assign(in, u.value(in.X))
	case *ssa.SliceToArrayPointer:
		u.assign(in, u.value(in.X))
	case *ssa.Convert:
		u.convert(in, in.X)
	case *ssa.MultiConvert:
		u.convert(in, in.X)
	case *ssa.Slice:
		u.assign(in, u.open(u.value(in.X)))
	case *ssa.FieldAddr:
		u.fieldAddr(in)
	case *ssa.IndexAddr:
		u.grow(in, 0, u.open(u.value(in.X)))
	case *ssa.Field:
		u.assign(in, u.value(in.X))
	case *ssa.Index:
		u.assign(in, u.value(in.X))
	// Maps and slices give their elements. The second result of an assertion or a look-up is a
	// bool, so only the first one grows.
	case *ssa.Lookup:
		u.first(in, u.load(u.open(u.value(in.X))))
	case *ssa.TypeAssert:
		u.typeAssert(in)
	case *ssa.UnOp:
		u.unOp(in)
	case *ssa.Extract:
		u.assign(in, u.part(in.Tuple, in.Index))
	case *ssa.Range:
		u.grow(in, 0, u.open(u.value(in.X)))
	// An iterator gives keys and values of what it goes through.
	case *ssa.Next:
		s := u.load(u.value(in.Iter))
		u.grow(in, 1, s)
		u.grow(in, 2, s)
	case *ssa.Store:
		u.storeAt(in.Addr, in.Val)
	// Writing to a map or a channel stores what is put into it.
	case *ssa.MapUpdate:
		m := u.open(u.value(in.Map))
		u.write(m, "")
		u.store(m, u.value(in.Key))
		u.store(m, u.value(in.Value))
	case *ssa.Send:
		u.write(u.value(in.Chan), "send")
		u.store(u.value(in.Chan), u.value(in.X))
	case *ssa.Select:
		u.selects(in)
	case *ssa.Panic:
		u.throw(u.value(in.X))
	case ssa.CallInstruction:
		u.call(in)
	}
}

// first adds s to a value, or to the first part of a tuple.
func (u *unit) first(v ssa.Value, s set) {
	t := v.Type()
	if tuple, ok := t.(*types.Tuple); ok {
		t = tuple.At(0).Type()
	}
	if u.p.hasRefs(t) {
		u.grow(v, 0, s)
	}
}

func (u *unit) storeAt(addr, val ssa.Value) {
	to := u.open(u.value(addr))
	u.write(to, "")
	if u.p.hasRefs(val.Type()) {
		u.store(to, u.value(val))
	}
}

// throw records what a caller that recovers from a panic can reach through the panic's value.
func (u *unit) throw(s set) {
	for i := range u.reach(u.open(s)).all {
		p := u.places[i]
		if p.ref.Kind == Invalid || p.ref.Kind == Fresh {
			continue
		}
		if _, known := u.thrown[p.ref]; !known {
			u.thrown[p.ref] = u.effect(p.ref)
			u.changed = true
		}
	}
}

// selects follows the communications of a select statement. Its results are an index, a bool, and
// what each receive gives.
func (u *unit) selects(in *ssa.Select) {
	result := 2
	for _, st := range in.States {
		ch := u.value(st.Chan)
		if st.Dir == types.SendOnly {
			u.write(ch, "send")
			u.store(ch, u.value(st.Send))
			continue
		}
		u.write(ch, "receive")
		u.grow(in, result, u.load(ch))
		result++
	}
}

// unOp follows the two operators that read memory.
func (u *unit) unOp(in *ssa.UnOp) {
	switch in.Op {
	case token.MUL:
		u.assign(in, u.load(u.open(u.value(in.X))))
	case token.ARROW:
		u.write(u.value(in.X), "receive") // the value is gone from the channel
		u.first(in, u.load(u.value(in.X)))
	}
}

func (u *unit) fieldAddr(in *ssa.FieldAddr) {
	var out set
	for i := range u.open(u.value(in.X)).all {
		if u.places[i].box == nil && u.places[i].fn == nil {
			out.add(u.field(i, in.Field))
		}
	}
	u.grow(in, 0, out)
}

// convert makes fresh memory for a conversion between strings and slices. Other conversions keep
// their memory.
func (u *unit) convert(in ssa.Value, x ssa.Value) {
	if kind := syntax.Kind(x.Type()); kind != types.Invalid && kind != types.UnsafePointer {
		if kind == types.Uintptr && u.p.hasRefs(in.Type()) {
			u.grow(in, 0, u.single(u.shared("an address")))
		} else if u.p.hasRefs(in.Type()) {
			u.grow(in, 0, u.single(u.fresh(in.(ssa.Instruction))))
		}
		return
	}
	u.assign(in, u.value(x))
}

func (u *unit) box(in *ssa.MakeInterface) {
	box := u.place(place{box: in.X.Type(), site: in, field: WholeValue})
	u.grow(in, 0, u.single(box))
	if s := u.value(in.X); !u.content[box].covers(s) {
		u.content[box].union(s)
		u.changed = true
	}
}

// typeAssert keeps the boxes whose type the assertion admits, and takes out what they hold. An
// assertion to an interface keeps the boxes as they are.
func (u *unit) typeAssert(in *ssa.TypeAssert) {
	// The assertion excludes boxes of other types.
	x := u.value(in.X)
	if !types.IsInterface(in.AssertedType) {
		var out set
		for i := range x.all {
			switch p := u.places[i]; {
			// A value outside of a box may be of any type.
			case p.box == nil:
				out.add(i)
			// A type with a type parameter may be the asserted one in an instance.
			case types.Identical(p.box, in.AssertedType) || syntax.IsTypeParam(p.box):
				out.union(u.content[i])
			}
		}
		x = out
	} else if !syntax.IsError(in.AssertedType) {
		x = u.expose(x)
	}
	u.first(in, x)
}

// closure makes the place of a function with what it captures. Its variables are then those of the
// body, which is run in this unit.
func (u *unit) closure(in *ssa.MakeClosure) {
	f := in.Fn.(*ssa.Function)
	u.enter(f)
	place := u.function(f)
	u.grow(in, 0, u.single(place))
	for i, b := range in.Bindings {
		s := u.value(b)
		u.grow(f.FreeVars[i], 0, s)
		if !u.content[place].covers(s) {
			u.content[place].union(s)
			u.changed = true
		}
	}
}
