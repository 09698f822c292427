package exec

import (
	"fmt"
	"go/constant"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/proof/term"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A Value is the content of a register or of a piece of memory. Values never change: writing
// makes new ones. Integers and truth values are *term.Term.
type Value any

// A Str is a string of constant length.
type Str struct{ B []*term.Term }

// A Slice is a view of memory. Obj 0 is no memory.
type Slice struct {
	At            Ptr // of the array
	Off, Len, Cap int
	Nil           bool
	Grown         bool // the capacity is the runtime's choice
}

// A Ptr leads to an object, or to a part of one. Obj 0 is nil, and package
// variables have negative numbers.
type Ptr struct {
	Obj  int
	Path []Step
}

// A Step is the index of a field or an element. A symbolic one is I+Sym, which
// is known to be below I+N.
type Step struct {
	I   int
	Sym *term.Term
	N   int
}

// An Agg is a struct, an array or several results.
type Agg struct {
	Elems  []Value
	Array  bool
	Shared bool // with a string, so that it may not be written any more
}

// An Iface is an interface value. A nil Type is nil.
type Iface struct {
	Type types.Type
	V    Value
}

// A Func is a function that is known, with the variables that it holds.
type Func struct {
	Fn   *ssa.Function
	Bind []Value
}

// An Opaque is a value without known content, such as the error that fmt.Errorf makes.
type Opaque struct{ What string }

// Poison is a value that could not be computed. The result of any use of it is unknown.
type Poison struct{ Why string }

// unknown ends the work on a path.
type unknown struct{ why string }

func giveUp(format string, args ...any) { panic(unknown{fmt.Sprintf(format, args...)}) }

// width returns the bits of an integer type or bool, or 0.
func (m *Machine) width(t types.Type) int {
	switch syntax.Kind(t) {
	case types.Bool, types.UntypedBool:
		return 1
	case types.Int8, types.Uint8:
		return 8
	case types.Int16, types.Uint16:
		return 16
	case types.Int32, types.Uint32, types.UntypedRune:
		return 32
	case types.Int64, types.Uint64:
		return 64
	case types.Int, types.Uint, types.Uintptr, types.UntypedInt:
		return m.IntBits
	}
	return 0
}

func signedType(t types.Type) bool { return syntax.IsInteger(t) && !syntax.Has(t, types.IsUnsigned) }

// zero returns the zero value of a type.
func (m *Machine) zero(t types.Type) Value {
	// Kinds without a zero value of ours are poison: only using it is a fault.
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if w := m.width(t); w > 0 {
			return m.Pool.Const(w, 0)
		}
		if u.Info()&types.IsString != 0 {
			return &Str{}
		}
	case *types.Slice:
		return &Slice{Nil: true}
	case *types.Pointer:
		return &Ptr{}
	case *types.Interface:
		return &Iface{}
	case *types.Signature:
		return &Func{}
	case *types.Struct:
		a := &Agg{Elems: make([]Value, u.NumFields())}
		for i := range a.Elems {
			a.Elems[i] = m.zero(u.Field(i).Type())
		}
		return a
	case *types.Array:
		if u.Len() > 1<<16 {
			return Poison{fmt.Sprintf("an array of %d elements", u.Len())}
		}
		a := &Agg{Elems: make([]Value, u.Len()), Array: true}
		z := m.zero(u.Elem())
		for i := range a.Elems {
			a.Elems[i] = z
		}
		return a
	case *types.Tuple:
		a := &Agg{Elems: make([]Value, u.Len())}
		for i := range a.Elems {
			a.Elems[i] = m.zero(u.At(i).Type())
		}
		return a
	}
	return Poison{"a value of type " + t.String()}
}

// constant returns the value of a constant in the code.
func (m *Machine) constant(c *ssa.Const) Value {
	if c.Value == nil {
		return m.zero(c.Type())
	}
	// A constant is written as its type has it: a number by its bits, a string by its bytes. Floats
	// have no terms.
	t := c.Type()
	if w := m.width(t); w == 1 {
		return m.Pool.Bool(c.Value.String() == "true")
	} else if w > 0 {
		if signedType(t) {
			return m.Pool.Const(w, uint64(c.Int64()))
		}
		return m.Pool.Const(w, c.Uint64())
	}
	if syntax.IsText(t) {
		return m.text(constText(c))
	}
	return Poison{"a constant of type " + t.String()}
}

func (m *Machine) text(s string) *Str {
	out := &Str{B: make([]*term.Term, len(s))}
	for i := range out.B {
		out.B[i] = m.Pool.Const(8, uint64(s[i]))
	}
	return out
}

func constText(c *ssa.Const) string {
	return constant.StringVal(c.Value)
}
