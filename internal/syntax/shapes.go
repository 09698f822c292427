package syntax

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// Operands flattens a chain of one operator.
func Operands(e ast.Expr, op token.Token) []ast.Expr {
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && b.Op == op {
		return append(Operands(b.X, op), Operands(b.Y, op)...)
	}
	return []ast.Expr{e}
}

// PlainSignature excludes methods, type parameters, named results and unnamed parameters.
func PlainSignature(fn *ast.FuncDecl) bool {
	if fn.Recv != nil || fn.Type.TypeParams != nil || fn.Type.Results == nil {
		return false
	}
	// A named result can be set without a return.
	for _, r := range fn.Type.Results.List {
		if len(r.Names) > 0 {
			return false
		}
	}
	for _, f := range fn.Type.Params.List {
		if len(f.Names) == 0 {
			return false
		}
		for _, id := range f.Names {
			// A parameter without a name cannot be handed on.
			if id.Name == "_" {
				return false
			}
		}
	}
	return true
}

// IsRepeatable reports whether an expression gives the same again: a variable, or an element at
// one.
func IsRepeatable(e ast.Expr) bool {
	// Each form is evaluated once for each comparison, so it may not do anything but read.
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return true
	case *ast.IndexExpr:
		_, list := e.X.(*ast.Ident)
		_, index := e.Index.(*ast.Ident)
		return list && index
	case *ast.SelectorExpr:
		_, ok := e.X.(*ast.Ident)
		return ok
	}
	return false
}

// SplitAssign splits `x = e`, `x := e` and `x op= e`.
func SplitAssign(s ast.Stmt, toks ...token.Token) (lhs, rhs ast.Expr, ok bool) {
	as, ok := s.(*ast.AssignStmt)
	if !ok || len(as.Lhs) != 1 || len(as.Rhs) != 1 || !slices.Contains(toks, as.Tok) {
		return nil, nil, false
	}
	return as.Lhs[0], ast.Unparen(as.Rhs[0]), true
}

// LoopBody returns the body of a for or range statement, or nil.
func LoopBody(s ast.Node) *ast.BlockStmt {
	switch s := s.(type) {
	case *ast.ForStmt:
		return s.Body
	case *ast.RangeStmt:
		return s.Body
	}
	return nil
}

var AssignTokens = []token.Token{token.ASSIGN}

// OrNil returns e, or an expression that no pattern matches if e is missing.
func OrNil(e ast.Expr) ast.Expr {
	if e == nil {
		return &ast.BadExpr{}
	}
	return e
}

// IsBlank reports whether e is missing or _.
func IsBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return e == nil || ok && id.Name == "_"
}

// IsPlainStmt reports whether a statement holds no other statement and does not jump, apart from
// return.
func IsPlainStmt(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.AssignStmt, *ast.ExprStmt, *ast.ReturnStmt, *ast.IncDecStmt, *ast.DeclStmt:
		return true
	}
	return false
}

// IsUnnamed reports whether no code can mention a parameter or a result.
func IsUnnamed(v *types.Var) bool { return v.Name() == "" || v.Name() == "_" }
