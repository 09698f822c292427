package verify

import (
	"go/ast"
	"go/types"
)

// nameOf returns the expression that names the called function, without type arguments.
func nameOf(call *ast.CallExpr) ast.Expr {
	fun := ast.Unparen(call.Fun)
	switch f := fun.(type) {
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	return fun
}

// callee returns the function that a call names, or nil for a function value or a conversion.
func (c *code) callee(n *ast.CallExpr) *types.Func {
	var id *ast.Ident
	switch f := nameOf(n).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return nil
	}
	fn, ok := origin(c.info.Uses[id]).(*types.Func)
	if !ok {
		return nil
	}
	return fn
}

// text returns the source of an expression.
func (c *code) text(e ast.Expr) string {
	start, end := c.fset.Position(e.Pos()).Offset, c.fset.Position(e.End()).Offset
	if 0 <= start && start < end && end <= len(c.src) {
		return c.src[start:end]
	}
	return "a function"
}
