package text

import (
	"fmt"
	"go/ast"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// replaceBytes (catalogue S10) matches nested ReplaceAll calls that each replace one ASCII
// character with another. It calls a helper that replaces all of them in one pass over the bytes.
var replaceBytes = &mutate.Mutator{
	Name: "replace-bytes",
	Doc: "Replace several characters in one pass over the bytes instead of one ReplaceAll after the other, each of " +
		"which copies the string. Legal because all characters are ASCII: such a byte is never part of another " +
		"character.",
	Example: mutate.Shows(`return strings.ReplaceAll(strings.ReplaceAll(s, "-", "_"), ".", "_")`,
		`return replaceChars(s)

// replaceChars replaces "-." by "__".
func replaceChars(s string) string {
	if !strings.ContainsAny(s, "-.") {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		switch c {
		case '-':
			b[i] = '_'
		case '.':
			b[i] = '_'
		}
	}
	return string(b)
}`),
	Class:   beagle.E0,
	Gain:    1.8,
	Find:    findReplaceBytes,
	Rewrite: edit.Precomputed,
}

func findReplaceBytes(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	inner := map[ast.Expr]bool{}
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		if inner[call] {
			continue
		}
		// A chain is found from its outermost call; the inner ones are parts of it.
		str, old, to, n := replaceChain(p, call, inner)
		if n >= 2 {
			sites = append(sites, replaceSite(p, call, str, old, to))
		}
	}
	return sites
}

// replaceChain follows nested ReplaceAll calls with single ASCII characters inwards. old and to are
// in the order of replacement; each old character occurs once, with its final replacement.
func replaceChain(p *mutate.Pass, call *ast.CallExpr, inner map[ast.Expr]bool) (str ast.Expr, old, to string, n int) {
	// Collect the pairs from the outermost call inwards, in front of those found before, so that
	// they end up in the order in which the replacements run. All must be single ASCII characters:
	// then no replacement can make or break a longer one.
	var pairs [][2]byte
	str = call
	for {
		c, ok := p.IsCall(str, "strings", "ReplaceAll", "Replace")
		if !ok || len(c.Args) == 4 && !p.IsInt(c.Args[3], -1) {
			break
		}
		a, okA := facts.ConstString(p, c.Args[1])
		b, okB := facts.ConstString(p, c.Args[2])
		if !okA || !okB || len(a) != 1 || len(b) != 1 || a[0] >= 0x80 || b[0] >= 0x80 {
			break
		}
		inner[c] = true
		pairs = append([][2]byte{{a[0], b[0]}}, pairs...)
		str = c.Args[0]
	}
	// A character that an earlier pair replaces no longer occurs when its later pair runs. Its
	// replacement may be replaced again by the later pairs, one after the other.
	for i, q := range pairs {
		if strings.IndexByte(old, q[0]) >= 0 {
			continue
		}
		result := q[1]
		for _, later := range pairs[i+1:] {
			if later[0] == result {
				result = later[1]
			}
		}
		old, to = old+string(q[0]), to+string(result)
	}
	return str, old, to, len(pairs)
}

// replaceSite declares a function that makes all replacements in one pass, and calls it in place of
// the chain.
func replaceSite(p *mutate.Pass, call *ast.CallExpr, str ast.Expr, old, to string) mutate.Site {
	pkg, _ := p.Import("strings") // the call uses the package, so it is imported
	name := p.Fresh("replaceChars")
	// Each old byte is a case.
	var arms strings.Builder
	for i := range len(old) {
		fmt.Fprintf(&arms, "case %q:\nb[i] = %q\n", old[i], to[i])
	}
	decl := fmt.Sprintf(`// %s replaces each byte of %q by the one of %q in its place.
func %s(s string) string {
	if !%s.ContainsAny(s, %q) {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		switch c {
		%s}
	}
	return string(b)
}`, name, old, to, name, pkg, old, &arms)
	return edit.Site(call, fmt.Sprintf("replacement of %q", old), p.Replace(call, name+"("+p.Text(str)+")"),
		p.Declare(call, decl))
}
