package branches

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// identityFastPath (catalogue C6) matches a function that returns most inputs unchanged, as the
// corpus shows. It writes a scan that returns a clean input at once; the original handles the rest.
// The results of the original on every one- and two-byte input say which bytes are clean.
var identityFastPath = &mutate.Mutator{
	Name: "identity-fast-path",
	Doc: "Return a clean input as it is after one scan, and do the full work only for the rest. Pays where most " +
		"inputs come out unchanged, as in normalisers. The original's results on short inputs show which bytes the " +
		"scan may pass; the original stays as the slow path.",
	Example: mutate.Shows(`func Normalize(s string) string {
	var out strings.Builder
	...`,
		`func Normalize(s string) string {
	// A clean input is returned as it is.
	if normalizeKeeps(s) {
		return s
	}
	var out strings.Builder
	...`),
	Class:   beagle.E3,
	Gain:    3,
	Find:    findIdentity,
	Params:  identityParams,
	Rewrite: rewriteIdentity,
}

// kept holds the bytes that mining found: those that stay anywhere after a first byte, and those
// that stay as the first one.
type kept struct {
	start, rest characters.Class
}

// findIdentity offers a fast path for a function that returns most inputs of the corpus as they
// are.
func findIdentity(p *mutate.Pass) []mutate.Site {
	// The corpus must show that enough inputs come back unchanged.
	f, fn := p.Facets, p.Func
	if f.Mined == nil || f.Identity < 0.3 || fn.Recv != nil || fn.Body == nil || len(fn.Body.List) == 0 {
		return nil
	}
	// The target is a function from one text to a text of the same type.
	sig := p.Info.Defs[fn.Name].Type().(*types.Signature)
	if sig.Params().Len() != 1 || sig.Results().Len() != 1 || sig.Variadic() {
		return nil
	}
	in, out := sig.Params().At(0), sig.Results().At(0)
	b, ok := in.Type().Underlying().(*types.Basic)
	if !ok || b.Kind() != types.String || !types.Identical(in.Type(), out.Type()) || in.Name() == "" ||
		in.Name() == "_" {
		return nil
	}
	if returnsAtOnce(p, fn.Body.List[0], in) {
		return nil // the function has such a path already
	}
	// Some byte must be able to begin, and some to follow.
	k := keptBytes(f.Mined)
	if k.start.Len() == 0 || k.rest.Len() == 0 {
		return nil
	}
	return []mutate.Site{{Node: fn.Body, Label: "body of " + fn.Name.Name, Data: k}}
}

// returnsAtOnce recognises `if ... { return s }`.
func returnsAtOnce(p *mutate.Pass, s ast.Stmt, in *types.Var) bool {
	i, ok := s.(*ast.IfStmt)
	if !ok || len(i.Body.List) != 1 {
		return false
	}
	r, ok := i.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) != 1 || p.Var(r.Results[0]) != in {
		return false
	}
	_, call := i.Cond.(*ast.CallExpr)
	return call
}

// keptBytes derives the classes from the fixed points. It rejects a first byte that changes most
// bytes after it, such as a separator that needs company.
func keptBytes(m *beagle.Mined) kept {
	// Start from the bytes that the function returns as they are when they stand alone.
	var k kept
	for _, c := range m.Fixed1 {
		k.start[c] = len(m.Fixed2) == 256 && len(m.Fixed2[c]) == 32
	}
	// pair says whether the two bytes in a row stay as they are.
	pair := func(a, b int) bool { return m.Fixed2[a][b/8]>>(b%8)&1 != 0 }
	// Drop the first byte with the most neighbours that do not stay, until none has more than half:
	// one odd byte should not cost all the others their place.
	for {
		worst, most := -1, 0
		for a := range k.start {
			bad := 0
			for b := range k.start {
				if k.start[a] && k.start[b] && !pair(a, b) {
					bad++
				}
			}
			if bad > most && bad > k.start.Len()/2 {
				worst, most = a, bad
			}
		}
		if worst < 0 {
			break
		}
		k.start[worst] = false
	}
	// A byte may follow if it stays after every first byte that is left.
	for b := range k.rest {
		k.rest[b] = k.start.Len() > 0
		for a := range k.start {
			k.rest[b] = k.rest[b] && (!k.start[a] || pair(a, b))
		}
	}
	// A first byte must itself be allowed to follow: the scan has one table for all places but the
	// first.
	for c := range k.start {
		k.start[c] = k.start[c] && k.rest[c]
	}
	return k
}

// identityParams offers the plain scan. It also offers scans that let a byte of the corpus pass
// between two kept ones, such as "inner _". That such a byte stays is a guess, which verification
// decides.
func identityParams(p *mutate.Pass, s mutate.Site) []mutate.Param {
	k := s.Data.(kept)
	var seen []float64
	if len(p.Facets.Params) == 1 && len(p.Facets.Params[0].Bytes) == 256 {
		seen = p.Facets.Params[0].Bytes
	}
	// An inner byte is one that the table rejects, though the corpus has it often enough to matter.
	// Capitals are left out: a function that rejects them mostly folds them.
	var inner []byte
	for c := range seen {
		if c < 0x80 && !k.rest[c] && seen[c] > 0.0005 && !(c >= 'A' && c <= 'Z') {
			inner = append(inner, byte(c))
		}
	}
	// The most frequent ones come first.
	inorder.By(inner, func(a, b byte) int {
		switch {
		case seen[a] > seen[b]:
			return -1
		case seen[a] < seen[b]:
			return 1
		}
		return 0
	})
	// The best guess comes first, the plain scan next, and two bytes at once last.
	var out []mutate.Param
	for i := range inner[:min(3, len(inner))] {
		out = append(out, mutate.Param{Label: fmt.Sprintf("inner %q", inner[i]), Value: inner[i : i+1]})
	}
	out = append(out, mutate.Param{Label: "plain", Value: []byte(nil)})
	if len(inner) > 1 {
		out = append(out, mutate.Param{Label: fmt.Sprintf("inner %q %q", inner[0], inner[1]), Value: inner[:2]})
	}
	return out
}

