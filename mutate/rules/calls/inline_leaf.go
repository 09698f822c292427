package calls

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/passes/inline"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/gofix"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// inlineLeaf (catalogue D4) matches a call, in a loop, of a helper that calls no other helper. It
// writes the helper's body in place of the call.
//
// The rule uses the inliner of golang.org/x/tools through its analyzer, which inlines functions
// that a go:fix directive marks. It shows the analyzer a copy of the file in which the helpers are
// marked. The inliner refuses what it cannot do exactly: clashes of names, changed order of
// evaluation, defers.
var inlineLeaf = &mutate.Mutator{
	Name: "inline-call",
	Doc: "Put the body of a small helper in place of its call in a loop, where the compiler finds it too costly to " +
		"do so itself. Legal because the Go project's source inliner keeps the order of evaluation and the meaning " +
		"of names, or refuses.",
	Example: mutate.Shows(`for i := range v {
	v[i] = clamp(v[i], lo, hi)
}`,
		`for i := range v {
	v[i] = min(max(v[i], lo), hi)
}`),
	Class:   beagle.E0,
	Gain:    1.1,
	Find:    findInlineLeaf,
	Rewrite: edit.Precomputed,
}

func findInlineLeaf(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	leaves := leavesInLoops(p)
	spliced := splicedSites(p, leaves)
	for _, fn := range leaves {
		sites = append(append(sites, spliced[fn]...), blockSites(p, fn)...)
	}
	return sites
}

// leavesInLoops returns the helpers that a loop calls and that call no helper.
func leavesInLoops(p *mutate.Pass) []*ast.FuncDecl {
	var leaves []*ast.FuncDecl
	for _, fn := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		if fn != p.Func && fn.Body != nil && !ast.IsExported(fn.Name.Name) && leafOf(p, fn) && calledInLoop(p, fn) {
			leaves = append(leaves, fn)
		}
	}
	return leaves
}

// splicedSites returns the calls of helpers that the source inliner can replace. It handles all
// helpers in one run, which costs as much as a run for one.
func splicedSites(p *mutate.Pass, leaves []*ast.FuncDecl) map[*ast.FuncDecl][]mutate.Site {
	if len(leaves) == 0 {
		return nil
	}
	sites := map[*ast.FuncDecl][]mutate.Site{}
	// The inliner acts on functions with a directive, so a copy of the file gets one.
	for _, s := range gofix.Sites(p, inline.Analyzer, markInlined(p, leaves)) {
		call, ok := s.Node.(*ast.CallExpr)
		// Names that the inlined text declares could hide others.
		if !ok || !p.InLoop(call) || declaresInText(s.Data.([]mutate.Edit)) {
			continue
		}
		fn := p.Decl(p.Callee(call))
		if fn == nil {
			continue // a mark of the file itself
		}
		s.Label = "call of " + fn.Name.Name
		sites[fn] = append(sites[fn], s)
	}
	return sites
}

// calledInLoop reports whether a loop calls fn by its name.
func calledInLoop(p *mutate.Pass, fn *ast.FuncDecl) bool {
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		if p.Decl(p.Callee(call)) == fn && p.InLoop(call) {
			return true
		}
	}
	return false
}

// declaresInText reports whether an inlined body declares something. The source inliner puts it
// into the block of the call, where the name may mean something else further down. So blockSites
// handles such helpers.
func declaresInText(edits []mutate.Edit) bool {
	return slices.ContainsFunc(edits, func(e mutate.Edit) bool {
		return !strings.HasPrefix(e.New, "{") && (strings.Contains(e.New, ":=") || strings.Contains(e.New, "var "))
	})
}

// leafOf reports whether fn calls no function of the candidate, not even itself.
func leafOf(p *mutate.Pass, fn *ast.FuncDecl) bool {
	if facts.HasDefer(p, fn.Body) || facts.IsLabelled(p, fn.Body) {
		return false
	}
	for _, call := range mutate.Nodes[*ast.CallExpr](p, fn.Body) {
		if p.Decl(p.Callee(call)) != nil {
			return false
		}
	}
	return true
}

// markInlined returns a copy of the file in which functions carry the inliner's directive. It keeps
// positions and the nodes below the declarations.
func markInlined(p *mutate.Pass, fns []*ast.FuncDecl) *ast.File {
	file := *p.File
	file.Decls = slices.Clone(p.File.Decls)
	for i, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || !slices.Contains(fns, fn) {
			continue
		}
		// The declaration is copied for the comment alone; its body is the same node, so that types
		// are still known.
		twin := *fn
		twin.Doc = &ast.CommentGroup{List: []*ast.Comment{{Slash: fn.Pos(), Text: "//go:fix inline"}}}
		file.Decls[i] = &twin
	}
	return &file
}

