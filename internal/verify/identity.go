package verify

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
)

// identity refuses decisions that depend on where memory lies: comparisons of pointers and
// channels, and maps with such keys. Equal inputs lie elsewhere in another run, and the same memory
// may hold another input in the next call.
func identity(c *code, report reporter) {
	const why = "addresses say nothing about the input; compare the memory's content"
	compared := func(at ast.Node, t types.Type) {
		if t != nil && (hasIdentity(t, nil) || boxes(t)) {
			report(at, "identity "+types.TypeString(t, nil), "comparison of values that hold a pointer", why)
		}
	}
	ast.Inspect(c.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && !c.info.Types[n.X].IsNil() && !c.info.Types[n.Y].IsNil() {
				compared(n, c.info.TypeOf(n.X))
				compared(n, c.info.TypeOf(n.Y))
			}
		case *ast.SwitchStmt:
			if n.Tag != nil {
				compared(n.Tag, c.info.TypeOf(n.Tag))
			}
		case *ast.MapType:
			compared(n, c.info.TypeOf(n.Key))
		case *ast.Ident:
			c.comparesByType(n, compared)
		}
		return true
	})
}

// boxes reports whether t is an interface whose comparison may compare pointers. Errors do not
// count: by convention, code compares them with sentinels.
func boxes(t types.Type) bool {
	return types.IsInterface(t) && !syntax.IsTypeParam(t) && !syntax.IsError(t)
}

// comparesByType handles generic functions and types that compare values of their type arguments:
// slices.Index, maps.Equal, or a set type.
func (c *typedText) comparesByType(id *ast.Ident, compared func(ast.Node, types.Type)) {
	inst, generic := c.info.Instances[id]
	if !generic {
		return
	}
	var params *types.TypeParamList
	switch obj := syntax.Origin(c.info.Uses[id]).(type) {
	case *types.Func:
		params = obj.Signature().TypeParams()
	case *types.TypeName:
		n, ok := obj.Type().(*types.Named)
		if !ok {
			return
		}
		params = n.TypeParams()
	default:
		return
	}
	for i := range min(params.Len(), inst.TypeArgs.Len()) {
		if u, ok := params.At(i).Constraint().Underlying().(*types.Interface); ok && u.IsComparable() &&
			!types.IsInterface(inst.TypeArgs.At(i)) {
			compared(id, inst.TypeArgs.At(i))
		}
	}
}

// hasIdentity reports whether two values of type t are equal only if they lead to the same memory.
// Errors do not count: by convention, code compares them with sentinels. Type parameters do not
// count: the caller can compare their values too.
func hasIdentity(t types.Type, seen []types.Type) bool {
	if syntax.IsTypeParam(t) || syntax.IsError(t) {
		return false
	}
	if path, _ := syntax.NameOf(t); path == "net/netip" {
		return false // its pointers stand for equal texts
	}
	return holds(t, seen, hasIdentity, func(u types.Type) bool {
		switch u := u.(type) {
		case *types.Pointer, *types.Chan:
			return true
		case *types.Basic:
			return u.Kind() == types.UnsafePointer
		}
		return false
	})
}

// wordSize refuses branches that depend on the size of a word, because no check compares the
// branches that other machines take. The greatest number may serve as a bound, but no decision may
// use a value computed from it.
func wordSize(c *code, report reporter) {
	const why = "other machines take other branches, which no check compared"
	ast.Inspect(c.file, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok || c.info.Types[e].Value == nil || !c.mentionsWord(e) {
			return true
		}
		v := c.info.Types[e].Value
		shift, isShift := ast.Unparen(e).(*ast.BinaryExpr)
		if isShift && (shift.Op == token.SHR || shift.Op == token.SHL) {
			count, exact := constant.Uint64Val(constant.ToInt(c.info.Types[shift.Y].Value))
			isShift = exact && count >= 31
		} else {
			isShift = false
		}
		if v.Kind() == constant.Bool || isShift || c.measures(e) {
			report(e, "word size", "a constant that reveals the size of a word", why)
			return false
		}
		return true
	})
}

// words lists the constants whose value depends on the word size.
var words = set(`math.MaxInt math.MinInt math.MaxUint`)

// mentionsWord reports whether some part of a constant expression depends on the size of a word.
func (c *code) mentionsWord(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if obj := c.info.Uses[n]; obj != nil {
				found = found || words[objectName(obj)] || c.wordConstant(obj)
			}
		case *ast.UnaryExpr:
			found = found || n.Op == token.XOR && isWord(c.info.TypeOf(n.X))
		case *ast.CallExpr:
			found = found || c.measures(n)
		}
		return !found
	})
	return found
}

// wordConstant reports whether a constant of the file depends on the size of a word.
func (c *code) wordConstant(obj types.Object) bool {
	if _, ok := obj.(*types.Const); !ok || !c.declares(obj) {
		return false
	}
	found := false
	ast.Inspect(c.file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return !found
		}
		for i, name := range spec.Names {
			if e := initialiser(spec, i); c.info.Defs[name] == obj && e != nil {
				found = found || c.mentionsWord(e)
			}
		}
		return false
	})
	return found
}

// measures reports whether e asks for the size of a type that contains words.
func (c *typedText) measures(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	b, ok := c.info.Uses[sel.Sel].(*types.Builtin)
	return ok && (b.Name() == "Sizeof" || b.Name() == "Alignof" || b.Name() == "Offsetof")
}

func isWord(t types.Type) bool {
	kind := syntax.Kind(t)
	return kind == types.Uint || kind == types.Int || kind == types.Uintptr
}
