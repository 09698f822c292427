package branches

import (
	"go/ast"
	"go/token"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
)

// This file finds tests of a byte that a table, or two words of bits, can answer.

// A tableSite holds either all calls of a predicate or one run of tests.
type tableSite struct {
	pred  *ast.FuncDecl
	calls []*ast.CallExpr
	run   []ast.Expr // neighbours in a chain of op, over one byte
	op    token.Token
}

// findByteTests looks for calls of a predicate, and for tests side by side.
func findByteTests(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, d := range p.File.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		// A predicate gets a table for all its calls in loops. Chains of tests elsewhere get one
		// each.
		if characters.IsPredicate(p, fn) && characters.CountComparisons(p, fn) >= 2 {
			if calls := callsInLoops(p, fn); len(calls) > 0 {
				sites = append(sites, mutate.Site{
					Node:  calls[0],
					Label: "calls of " + fn.Name.Name,
					Data:  tableSite{pred: fn, calls: calls},
				})
			}
			continue
		}
		sites = append(sites, inlineTests(p, fn)...)
	}
	return sites
}

// callsInLoops lists the calls of a predicate on bytes, if at least one is in a loop. It leaves out
// calls inside predicates and initialisers.
func callsInLoops(p *mutate.Pass, pred *ast.FuncDecl) []*ast.CallExpr {
	var calls []*ast.CallExpr
	inHot := false
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		fn, arg := characters.PredicateCall(p, call)
		around := p.FuncOf(call)
		// Inside of a predicate the call will be replaced with it.
		if fn != pred || arg == nil || around == nil || characters.IsPredicate(p, around) {
			continue
		}
		calls = append(calls, call)
		inHot = inHot || facts.TakesTime(p, call)
	}
	if !inHot {
		return nil
	}
	return calls
}

// inlineTests finds runs of at least two tests of one byte in loops.
func inlineTests(p *mutate.Pass, fn *ast.FuncDecl) []mutate.Site {
	var sites []mutate.Site
	covered := fn.Body.Lbrace // the end of the runs that are sites already
	add := func(run []ast.Expr, op token.Token) {
		// A table costs a load, so it needs at least two comparisons to replace, in code that runs
		// often. A run inside of another one is a site already.
		if run[0].Pos() < covered || countLeaves(p, run) < 2 || !p.InLoop(run[0]) &&
			(fn != p.Func || !facts.TakesTime(p, run[0])) {
			return
		}
		covered = run[len(run)-1].End()
		sites = append(sites, mutate.Site{
			Node:  run[0],
			Label: "test of " + p.Text(run[0]),
			Data:  tableSite{run: run, op: op},
		})
	}
	// The tests of a byte stand side by side in a case list, or in a chain of && or ||.
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SwitchStmt:
			if n.Tag == nil {
				for _, c := range n.Body.List {
					splitRuns(p, c.(*ast.CaseClause).List, token.COMMA, add)
				}
			}
		// A chain within a chain of the same operator belongs to the outer one.
		case *ast.BinaryExpr:
			if n.Op != token.LAND && n.Op != token.LOR || inChainOf(p, n) {
				return true
			}
			splitRuns(p, syntax.Operands(n, n.Op), n.Op, add)
			// A chain that is one test as a whole has no smaller runs of interest.
			_, whole := characters.TestOf(p, n)
			return !whole
		}
		return true
	})
	return sites
}

// inChainOf reports whether a chain is part of a longer one, or of a case list, which the rule
// looks at as a whole.
func inChainOf(p *mutate.Pass, e *ast.BinaryExpr) bool {
	// The longer one has the same tests and more.
	switch up := p.Parent(e).(type) {
	case *ast.BinaryExpr:
		if up.Op == e.Op {
			return true
		}
		_, whole := characters.TestOf(p, up)
		return whole
	case *ast.CaseClause:
		_, whole := characters.TestOf(p, e)
		return whole
	}
	return false
}

// splitRuns cuts a list into maximal runs of tests of the same byte.
func splitRuns(p *mutate.Pass, list []ast.Expr, op token.Token, yield func([]ast.Expr, token.Token)) {
	start := -1
	var last ast.Expr
	for i, e := range list {
		t, ok := characters.TestOf(p, e)
		// A run ends at another byte, and at what is no test of a byte.
		if start >= 0 && (!ok || !p.Same(last, t.Operand)) {
			yield(list[start:i], op)
			start = -1
		}
		if ok && start < 0 {
			start = i
		}
		last = t.Operand
	}
	if start >= 0 {
		yield(list[start:], op)
	}
}

func countLeaves(p *mutate.Pass, run []ast.Expr) int {
	n := 0
	for _, e := range run {
		n += characters.MustTest(p, e).Leaves
	}
	return n
}
