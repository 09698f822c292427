package branches

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// cheapFirst (catalogue C12) matches an expensive preparation followed by a test that does not use
// it and leaves. It moves the test in front of the preparation.
var cheapFirst = &mutate.Mutator{
	Name: "cheap-test-first",
	Doc: "Test whether there is anything to do before preparing for it. Legal because the preparation has no " +
		"effects and cannot panic, and the test neither uses what it yields nor changes what it reads.",
	Example: mutate.Shows(`lower := strings.ToLower(s)
if len(s) > max {
	return false
}`,
		`if len(s) > max {
	return false
}
lower := strings.ToLower(s)`),
	Class:   beagle.E0,
	Gain:    1.2,
	Find:    findCheapFirst,
	Rewrite: edit.Precomputed,
}

// findCheapFirst looks for a costly value in front of a test that may leave without it.
func findCheapFirst(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		if i == 0 {
			continue
		}
		// A declaration with a costly value is followed by an if that leaves and does not use the
		// variable.
		d, ok := facts.Declares(p, list[i-1])
		test, isIf := list[i].(*ast.IfStmt)
		if !ok || !isIf || d.Value == nil || test.Else != nil || !mutate.Terminates(test.Body.List) {
			continue
		}
		// The value moves after the if, so computing it must have no effect that the test or its
		// body could see, and no panic that the test would skip.
		f := p.Effects(d.Value)
		if f.Writes || f.Panics || !worksHard(p, d.Value) || mentionsVar(p, d.Var, test) ||
			facts.IsLabelled(p, list[i-1]) {
			continue
		}
		if c := p.Effects(test.Cond); c.Writes || test.Init != nil && p.Effects(test.Init).Writes {
			continue // the code after the test may read something that changed
		}
		sites = append(sites,
			edit.Site(test, "test "+p.Text(test.Cond), p.Delete(d.Stmt), p.Insert(test.End(), "\n"+p.Text(d.Stmt))))
	}
	return sites
}

func mentionsVar(p *mutate.Pass, v *types.Var, n ast.Node) bool { return len(p.Uses(v, n)) > 0 }

// worksHard reports whether an expression is worth moving: it calls a function or allocates.
func worksHard(p *mutate.Pass, e ast.Expr) bool {
	return facts.CallsFunction(p, e) || p.Effects(e).Allocs
}
