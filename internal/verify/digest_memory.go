package verify

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/syntax"
)

// An object is a piece of memory, or several pieces that the analysis cannot tell apart.
// Assignments unify objects, so one pass over the code is enough.
type object struct {
	same  *object // the object that this one was merged into
	parts map[int]*object
}

// These are the parts of an object other than struct fields.
const (
	elementPart = -1 - iota // of a list or an array; the values of a map
	keyPart                 // the keys of a map
	targetPart              // the target of a pointer in this memory
)

// find returns what an object was made the same as.
//
//go:noinline
func (o *object) find() *object {
	for o.same != nil {
		o = o.same
	}
	return o
}

// part returns a part of an object, and makes it if need be.
func (o *object) part(i int) *object {
	o = o.find()
	if p := o.parts[i]; p != nil {
		return p.find()
	}
	if o.parts == nil {
		o.parts = map[int]*object{}
	}
	p := new(object)
	o.parts[i] = p
	return p
}

// content returns the memory that a value of type t at o leads to. Structs and arrays lie at o
// themselves.
func (o *object) content(t types.Type) *object {
	switch t.Underlying().(type) {
	case *types.Struct, *types.Array:
		return o.find()
	}
	return o.part(targetPart)
}

// unify merges two objects with all their parts.
func unify(a, b *object) {
	a, b = a.find(), b.find()
	if a == b {
		return
	}
	b.same = a
	for i, p := range b.parts {
		a = a.find()
		if a.parts[i] != nil {
			unify(a.parts[i], p)
			continue
		}
		if a.parts == nil {
			a.parts = map[int]*object{}
		}
		a.parts[i] = p
	}
}

// leadsToMemory reports whether values of type t lead to objects.
func leadsToMemory(t types.Type) bool { return !syntax.Is[*types.Basic](t) }

// lies returns the object that v leads to.
func (d *digestFlow) lies(v ssa.Value) *object {
	o := d.objects[v]
	if o == nil {
		o = new(object)
		d.objects[v] = o
	}
	return o.find()
}

// assign makes v lead to o, if values of v's type lead anywhere.
func (d *digestFlow) assign(v ssa.Value, o *object) {
	if leadsToMemory(v.Type()) {
		unify(d.lies(v), o)
	}
}

// place unifies the objects that one instruction makes equal.
func (d *digestFlow) place(f *ssa.Function, in ssa.Instruction) {
	switch in := in.(type) {
	// Values that lead to the memory of another value.
	case *ssa.Phi:
		for _, e := range in.Edges {
			if _, none := e.(*ssa.Const); !none {
				d.assign(in, d.lies(e))
			}
		}
	case *ssa.ChangeType, *ssa.ChangeInterface, *ssa.MakeInterface, *ssa.Convert, *ssa.Slice, *ssa.Range,
		*ssa.SliceToArrayPointer:
		if x := firstOperand(in); leadsToMemory(x.Type()) {
			d.assign(in.(ssa.Value), d.lies(x))
		}
	case *ssa.TypeAssert:
		if in.CommaOk {
			unify(d.lies(in).part(0), d.lies(in.X))
		} else {
			d.assign(in, d.lies(in.X))
		}
	// The address of a part, and the value in it.
	case *ssa.FieldAddr:
		unify(d.lies(in), d.lies(in.X).part(in.Field))
	case *ssa.Field:
		d.assign(in, d.lies(in.X).part(in.Field).content(in.Type()))
	case *ssa.IndexAddr:
		unify(d.lies(in), d.lies(in.X).part(elementPart))
	case *ssa.Index:
		if leadsToMemory(in.X.Type()) {
			d.assign(in, d.lies(in.X).part(elementPart).content(in.Type()))
		}
	// Loads and stores.
	case *ssa.UnOp:
		if in.Op.String() == "*" {
			d.assign(in, d.lies(in.X).content(in.Type()))
		}
	case *ssa.Store:
		d.assign(in.Val, d.lies(in.Addr).content(in.Val.Type()))
	// Maps: keys and elements are parts of the map's memory.
	case *ssa.MapUpdate:
		d.assign(in.Key, d.lies(in.Map).part(keyPart).content(in.Key.Type()))
		d.assign(in.Value, d.lies(in.Map).part(elementPart).content(in.Value.Type()))
	case *ssa.Lookup:
		if m, ok := in.X.Type().Underlying().(*types.Map); ok {
			d.parts(in, 0, in.CommaOk, d.lies(in.X).part(elementPart).content(m.Elem()))
		}
	case *ssa.Next:
		if r, ok := in.Iter.(*ssa.Range); ok && !in.IsString {
			m := r.X.Type().Underlying().(*types.Map)
			unify(d.lies(in).part(1), d.lies(in.Iter).part(keyPart).content(m.Key()))
			unify(d.lies(in).part(2), d.lies(in.Iter).part(elementPart).content(m.Elem()))
		}
	// Tuples, closures, results and calls.
	case *ssa.Extract:
		d.assign(in, d.lies(in.Tuple).part(in.Index))
	case *ssa.MakeClosure:
		fn := in.Fn.(*ssa.Function)
		for i, b := range in.Bindings {
			d.assign(fn.FreeVars[i], d.lies(b))
		}
	case *ssa.Return:
		for i, r := range in.Results {
			d.assign(r, d.returned(f, i))
		}
	case ssa.CallInstruction:
		d.placeCall(in)
	}
}

