package facts

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/mutate"
)

// This file holds what rules that unroll loops over elements share.

// IsInnermost reports whether the loop reads its element and holds no other loop, whose iterations
// would outweigh its own.
func IsInnermost(l *mutate.ElementLoop) bool {
	inner := true
	ast.Inspect(l.Body, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit, *ast.DeferStmt:
			inner = false
		}
		return inner
	})
	_, array := l.Seq.Type().Underlying().(*types.Array)
	return inner && !array && len(l.Body.List) > 0 && (len(l.Elems) > 0 || l.Value != nil)
}

// UnrolledBefore recognises the loop that an unrolled one leaves for the rest: it goes over the
// variable that the loop before it consumes.
func UnrolledBefore(p *mutate.Pass, l *mutate.ElementLoop) bool {
	list, i := p.Siblings(l.Stmt)
	if i < 1 {
		return false
	}
	before, ok := list[i-1].(*ast.ForStmt)
	return ok && len(p.Uses(l.Seq, before.Cond)) > 0
}

// CanStart reports whether the functions that edit.StartOf and the loop after it call are the
// language's own.
func CanStart(p *mutate.Pass, l *mutate.ElementLoop) bool {
	return !IsRedefined(p, l.Stmt, "len") && (l.Start == 0 || p.GoAtLeast(21) && !IsRedefined(p, l.Stmt, "min"))
}

// CopyOfElement returns c if the body starts with c := s[i] and does not assign c later. Code can
// then read the block in place of the copy.
func CopyOfElement(p *mutate.Pass, l *mutate.ElementLoop) *types.Var {
	as, ok := l.Body.List[0].(*ast.AssignStmt)
	if !ok || as.Tok != token.DEFINE || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
		return nil
	}
	ix, ok := ast.Unparen(as.Rhs[0]).(*ast.IndexExpr)
	v := p.Var(as.Lhs[0])
	if !ok || !slices.Contains(l.Elems, ix) || v == nil || p.Assigned(v, p.FuncOf(as)) && AssignedAgain(p, v, as) {
		return nil
	}
	return v
}

func AssignedAgain(p *mutate.Pass, v *types.Var, def *ast.AssignStmt) bool {
	fn := p.FuncOf(def)
	for _, id := range p.Uses(v, fn) {
		// Its declaration is no second assignment.
		if up, ok := p.Parent(id).(*ast.AssignStmt); !ok || up != def {
			if p.Assigned(v, p.Parent(id)) {
				return true
			}
		}
	}
	return false
}

// ExitTest recognises a body that only leaves the loop if a pure test of the element holds. The
// tests of a block can be joined.
func ExitTest(p *mutate.Pass, l *mutate.ElementLoop) (cond ast.Expr, then *ast.BlockStmt, ok bool) {
	// Behind an optional copy of the element, the body is a single if with a single return.
	list := l.Body.List
	if CopyOfElement(p, l) != nil {
		list = list[1:]
	}
	if len(list) != 1 {
		return nil, nil, false
	}
	s, isIf := list[0].(*ast.IfStmt)
	if !isIf || s.Init != nil || s.Else != nil || len(s.Body.List) != 1 {
		return nil, nil, false
	}
	ret, isReturn := s.Body.List[0].(*ast.ReturnStmt)
	// The return must not depend on the element: it no longer says which one it was.
	if !isReturn || p.Effects(s.Cond).Writes || usesElement(p, l, ret) {
		return nil, nil, false
	}
	if b, isBinary := s.Cond.(*ast.BinaryExpr); isBinary && b.Op == token.LAND {
		return nil, nil, false // with || it would need parentheses and read badly
	}
	return s.Cond, s.Body, true
}

func usesElement(p *mutate.Pass, l *mutate.ElementLoop, n ast.Node) bool {
	used := false
	for _, id := range mutate.Nodes[*ast.Ident](p, n) {
		v, ok := p.Info.Uses[id].(*types.Var)
		used = used || ok && (v == l.Index || v == l.Value || v == CopyOfElement(p, l))
	}
	return used
}
