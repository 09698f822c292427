package loops

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// This file says which values code may compute once, and what to name them.

// worthHoisting reports whether e does work: it calls a function, or joins strings. Its value must
// be basic, so that iterations cannot share memory through it.
func worthHoisting(p *mutate.Pass, e ast.Expr) bool {
	tv := p.Info.Types[e]
	if tv.Value != nil || tv.Type == nil || !tv.IsValue() {
		return false
	}
	if _, basic := tv.Type.Underlying().(*types.Basic); !basic {
		return false
	}
	// Calls and concatenations are work; a conversion only if it copies.
	switch e := e.(type) {
	case *ast.CallExpr:
		if p.Info.Types[e.Fun].IsType() {
			_, ok := facts.ConvertsTo(p, e, "string")
			return ok && !facts.FreeConversion(p, e)
		}
		_, isFunc := p.Callee(e).(*types.Func)
		return isFunc
	case *ast.BinaryExpr:
		return e.Op == token.ADD && p.Basic(e) == types.String
	}
	return false
}

// invariantNames proposes names that say what was computed.
func invariantNames(p *mutate.Pass, e ast.Expr) []string {
	call, ok := e.(*ast.CallExpr)
	// A sum of texts has no name of its own.
	if !ok {
		return []string{"joined", "text"}
	}
	fn, ok := p.Callee(call).(*types.Func)
	if !ok {
		return []string{"text", "str"}
	}
	// Well-known functions have a participle that reads well; others give their own name.
	name := fn.Name()
	known := map[string]string{
		"ToLower": "lower", "ToUpper": "upper", "ToTitle": "title", "TrimSpace": "trimmed", "Trim": "trimmed",
		"TrimPrefix": "trimmed",
		"TrimSuffix": "trimmed", "Itoa": "digits", "FormatInt": "digits", "Join": "joined", "Repeat": "repeated",
		"Sqrt":       "root",
		"ReplaceAll": "replaced", "Replace": "replaced", "RuneCountInString": "runes", "HasPrefix": "hasPrefix",
		"Contains": "contains",
		"Pow":      "power", "Abs": "abs", "Index": "index", "Count": "count", "Kind": "kind", "Year": "year",
	}
	if n, ok := known[name]; ok {
		return []string{n, n + "Once"}
	}
	name = edit.LowerFirst(strings.TrimPrefix(strings.TrimPrefix(name, "get"), "Get"))
	return []string{name + "Value", name + "Once"}
}
