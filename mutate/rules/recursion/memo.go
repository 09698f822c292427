package recursion

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// memo (catalogue R2) matches a pure function that calls itself at least twice. It writes a helper
// that keeps the results of one outer call in a map.
var memo = &mutate.Mutator{
	Name: "memo",
	Doc: "Remember the results of a recursion within one outer call: branching recursion meets the same arguments " +
		"again and again. Legal because the function has no effects and reads nothing that changes; the memory ends " +
		"with that call.",
	Example: mutate.Shows(`func paths(x, y int) int {
	if x == 0 || y == 0 {
		return 1
	}
	return paths(x-1, y) + paths(x, y-1)
}`,
		`func paths(x, y int) int {
	return pathsMemo(x, y, make(map[[2]int]int))
}`),
	Class:   beagle.E4,
	Gain:    5,
	Find:    edit.SitesOf(recursionOf, recursionLabel),
	Rewrite: rewriteMemo,
}

// A recursion is a function with its calls of itself.
type recursion struct {
	fn    *ast.FuncDecl
	calls []*ast.CallExpr
}

func recursionLabel(_ *mutate.Pass, r *recursion) string { return "recursion of " + r.fn.Name.Name }

// recursionOf recognises a function that calls itself at two places or more, and whose results can
// be remembered.
func recursionOf(p *mutate.Pass, fn *ast.FuncDecl) *recursion {
	if calls := selfCalls(p, fn); len(calls) >= 2 && canMemoise(p, fn, calls) {
		return &recursion{fn, calls}
	}
	return nil
}

// canMemoise reports whether memo can handle fn. It has no receiver, no type parameters, one result
// and no effects. Its parameters can be a map key, and are equal only if they are the same, which
// excludes floats.
func canMemoise(p *mutate.Pass, fn *ast.FuncDecl, calls []*ast.CallExpr) bool {
	// The parameters become the key, so a method's receiver or a variable number of them has no
	// place in it.
	sig := p.Info.Defs[fn.Name].Type().(*types.Signature)
	if fn.Recv != nil || sig.TypeParams().Len() > 0 || sig.Variadic() || sig.Results().Len() != 1 ||
		sig.Params().Len() == 0 || sig.Params().Len() > 4 {
		return false
	}
	for v := range sig.Params().Variables() {
		if orderedKindOf(v.Type())&(types.IsInteger|types.IsString|types.IsBoolean) == 0 || v.Name() == "" ||
			v.Name() == "_" {
			return false
		}
	}
	// A result with memory of its own would be shared by all who get it.
	if _, basic := sig.Results().At(0).Type().Underlying().(*types.Basic); !basic {
		return false
	}
	if len(p.Uses(p.Info.Defs[fn.Name], fn.Body)) != len(calls) {
		return false // code uses the function as a value
	}
	// A closure may keep a call for later.
	for _, lit := range mutate.Nodes[*ast.FuncLit](p, fn.Body) {
		_ = lit
		return false
	}
	// A result may only be remembered if the same arguments always give it.
	f := p.Effects(fn.Body)
	return !f.Writes && !readsChanging(p, fn)
}

func orderedKindOf(t types.Type) types.BasicInfo {
	if b, ok := t.Underlying().(*types.Basic); ok {
		return b.Info()
	}
	return 0
}

// readsChanging reports whether fn reads a variable that is not frozen.
func readsChanging(p *mutate.Pass, fn *ast.FuncDecl) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, fn.Body) {
		if v, ok := p.Info.Uses[id].(*types.Var); ok && p.IsGlobal(v) && !p.Frozen(v) {
			return true
		}
	}
	return false
}

// rewriteMemo splits a recursive function in three: the function itself makes a map and starts, a
// second one looks into the map, and a third one computes a result with calls of the second. The
// map lives as long as one call from outside, so nothing is kept between calls.
func rewriteMemo(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	r := s.Data.(*recursion)
	fn, calls := r.fn, r.calls
	name := fn.Name.Name
	memoName, step, known := p.Fresh(edit.LowerFirst(name)+"Memo", edit.LowerFirst(name)+"Memoized"),
		p.Fresh(edit.LowerFirst(name)+"Step"), p.Fresh("known", "seen")
	params, args := edit.Parameters(p, fn)
	keyName, found := p.Fresh("key", "call"), p.Fresh("v", "result")
	// A single parameter is the key. Parameters of one type make an array, others a struct: both
	// can be compared.
	key, keyType, decl := args, "", ""
	if sig := p.Info.Defs[fn.Name].Type().(*types.Signature); sig.Params().Len() == 1 {
		keyType = p.Text(fn.Type.Params.List[0].Type)
	} else if len(fn.Type.Params.List) == 1 { // x, y int
		keyType = fmt.Sprintf("[%d]%s", sig.Params().Len(), p.Text(fn.Type.Params.List[0].Type))
		key = keyType + "{" + args + "}"
	} else {
		keyType = p.Fresh(name + "Key")
		decl = fmt.Sprintf("// %s is the arguments of one call.\ntype %s struct {\n%s\n}\n\n", keyType, keyType,
			strings.ReplaceAll(params, ", ", "\n"))
		key = keyType + "{" + args + "}"
	}
	result := p.Text(fn.Type.Results.List[0].Type)
	// In the body, calls of the function itself go through the map.
	body := p.TextWith(fn.Body, func(n ast.Node) (string, bool) { return memoCall(p, n, calls, memoName, known) })
	// Named results keep their names, since the body may use them.
	results := p.Between(fn.Type.Params.End(), fn.Body.Lbrace)
	decl += fmt.Sprintf("// %s is %s with the results that are known already.\nfunc %s(%s, %s map[%s]%s) %s {\n"+
		"%s := %s\nif %[11]s, ok := %[5]s[%[9]s]; ok {\nreturn %[11]s\n}\n%[11]s := %[12]s(%[13]s, %[5]s)\n"+
		"%[5]s[%[9]s] = %[11]s\nreturn %[11]s\n}\n\n",
		memoName, name, memoName, params, known, keyType, result, result, keyName, key, found, step, args)
	decl += fmt.Sprintf("// %s works out one result from smaller ones.\nfunc %s(%s, %s map[%s]%s)%s%s", step, step,
		params, known, keyType, result, results, body)
	return []mutate.Edit{
		p.Replace(fn.Body, fmt.Sprintf("{\nreturn %s(%s, make(map[%s]%s))\n}", memoName, args, keyType, result)),
		p.Declare(fn, decl),
	}, nil
}

// memoCall redirects a self-call, and the calls among its arguments.
func memoCall(p *mutate.Pass, n ast.Node, calls []*ast.CallExpr, memoName, known string) (string, bool) {
	for _, call := range calls {
		if n != ast.Node(call) {
			continue
		}
		// Arguments may hold calls of their own, which are redirected first.
		var args []string
		for _, a := range call.Args {
			args = append(args,
				p.TextWith(a, func(m ast.Node) (string, bool) { return memoCall(p, m, calls, memoName, known) }))
		}
		return memoName + "(" + strings.Join(append(args, known), ", ") + ")", true
	}
	return "", false
}
