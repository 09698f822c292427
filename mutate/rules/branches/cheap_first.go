package branches

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// cheapFirst (catalogue C12) matches an expensive preparation followed by a test that does not use
// it and leaves. It moves the test in front of the preparation.
var cheapFirst = &mutate.Mutator{
	Name: "cheap-test-first",
	Doc: "Test whether there is anything to do before preparing for it, also within one condition. Legal because the " +
		"preparation has no effects and cannot panic, unless the test would, and the test neither uses what it " +
		"yields nor changes what it reads.",
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
	for _, test := range mutate.Nodes[*ast.IfStmt](p, nil) {
		if outer, inner := outerTests(p, test); outer != nil {
			sites = append(sites, edit.Site(test, "test "+joinTests(p, outer), nestTest(p, test, outer, inner)))
		}
	}
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

// outerTests returns the parts of an if's condition that cost little and do not use what its init
// statement looks up, and the others. It returns none if no other part asks for that, or if the
// order matters.
func outerTests(p *mutate.Pass, test *ast.IfStmt) (outer, inner []ast.Expr) {
	as, ok := test.Init.(*ast.AssignStmt)
	if !ok || as.Tok != token.DEFINE || len(as.Lhs) != 2 || len(as.Rhs) != 1 || test.Else != nil {
		return nil, nil
	}
	if !looksUp(p, as.Rhs[0]) {
		return nil, nil
	}
	panics := false // a part that may panic does so before those behind it
	for _, e := range syntax.Operands(test.Cond, token.LAND) {
		bases, plain := fieldsOnly(p, e)
		held := allRead(p, bases, test, test.Init)
		switch {
		case p.Effects(e).Writes:
			return nil, nil
		case plain && held && !panics && !usesDeclared(p, as, e) && !worksHard(p, e):
			outer = append(outer, e)
		default:
			inner = append(inner, e)
			panics = panics || p.Effects(e).Panics
		}
	}
	if len(outer) == 0 || len(inner) == 0 {
		return nil, nil
	}
	// Where the look-up panics, so must the test that now comes first.
	found := ast.Unparen(as.Rhs[0])
	if assertion, ok := found.(*ast.TypeAssertExpr); ok {
		found = assertion.X // with two results it does not panic
	}
	bases, plain := fieldsOnly(p, found)
	inFront := slices.IndexFunc(outer, func(e ast.Expr) bool { return allRead(p, bases, test, e) })
	if !plain || inFront < 0 {
		return nil, nil
	}
	first := outer[inFront]
	return slices.Insert(slices.Delete(outer, inFront, inFront+1), 0, first), inner
}

// looksUp reports whether a value takes time and has no effects: an entry of a map, a test for an
// interface, or a call.
func looksUp(p *mutate.Pass, e ast.Expr) bool {
	if p.Effects(e).Writes {
		return false
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		return facts.MapElement(p, e)
	case *ast.TypeAssertExpr:
		return types.IsInterface(p.Info.TypeOf(e.Type))
	case *ast.CallExpr:
		return worksHard(p, e)
	}
	return false
}

// usesDeclared reports whether an expression uses a variable that a statement declares.
func usesDeclared(p *mutate.Pass, as *ast.AssignStmt, e ast.Expr) bool {
	return slices.ContainsFunc(as.Lhs, func(l ast.Expr) bool {
		v := p.Var(l)
		return v != nil && mentionsVar(p, v, e)
	})
}

// allRead reports whether code certainly reads a field through each pointer, or a statement in
// front of a test does.
func allRead(p *mutate.Pass, bases []*types.Var, test *ast.IfStmt, code ast.Node) bool {
	return !slices.ContainsFunc(bases, func(base *types.Var) bool {
		return !facts.Dereferences(p, base, code) && !facts.DereferencedInFront(p, base, test)
	})
}

// fieldsOnly returns the pointers through which an expression reads fields. ok is false if it may
// panic for another reason than that one of these is nil.
func fieldsOnly(p *mutate.Pass, e ast.Expr) (bases []*types.Var, ok bool) {
	if !p.Effects(e).Panics {
		return nil, true
	}
	for _, n := range mutate.Nodes[ast.Expr](p, e) {
		switch n := n.(type) {
		case *ast.Ident, *ast.BasicLit, *ast.ParenExpr:
		case *ast.UnaryExpr:
			if n.Op != token.NOT {
				return nil, false
			}
		case *ast.BinaryExpr:
			if !comparesPlain(p, n) {
				return nil, false
			}
		case *ast.IndexExpr:
			m, isMap := p.Info.TypeOf(n.X).Underlying().(*types.Map)
			if !isMap || mutate.HoldsInterface(m.Key()) {
				return nil, false
			}
		case *ast.SelectorExpr:
			s, base := p.Info.Selections[n], p.Var(n.X)
			if s == nil { // a name of another package
				continue
			}
			if s.Kind() != types.FieldVal || len(s.Index()) != 1 || base == nil {
				return nil, false
			}
			if syntax.Is[*types.Pointer](base.Type()) {
				bases = append(bases, base)
			}
		default:
			return nil, false
		}
	}
	return bases, true
}

// comparesPlain reports whether an operator connects tests, or compares values that are no
// interfaces and hold none.
func comparesPlain(p *mutate.Pass, b *ast.BinaryExpr) bool {
	switch b.Op {
	case token.LAND, token.LOR:
		return true
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return !mutate.HoldsInterface(p.Info.TypeOf(b.X)) && !mutate.HoldsInterface(p.Info.TypeOf(b.Y))
	}
	return false
}

// nestTest lets an if ask some parts of its condition in front of its init statement.
func nestTest(p *mutate.Pass, test *ast.IfStmt, outer, inner []ast.Expr) mutate.Edit {
	return p.Replace(test, fmt.Sprintf("if %s {\nif %s; %s %s\n}", joinTests(p, outer), p.Text(test.Init),
		joinTests(p, inner), p.Text(test.Body)))
}

func joinTests(p *mutate.Pass, tests []ast.Expr) string {
	var texts []string
	for _, e := range tests {
		texts = append(texts, p.Text(e))
	}
	return strings.Join(texts, " && ")
}
