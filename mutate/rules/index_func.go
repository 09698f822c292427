package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// indexFunc (catalogue D2 for the library) matches a search through a text that calls a function
// literal for each rune. It writes the loop.
var indexFunc = &mutate.Mutator{
	Name: "index-func",
	Doc: "Search a text with a loop of its own instead of strings.IndexFunc, which calls its function for each " +
		"rune. Exact: the loop decodes the same runes, and what the function reads besides stays as it is.",
	Before: `return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) == -1`,
	After: `return otherIn(s) == -1

func otherIn(s string) int {
	for i, r := range s {
		if r < '0' || r > '9' {
			return i
		}
	}
	return -1
}`,
	Class:   beagle.E0,
	Gain:    1.4,
	Find:    findIndexFunc,
	Rewrite: precomputed,
}

func findIndexFunc(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		call, ok := p.IsCall(call, "strings", "IndexFunc", "ContainsFunc")
		if !ok || p.FuncOf(call) == nil || inFuncLit(p, call) {
			continue
		}
		if edits := indexLoop(p, call); edits != nil {
			sites = append(sites, site(call, "search in "+p.Text(call.Args[0]), edits...))
		}
	}
	return sites
}

// indexLoop writes a helper that searches, and its call.
func indexLoop(p *mutate.Pass, call *ast.CallExpr) []mutate.Edit {
	test, r, params, args := testOfRune(p, call.Args[1])
	if test == "" {
		return nil
	}
	fn := p.FuncOf(call)
	finds := p.Info.TypeOf(call)
	result, found, none, head := "int", "i", "-1", "i, "+r
	if isBasicType(finds, types.Bool) {
		result, found, none, head = "bool", "true", "false", "_, "+r
	}
	text, index := p.Fresh("text", "textOf"), p.Fresh("i", "at")
	if found == "i" {
		found, head = index, index+", "+r
	}
	name := p.Fresh("searchIn"+upperFirst(fn.Name.Name), "searchFor"+upperFirst(fn.Name.Name))
	decl := fmt.Sprintf(`// %[1]s looks for a rune in a text of %[2]s.
func %[1]s(%[3]s) %[4]s {
	for %[5]s := range %[6]s {
		if %[7]s {
			return %[8]s
		}
	}
	return %[9]s
}`, name, fn.Name.Name, strings.Join(append([]string{text + " string"}, params...), ", "), result, head, text, test,
		found, none)
	to := name + "(" + strings.Join(append([]string{p.Text(call.Args[0])}, args...), ", ") + ")"
	return []mutate.Edit{p.Replace(call, to), p.Declare(fn, decl)}
}

// testOfRune writes what a function value asks of a rune, and the variables that it reads besides.
// It returns "" where that cannot stand elsewhere.
func testOfRune(p *mutate.Pass, e ast.Expr) (test, name string, params, args []string) {
	lit, ok := ast.Unparen(e).(*ast.FuncLit)
	if !ok {
		if !isKnownFunc(p, e) {
			return "", "", nil, nil
		}
		name = p.Fresh("r", "char")
		return p.Text(e) + "(" + name + ")", name, nil, nil
	}
	if len(lit.Body.List) != 1 || len(lit.Type.Params.List) != 1 || len(lit.Type.Params.List[0].Names) != 1 {
		return "", "", nil, nil
	}
	ret, ok := lit.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 || p.Effects(ret.Results[0]).Writes {
		return "", "", nil, nil
	}
	own := p.Info.Defs[lit.Type.Params.List[0].Names[0]]
	var seen []types.Object
	for id := range mutate.Nodes[*ast.Ident](p, ret.Results[0]) {
		if localName(p, id) {
			return "", "", nil, nil
		}
		v, ok := p.Info.Uses[id].(*types.Var)
		if !ok || v == own || v.IsField() || p.IsGlobal(v) || slices.Contains(seen, types.Object(v)) {
			continue
		}
		t, ok := facts.TypeText(p, v.Type())
		if !ok || addressTaken(p, v, p.FuncOf(e)) {
			return "", "", nil, nil
		}
		seen = append(seen, v)
		params, args = append(params, v.Name()+" "+t), append(args, v.Name())
	}
	if slices.Contains(args, lit.Type.Params.List[0].Names[0].Name) {
		return "", "", nil, nil
	}
	return p.Text(ret.Results[0]), lit.Type.Params.List[0].Names[0].Name, params, args
}

// localName reports whether an identifier names a constant or a type that a function declares: a
// helper would not see it.
func localName(p *mutate.Pass, id *ast.Ident) bool {
	switch obj := p.Info.Uses[id].(type) {
	case *types.Const, *types.TypeName:
		return obj.Parent() != types.Universe && obj.Pkg() != nil && obj.Parent() != obj.Pkg().Scope()
	}
	return false
}
