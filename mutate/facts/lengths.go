package facts

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/mutate"
)

// IsLength reports whether an integer expression is never negative and cannot panic. It is a
// length, a constant, or a product, sum or quotient of these.
func IsLength(p *mutate.Pass, e ast.Expr) bool {
	e = ast.Unparen(e)
	if p.Effects(e).Panics {
		return false // a division by a length may panic
	}
	// Go through the forms that can't be negative. A variable with one definition is as good as its
	// value.
	if v, ok := p.Int(e); ok {
		return v >= 0
	}
	if call, ok := e.(*ast.CallExpr); ok {
		_, isLen := p.IsBuiltin(call, "len")
		return isLen
	}
	if d, named := Single.Of(p)[p.Var(e)]; named && d.Value != nil {
		return IsLength(p, d.Value)
	}
	// Sums, products and quotients of lengths are not negative, barring an overflow that no memory
	// could hold.
	if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.ADD || b.Op == token.MUL || b.Op == token.QUO) {
		return IsLength(p, b.X) && IsLength(p, b.Y)
	}
	return p.LenOf(e) != nil
}

// EmptyValue returns how a variable starts: "nil" for `var v []T`, "empty" for `[]T{}`, make([]T,
// 0) and map literals. elem is the type as written.
func EmptyValue(p *mutate.Pass, d Declaration) (kind, typ string) {
	// The difference between nil and empty is visible, so it is kept.
	if d.Value == nil && d.Type != nil {
		return "nil", p.Text(d.Type)
	}
	switch v := d.Value.(type) {
	case *ast.CompositeLit:
		if len(v.Elts) == 0 && v.Type != nil {
			return "empty", p.Text(v.Type)
		}
	case *ast.CallExpr:
		if _, ok := p.IsBuiltin(v, "make"); ok && (len(v.Args) == 1 || len(v.Args) == 2 && p.IsInt(v.Args[1], 0)) {
			return "empty", p.Text(v.Args[0])
		}
		// []T(nil) is nil, too.
		if p.Info.Types[v.Fun].IsType() && len(v.Args) == 1 && p.Info.Types[v.Args[0]].IsNil() {
			return "nil", p.Text(ast.Unparen(v.Fun))
		}
	}
	return "", ""
}

// IsLengthOf recognises len(v), also converted, and a variable that is declared as that and keeps
// its value.
func IsLengthOf(p *mutate.Pass, e ast.Expr, v *types.Var) bool {
	// Look through a conversion, and through a variable that is set once.
	e = ast.Unparen(e)
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 && p.Info.Types[call.Fun].IsType() {
		return IsLengthOf(p, call.Args[0], v)
	}
	if p.LenOf(e) == v {
		return true
	}
	// A variable that is set once, by its definition, has the value of that.
	n := p.Var(e)
	if n == nil || !IsLocal(p, n) || p.Assigned(n, p.File) {
		return false
	}
	for _, as := range mutate.Nodes[*ast.AssignStmt](p, nil) {
		if as.Tok == token.DEFINE && len(as.Lhs) == len(as.Rhs) {
			for i, l := range as.Lhs {
				if id, ok := l.(*ast.Ident); ok && p.Info.Defs[id] == n {
					return p.Var(as.Rhs[i]) == nil && IsLengthOf(p, as.Rhs[i], v)
				}
			}
		}
	}
	return false
}
