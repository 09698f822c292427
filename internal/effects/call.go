package effects

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// call applies the effects of one call to the unit. It picks the callee's kind: an interface
// method, a built-in, a known function, or a function value.
func (u *unit) call(in ssa.CallInstruction) {
	c := in.Common()
	site, _ := in.(ssa.Value) // none for go and defer
	args := make([]set, 0, len(c.Args)+1)
	if c.IsInvoke() {
		u.invoke(in, site, c)
		return
	}
	for _, a := range c.Args {
		args = append(args, u.value(a))
	}
	switch f := c.Value.(type) {
	case *ssa.Builtin:
		u.builtin(in, site, f.Name(), c.Args)
	// The types and boxes of the arguments are known only at the call.
	case *ssa.Function:
		u.boxArguments(in, f, c.Args, args)
		u.given = c.Args
		u.static(in, site, f, args)
		u.given = nil
	default:
		u.dynamic(in, site, u.value(c.Value), c.Signature(), args)
	}
}

// boxArguments records the types of the arguments of a generic function, because the function may
// call their methods.
func (u *unit) boxArguments(in ssa.CallInstruction, f *ssa.Function, values []ssa.Value, args []set) {
	if f.Origin() == nil {
		return
	}
	for i, v := range values {
		// A value with methods is put into a box with its type, as if it were an interface.
		if t := v.Type(); !types.IsInterface(t) && u.p.prog.MethodSets.MethodSet(t).Len() > 0 {
			box := u.place(place{box: t, site: in, field: i})
			// Sets are shared, so a copy grows.
			if !u.content[box].covers(args[i]) {
				u.content[box] = append(set(nil), u.content[box]...)
				u.content[box].union(args[i])
				u.changed = true
			}
			args[i] = u.single(box)
		}
	}
}

// static connects a call with the function that it calls: one of this unit by its values, another
// by its summary, and one without a summary as code that may do anything.
func (u *unit) static(in ssa.CallInstruction, site ssa.Value, f *ssa.Function, args []set) {
	if u.in[f] && f != u.fn {
		u.connect(site, f, args)
		return
	}
	s := u.p.SummaryOf(f)
	if s == nil {
		u.opaque(site, calleeName(f), args)
		return
	}
	u.apply(in, site, s, args, calleeName(f))
}

func calleeName(f *ssa.Function) string {
	if obj, ok := f.Object().(*types.Func); ok {
		return Name(obj)
	}
	return f.Name()
}

// connect binds the arguments of a call to the parameters of a closure in the same unit. It also
// binds the closure's results to the call.
func (u *unit) connect(site ssa.Value, f *ssa.Function, args []set) {
	for i, p := range f.Params {
		if i < len(args) && u.p.hasRefs(p.Type()) {
			u.grow(p, 0, args[i])
		}
	}
	if site == nil {
		return
	}
	for i := range f.Signature.Results().Len() {
		u.grow(site, i, u.returned(f, i))
	}
}

// returned returns what result i of a function of the unit may point at.
func (u *unit) returned(f *ssa.Function, i int) set {
	var out set
	if !u.p.hasRefs(f.Signature.Results().At(i).Type()) {
		return nil
	}
	// The result is what the returns of all blocks give.
	for _, b := range f.Blocks {
		if len(b.Instrs) == 0 {
			continue
		}
		if ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok && i < len(ret.Results) {
			out.union(u.value(ret.Results[i]))
		}
	}
	if f.Recover != nil { // a recovered panic returns the named results
		for _, in := range f.Recover.Instrs {
			if ret, ok := in.(*ssa.Return); ok && i < len(ret.Results) {
				out.union(u.value(ret.Results[i]))
			}
		}
	}
	return out
}

// dynamic applies a call of a function value: it tries every function that the value may hold.
func (u *unit) dynamic(in ssa.CallInstruction, site ssa.Value, code set, sig *types.Signature, args []set) {
	for i := range code.all {
		switch p := u.places[i]; {
		case p.fn != nil:
			u.static(in, site, p.fn, args)
		case p.box != nil:
		case p.ref.Kind == Shared && u.sharedCode(in, site, sig, args):
		default:
			u.foreign(in, site, p.ref, "", i, args)
		}
	}
}

// sharedCode handles a function value that comes from shared memory. Every function that the
// program uses as a value, and that has this signature, may be the callee. It reports whether there
// is such a function.
func (u *unit) sharedCode(in ssa.CallInstruction, site ssa.Value, sig *types.Signature, args []set) bool {
	found := false
	for _, f := range u.p.callees {
		if types.Identical(f.Signature, sig) {
			found = true
			u.static(in, site, f, args)
		}
	}
	return found
}

// foreign applies a call of code that the function received. Such code may keep its arguments, and
// it may return anything reachable from itself.
func (u *unit) foreign(in ssa.CallInstruction, site ssa.Value, code Ref, method string, at int, args []set) {
	if code.Kind == Invalid {
		return
	}
	// The code may do anything with all that its arguments lead to: note that it runs with each of
	// them, once.
	var all set
	for _, a := range args {
		all.union(a)
	}
	all = u.reach(all)
	none, by := true, methodRun{at, method}
	for j := range all.all {
		if u.places[j].ref.Kind != Invalid {
			none = false
			break
		}
	}
	known := u.handed[by]
	for j := range all.without(known).all {
		if r := u.places[j].ref; r.Kind != Invalid {
			u.run(Run{code, method, r})
		}
	}
	known.union(all)
	u.handed[by] = known
	u.yielded(in, at, args)
	// A call without such memory still runs the code.
	if none {
		u.run(Run{code, method, Ref{Field: WholeValue}})
	}
	// It may return what it leads to itself.
	if site != nil {
		u.answer(site, u.reach(u.single(at)))
	}
}

