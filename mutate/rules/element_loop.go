package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// This file holds what rules that unroll loops over elements share.

// isInnermost reports whether the loop reads its element and holds no other loop, whose iterations
// would outweigh its own.
func isInnermost(l *mutate.ElementLoop) bool {
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

// unrolledBefore recognises the loop that an unrolled one leaves for the rest: it goes over the
// variable that the loop before it consumes.
func unrolledBefore(p *mutate.Pass, l *mutate.ElementLoop) bool {
	list, i := p.Siblings(l.Stmt)
	if i < 1 {
		return false
	}
	before, ok := list[i-1].(*ast.ForStmt)
	return ok && len(p.Uses(l.Seq, before.Cond)) > 0
}

// canStart reports whether the functions that startOf and the loop after it call are the
// language's own.
func canStart(p *mutate.Pass, l *mutate.ElementLoop) bool {
	return !isRedefined(p, l.Stmt, "len") && (l.Start == 0 || p.GoAtLeast(21) && !isRedefined(p, l.Stmt, "min"))
}

func startOf(l *mutate.ElementLoop) string {
	if l.Start == 0 {
		return l.Seq.Name()
	}
	return fmt.Sprintf("%s[min(%d, len(%s)):]", l.Seq.Name(), l.Start, l.Seq.Name())
}

// remainderLoop returns the original loop, over the rest.
func remainderLoop(p *mutate.Pass, l *mutate.ElementLoop, rest string) string {
	// The rest is shorter than a step, so the loop takes its elements one by one.
	body := p.TextWith(l.Body, func(n ast.Node) (string, bool) {
		if ix, ok := n.(*ast.IndexExpr); ok && slices.Contains(l.Elems, ix) {
			return rest + "[" + l.Index.Name() + "]", true
		}
		return "", false
	})
	if l.Value != nil {
		// The index may be needed by the body as well.
		index := "_"
		if len(l.Elems) > 0 {
			index = l.Index.Name()
		}
		return fmt.Sprintf("for %s, %s := range %s %s", index, l.Value.Name(), rest, body)
	}
	return countTo(p, l.Index.Name(), "len("+rest+")") + body
}

// elementText returns the text of n with rest[j] in place of the loop's element.
func elementText(p *mutate.Pass, l *mutate.ElementLoop, rest string, n ast.Node, j string) string {
	// Where the body may write to the list, the copy of the element keeps its name.
	elem, keep := rest+"["+j+"]", needsCopy(p, l)
	return p.TextWith(n, func(m ast.Node) (string, bool) {
		switch m := m.(type) {
		case *ast.IndexExpr:
			if slices.Contains(l.Elems, m) {
				return elem, true
			}
		case *ast.Ident:
			if keep {
				return "", false
			}
			if l.Value != nil && p.Info.Uses[m] == l.Value {
				return elem, true
			}
			if v := copyOfElement(p, l); v != nil && p.Info.Uses[m] == v {
				return elem, true
			}
		}
		return "", false
	})
}

// needsCopy reports whether the body may write into the slice, through another one that shares its
// memory. In that case code must not read an element again that the original had copied.
func needsCopy(p *mutate.Pass, l *mutate.ElementLoop) bool {
	if syntax.IsText(l.Seq.Type()) {
		return false
	}
	// A write through anything but a plain variable may reach the list.
	stores := false
	ast.Inspect(l.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				stores = stores || p.Var(left) == nil && p.Text(left) != "_"
			}
		case *ast.IncDecStmt:
			stores = stores || p.Var(n.X) == nil
		case *ast.CallExpr:
			stores = stores || p.Effects(n).Writes
		}
		return !stores
	})
	return stores
}

// copyOfElement returns c if the body starts with c := s[i] and does not assign c later. Code can
// then read the block in place of the copy.
func copyOfElement(p *mutate.Pass, l *mutate.ElementLoop) *types.Var {
	as, ok := l.Body.List[0].(*ast.AssignStmt)
	if !ok || as.Tok != token.DEFINE || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
		return nil
	}
	ix, ok := ast.Unparen(as.Rhs[0]).(*ast.IndexExpr)
	v := p.Var(as.Lhs[0])
	if !ok || !slices.Contains(l.Elems, ix) || v == nil || p.Assigned(v, p.FuncOf(as)) && assignedAgain(p, v, as) {
		return nil
	}
	return v
}

func assignedAgain(p *mutate.Pass, v *types.Var, def *ast.AssignStmt) bool {
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

// exitTest recognises a body that only leaves the loop if a pure test of the element holds. The
// tests of a block can be joined.
func exitTest(p *mutate.Pass, l *mutate.ElementLoop) (cond ast.Expr, then *ast.BlockStmt, ok bool) {
	// Behind an optional copy of the element, the body is a single if with a single return.
	list := l.Body.List
	if copyOfElement(p, l) != nil {
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
	for id := range mutate.Nodes[*ast.Ident](p, n) {
		v, ok := p.Info.Uses[id].(*types.Var)
		used = used || ok && (v == l.Index || v == l.Value || v == copyOfElement(p, l))
	}
	return used
}

// declaresNames reports whether a list declares names, so that its copies need blocks of their own.
func declaresNames(list []ast.Stmt) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.DeclStmt:
			return true
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				return true
			}
		}
	}
	return false
}
