package example

import (
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// fits reports whether a value of type got can stand where an example has type want: got is
// assignable to want, or makes a type parameter of Before be got.
func (m *matcher) fits(want, got types.Type) bool {
	if want == nil || got == nil {
		return false
	}
	// An untyped constant takes the default type for a type parameter, and else any type that can
	// hold it.
	if b, ok := got.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		if syntax.IsTypeParam(want) {
			got = types.Default(got)
		} else {
			return types.AssignableTo(got, want)
		}
	}
	// An interface of the example is met by its methods.
	if i, ok := want.Underlying().(*types.Interface); ok && !syntax.IsTypeParam(want) {
		return m.implements(want, i, got)
	}
	if m.unify(want, got) {
		return true
	}
	// A plain type of the example also stands for a defined type.
	switch want := types.Unalias(want).(type) {
	case *types.Slice, *types.Map, *types.Array, *types.Pointer, *types.Signature:
		return m.unify(want, got.Underlying())
	}
	return false
}

// implements compares with an interface of the candidate's own packages, since those of examples
// are stand-ins.
func (m *matcher) implements(want types.Type, i *types.Interface, got types.Type) bool {
	if path, name := syntax.NameOf(want); name != "" {
		real := findType(m.Pass, path, name)
		return real != nil && types.AssignableTo(got, real)
	}
	return types.AssignableTo(got, i)
}

// findType returns a type of a package that the candidate's packages import, or nil.
func findType(p *mutate.Pass, path, name string) types.Type {
	// The package may be imported by an import only, so go through all of them once.
	seen := map[*types.Package]bool{}
	var find func(pkg *types.Package) types.Type
	find = func(pkg *types.Package) types.Type {
		if seen[pkg] {
			return nil
		}
		seen[pkg] = true
		if pkg.Path() == path {
			if obj, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok {
				return obj.Type()
			}
			return nil
		}
		for _, imp := range pkg.Imports() {
			if t := find(imp); t != nil {
				return t
			}
		}
		return nil
	}
	return find(p.Pkg)
}

// unify reports whether two types are identical, apart from the type parameters of the example.
func (m *matcher) unify(want, got types.Type) bool {
	// Types of one form unify if their parts do. A named type must have the same name: stand-ins
	// are other objects than the real ones.
	want, got = types.Unalias(want), types.Unalias(got)
	switch w := want.(type) {
	case *types.TypeParam:
		return m.bindType(w, got)
	case *types.Basic:
		return types.Identical(w, got)
	case *types.Named:
		g, ok := got.(*types.Named)
		return ok && sameName(w.Obj(), g.Obj()) && m.unifyLists(w.TypeArgs(), g.TypeArgs())
	case *types.Pointer:
		g, ok := got.(*types.Pointer)
		return ok && m.unify(w.Elem(), g.Elem())
	case *types.Slice:
		g, ok := got.(*types.Slice)
		return ok && m.unify(w.Elem(), g.Elem())
	case *types.Array:
		g, ok := got.(*types.Array)
		return ok && w.Len() == g.Len() && m.unify(w.Elem(), g.Elem())
	case *types.Map:
		g, ok := got.(*types.Map)
		return ok && m.unify(w.Key(), g.Key()) && m.unify(w.Elem(), g.Elem())
	case *types.Signature:
		g, ok := got.(*types.Signature)
		return ok && w.Variadic() == g.Variadic() && m.unifyTuples(w.Params(), g.Params()) &&
			m.unifyTuples(w.Results(), g.Results())
	}
	return types.Identical(want, got)
}

// unifyLists unifies two lists of types place by place.
func (m *matcher) unifyLists(want, got *types.TypeList) bool {
	if want.Len() != got.Len() {
		return false
	}
	for i := range want.Len() {
		if !m.unify(want.At(i), got.At(i)) {
			return false
		}
	}
	return true
}

// unifyTuples does so with parameters or results.
func (m *matcher) unifyTuples(want, got *types.Tuple) bool {
	if want.Len() != got.Len() {
		return false
	}
	for i := range want.Len() {
		if !m.unify(want.At(i).Type(), got.At(i).Type()) {
			return false
		}
	}
	return true
}

func sameName(a, b *types.TypeName) bool {
	if a.Name() != b.Name() || (a.Pkg() == nil) != (b.Pkg() == nil) {
		return false
	}
	return a.Pkg() == nil || a.Pkg().Path() == b.Pkg().Path()
}

// bindType gives a type parameter its type, or compares with the type that it has.
func (m *matcher) bindType(w *types.TypeParam, got types.Type) bool {
	// Once bound, a type parameter is this type everywhere in the example.
	name := w.Obj().Name()
	if old, ok := m.types[name]; ok {
		return types.Identical(old, got)
	}
	// The constraint must hold, and == must not panic where Before's constraint promised so.
	i, ok := w.Constraint().Underlying().(*types.Interface)
	if !ok || i.IsComparable() && !facts.ComparesSafely(got) || !m.satisfies(i, got) {
		return false
	}
	if syntax.IsTypeParam(got) && !i.Empty() {
		return false // its own constraint may hold less
	}
	bind(&m.bindings, m.types, name, got)
	return true
}

// satisfies reports whether a type meets the constraint of an example.
func (m *matcher) satisfies(i *types.Interface, got types.Type) bool {
	// Each embedded interface or union must be met, and the type must have all the methods.
	for e := range i.EmbeddedTypes() {
		switch e := types.Unalias(e).(type) {
		case *types.Union:
			if !m.inUnion(e, got) {
				return false
			}
		default:
			if in, ok := e.Underlying().(*types.Interface); !ok || !m.satisfies(in, got) {
				return !ok && m.unify(e, got)
			}
		}
	}
	set := types.NewMethodSet(got)
	for fn := range i.ExplicitMethods() {
		if set.Lookup(nil, fn.Name()) == nil {
			return false
		}
	}
	return true
}

// inUnion reports whether a type is in a union of constraints. A term may be a constraint itself.
func (m *matcher) inUnion(u *types.Union, got types.Type) bool {
	for term := range u.Terms() {
		// A constraint within the union is asked as a whole.
		if in, ok := term.Type().Underlying().(*types.Interface); ok {
			if m.satisfies(in, got) {
				return true
			}
			continue
		}
		if term.Tilde() && m.unify(term.Type(), got.Underlying()) || m.unify(term.Type(), got) {
			return true
		}
	}
	return false
}
