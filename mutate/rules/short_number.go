package rules

import (
	"fmt"
	"go/ast"
	"go/constant"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// shortNumber (part of catalogue C8) matches calls of strconv.ParseFloat for 64 bits. They become
// calls of a helper that reads short decimal numbers itself.
var shortNumber = &mutate.Mutator{
	Name: "short-number",
	Doc: "Read a decimal number of up to 15 characters, digits with at most one point, digit by digit, and leave all " +
		"others to strconv.ParseFloat, which looks for signs, exponents, hexadecimal digits and underscores first. " +
		"Exact: the digits and the power of ten both fit a float64, so one division rounds as ParseFloat does.",
	Before:  `v, err := strconv.ParseFloat(text, 64)`,
	After:   `v, err := parseShort(text)`,
	Class:   beagle.E0,
	Gain:    1.5,
	Find:    findShortNumbers,
	Rewrite: rewriteShortNumbers,
}

// findShortNumbers makes one site of all calls: a single call is not worth a step of its own.
func findShortNumbers(p *mutate.Pass) []mutate.Site {
	var calls []*ast.CallExpr
	for call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		if parsesFloat(p, call) {
			calls = append(calls, call)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	return []mutate.Site{{Node: calls[0], Label: "numbers that are parsed", Data: calls}}
}

func parsesFloat(p *mutate.Pass, call *ast.CallExpr) bool {
	if _, ok := p.IsCall(call, "strconv", "ParseFloat"); !ok || len(call.Args) != 2 {
		return false
	}
	fun, qualified := call.Fun.(*ast.SelectorExpr)
	bits := p.Info.Types[call.Args[1]].Value
	if !qualified || bits == nil || !writtenOut(p, call.Args[1]) {
		return false // the constant may differ between systems
	}
	if n, exact := constant.Int64Val(bits); !exact || n != 64 {
		return false
	}
	fn := p.FuncOf(call)
	if fn == nil || sameCode(p.Text(fn), parseShort(p.Text(fun.X))(fn.Name.Name)) {
		return false // the helper itself leaves other numbers to ParseFloat
	}
	for _, name := range []string{"error", "float64", "len", "string", "uint64"} {
		if p.Pkg.Scope().Lookup(name) != nil {
			return false
		}
	}
	pkg := p.Text(fun.X)
	return len(pkg) > 1 && pkg != "digits" && pkg != "scale"
}

func rewriteShortNumbers(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	var edits []mutate.Edit
	name := ""
	for _, call := range s.Data.([]*ast.CallExpr) {
		fun := call.Fun.(*ast.SelectorExpr)
		if name == "" {
			name, edits = helper(p, call, parseShort(p.Text(fun.X)), "parseShort", "parseShortNumber")
		}
		edits = append(edits, p.Replace(call, fmt.Sprintf("%s(%s)", name, p.Text(call.Args[0]))))
	}
	return edits, nil
}

// parseShort returns a function that declares the helper under a name. The text is the kit's: an
// example could name it, but matches no call of two results.
func parseShort(pkg string) func(name string) string {
	declare := kitText("numbers.go", "ParseShort")
	return func(name string) string { return strings.ReplaceAll(declare(name), "strconv.", pkg+".") }
}
