package branches

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// domainTable (catalogue N3) matches calls of a pure function from a byte to a number or text. It
// writes a table of its 256 results, and looks the byte up. byteTable handles predicates.
var domainTable = &mutate.Mutator{
	Name: "domain-table",
	Doc: "Look up the result of a function of one byte in a table that the function itself fills when the program " +
		"starts. Legal because it has no effects, cannot panic, and the table holds all its 256 values.",
	Example: mutate.Shows(`n += hexValue(c)`,
		`n += hexValues[c]

// hexValues holds hexValue of every byte.
var hexValues = func() (t [256]int) {
	for i := range t {
		t[i] = hexValue(byte(i))
	}
	return t
}()`),
	Class:   beagle.E0,
	Gain:    1.4,
	Find:    findDomainTable,
	Rewrite: edit.Precomputed,
}

// findDomainTable looks for pure functions of one byte that do some work, and for calls that run
// often.
func findDomainTable(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, fn := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		// The target itself is what is measured, so its calls stay.
		result, ok := byteFunction(p, fn)
		if !ok || fn == p.Func {
			continue
		}
		obj := p.Info.Defs[fn.Name]
		table := p.Fresh(fn.Name.Name+"Table", fn.Name.Name+"Values")
		var edits []mutate.Edit
		// Replace the calls that run often, except those of the function itself, which fills the
		// table.
		for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
			if p.Callee(call) == obj && facts.TakesTime(p, call) && !facts.Inside(call, fn) {
				edits = append(edits, p.Replace(call, table+"["+p.Text(call.Args[0])+"]"))
			}
		}
		if len(edits) == 0 {
			continue
		}
		decl := characters.FilledTable(table, "holds "+fn.Name.Name+" of every byte", result, 256,
			"t[i] = "+fn.Name.Name+"(byte(i))")
		sites = append(sites, edit.Site(fn, "calls of "+fn.Name.Name, append(edits, p.Declare(fn, decl))...))
	}
	return sites
}

// byteFunction recognises a pure function from byte to a basic type other than bool, and returns
// that type as written.
func byteFunction(p *mutate.Pass, fn *ast.FuncDecl) (string, bool) {
	obj, ok := p.Info.Defs[fn.Name].(*types.Func)
	if !ok || fn.Body == nil || fn.Recv != nil || fn.Type.TypeParams != nil {
		return "", false
	}
	// A bool of a byte is a matter for byte-table.
	sig := obj.Signature()
	if sig.Params().Len() != 1 || sig.Results().Len() != 1 ||
		!syntax.IsPredeclared(sig.Params().At(0).Type(), types.Uint8) {
		return "", false
	}
	t := sig.Results().At(0).Type()
	if _, basic := t.Underlying().(*types.Basic); !basic || syntax.IsPredeclared(t.Underlying(), types.Bool) {
		return "", false
	}
	// The table is filled once, so the function may depend on nothing but its argument.
	f := p.Effects(fn.Body)
	if f.Writes || f.Panics || f.Reads {
		return "", false
	}
	if len(fn.Body.List) == 1 {
		if ret, ok := fn.Body.List[0].(*ast.ReturnStmt); ok && !facts.CallsFunction(p, ret.Results[0]) {
			return "", false // a formula is cheaper than a load
		}
	}
	return facts.TypeText(p, t)
}
