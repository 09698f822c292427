package mutate

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
)

// ends reports whether a loop certainly ends, whatever its function gets: a condition compares a
// number, or the length of a list, that each iteration brings nearer to a limit that stays. It
// finds only a few of the loops that end. A call of a function that may not end cannot move to
// where code would not make it.
func (p *Pass) ends(f *ast.ForStmt) bool {
	if f.Cond == nil {
		return false
	}
	for conds := []ast.Expr{f.Cond}; len(conds) > 0; conds = conds[1:] {
		b, ok := ast.Unparen(conds[0]).(*ast.BinaryExpr)
		switch {
		case !ok:
		case b.Op == token.LAND:
			conds = append(conds, b.X, b.Y)
		case p.nears(f, b.X, b.Op, b.Y), p.nears(f, b.Y, swappedOps[b.Op], b.X):
			return true
		}
	}
	return false
}

// swappedOps are the operators of comparisons whose operands change places.
var swappedOps = map[token.Token]token.Token{token.LSS: token.GTR, token.GTR: token.LSS, token.LEQ: token.GEQ,
	token.GEQ: token.LEQ, token.NEQ: token.NEQ}

// nears reports whether each iteration brings x nearer to where `x op limit` is false.
func (p *Pass) nears(f *ast.ForStmt, x ast.Expr, op token.Token, limit ast.Expr) bool {
	v := p.Var(x)
	if list := p.LenOf(ast.Unparen(x)); list != nil {
		v = list
	}
	if v == nil || p.IsGlobal(v) || !p.keepsValueIn(limit, f) {
		return false
	}
	step := p.onlyStep(f, v)
	if step == nil {
		return false
	}
	if !syntax.Is[*types.Basic](v.Type()) || p.Var(x) != v {
		return p.isAbove(op, limit) && p.cutsFront(step, v)
	}
	up, down, shrinks := p.stepKind(step, v)
	unsigned := isUnsigned(v.Type())
	switch {
	case up:
		return op == token.LSS || op == token.LEQ || op == token.NEQ
	case down:
		return op == token.GTR || op == token.NEQ || op == token.GEQ && !(unsigned && p.IsInt(limit, 0))
	}
	return shrinks && (p.isAbove(op, limit) || op == token.NEQ && p.IsInt(limit, 0) && unsigned)
}

// keepsValueIn reports whether a loop leaves the value of an expression as it is, apart from
// memory.
func (p *Pass) keepsValueIn(e ast.Expr, loop ast.Node) bool {
	for _, id := range Nodes[*ast.Ident](p, e) {
		if v, ok := p.Info.Uses[id].(*types.Var); ok && p.Reassigned(v, loop) {
			return false
		}
	}
	for _, call := range Nodes[*ast.CallExpr](p, e) {
		if p.LenOf(call) == nil && !p.Info.Types[call.Fun].IsType() {
			return false
		}
	}
	return true
}

// onlyStep returns the only statement of a loop that changes v, if each iteration that does not
// leave the loop runs it.
func (p *Pass) onlyStep(f *ast.ForStmt, v *types.Var) ast.Stmt {
	var step ast.Stmt
	for _, id := range p.Uses(v, f) {
		if !p.Changes(id) || f.Init != nil && id.End() <= f.Init.End() {
			continue
		}
		s, ok := p.Parent(id).(ast.Stmt)
		if !ok || step != nil {
			return nil
		}
		step = s
	}
	if step == nil || step == f.Post {
		return step
	}
	_, continues, ok := p.Branches(f.Body)
	if !ok || len(continues) > 0 || !isAmong(step, f.Body.List) {
		return nil
	}
	return step
}

// stepKind reports whether a statement adds to a number, takes something off it, or divides it.
func (p *Pass) stepKind(s ast.Stmt, v *types.Var) (up, down, shrinks bool) {
	switch s := s.(type) {
	case *ast.IncDecStmt:
		return s.Tok == token.INC, s.Tok == token.DEC, false
	case *ast.AssignStmt:
		if len(s.Lhs) != 1 || len(s.Rhs) != 1 {
			return false, false, false
		}
		op, by := s.Tok, s.Rhs[0]
		if b, ok := ast.Unparen(by).(*ast.BinaryExpr); ok && op == token.ASSIGN && p.Var(b.X) == v {
			by = b.Y
			op = map[token.Token]token.Token{token.ADD: token.ADD_ASSIGN, token.SUB: token.SUB_ASSIGN,
				token.QUO: token.QUO_ASSIGN, token.SHR: token.SHR_ASSIGN}[b.Op]
		}
		n, _ := p.Int(by)
		return op == token.ADD_ASSIGN && n > 0, op == token.SUB_ASSIGN && n > 0,
			op == token.QUO_ASSIGN && n > 1 || op == token.SHR_ASSIGN && n > 0
	}
	return false, false, false
}

// isAbove reports whether `x op limit` says that a whole number is above 0.
func (p *Pass) isAbove(op token.Token, limit ast.Expr) bool {
	n, ok := p.Int(limit)
	return ok && (op == token.GTR && n >= 0 || op == token.GEQ && n > 0)
}

// cutsFront reports whether a statement cuts elements off the front of a list.
func (p *Pass) cutsFront(s ast.Stmt, v *types.Var) bool {
	as, ok := s.(*ast.AssignStmt)
	if !ok || as.Tok != token.ASSIGN || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
		return false
	}
	cut, ok := ast.Unparen(as.Rhs[0]).(*ast.SliceExpr)
	if !ok || p.Var(cut.X) != v || cut.Low == nil || cut.High != nil {
		return false
	}
	n, ok := p.Int(cut.Low)
	return ok && n > 0
}
