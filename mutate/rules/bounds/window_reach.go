package bounds

import (
	"go/ast"
	"slices"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file finds the accesses that window may count on: those that code reaches in any case, or
// ends with a bounds check of its own before.

// surelyEvaluated lists the accesses that a statement makes in any case: all of a simple statement,
// and those of an if statement's test. Nothing that may end the statement comes before them.
//
//	sum += b[i] + b[i+1]          // both
//	if ok && b[i+2] == 0 { ... }  // not b[i+2]: ok may be false
func surelyEvaluated(p *mutate.Pass, s ast.Stmt) []neighbour {
	root := ast.Node(s)
	switch s := s.(type) {
	case *ast.IfStmt:
		if s.Init != nil {
			return nil
		}
		root = s.Cond
	default:
		if !syntax.IsPlainStmt(s) {
			return nil
		}
	}
	ends := endingParts(p, root)
	var out []neighbour
	for _, ix := range mutate.Nodes[*ast.IndexExpr](p, root) {
		// A call ends the statement after the arguments that it contains, and perhaps before the
		// rest.
		first := !slices.ContainsFunc(ends, func(e ast.Node) bool { return ix.Pos() < e.Pos() || e.End() < ix.End() })
		if !first || facts.MayBeSkipped(p, ix, s) {
			continue
		}
		if n, ok := neighbourOf(p, ix); ok {
			out = append(out, n)
		}
	}
	return out
}

// goesOn reports whether the next statement runs after s, unless an index or a cut is out of
// bounds.
func goesOn(p *mutate.Pass, s ast.Stmt) bool {
	switch s.(type) {
	case *ast.IfStmt, *ast.SwitchStmt, *ast.BlockStmt:
	default:
		if !syntax.IsPlainStmt(s) {
			return false
		}
	}
	return !p.Effects(s).Jumps && len(endingParts(p, s)) == 0
}

// endingParts lists the parts of a piece of code after which nothing else may run: they may wait,
// loop or panic. Indices and cuts that are out of bounds do not count.
func endingParts(p *mutate.Pass, root ast.Node) []ast.Node {
	var out []ast.Node
	ast.Inspect(root, func(n ast.Node) bool {
		if n != nil && facts.MayEnd(p, n) {
			out = append(out, n)
		}
		_, later := n.(*ast.FuncLit) // its body runs when a call runs it
		return !later
	})
	return out
}