// parts makes a value, or part i of a tuple, lead to o.
func (d *digestFlow) parts(v ssa.Value, i int, tuple bool, o *object) {
	if tuple {
		unify(d.lies(v).part(i), o)
	} else {
		d.assign(v, o)
	}
}

// A result is one result of a function.
type result struct {
	fn *ssa.Function
	i  int
}

// returned returns the object of a result.
func (d *digestFlow) returned(f *ssa.Function, i int) *object {
	r := result{f, i}
	if d.results[r] == nil {
		d.results[r] = new(object)
	}
	return d.results[r].find()
}

// placeCall unifies arguments with parameters, and results with the value of the call.
func (d *digestFlow) placeCall(in ssa.CallInstruction) {
	call, v := in.Common(), in.Value()
	own := d.callees(call)
	for _, fn := range own {
		for i, arg := range d.arguments(call, fn) {
			d.assign(arg, d.lies(fn.Params[i]))
		}
		for i := range fn.Signature.Results().Len() {
			if v != nil && leadsToMemory(fn.Signature.Results().At(i).Type()) {
				d.parts(v, i, fn.Signature.Results().Len() > 1, d.returned(fn, i))
			}
		}
	}
	if len(own) > 0 || v == nil {
		return
	}
	for i, arg := range call.Args { // a library function may return its argument
		switch {
		case i > 0 && isBuiltin(call, "append"):
			if s, ok := arg.Type().Underlying().(*types.Slice); ok && leadsToMemory(s.Elem()) {
				unify(d.lies(v).part(elementPart), d.lies(arg).part(elementPart))
			}
		case types.Identical(arg.Type(), v.Type()):
			d.assign(v, d.lies(arg))
		}
	}
}

func isBuiltin(call *ssa.CallCommon, name string) bool {
	b, ok := call.Value.(*ssa.Builtin)
	return ok && b.Name() == name
}

// callees returns the functions of the file that a call may run.
func (d *digestFlow) callees(call *ssa.CallCommon) (out []*ssa.Function) {
	if fn := call.StaticCallee(); fn != nil {
		if o := fn.Origin(); o != nil {
			fn = o
		}
		if d.own[fn] {
			return []*ssa.Function{fn}
		}
		return nil
	}
	if _, builtin := call.Value.(*ssa.Builtin); builtin {
		return nil
	}
	for _, fn := range d.fns {
		recv := fn.Signature.Recv()
		switch {
		case call.IsInvoke() && recv != nil && fn.Name() == call.Method.Name() && len(fn.Params) == len(call.Args)+1,
			!call.IsInvoke() && recv == nil && len(fn.Params) == len(call.Args) &&
				types.Identical(fn.Signature, call.Signature()):
			out = append(out, fn)
		}
	}
	return out
}

// arguments returns the value that a call gives to each parameter of a callee.
func (d *digestFlow) arguments(call *ssa.CallCommon, fn *ssa.Function) []ssa.Value {
	args := call.Args
	if call.IsInvoke() {
		args = append([]ssa.Value{call.Value}, args...)
	}
	return args[:min(len(args), len(fn.Params))]
}
