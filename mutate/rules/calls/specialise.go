package calls

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// specialise (catalogue D2) matches a call that passes a known function to a helper, which only
// calls it. It writes a copy of the helper that calls the function by name.
var specialise = &mutate.Mutator{
	Name: "specialise-func-param",
	Doc: "Copy a helper for a known function argument, and let the copy call the function by name: the compiler can " +
		"then inline it, as it cannot through a parameter. Legal because the helper only calls its parameter.",
	Example: mutate.Shows(`func count(s string, ok func(byte) bool) int { ... ok(s[i]) ... }

n := count(s, isDigit)`,
		`func countIsDigit(s string) int { ... isDigit(s[i]) ... }

n := countIsDigit(s)`),
	Class:   beagle.E0,
	Gain:    1.5,
	Find:    findFuncParams,
	Rewrite: rewriteFuncParam,
}

type funcParamSite struct {
	helper *ast.FuncDecl
	param  *types.Var
	at     int // the position among the parameters
	call   *ast.CallExpr
}

// findFuncParams looks for helpers with a parameter that they only call, and calls that pass a
// function known here.
func findFuncParams(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	seen := map[string]bool{}
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		// The callee must be a plain helper, with a body to copy.
		helper := p.Decl(p.Callee(call))
		if helper == nil || helper == p.Func || helper.Body == nil || helper.Recv != nil ||
			helper.Type.TypeParams != nil || call.Ellipsis.IsValid() {
			continue
		}
		// In the helper itself, the copy would call the original again.
		if around := p.FuncOf(call); around == nil || around == helper || facts.CallsItself(p, helper) {
			continue
		}
		// The parameter may only be called: passed on, the function would be needed as a value.
		for i, arg := range call.Args {
			v := paramAt(p, helper, i)
			if v == nil || !onlyCalled(p, v, helper) || !facts.IsKnownFunc(p, arg) || hidesFunction(p, helper, v, arg) {
				continue
			}
			label := fmt.Sprintf("%s with %s", helper.Name.Name, edit.OneLine(p.Text(arg)))
			if key := label; !seen[key] {
				seen[key] = true
				sites = append(sites, mutate.Site{Node: call, Label: label, Data: funcParamSite{helper, v, i, call}})
			}
		}
	}
	return sites
}

// paramAt returns the i-th parameter, if it is a function and not variadic.
func paramAt(p *mutate.Pass, fn *ast.FuncDecl, i int) *types.Var {
	sig := p.Info.Defs[fn.Name].Type().(*types.Signature)
	if i >= sig.Params().Len() || sig.Variadic() {
		return nil
	}
	v := sig.Params().At(i)
	if _, ok := v.Type().Underlying().(*types.Signature); !ok || syntax.IsUnnamed(v) {
		return nil
	}
	return v
}

// onlyCalled reports whether every use of a function parameter calls it. A test for nil, or passing
// it on, would need more.
func onlyCalled(p *mutate.Pass, v *types.Var, fn *ast.FuncDecl) bool {
	uses := p.Uses(v, fn)
	for _, id := range uses {
		call, ok := p.Parent(id).(*ast.CallExpr)
		if !ok || ast.Unparen(call.Fun) != ast.Expr(id) {
			return false
		}
	}
	return len(uses) > 0
}

// hidesFunction reports whether a helper declares the name of a function anew, other than for the
// parameter that goes.
func hidesFunction(p *mutate.Pass, helper *ast.FuncDecl, param *types.Var, fn ast.Expr) bool {
	name := ast.Unparen(fn)
	if sel, ok := name.(*ast.SelectorExpr); ok {
		name = sel.X
	}
	root, ok := name.(*ast.Ident)
	if !ok {
		return false // a literal gets a name of its own
	}
	for _, id := range mutate.Nodes[*ast.Ident](p, helper) {
		if obj := p.Info.Defs[id]; obj != nil && id.Name == root.Name && obj != param && id != helper.Name {
			return true
		}
	}
	return false
}

// rewriteFuncParam copies a helper with a function in place of its parameter, so that the compiler
// knows the callee and may inline it.
func rewriteFuncParam(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	site := s.Data.(funcParamSite)
	// A literal captures nothing here; it becomes a function with a name, which the copy can call.
	arg := ast.Unparen(site.call.Args[site.at])
	callee, decl := p.Text(arg), ""
	if lit, ok := arg.(*ast.FuncLit); ok {
		callee = p.Fresh(site.helper.Name.Name+edit.UpperFirst(site.param.Name()), site.helper.Name.Name+"Func")
		decl = fmt.Sprintf("\n\nfunc %s%s %s", callee, p.Between(lit.Type.Params.Pos(), lit.Type.End()),
			p.Text(lit.Body))
	}
	// Name the copy after the helper and the function, or the parameter where the function had no
	// name.
	last := callee[strings.LastIndexByte(callee, '.')+1:]
	name := p.Fresh(site.helper.Name.Name+edit.UpperFirst(last), site.helper.Name.Name+"With"+edit.UpperFirst(last))
	if decl != "" {
		name = p.Fresh(site.helper.Name.Name+"With"+edit.UpperFirst(site.param.Name()), site.helper.Name.Name+
			"Specialised")
	}
	// In the body each use of the parameter becomes the function's name.
	body := p.TextWith(site.helper.Body, func(n ast.Node) (string, bool) {
		if id, ok := n.(*ast.Ident); ok && p.Info.Uses[id] == site.param {
			return callee, true
		}
		return "", false
	})
	results := ""
	if r := site.helper.Type.Results; r != nil {
		results = " " + p.Text(r)
	}
	decl = fmt.Sprintf("// %s is %s with %s for %s.\nfunc %s(%s)%s %s",
		name, site.helper.Name.Name, callee, site.param.Name(), name, otherParameters(p, site), results, body) + decl
	edits := []mutate.Edit{p.Declare(site.helper, decl)}
	// Redirect every call of the helper with the same function, and drop that argument.
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		same := call == site.call || p.Decl(p.Callee(call)) == site.helper && site.at < len(call.Args) &&
			p.Same(call.Args[site.at], arg)
		if !same || p.FuncOf(call) == nil {
			continue
		}
		var rest []string
		for i, a := range call.Args {
			if i != site.at {
				rest = append(rest, p.Text(a))
			}
		}
		edits = append(edits, p.Replace(call, fmt.Sprintf("%s(%s)", name, strings.Join(rest, ", "))))
	}
	return edits, nil
}

// otherParameters writes the helper's parameters, apart from the fixed one.
func otherParameters(p *mutate.Pass, s funcParamSite) string {
	var out []string
	for _, f := range s.helper.Type.Params.List {
		var names []string
		// Several parameters may share a type, of which the others stay.
		for _, id := range f.Names {
			if p.Info.Defs[id] != s.param {
				names = append(names, id.Name)
			}
		}
		if len(names) > 0 {
			out = append(out, strings.Join(names, ", ")+" "+p.Text(f.Type))
		}
	}
	return strings.Join(out, ", ")
}
