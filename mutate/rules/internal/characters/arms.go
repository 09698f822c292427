package characters

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/mutate"
)

// This file finds the first arm of a loop over the bytes of a text.

// AcceptingArm finds the first arm of the body: an if, or the first case of a switch, after at
// most a copy of the element. last says that nothing follows the arm in the body.
func AcceptingArm(p *mutate.Pass, l *mutate.CountedLoop) (test ast.Expr, body []ast.Stmt, last bool) {
	list := l.Stmt.Body.List
	// A copy of the element may come first.
	if len(list) > 0 && ElementCopy(p, l, list[0]) != nil {
		list = list[1:]
	}
	if len(list) == 0 {
		return nil, nil, false
	}
	last = len(list) == 1
	// Take the condition and the body of the arm that an iteration tries first. With an init
	// statement or a tag the condition alone does not decide.
	switch s := list[0].(type) {
	case *ast.IfStmt:
		if s.Init == nil {
			test, body = s.Cond, s.Body.List
		}
	case *ast.SwitchStmt:
		if s.Init != nil || s.Tag != nil || len(s.Body.List) == 0 {
			return nil, nil, false
		}
		if c := s.Body.List[0].(*ast.CaseClause); len(c.List) == 1 {
			test, body = c.List[0], c.Body
		}
	}
	if test == nil {
		return nil, nil, false
	}
	// The condition must test the current element and nothing else.
	t, ok := TestOf(p, test)
	if !ok || !IsElementOf(p, l, t.Operand) {
		return nil, nil, false
	}
	return test, body, last
}

func IsElementOf(p *mutate.Pass, l *mutate.CountedLoop, e ast.Expr) bool {
	if ix, ok := e.(*ast.IndexExpr); ok {
		return p.Var(ix.X) == l.Seq && p.Var(ix.Index) == l.Index
	}
	v := p.Var(e)
	return v != nil && v == ElementCopy(p, l, l.Stmt.Body.List[0])
}

// ElementCopy returns c if s is c := seq[i].
func ElementCopy(p *mutate.Pass, l *mutate.CountedLoop, s ast.Stmt) *types.Var {
	as, ok := s.(*ast.AssignStmt)
	if !ok || as.Tok != token.DEFINE || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
		return nil
	}
	ix, ok := ast.Unparen(as.Rhs[0]).(*ast.IndexExpr)
	if !ok || p.Var(ix.X) != l.Seq || p.Var(ix.Index) != l.Index {
		return nil
	}
	return p.Var(as.Lhs[0])
}
