package numbers

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// reciprocal (catalogue N4) matches a loop that divides 32-bit unsigned numbers by the same
// variable. It computes the divisor's reciprocal in front of the loop and multiplies by it.
//
// It follows Lemire, Kaser and Kurz, "Faster remainder by direct computation" (2019). For 32-bit x
// and d > 1, let m be 2^64/d rounded up. Then x/d is the high word of m*x, and x%d is the high word
// of (m*x mod 2^64)*d.
var reciprocal = &mutate.Mutator{
	Name: "reciprocal",
	Doc: "Divide by the same number many times through its reciprocal, which is computed once before the loop: a " +
		"multiplication costs a fraction of a division. Exact for all numbers of at most 32 bits; division by 0 and " +
		"1 is left as it is.",
	Example: mutate.Shows(`for _, h := range hashes {
	out[h%n]++
}`,
		`recip := reciprocalOf(n)
for _, h := range hashes {
	out[remainder(h, n, recip)]++
}`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findReciprocal,
	Rewrite: edit.Precomputed,
}

// findReciprocal looks for divisions in loops by a divisor that stays the same.
func findReciprocal(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, s := range mutate.Nodes[ast.Stmt](p, nil) {
		body := syntax.LoopBody(s)
		if body == nil || facts.IsLabelled(p, s) {
			continue
		}
		// The reciprocal is computed in front of the loop, where a declaration needs room.
		if _, at := p.Siblings(s); at < 0 {
			continue
		}
		// The divisor must stay the same during the loop, and be unsigned and small enough for the
		// method to be exact. A constant one is the compiler's own business.
		for _, b := range mutate.Nodes[*ast.BinaryExpr](p, body) {
			if b.Op != token.QUO && b.Op != token.REM || p.Info.Types[b.Y].Value != nil || !smallUnsigned(p, b) ||
				!facts.Stable(p, b.Y, s) || facts.CallsFunction(p, b.Y) || facts.InLiteral(p, b, s) {
				continue
			}
			sites = append(sites, reciprocalSite(p, s, b))
			break // one divisor at a time; the next application finds the others
		}
	}
	return sites
}

// smallUnsigned reports whether b divides unsigned numbers of at most 32 bits.
func smallUnsigned(p *mutate.Pass, b *ast.BinaryExpr) bool {
	t := p.Info.TypeOf(b)
	if t == nil || facts.MentionsTypeParam(t) {
		return false
	}
	if _, named := facts.TypeText(p, t); !named {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && (basic.Kind() == types.Uint32 || basic.Kind() == types.Uint16 || basic.Kind() == types.Uint8)
}

// reciprocalSite computes the reciprocal in front of the loop, and multiplies by it in the loop. A
// divisor of 0 or 1 has no reciprocal in 64 bits, so the helper divides there.
func reciprocalSite(p *mutate.Pass, loop ast.Stmt, b *ast.BinaryExpr) mutate.Site {
	recip, of := p.Fresh("recip", "reciprocal"), p.Fresh("reciprocalOf", "recipOf")
	name, result := p.Fresh("quotient", "divided"), "hi"
	what, body := "/", ""
	if b.Op == token.REM {
		name, what = p.Fresh("remainder", "modulo"), "%"
		body = "\nhi, _ = %[1]s.Mul64(recip*uint64(x), uint64(d))"
	} else {
		body = "\nhi, _ = %[1]s.Mul64(recip, uint64(x))"
	}
	pkg, edits := p.Import("math/bits")
	body = fmt.Sprintf(body, pkg)
	typ, _ := facts.TypeText(p, p.Info.TypeOf(b))
	decl := fmt.Sprintf(`// %[1]s is 2^64/d, rounded up; 0 for d below 2.
func %[1]s(d uint32) uint64 {
	if d < 2 {
		return 0
	}
	return ^uint64(0)/uint64(d) + 1
}

// %[2]s is x %[3]s d, given the reciprocal of d.
func %[2]s(x, d %[4]s, recip uint64) %[4]s {
	if recip == 0 {
		return x %[3]s d
	}
	var %[5]s uint64%[6]s
	return %[4]s(%[5]s)
}`, of, name, what, typ, result, body)
	return edit.Site(b, p.Text(b)+" in a loop", append(edits,
		edit.InsertBefore(p, loop, fmt.Sprintf("%s := %s(uint32(%s))", recip, of, p.Text(b.Y))),
		p.Replace(b, fmt.Sprintf("%s(%s, %s, %s)", name, p.Text(b.X), p.Text(b.Y), recip)),
		p.Declare(loop, decl))...)
}
