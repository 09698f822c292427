package memory

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle/mutate"
)

// onlyCalls returns all uses of a function, which must be calls in the file with one argument for
// each parameter, made at once.
func onlyCalls(p *mutate.Pass, fn *ast.FuncDecl) (calls []*ast.CallExpr, ok bool) {
	if fn == p.Func || p.Entries[fn.Name.Name] {
		return nil, false
	}
	obj := p.Info.Defs[fn.Name]
	sig := obj.Type().(*types.Signature)
	// A use as a value may be called from anywhere, with the old type.
	for _, id := range p.Uses(obj, p.File) {
		call, is := p.Parent(id).(*ast.CallExpr)
		if !is || ast.Unparen(call.Fun) != ast.Expr(id) || len(call.Args) != sig.Params().Len() || sig.Variadic() ||
			p.FuncOf(call) == nil {
			return nil, false
		}
		switch p.Parent(call).(type) {
		case *ast.GoStmt, *ast.DeferStmt: // the value counts at the time of the statement
			return nil, false
		}
		calls = append(calls, call)
	}
	return calls, len(calls) > 0
}
