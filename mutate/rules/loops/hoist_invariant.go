package loops

import (
	"go/ast"
	"go/token"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// hoistInvariant (catalogue L3) matches a pure expression in a loop whose value is the same in
// every iteration. It evaluates the expression once in front of the loop.
var hoistInvariant = &mutate.Mutator{
	Name: "hoist-invariant",
	Doc: "Evaluate an expression that is the same in every iteration once, before the loop. The compiler does not " +
		"move invariant code out of loops. Legal because the expression has no effects, cannot panic, yields no " +
		"memory that could be shared, and nothing in the loop changes what it reads.",
	Example: mutate.Shows(`for _, w := range words {
	if strings.ToLower(w) == strings.ToLower(want) {`,
		`lower := strings.ToLower(want)
for _, w := range words {
	if strings.ToLower(w) == lower {`),
	Class:   beagle.E0,
	Gain:    1.8,
	Find:    findHoistInvariant,
	Rewrite: edit.Precomputed,
}

// findHoistInvariant looks for the outermost expressions that do work and keep their value during a
// loop. An equal expression in the same loop is hoisted with the first one.
func findHoistInvariant(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	var done []ast.Expr
	for _, e := range mutate.Nodes[ast.Expr](p, nil) {
		// A part of what is hoisted goes with it.
		if !worthHoisting(p, e) || slices.ContainsFunc(done, func(d ast.Expr) bool { return facts.Inside(e, d) }) {
			continue
		}
		loop := invariantIn(p, e)
		// And an equal one in that loop is replaced by it.
		if loop == nil ||
			slices.ContainsFunc(done, func(d ast.Expr) bool { return p.Same(d, e) && facts.Inside(d, loop) }) {
			continue
		}
		done = append(done, e)
		sites = append(sites, hoistSite(p, e, loop))
	}
	return sites
}

// invariantIn returns the outermost loop around e in which e keeps its value.
func invariantIn(p *mutate.Pass, e ast.Expr) (loop ast.Stmt) {
	// Climb from the expression to the function, and remember the last loop in which its value
	// stays. The first obstacle ends the climb.
	var child ast.Node = e
	for _, up := range p.Path(e) {
		if up == ast.Node(e) {
			continue
		}
		switch up := up.(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			return loop
		// A block that ends in a return, break or the like runs at most once for the loop around
		// it.
		case *ast.BlockStmt:
			if facts.EndsIn(up.List, token.RETURN, token.BREAK, token.GOTO) {
				return loop // evaluated at most once, and maybe never
			}
		case *ast.CaseClause:
			if facts.EndsIn(up.Body, token.RETURN, token.BREAK, token.GOTO) {
				return loop
			}
		case *ast.RangeStmt:
			// The operand of range is evaluated before the first iteration, so this loop does not
			// repeat it.
			if up.X == child {
				child = up
				continue // evaluated once
			}
			if !facts.Stable(p, e, up) {
				return loop
			}
			loop = up
		case *ast.ForStmt:
			// So is the init statement of a for loop.
			if up.Init == child {
				child = up
				continue
			}
			if !facts.Stable(p, e, up) {
				return loop
			}
			loop = up
		}
		child = up
	}
	return loop
}

func hoistSite(p *mutate.Pass, e ast.Expr, loop ast.Stmt) mutate.Site {
	name := p.Fresh(invariantNames(p, e)...)
	edits := []mutate.Edit{edit.InsertBefore(p, edit.LabelOf(p, loop), name+" := "+p.Text(e))}
	for _, same := range mutate.Nodes[ast.Expr](p, loop) {
		if p.Same(same, e) && !facts.InLiteral(p, same, loop) {
			edits = append(edits, p.Replace(same, name))
		}
	}
	return edit.Site(e, p.Text(e), edit.OutermostOnly(edits)...)
}
