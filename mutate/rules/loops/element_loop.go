package loops

import (
	"go/ast"
	"go/token"
	"slices"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

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
			if v := facts.CopyOfElement(p, l); v != nil && p.Info.Uses[m] == v {
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
