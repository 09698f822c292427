package rules

import (
	"fmt"
	"go/ast"
	"go/token"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// equalFold (catalogue S6) matches comparisons of two strings in lower or upper case. It calls a
// helper that uses EqualFold for two ASCII strings, and the original comparison otherwise.
// EqualFold and ToLower differ on 94 pairs of runes, so the helper needs the test for ASCII.
var equalFold = &mutate.Mutator{
	Name: "equal-fold-ascii",
	Doc: "Compare two strings without regard to case by strings.EqualFold, which copies nothing, when both are " +
		"ASCII; all others are converted and compared as before. Legal because the two agree on ASCII; beyond it " +
		"they do not (the long s folds to s and is lower case already).",
	Before: `strings.ToLower(a) == strings.ToLower(b)`,
	After: `equalLower(a, b)

// equalLower is strings.ToLower(a) == strings.ToLower(b), without copies when
// both are ASCII.
func equalLower(a, b string) bool {
	if allASCII(a) && allASCII(b) {
		return strings.EqualFold(a, b)
	}
	return strings.ToLower(a) == strings.ToLower(b)
}`,
	Class:   beagle.E3,
	Gain:    1.5,
	Find:    findEqualFoldGuarded,
	Rewrite: precomputed,
}

func findEqualFoldGuarded(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for b := range mutate.Nodes[*ast.BinaryExpr](p, nil) {
		for _, name := range []string{"ToLower", "ToUpper"} {
			x, okX := p.IsCall(b.X, "strings", name)
			y, okY := p.IsCall(b.Y, "strings", name)
			if !okX || !okY || b.Op != token.EQL && b.Op != token.NEQ || p.FuncOf(b) == nil || inEqualHelper(p, b) {
				continue
			}
			helper, ascii := p.Fresh("equal"+name[2:], "equalFold"+name[2:]), p.Fresh("allASCII", "onlyASCII")
			not := ""
			if b.Op == token.NEQ {
				not = "!"
			}
			pkg := p.Text(x.Fun.(*ast.SelectorExpr).X)
			sites = append(sites, site(b, p.Text(b),
				p.Replace(b, fmt.Sprintf("%s%s(%s, %s)", not, helper, p.Text(x.Args[0]), p.Text(y.Args[0]))),
				p.Declare(b, fmt.Sprintf(`// %[1]s is %[2]s.%[3]s(a) == %[2]s.%[3]s(b), without copies when
// both are ASCII.
func %[1]s(a, b string) bool {
	if %[4]s(a) && %[4]s(b) {
		return %[2]s.EqualFold(a, b)
	}
	return %[2]s.%[3]s(a) == %[2]s.%[3]s(b)
}

// %[4]s reports whether s holds no byte of a longer rune.
func %[4]s(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}`, helper, pkg, name, ascii))))
		}
	}
	return sites
}

// inEqualHelper reports whether b is the slow path of such a helper: the helper returns it behind a
// return of EqualFold.
func inEqualHelper(p *mutate.Pass, b ast.Expr) bool {
	for call := range mutate.Nodes[*ast.CallExpr](p, p.FuncOf(b)) {
		if _, ok := p.IsCall(call, "strings", "EqualFold"); ok {
			return true
		}
	}
	return false
}