// blockSites inlines `x = f(a, b)` if f is a list of statements that ends in its only return. A
// block of its own binds the arguments, and assigns the result in place of the return.
func blockSites(p *mutate.Pass, fn *ast.FuncDecl) []mutate.Site {
	var sites []mutate.Site
	// A method's receiver and type parameters would have to be bound as well.
	if fn.Recv != nil || fn.Type.TypeParams != nil || len(fn.Body.List) < 2 || facts.LineCount(p, fn) > 40 {
		return nil
	}
	// A return in the middle would need a jump.
	ret, ok := fn.Body.List[len(fn.Body.List)-1].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 || jumpsOut(p, fn.Body.List[:len(fn.Body.List)-1]) {
		return nil
	}
	// Only calls in loops, as the whole value of an assignment, are worth a block.
	for list, i := range facts.Statements(p) {
		lhs, rhs, ok := syntax.SplitAssign(list[i], token.ASSIGN, token.DEFINE, token.ADD_ASSIGN, token.XOR_ASSIGN)
		call, isCall := rhs.(*ast.CallExpr)
		if !ok || !isCall || p.Decl(p.Callee(call)) != fn || !p.InLoop(call) || facts.Inside(call, fn) {
			continue
		}
		if text := blockText(p, fn, ret, list[i].(*ast.AssignStmt), lhs, call); text != "" {
			sites = append(sites, edit.Site(call, "call of "+fn.Name.Name+" as a block", p.Replace(list[i], text)))
		}
	}
	return sites
}

func jumpsOut(p *mutate.Pass, list []ast.Stmt) bool {
	for _, s := range list {
		if p.Effects(s).Jumps {
			return true
		}
	}
	return false
}

// blockText writes the body of fn in place of an assignment of its result. It returns "" where a
// name would mean something else there or the result has no single variable to go to.
func blockText(
	p *mutate.Pass, fn *ast.FuncDecl, ret *ast.ReturnStmt, as *ast.AssignStmt, lhs ast.Expr, call *ast.CallExpr,
) string {
	// The result needs one variable to go to, and each parameter one argument.
	target, ok := lhs.(*ast.Ident)
	sig := p.Info.Defs[fn.Name].Type().(*types.Signature)
	if !ok || target.Name == "_" || sig.Variadic() || len(call.Args) != sig.Params().Len() ||
		sig.Results().At(0).Name() != "" {
		return ""
	}
	params, names := edit.Parameters(p, fn)
	if params == "" || strings.Count(params, ",") != sig.Params().Len()-1 {
		return ""
	}
	// A local name of fn must not hide the target, and the caller's names must not hide what fn's
	// body means.
	if localNames(p, fn)[target.Name] || freeNamesHidden(p, fn, as) {
		return ""
	}
	// A definition declares its variable outside of the block, so that it outlives it.
	result, text := sig.Results().At(0).Type(), ""
	if as.Tok == token.DEFINE {
		t, ok := facts.TypeText(p, result)
		if !ok || facts.UsesName(p, call, target.Name) {
			return "" // the arguments may name another variable, which the new one would hide
		}
		text = "var " + target.Name + " " + t + "\n"
	}
	op := as.Tok.String()
	if as.Tok == token.DEFINE {
		op = "="
	} else if !types.Identical(p.Info.TypeOf(target), result) {
		return "" // an interface would get a value of another type
	}
	// Parameters become variables with the arguments' values, in order; the final return becomes
	// the assignment.
	body := bindParameters(p, sig, call, strings.Split(names, ", ")) +
		strings.TrimSpace(p.Between(fn.Body.Lbrace+1, ret.Pos())) + "\n" + target.Name + " " + op + " " +
		p.Text(ret.Results[0])
	// Where no name clashes and the body of the loop ends the scope anyway, the block is left out.
	if !shareNames(p, fn, p.FuncOf(as)) && inLoopBody(p, as) {
		return text + body
	}
	return text + "{\n" + body + "\n}"
}

// shareNames reports whether the caller uses a name that fn declares: in that case the block needs
// braces.
func shareNames(p *mutate.Pass, fn, caller *ast.FuncDecl) bool {
	names := localNames(p, fn)
	for _, id := range mutate.Nodes[*ast.Ident](p, caller.Body) {
		if names[id.Name] {
			return true
		}
	}
	return false
}

// inLoopBody reports whether s stands directly in the body of a loop, where declarations live for
// one iteration.
func inLoopBody(p *mutate.Pass, s ast.Stmt) bool {
	body, ok := p.Parent(s).(*ast.BlockStmt)
	return ok && syntax.LoopBody(p.Parent(body)) == body
}

// bindParameters gives all parameters their values at once.
func bindParameters(p *mutate.Pass, sig *types.Signature, call *ast.CallExpr, names []string) string {
	var left, right []string
	for i, a := range call.Args {
		value := p.Text(a)
		t, _ := facts.TypeText(p, sig.Params().At(i).Type())
		if !types.Identical(p.Info.TypeOf(a), sig.Params().At(i).Type()) || p.Info.Types[a].Value != nil {
			value = t + "(" + value + ")"
		}
		left, right = append(left, names[i]), append(right, value)
	}
	return strings.Join(left, ", ") + " := " + strings.Join(right, ", ") + "\n"
}
