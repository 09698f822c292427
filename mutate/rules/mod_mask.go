package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// modMask (catalogue N1) matches a remainder of unsigned numbers by a variable. It calls a helper
// that masks if the divisor is a power of two, and divides otherwise. The compiler does the same
// for constants.
var modMask = &mutate.Mutator{
	Name: "mod-mask",
	Doc: "Take a remainder by a mask when the divisor is a power of two, which sizes of tables usually are; any " +
		"other divisor takes the division as before. Legal because for an unsigned x and a power of two n, x % n is " +
		"x & (n-1).",
	Before: `return buckets[h%n]`,
	After: `return buckets[mod(h, n)]

// mod is x % n, without a division when n is a power of two.
func mod(x, n uint64) uint64 {
	if n != 0 && n&(n-1) == 0 {
		return x & (n - 1)
	}
	return x % n
}`,
	Class:   beagle.E3,
	Gain:    1.2,
	Find:    findModMask,
	Rewrite: precomputed,
}

func findModMask(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for b := range mutate.Nodes[*ast.BinaryExpr](p, nil) {
		t := p.Info.TypeOf(b)
		if b.Op != token.REM || p.Info.Types[b.Y].Value != nil || orderedKind(p, b)&types.IsUnsigned == 0 ||
			inMod(p, b) || mentionsTypeParam(t) {
			continue
		}
		text, ok := typeText(p, t)
		if !ok {
			continue
		}
		name := p.Fresh("mod", "modulo")
		decl := fmt.Sprintf("// %s is x %% n, without a division when n is a power of two.\nfunc %s(x, n %s) %s {\n"+
			"\tif n != 0 && n&(n-1) == 0 {\n\t\treturn x & (n - 1)\n\t}\n\treturn x %% n\n}", name, name, text, text)
		sites = append(sites,
			site(b, "remainder "+p.Text(b), p.Replace(b, fmt.Sprintf("%s(%s, %s)", name, p.Text(b.X), p.Text(b.Y))),
				p.Declare(b, decl)))
	}
	return sites
}

// inMod reports whether b is the division in such a helper.
func inMod(p *mutate.Pass, b *ast.BinaryExpr) bool {
	fn := p.FuncOf(b)
	if fn == nil || fn.Body == nil || len(fn.Body.List) != 2 {
		return fn == nil
	}
	_, guard := fn.Body.List[0].(*ast.IfStmt)
	ret, ok := fn.Body.List[1].(*ast.ReturnStmt)
	return guard && ok && len(ret.Results) == 1 && ast.Unparen(ret.Results[0]) == ast.Expr(b)
}
