package syntax

import (
	"go/ast"
	"go/token"
	"go/types"
	"iter"
)

// Called returns the called expression without type arguments, and the identifier in it that names
// the function, type or variable: nil if the callee has no name.
func Called(c *ast.CallExpr) (fun ast.Expr, name *ast.Ident) {
	fun = ast.Unparen(c.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	switch x := fun.(type) {
	case *ast.Ident:
		name = x
	case *ast.SelectorExpr:
		name = x.Sel
	}
	return fun, name
}

// DeclName returns "Func" or "Type.Method" for a declaration.
func DeclName(fn *ast.FuncDecl) string {
	if t := Receiver(fn); t != "" {
		return t + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// FuncName returns "Func", "Type.Method", or "interface.Method" for an interface without a name.
func FuncName(fn *types.Func) string {
	recv := fn.Signature().Recv()
	if recv == nil {
		return fn.Name()
	}
	t := types.Unalias(recv.Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name() + "." + fn.Name()
	}
	return "interface." + fn.Name()
}

// Stores yields the expressions that the statements below root assign to, and the operands of & if
// addresses is set: code that holds an address may assign.
func Stores(root ast.Node, addresses bool) iter.Seq[ast.Expr] {
	return func(yield func(ast.Expr) bool) {
		more := true
		ast.Inspect(root, func(n ast.Node) bool {
			var to []ast.Expr
			switch n := n.(type) {
			case *ast.AssignStmt:
				to = n.Lhs
			case *ast.IncDecStmt:
				to = []ast.Expr{n.X}
			case *ast.UnaryExpr:
				if addresses && n.Op == token.AND {
					to = []ast.Expr{n.X}
				}
			case *ast.RangeStmt:
				if n.Tok == token.ASSIGN {
					to = []ast.Expr{n.Key, n.Value}
				}
			}
			for _, e := range to {
				more = more && (e == nil || yield(e))
			}
			return more
		})
	}
}