// yielded runs the functions that foreign code receives as arguments. Each may get anything that
// the foreign code reaches: an iterator calls its loop's body.
func (u *unit) yielded(in ssa.CallInstruction, code int, args []set) {
	for _, a := range args {
		for j := range a.all {
			f := u.places[j].fn
			if f == nil {
				continue
			}
			// One more than the parameters, for a receiver.
			all := make([]set, f.Signature.Params().Len()+1)
			for k := range all {
				all[k] = u.reach(u.single(code))
			}
			u.static(in, nil, f, all)
		}
	}
}

func (u *unit) run(r Run) {
	if _, known := u.runs[r]; !known {
		u.runs[r] = u.effect(r.Arg)
		u.changed = true
	}
}

// answer adds s to the set of every result of a call.
func (u *unit) answer(site ssa.Value, s set) {
	if tuple, ok := site.Type().(*types.Tuple); ok {
		for i := range tuple.Len() {
			if u.p.hasRefs(tuple.At(i).Type()) {
				u.grow(site, i, s)
			}
		}
		return
	}
	u.assign(site, s)
}

// opaque applies a call of an unknown function: it may write, keep and return whatever it reaches.
func (u *unit) opaque(site ssa.Value, name string, args []set) {
	var all set
	for _, a := range args {
		all.union(u.reach(u.open(a)))
	}
	u.suspect(all, name, name)
	unknown := u.shared("memory of " + name)
	u.store(u.single(unknown), all)
	if site != nil {
		all.add(unknown)
		u.answer(site, all)
	}
}

// invoke applies a call of an interface method.
func (u *unit) invoke(in ssa.CallInstruction, site ssa.Value, c *ssa.CallCommon) {
	args := make([]set, 0, len(c.Args)+1)
	args = append(args, nil)
	for _, a := range c.Args {
		args = append(args, u.value(a))
	}
	u.invokeOn(in, site, u.value(c.Value), c.Method.Name(), args)
}

// invokeOn runs a method on every value that recv may hold; args[0] is the place for the receiver.
func (u *unit) invokeOn(in ssa.CallInstruction, site ssa.Value, recv set, method string, args []set) {
	var unknown set
	for i := range recv.all {
		p := u.places[i]
		// A function value has no methods of an interface.
		switch {
		case p.fn != nil:
		case p.box != nil:
			// The boxed value's type gives the method.
			if f := u.p.method(p.box, method); f != nil {
				args[0] = u.content[i]
				u.reaches(f)
				u.static(in, site, f, args)
			}
		// The caller's values may be of any type.
		case p.ref.Kind == Top || p.ref.Kind == Deep:
			u.foreign(in, site, p.ref, method, i, args[1:])
		default:
			args[0] = u.single(i)
			u.ownMethods(in, site, method, args)
			unknown.add(i)
		}
	}
	if args[0] = unknown; !unknown.empty() && !u.contract(in, site, method, args) {
		u.opaque(site, "a method "+method, args)
	}
}

// ownMethods runs the methods of the program's own types on a value of unknown type. It may have
// any type that the program converts to an interface.
func (u *unit) ownMethods(in ssa.CallInstruction, site ssa.Value, method string, args []set) {
	for _, f := range u.p.methodsNamed(method) {
		u.reaches(f)
		if u.p.IsOwn(f) {
			u.static(in, site, f, args)
		}
	}
}

// reaches notes a method that a call through an interface may reach.
func (u *unit) reaches(f *ssa.Function) {
	if _, known := u.methods[f]; !known {
		u.methods[f] = u.effect(Ref{})
	}
}

// contract applies the contract of a method to values of unknown types, all at once: what it does
// to one of them does not depend on the others. It reports whether the table has a contract.
func (u *unit) contract(in ssa.CallInstruction, site ssa.Value, method string, args []set) bool {
	if u.p.Table == nil || u.p.Table.Method(method) == nil {
		return false
	}
	u.apply(in, site, u.p.Table.Method(method), args, method)
	return true
}

// builtin applies a built-in function. Those that are not listed have no effects on memory.
func (u *unit) builtin(in ssa.CallInstruction, site ssa.Value, name string, args []ssa.Value) {
	switch name {
	// append writes behind the slice if there is room, and otherwise makes new memory with the same
	// elements. Either may be the result.
	case "append":
		s := u.open(u.value(args[0]))
		u.write(s, "append")
		fresh := u.single(u.fresh(in.(ssa.Instruction)))
		u.store(fresh, u.load(s))
		if site != nil {
			u.assign(site, s)
			u.assign(site, fresh)
		}
		if len(args) > 1 && u.elementRefs(args[0].Type()) {
			elems := u.load(u.open(u.value(args[1])))
			u.store(s, elems)
			u.store(fresh, elems)
		}
	case "copy":
		to := u.open(u.value(args[0]))
		u.write(to, "copy")
		if u.elementRefs(args[0].Type()) {
			u.store(to, u.load(u.open(u.value(args[1]))))
		}
	case "clear", "delete", "close":
		u.write(u.open(u.value(args[0])), name)
	// These give another view of the same memory. The bytes of a string belong to everybody.
	case "ssa:wrapnilchk", "Slice", "SliceData", "StringData", "Add":
		if site != nil {
			u.assign(site, u.open(u.value(args[0])))
			if name == "StringData" {
				u.assign(site, u.single(u.shared("the bytes of a string")))
			}
		}
	case "recover":
		if site != nil {
			u.assign(site, u.single(u.shared("a panic's value")))
		}
	}
}

func (u *unit) elementRefs(t types.Type) bool {
	if s, ok := t.Underlying().(*types.Slice); ok {
		return u.p.hasRefs(s.Elem())
	}
	return u.p.hasRefs(t)
}
