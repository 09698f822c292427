package loops

import (
	"go/ast"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// reuseValue (part of catalogue L3) matches a call, a look-up in a map or a conversion that code
// evaluates again although its value cannot have changed. It keeps the first value.
var reuseValue = &mutate.Mutator{
	Name: "reuse-value",
	Doc: "Evaluate an expression once that code repeats with the same operands: a call without effects, a look-up in " +
		"a map, a string made of bytes. The compiler does not know that calls have no effects, and looks up each " +
		"time. Legal because the first evaluation takes place in any case, and nothing changes its operands up to " +
		"the last one; a panic may come earlier.",
	Example: mutate.Shows(`if strings.HasPrefix(strings.ToLower(name), "x-") {
	out = append(out, strings.ToLower(name))
}`,
		`lower := strings.ToLower(name)
if strings.HasPrefix(lower, "x-") {
	out = append(out, lower)
}`),
	Class:   beagle.E1,
	Gain:    1.3,
	Find:    findReuseValue,
	Rewrite: edit.Precomputed,
}

// findReuseValue looks for values that code computes twice, with nothing in between that could
// change them.
func findReuseValue(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	done := map[ast.Expr]bool{}
	// Go through the expressions from the outermost on, since a value inside of a reused one is
	// reused with it.
	for _, e := range mutate.Nodes[ast.Expr](p, nil) {
		if done[e] || !worthReusing(p, e) {
			continue
		}
		// The value is computed in front of the statement where it comes first.
		s, ok := facts.Hoistable(p, e)
		if !ok || !facts.CanDeclare(p, s) {
			continue
		}
		list, at := p.Siblings(s)
		if at < 0 {
			continue
		}
		// Find where else it is computed before anything changes it.
		again := sameEvaluations(p, e, list[at:])
		for _, a := range again {
			done[a] = true
		}
		if len(again) < 2 || slices.ContainsFunc(sites, func(o mutate.Site) bool { return facts.Inside(e, o.Node) }) {
			continue
		}
		sites = append(sites, reuseSite(p, e, s, again))
	}
	return sites
}

// worthReusing reports whether e does more work than a variable. Its value is a basic one, or an
// element of a map, so that nothing could change it through the other evaluation.
func worthReusing(p *mutate.Pass, e ast.Expr) bool {
	tv := p.Info.Types[e]
	if ix, ok := e.(*ast.IndexExpr); ok && tv.IsValue() {
		m, isMap := p.Info.TypeOf(ix.X).Underlying().(*types.Map)
		return isMap && types.Identical(tv.Type, m.Elem()) && !facts.AssignedTo(p, e) && !p.Changes(e) &&
			!p.Effects(e).Writes
	}
	call, ok := e.(*ast.CallExpr)
	if !ok || !worthHoisting(p, e) || p.Effects(e).Writes {
		return false
	}
	fn, ok := p.Callee(call).(*types.Func)
	return !ok || !isCheap(p, fn)
}

// isCheap reports whether a call is hardly more than a read: the function only returns something
// that calls nothing.
func isCheap(p *mutate.Pass, fn *types.Func) bool {
	// Most functions of these packages are a few instructions, and so are these methods.
	if fn.Pkg() != nil && fn.Pkg() != p.Pkg {
		few := slices.Contains([]string{"math", "math/bits", "unicode/utf8"}, fn.Pkg().Path())
		return few || fn.Signature().Recv() != nil && slices.Contains(fewInstructions, fn.Name())
	}
	// A function without a body is assembly or an intrinsic.
	d := p.Decl(fn)
	if d == nil || d.Body == nil {
		return true
	}
	if len(d.Body.List) != 1 {
		return false
	}
	for _, call := range mutate.Nodes[*ast.CallExpr](p, d.Body.List[0]) {
		if _, builtin := p.Callee(call).(*types.Builtin); !builtin && !p.Info.Types[call.Fun].IsType() {
			return false
		}
	}
	_, returns := d.Body.List[0].(*ast.ReturnStmt)
	return returns
}

// fewInstructions names methods of the standard library that the compiler inlines.
var fewInstructions = []string{"IsValid", "IsZero", "Nanosecond", "Sign", "Unix", "UnixMicro", "UnixMilli", "UnixNano"}

// sameEvaluations returns e and the same expressions in a list that begins with the statement
// around e, as far as they have its value.
func sameEvaluations(p *mutate.Pass, e ast.Expr, list []ast.Stmt) (out []ast.Expr) {
	for _, s := range list {
		if !facts.SameValue(p, e, s) {
			break
		}
		for _, same := range mutate.Nodes[ast.Expr](p, s) {
			if p.Same(same, e) && !facts.InLiteral(p, same, s) && !p.Changes(same) &&
				worthReusing(p, ast.Unparen(same)) {
				out = append(out, ast.Unparen(same))
			}
		}
	}
	return out
}

func reuseSite(p *mutate.Pass, e ast.Expr, s ast.Stmt, again []ast.Expr) mutate.Site {
	name := p.Fresh(reusedNames(p, e)...)
	edits := []mutate.Edit{edit.InsertBefore(p, s, name+" := "+p.Text(e))}
	// The first value may have a name already, if it means the same at all places.
	if d, ok := facts.Declares(p, s); ok && d.Value == e && facts.Single.Of(p)[d.Var].Var == d.Var &&
		types.Identical(d.Var.Type(), p.Info.TypeOf(e)) && !slices.ContainsFunc(again[1:], func(a ast.Expr) bool {
		return !facts.Means(p, a.Pos(), d.Name.Name, d.Var)
	}) {
		name, edits, again = d.Name.Name, nil, again[1:] // it has a name
	}
	for _, a := range again {
		edits = append(edits, p.Replace(a, name))
	}
	return edit.Site(e, p.Text(e), edit.OutermostOnly(edits)...)
}

// reusedNames proposes names for a value.
func reusedNames(p *mutate.Pass, e ast.Expr) []string {
	if ix, ok := e.(*ast.IndexExpr); ok {
		if v := p.Var(ix.X); v != nil {
			return []string{v.Name() + "Value", v.Name() + "Element"}
		}
		return []string{"found", "element"}
	}
	return invariantNames(p, e)
}
