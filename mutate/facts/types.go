package facts

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/mutate"
)

// TypeText writes a type in the terms of the candidate. ok is false if the type needs a package
// that the file does not import by name, or a name that another package keeps to itself.
func TypeText(p *mutate.Pass, t types.Type) (text string, ok bool) {
	ok = true
	defer func() { ok = ok && !namesHidden(text) }()
	// The qualifier names each package as the file does. One that is not imported, or imported
	// without a name, leaves the type without a text.
	text = types.TypeString(t, func(pkg *types.Package) string {
		if pkg == p.Pkg {
			return ""
		}
		for _, s := range p.File.Imports {
			if s.Path.Value != strconv.Quote(pkg.Path()) {
				continue
			}
			if s.Name == nil {
				return pkg.Name()
			}
			if s.Name.Name != "_" && s.Name.Name != "." {
				return s.Name.Name
			}
		}
		ok = false
		return pkg.Name()
	})
	return text, ok
}

// namesHidden reports whether the text of a type has an unexported name of another package.
func namesHidden(text string) bool {
	if !strings.Contains(text, ".") {
		return false
	}
	e, err := parser.ParseExpr(text)
	if err != nil {
		return true
	}
	hidden := false
	ast.Inspect(e, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		hidden = hidden || ok && !sel.Sel.IsExported()
		return !hidden
	})
	return hidden
}

// Means reports whether a name that is written at a position stands for an object. Code that moves
// there may not use the name otherwise.
func Means(p *mutate.Pass, pos token.Pos, name string, obj types.Object) bool {
	scope := p.Pkg.Scope().Innermost(pos)
	if scope == nil {
		return false
	}
	_, found := scope.LookupParent(name, pos)
	return found == obj
}

// HoldsArray reports whether a value of a type has an array inside it, of which slices may be made.
func HoldsArray(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Array:
		return true
	case *types.Struct:
		for f := range u.Fields() {
			if HoldsArray(f.Type()) {
				return true
			}
		}
	}
	return false
}

// IsGeneric reports whether code stands in a generic function, in which two types may be the same.
func IsGeneric(p *mutate.Pass, n ast.Node) bool {
	decl := p.FuncOf(n)
	if decl == nil {
		return false // a value of the package
	}
	fn, ok := p.Info.Defs[decl.Name].(*types.Func)
	return !ok || fn.Signature().TypeParams().Len()+fn.Signature().RecvTypeParams().Len() > 0
}

// ComparesSafely reports whether == of a type cannot panic, as it can for interfaces.
func ComparesSafely(t types.Type) bool { return types.Comparable(t) && !mutate.HoldsInterface(t) }

// SharesNoMemory reports whether values of a type share no memory with others, but the bytes of
// strings.
func SharesNoMemory(t types.Type) bool {
	// Several results are as good as the least of them.
	if tuple, ok := t.(*types.Tuple); ok {
		for v := range tuple.Variables() {
			if !SharesNoMemory(v.Type()) {
				return false
			}
		}
		return true
	}
	if t == nil {
		return false
	}
	// Strings share their bytes, which nothing can change.
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() != types.UnsafePointer
	case *types.Array:
		return SharesNoMemory(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if !SharesNoMemory(f.Type()) {
				return false
			}
		}
		return true
	}
	return false
}

// IsZero reports whether e is the zero value of a type. An interface is zero without a value of its
// own only.
func IsZero(p *mutate.Pass, e ast.Expr, t types.Type) bool {
	e = ast.Unparen(e)
	tv := p.Info.Types[e]
	switch {
	case tv.IsNil():
		return true
	case types.IsInterface(t):
		return false
	case tv.Value != nil:
		return ZeroConstant(tv.Value)
	}
	lit, ok := e.(*ast.CompositeLit)
	if !ok || len(lit.Elts) > 0 {
		return false
	}
	switch tv.Type.Underlying().(type) {
	case *types.Struct, *types.Array:
		return true
	}
	return false
}

// ZeroConstant reports whether a constant is the zero value of its type.
func ZeroConstant(v constant.Value) bool {
	switch v.Kind() {
	case constant.Bool:
		return !constant.BoolVal(v)
	case constant.String:
		return constant.StringVal(v) == ""
	case constant.Int, constant.Float, constant.Complex:
		return constant.Sign(v) == 0
	}
	return false
}

// InRegisters reports whether the compiler may keep a value of a type in registers, so that a copy
// costs nothing: up to four words, in at most four fields, without arrays of several elements.
func InRegisters(t types.Type) bool {
	const word, most = 8, 4
	// A type parameter counts as small, unless its constraint says otherwise.
	if param, ok := types.Unalias(t).(*types.TypeParam); ok {
		return !constrainedToLarge(param)
	}
	// The size of a type that holds a type parameter is unknown: it counts as small, too.
	if MentionsTypeParam(t) {
		return true
	}
	if types.SizesFor("gc", "amd64").Sizeof(t) > word*most {
		return false
	}
	switch t := t.Underlying().(type) {
	case *types.Array:
		return t.Len() == 0 || t.Len() == 1 && InRegisters(t.Elem())
	case *types.Struct:
		if t.NumFields() > most {
			return false
		}
		for f := range t.Fields() {
			if !InRegisters(f.Type()) {
				return false
			}
		}
	}
	return true
}

// constrainedToLarge reports whether all types that a type parameter may stand for are listed, and
// none fits registers.
func constrainedToLarge(param *types.TypeParam) bool {
	// Without a list of types, any type may come.
	constraint, ok := param.Constraint().Underlying().(*types.Interface)
	if !ok || constraint.NumEmbeddeds() != 1 {
		return false
	}
	union, ok := constraint.EmbeddedType(0).(*types.Union)
	if !ok {
		return false
	}
	for term := range union.Terms() {
		// An interface in the list is no list of types, and a small type is cheap to copy.
		if _, named := term.Type().Underlying().(*types.Interface); named || InRegisters(term.Type()) {
			return false
		}
	}
	return union.Len() > 0
}

// MentionsTypeParam reports whether the size of a type depends on a type parameter.
func MentionsTypeParam(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	// A reference type has a known size, whatever it refers to.
	case *types.TypeParam:
		return true
	case *types.Slice, *types.Map, *types.Pointer, *types.Chan, *types.Signature:
		return false
	case *types.Array:
		return MentionsTypeParam(t.Elem())
	case *types.Named:
		for a := range t.TypeArgs().Types() {
			if MentionsTypeParam(a) {
				return true
			}
		}
		return false
	case *types.Struct:
		for f := range t.Fields() {
			if MentionsTypeParam(f.Type()) {
				return true
			}
		}
	}
	return false
}

// Sizes64 holds the sizes of a machine with words of 64 bits; on others, an int is smaller.
var Sizes64 = types.SizesFor("gc", "amd64")
