package recursion

import (
	"go/ast"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// tailLoop (catalogue R3) matches a function that calls itself as its last step. It writes a loop
// that assigns the parameters anew.
var tailLoop = &mutate.Mutator{
	Name: "tail-loop",
	Doc: "Loop instead of ending with a recursive call. Go keeps a stack frame for every tail call. Legal because " +
		"nothing is left to do after the call; recursion that overflows the stack would loop for ever.",
	Example: mutate.Shows(`func gcd(a, b int) int {
	if b == 0 {
		return a
	}
	return gcd(b, a%b)
}`,
		`func gcd(a, b int) int {
	for {
		if b == 0 {
			return a
		}
		a, b = b, a%b
	}
}`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findTailLoop,
	Rewrite: edit.Precomputed,
}

func findTailLoop(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, fn := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		calls := selfCalls(p, fn)
		if len(calls) == 0 || fn.Recv != nil || fn.Type.TypeParams != nil || !tailSafe(p, fn, calls) {
			continue
		}
		if edits := tailEdits(p, fn, calls); edits != nil {
			sites = append(sites, edit.Site(fn, "recursion of "+fn.Name.Name, edits...))
		}
	}
	return sites
}

// tailSafe reports whether fn can become a loop. It may have no defers and no function literals,
// whose variables all iterations would share. It may take no addresses of parameters and have no
// loops or labels around the calls. Its parameters are named and its results are not.
func tailSafe(p *mutate.Pass, fn *ast.FuncDecl, calls []*ast.CallExpr) bool {
	sig := p.Info.Defs[fn.Name].Type().(*types.Signature)
	if sig.Variadic() || sig.Params().Len() == 0 || facts.HasDefer(p, fn.Body) || facts.IsLabelled(p, fn.Body) {
		return false
	}
	for range mutate.Nodes[*ast.FuncLit](p, fn.Body) {
		return false
	}
	for v := range sig.Results().Variables() {
		if v.Name() != "" {
			return false
		}
	}
	for v := range sig.Params().Variables() {
		if v.Name() == "" || v.Name() == "_" || facts.AddressTaken(p, v, fn.Body) || redeclaresName(p, v, fn.Body) {
			return false
		}
	}
	// In an inner loop, continue would mean that loop.
	for _, call := range calls {
		if p.InLoop(call) {
			return false
		}
	}
	// The function may not be used as a value, either.
	return len(p.Uses(p.Info.Defs[fn.Name], fn.Body)) == len(calls)
}

// redeclaresName reports whether the body declares something else of the same name, which an
// argument or the assignment could mean.
func redeclaresName(p *mutate.Pass, v *types.Var, n ast.Node) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, n) {
		if obj := p.Info.Defs[id]; obj != nil && id.Name == v.Name() {
			return true
		}
	}
	return false
}

// tailEdits puts the body into a loop. A call of the function itself assigns the parameters, and
// continues.
func tailEdits(p *mutate.Pass, fn *ast.FuncDecl, calls []*ast.CallExpr) []mutate.Edit {
	_, args := edit.Parameters(p, fn)
	var edits []mutate.Edit
	for _, call := range calls {
		at, ok := tailStatement(p, fn, call)
		if !ok {
			return nil
		}
		// The arguments become the parameters' new values.
		var values []string
		for _, a := range call.Args {
			values = append(values, p.Text(a))
		}
		text := changedOnly(strings.Split(args, ", "), values)
		// The last statement of the body reaches the end of the loop by itself.
		if list := fn.Body.List; list[len(list)-1] != at {
			text += "\ncontinue"
		}
		edits = append(edits, p.Replace(at, strings.TrimSpace(text)))
	}
	closing := "\n}\n"
	// A function without results may fall off its end, where the loop would go on.
	if list := fn.Body.List; fn.Type.Results == nil && !mutate.Terminates(list) && !endsInTail(p, list, calls) {
		closing = "\nreturn\n}\n"
	}
	return append(edits, p.Insert(fn.Body.Lbrace+1, "\nfor {"), p.Insert(fn.Body.Rbrace, closing))
}

func endsInTail(p *mutate.Pass, list []ast.Stmt, calls []*ast.CallExpr) bool {
	for _, call := range calls {
		if len(list) > 0 && facts.Inside(call, list[len(list)-1]) {
			if _, ok := list[len(list)-1].(*ast.ExprStmt); ok {
				return true
			}
		}
	}
	return false
}

// changedOnly assigns the parameters whose value changes.
func changedOnly(names, values []string) string {
	var left, right []string
	for i, n := range names {
		if values[i] != n {
			left, right = append(left, n), append(right, values[i])
		}
	}
	if len(left) == 0 {
		return ""
	}
	return strings.Join(left, ", ") + " = " + strings.Join(right, ", ")
}

// tailStatement recognises `return f(...)`, and f(...) as the last statement of a function without
// results.
func tailStatement(p *mutate.Pass, fn *ast.FuncDecl, call *ast.CallExpr) (ast.Stmt, bool) {
	for _, a := range call.Args {
		for _, inner := range mutate.Nodes[*ast.CallExpr](p, a) {
			if p.Callee(inner) == p.Info.Defs[fn.Name] {
				return nil, false
			}
		}
	}
	switch up := p.Parent(call).(type) {
	case *ast.ReturnStmt:
		return up, len(up.Results) == 1
	case *ast.ExprStmt:
		list := fn.Body.List
		return up, list[len(list)-1] == ast.Stmt(up)
	}
	return nil, false
}