// rewriteIdentity puts a call of a scan in front of the body. The scan returns true only for inputs
// that the function returns as they are.
func rewriteIdentity(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	k, inner := s.Data.(kept), param.Value.([]byte)
	in := p.Func.Type.Params.List[0].Names[0].Name
	target := p.Func.Name.Name
	guard := p.Fresh(edit.LowerFirst(target) + "Keeps")
	table, first := p.Fresh("keptByte"), p.Fresh("keptFirst")
	// The comment of the new function says what it lets through, with the inner bytes by name.
	var decl strings.Builder
	fmt.Fprintf(&decl, "// %s reports whether %s certainly returns %s as it is:\n// it holds only bytes that stay",
		guard, target, in)
	for i, c := range inner {
		if i == 0 {
			fmt.Fprintf(&decl, ", and %s", edit.QuotedByte(c))
		} else {
			fmt.Fprintf(&decl, " or %s", edit.QuotedByte(c))
		}
	}
	if len(inner) > 0 {
		decl.WriteString(" alone between two of them")
	}
	decl.WriteString(".\n")
	fmt.Fprintf(&decl, "func %s(%s %s) bool {\n", guard, in, p.Text(p.Func.Type.Params.List[0].Type))
	// A function that cuts long inputs changes them, so the scan is limited to shorter ones.
	if limit := lengthLimit(p); limit != "" {
		fmt.Fprintf(&decl, "if len(%s) >= %s {\nreturn false\n}\n", in, limit)
	}
	// A first byte with rules of its own gets a table of its own, and the empty text has no first
	// byte.
	start := 0
	if k.start != k.rest {
		start = 1
		fmt.Fprintf(&decl, "if %s == \"\" || !%s[%s[0]] {\nreturn false\n}\n", in, first, in)
	}
	decl.WriteString(scanLoop(in, table, start, inner))
	fmt.Fprintf(&decl, "return true\n}\n\n%s",
		characters.Table(table, k.rest, "the bytes that "+target+" leaves as they are"))
	if start == 1 {
		fmt.Fprintf(&decl, "\n\n%s", characters.Table(first, k.start, "the bytes that it leaves at the beginning"))
	}
	// The scan must run first: nothing in front of it may have changed the parameter.
	return []mutate.Edit{
		p.Insert(p.Func.Body.List[0].Pos(),
			fmt.Sprintf("// A clean input is returned as it is.\nif %s(%s) {\nreturn %s\n}\n", guard, in, in)),
		p.Declare(p.Func, decl.String()),
	}, nil
}

// scanLoop returns the guard's loop. The index is unsigned, because the body moves it.
func scanLoop(in, table string, start int, inner []byte) string {
	// Without an inner byte, every byte must be one that stays.
	if len(inner) == 0 {
		return fmt.Sprintf("for i := %d; i < len(%s); i++ {\nif !%s[%s[i]] {\nreturn false\n}\n}\n", start,
			in, table, in)
	}
	tests := make([]string, len(inner))
	for i, c := range inner {
		tests[i] = fmt.Sprintf("%s[i] != %s", in, edit.QuotedByte(c))
	}
	not := strings.Join(tests, " && ")
	// An inner byte may not be the first one: it stands between two others.
	if start == 0 {
		not += " || i == 0"
	}
	return fmt.Sprintf(`for i := uint(%d); i < uint(len(%s)); i++ {
	if %s[%s[i]] {
		continue
	}
	if %s {
		return false
	}
	i++
	if i >= uint(len(%s)) || !%s[%s[i]] {
		return false
	}
}
`, start, in, table, in, not, in, table, in)
}

// lengthLimit returns, as written, the smallest number that the scope compares with something like
// a length, or "". Mining tries two bytes and knows nothing of longer inputs, so such a number may
// limit them.
func lengthLimit(p *mutate.Pass) string {
	best, text := int64(1<<31), ""
	for _, b := range mutate.Nodes[*ast.BinaryExpr](p, nil) {
		switch b.Op {
		case token.LSS, token.LEQ, token.GTR, token.GEQ, token.EQL, token.NEQ:
		default:
			continue
		}
		for _, pair := range [][2]ast.Expr{{b.X, b.Y}, {b.Y, b.X}} {
			n, ok := p.Int(pair[0])
			if _, other := p.Int(pair[1]); !ok || other || n < 8 || n >= best || !facts.IsWideInteger(p, pair[1]) {
				continue
			}
			best, text = n, p.Text(pair[0])
		}
	}
	return text
}
