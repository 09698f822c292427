package effects

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// apply applies a callee's summary to the arguments. With a table, a callee's own caches and pools
// do not count as state, because the table lists the functions that may use them.
func (u *unit) apply(in ssa.CallInstruction, site ssa.Value, s *Summary, args []set, name string) {
	// Each effect on a parameter's memory becomes one on the memory of the argument. What writes to
	// an error's memory has looked inside of it.
	opened := u.exposeAll(args)
	for _, w := range s.Writes {
		if w.Kind != Shared || w.Name == Kept || u.p.Table == nil {
			u.suspect(u.resolve(in, w, opened), name, w.By)
		}
	}
	// A store into shared memory keeps the stored value; any other leads from memory of the caller
	// to memory of the caller.
	for _, k := range s.Stores {
		if k.Into.Kind == Shared {
			u.keep(in, k, args)
			continue
		}
		u.store(u.resolve(in, k.Into, args), u.resolve(in, k.From, args))
	}
	// Code that the callee runs may have come from the caller.
	for _, r := range s.Runs {
		u.runCode(in, r, args)
	}
	for _, r := range s.Panics {
		u.throw(u.resolve(in, r, args))
	}
	for i, list := range s.Results {
		for _, r := range list {
			if r.Ref.Kind == Deep && !r.Deep {
				u.result(in, site, i, r, opened)
			} else {
				u.result(in, site, i, r, args)
			}
		}
	}
}

// keep notes that a callee leaves a reference in memory that outlives the callee.
func (u *unit) keep(in ssa.CallInstruction, k Store, args []set) {
	u.store(u.resolve(in, k.Into, args), u.resolve(in, k.From, args))
}

// result grows the value of the call by what result i of the callee may point at.
func (u *unit) result(in ssa.CallInstruction, site ssa.Value, i int, r Result, args []set) {
	if site == nil {
		return
	}
	t := site.Type()
	if tuple, ok := t.(*types.Tuple); ok {
		if i >= tuple.Len() {
			return
		}
		t = tuple.At(i).Type()
	}
	// A result without references points at nothing.
	if !u.p.hasRefs(t) {
		return
	}
	to := u.resolve(in, r.Ref, args)
	// A deep result is what lies inside of another one: give the fresh memory a place for it, and
	// let that hold the target.
	if r.Deep {
		inner := u.single(
			u.place(place{ref: Ref{Kind: Fresh, Field: WholeValue}, site: in, field: WholeValue, inner: 1 +
				r.Field - WholeValue}))
		if r.Ref.Kind == Fresh {
			to = inner
		}
		fresh := u.fresh(in)
		if r.Field != WholeValue {
			fresh = u.field(fresh, r.Field)
		}
		u.store(u.single(fresh), to)
		u.store(inner, to)
		return
	}
	u.grow(site, i, to)
}

// resolve translates a callee's name for memory into places of the caller.
func (u *unit) resolve(in ssa.CallInstruction, r Ref, args []set) set {
	// New memory of the callee is new to the caller, too, by the place of the call. Shared memory
	// keeps its name, or gets that of the callee.
	switch r.Kind {
	case Fresh:
		return u.single(u.fresh(in))
	case Shared:
		name := r.Name
		if f := in.Common().StaticCallee(); name == "" && f != nil {
			name = "memory of " + calleeName(f)
		}
		return u.single(u.shared(name))
	// A parameter's memory is the argument's. The argument may have no such memory by its type.
	case Top, Deep:
		if r.Param >= len(args) {
			return nil
		}
		if r.Kind == Deep && r.Param < len(u.given) && !u.p.holdsRefs(u.given[r.Param].Type(), r.Field) {
			return nil
		}
		return u.memory(r, u.open(args[r.Param]))
	}
	return nil
}

