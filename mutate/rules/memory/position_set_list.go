package memory

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file says for position-set whether a loop leaves a list unchanged, and whether a name means
// the list.

// handedOn reports whether the loop may change elements of the list, through a call or a pointer
// into it.
//
//	n += len(list) + list[0].size    // only reads
//	sort(list); first := &list[0]    // may change elements, now or later
func handedOn(p *mutate.Pass, seq *types.Var, loop *ast.RangeStmt) bool {
	// The loop may read elements and the length. A slice of the list, a call that takes it or an
	// address of an element could write later.
	for _, id := range p.Uses(seq, loop.Body) {
		switch up := p.Parent(id).(type) {
		case *ast.IndexExpr:
			if addr, ok := p.Parent(up).(*ast.UnaryExpr); ok && addr.Op == token.AND {
				return true
			}
		case *ast.CallExpr:
			if p.LenOf(up) != seq {
				return true
			}
		default:
			return true
		}
	}
	// A call that writes may reach the list by another name; an append to another list may not.
	for _, call := range mutate.Nodes[*ast.CallExpr](p, loop.Body) {
		if p.Effects(call).Writes && !facts.GrowsAnother(p, call, seq) {
			return true // to memory that may belong to the list
		}
	}
	// Each assignment must have a target that is certainly not in the list. A range over a function
	// runs code that the body does not show.
	for _, st := range mutate.Nodes[ast.Stmt](p, loop.Body) {
		for _, target := range assignedTargets(st) {
			if !assignsElsewhere(p, target, loop) {
				return true // through a pointer or another slice
			}
		}
		if r, ok := st.(*ast.RangeStmt); ok {
			if _, calls := p.Info.TypeOf(r.X).Underlying().(*types.Signature); calls {
				return true
			}
		}
	}
	return false
}

// assignedTargets returns the expressions that a statement assigns.
func assignedTargets(st ast.Stmt) []ast.Expr {
	switch st := st.(type) {
	case *ast.IncDecStmt:
		return []ast.Expr{st.X}
	case *ast.AssignStmt:
		return st.Lhs
	case *ast.RangeStmt:
		var out []ast.Expr
		for _, e := range []ast.Expr{st.Key, st.Value} {
			if e != nil {
				out = append(out, e)
			}
		}
		return out
	}
	return nil
}

// assignsElsewhere reports whether an assignment cannot change an element of a list. Its target is
// an entry of a map, or a variable, unless the variable holds an array that the list may be part
// of.
func assignsElsewhere(p *mutate.Pass, target ast.Expr, loop *ast.RangeStmt) bool {
	target = ast.Unparen(target)
	if ix, ok := target.(*ast.IndexExpr); ok {
		_, isMap := p.Info.TypeOf(ix.X).Underlying().(*types.Map)
		return isMap
	}
	if _, plain := target.(*ast.Ident); !plain {
		return false
	}
	v := p.Var(target)
	return v == nil || loop.Body.Pos() <= v.Pos() && v.Pos() < loop.Body.End() || !facts.HoldsArray(v.Type())
}

// names reports whether the names of variables, and of a key's type, mean the same at the question.
// A body may declare others of the same name.
func (s *positionSite) names(p *mutate.Pass) bool {
	vars := []types.Object{s.list, p.Var(s.loop.Key)}
	if s.loop.Value != nil && !syntax.IsBlank(s.loop.Value) {
		vars = append(vars, p.Var(s.loop.Value))
	}
	// These names are written by the rewrite.
	for _, name := range []string{"uint64", "uint32", "uint16", "uint8", "true", "false", "nil"} {
		vars = append(vars, types.Universe.Lookup(name))
	}
	for _, obj := range vars {
		if !facts.Means(p, s.ask.Pos(), obj.Name(), obj) {
			return false
		}
	}
	return facts.TypeMeans(p, s.ask.Pos(), s.set.key) && facts.TypeMeans(p, s.set.decl.Stmt.Pos(), s.set.key)
}
