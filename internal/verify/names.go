package verify

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/beagle-go/beagle/internal/syntax"
)

// typeNames refuses code that can read the name of one of the candidate's own types. Beagle
// compares many versions in one package, so declarations have other names there than in the user's
// package. A candidate that knows where it runs could behave only while Beagle looks.
func typeNames(c *code, report reporter) {
	const why = "it has another name while versions are compared, so the comparison says nothing about it"
	ast.Inspect(c.file, func(n ast.Node) bool {
		switch n := n.(type) {
		// A library function gets a value of an own type as an interface: fmt may print its name.
		case *ast.CallExpr:
			fn := c.callee(n)
			if fn == nil || fn.Pkg() == nil || fn.Pkg() == c.pkg || fn.Pkg().Path() == "errors" ||
				c.info.Types[n.Fun].IsType() {
				return true
			}
			for i, arg := range n.Args {
				if takesAny(fn, i) && c.mayHoldOwn(c.info.TypeOf(arg)) {
					report(arg, "type name", "a type of the candidate's own handed to "+objectName(fn), why)
				}
			}
		// reflect.TypeFor names its type argument.
		case *ast.Ident:
			inst, ok := c.info.Instances[n]
			if fn, isFunc := c.info.Uses[n].(*types.Func); !ok || !isFunc || objectName(fn) != "reflect.TypeFor" {
				return true
			}
			for t := range inst.TypeArgs.Types() {
				if c.mayHoldOwn(t) {
					report(n, "type name", "reflect.TypeFor of a type of the candidate's own", why)
				}
			}
		}
		return true
	})
}

// takesAny reports whether argument i of fn arrives as an interface value whose type the callee can
// read.
func takesAny(fn *types.Func, i int) bool {
	params := fn.Signature().Params()
	if params.Len() == 0 {
		return false
	}
	t := params.At(min(i, params.Len()-1)).Type()
	if sl, ok := t.(*types.Slice); ok && fn.Signature().Variadic() && i >= params.Len()-1 {
		t = sl.Elem()
	}
	iface, ok := t.Underlying().(*types.Interface)
	return !syntax.IsTypeParam(t) && ok && iface.NumMethods() == 0
}

// mayHoldOwn reports whether a value of type t may be, or hold, a value of a type that the
// candidate declares at package level. If there is such a type, an interface value may hold it.
func (c *code) mayHoldOwn(t types.Type) bool { return c.leadsToOwn(t, new(typeutil.Map)) }

// leadsToOwn looks at each type once: the ways through the types of a large package have no end.
// seen holds the types that were looked at, or are being looked at.
func (c *code) leadsToOwn(t types.Type, seen *typeutil.Map) bool {
	if t == nil || seen.Set(t, true) != nil {
		return false
	}
	// A type of the candidate's own counts, also as a type argument.
	if n, ok := types.Unalias(t).(*types.Named); ok {
		if c.ownType(n.Obj()) {
			return true
		}
		for a := range n.TypeArgs().Types() {
			if c.leadsToOwn(a, seen) {
				return true
			}
		}
	}
	if syntax.IsTypeParam(t) {
		return c.declaresTypes()
	}
	// Look into the parts of the type.
	switch u := t.Underlying().(type) {
	case *types.Interface:
		return !syntax.IsError(t) && c.declaresTypes()
	case *types.Map:
		return c.leadsToOwn(u.Key(), seen) || c.leadsToOwn(u.Elem(), seen)
	case *types.Struct:
		for f := range u.Fields() {
			if c.leadsToOwn(f.Type(), seen) {
				return true
			}
		}
	case interface{ Elem() types.Type }:
		return c.leadsToOwn(u.Elem(), seen)
	}
	return false
}

// ownType reports whether a type has another name while Beagle compares versions. It does if it
// stands at the candidate's package level, or in package main, which has another name then.
func (c *code) ownType(name *types.TypeName) bool {
	if name.Pkg() != c.pkg {
		return false
	}
	return c.pkg.Name() == "main" || c.declares(name) && name.Parent() == c.pkg.Scope()
}

func (c *code) declaresTypes() bool {
	for _, name := range c.pkg.Scope().Names() {
		if t, ok := c.pkg.Scope().Lookup(name).(*types.TypeName); ok && !t.IsAlias() && c.ownType(t) {
			return true
		}
	}
	return false
}