// memory returns the places of the caller that a reference of the callee means: those of the
// argument, or a field of them, or all that they lead to.
func (u *unit) memory(r Ref, arg set) set {
	var top set
	for i := range arg.all {
		if r.Field != WholeValue && u.places[i].box == nil && u.places[i].fn == nil {
			i = u.field(i, r.Field)
		}
		top.add(i)
	}
	if r.Kind == Deep {
		return u.reach(u.load(top))
	}
	return top
}

// runCode applies the calls that a callee makes of functions and methods that it received.
func (u *unit) runCode(in ssa.CallInstruction, r Run, args []set) {
	arg := u.resolve(in, r.Arg, args)
	code := u.codeOf(in, r.Code, args)
	defer func(given []ssa.Value) { u.given = given }(u.given)
	u.given = nil // the calls that follow have arguments of their own
	var unknown set
	for i := range code.all {
		u.p.took(1)
		// A method may call itself through the callee; one round on each place is enough.
		if now := (methodRun{i, r.Method}); u.running[now] {
			continue
		} else {
			u.running[now] = true
			defer delete(u.running, now)
		}
		switch p := u.places[i]; {
		// A function of the unit or of the program: any parameter may get the argument.
		case p.fn != nil && r.Method == "":
			all := make([]set, p.fn.Signature.Params().Len()+1) // one more for a receiver
			for j := range all {
				all[j] = arg
			}
			u.static(in, nil, p.fn, all)
			u.answerOf(in, i, p.fn, all)
		case p.fn != nil:
		// An interface value of known type: run its method of that name. Code that looks inside of
		// the value by reflection may run such methods of its parts.
		case p.box != nil && r.Method != "":
			for _, f := range u.p.methodsWithin(p.box, r.Method) {
				u.reaches(f)
			}
			if f := u.p.method(p.box, r.Method); f != nil {
				all := make([]set, f.Signature.Params().Len()+1)
				for j := range all {
					all[j] = arg
				}
				all[0] = u.content[i]
				u.static(in, nil, f, all)
				u.answerOf(in, i, f, all)
			}
		case p.box != nil:
		// Code from shared memory: any function that the program uses as a value.
		case r.Method == "" && p.ref.Kind == Shared:
			for _, f := range u.p.callees {
				all := make([]set, f.Signature.Params().Len()+1)
				for j := range all {
					all[j] = arg
				}
				u.static(in, nil, f, all)
			}
		// Code that the caller's own caller passed in.
		case p.ref.Kind == Top || p.ref.Kind == Deep:
			u.foreign(in, nil, p.ref, r.Method, i, []set{arg})
		case r.Method != "":
			u.ownMethods(in, nil, r.Method, []set{u.single(i), arg})
			unknown.add(i)
		}
	}
	if !unknown.empty() {
		u.contract(in, nil, r.Method, []set{unknown, arg})
	}
}

// answerOf adds the result of code that the callee ran to the content of that code's place.
func (u *unit) answerOf(in ssa.CallInstruction, i int, f *ssa.Function, args []set) {
	var out set
	// A function of the unit is still being solved: take what it returns so far. Another one has a
	// summary, or may return anything.
	if u.in[f] {
		for j := range f.Signature.Results().Len() {
			out.union(u.returned(f, j))
		}
	} else if s := u.p.SummaryOf(f); s != nil {
		for _, list := range s.Results {
			for _, r := range list {
				out.union(u.resolve(in, r.Ref, args))
			}
		}
	} else {
		out.add(u.shared("memory of " + calleeName(f)))
	}
	// Content grows only, and each growth makes the unit look again.
	if !u.content[i].covers(out) {
		u.content[i] = append(set(nil), u.content[i]...)
		u.content[i].union(out)
		u.changed = true
	}
}

// codeOf resolves a reference to code, and looks inside interface values for it.
func (u *unit) codeOf(in ssa.CallInstruction, r Ref, args []set) set {
	if r.Kind == Top && r.Param < len(args) && r.Field == WholeValue {
		return args[r.Param]
	}
	return u.resolve(in, r, args)
}
