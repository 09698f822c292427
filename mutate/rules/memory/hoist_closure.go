package memory

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// hoistClosure (catalogue A11) matches a function literal that a loop makes in every iteration
// without using the loop's variables. It makes the function value once in front of the loop.
var hoistClosure = &mutate.Mutator{
	Name: "hoist-closure",
	Doc: "Make a function value once before the loop instead of in every iteration, where it may cost an allocation " +
		"each time. Legal because it uses nothing that the loop declares, and function values cannot be told apart.",
	Example: mutate.Shows(`for _, s := range in {
	out = append(out, strings.Map(func(r rune) rune { return r + shift }, s))
}`,
		`mapping := func(r rune) rune { return r + shift }
for _, s := range in {
	out = append(out, strings.Map(mapping, s))
}`),
	Class:   beagle.E0,
	Gain:    1.15,
	Find:    findHoistClosure,
	Rewrite: edit.Precomputed,
}

// findHoistClosure looks for function literals that are passed to a call in a loop, and use nothing
// that belongs to an iteration.
func findHoistClosure(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, lit := range mutate.Nodes[*ast.FuncLit](p, nil) {
		call, ok := p.Parent(lit).(*ast.CallExpr)
		// A literal that is called at once needs no variable.
		if !ok || call.Fun == ast.Expr(lit) {
			continue
		}
		// It is made once in front of that loop, so it must not use what an iteration declares.
		loop := outermostFreeOf(p, lit)
		if loop == nil {
			continue
		}
		name := p.Fresh(parameterName(p, call, lit), "fn")
		sites = append(sites,
			edit.Site(lit, "function literal in a loop",
				edit.InsertBefore(p, edit.LabelOf(p, loop), name+" := "+p.Text(lit)),
				p.Replace(lit, name)))
	}
	return sites
}

// outermostFreeOf returns the outermost loop around n, within n's function, whose variables n does
// not use.
func outermostFreeOf(p *mutate.Pass, n ast.Node) (loop ast.Stmt) {
	for _, up := range p.Path(n) {
		if up == n {
			continue
		}
		switch up.(type) {
		// A literal or declaration around is the end: in front of it, other variables are in scope.
		case *ast.FuncLit, *ast.FuncDecl:
			return loop
		}
		if syntax.LoopBody(up) == nil {
			continue
		}
		// In the head of a loop, n runs at other times than in its body.
		if facts.UsesOwn(p, n, up) || !facts.Inside(n, syntax.LoopBody(up)) {
			return loop
		}
		loop = up.(ast.Stmt)
	}
	return loop
}

// parameterName returns the called function's name for the parameter.
func parameterName(p *mutate.Pass, call *ast.CallExpr, arg ast.Expr) string {
	sig, ok := p.Info.TypeOf(call.Fun).Underlying().(*types.Signature)
	for i, a := range call.Args {
		if ok && a == arg && i < sig.Params().Len() && len(sig.Params().At(i).Name()) > 1 {
			return sig.Params().At(i).Name()
		}
	}
	return "fn"
}
