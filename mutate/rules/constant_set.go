package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate"
)

// constantSet (catalogue C1) matches a search for one character in a constant text. It writes
// comparisons, which other rules make a table of.
var constantSet = &mutate.Mutator{
	Name: "constant-set",
	Doc: "Compare a character with those of a constant set instead of searching for it in a text. The call costs " +
		"more than a few comparisons, and cannot be inlined. Exact: the set is ASCII, which no other character " +
		"matches.",
	Example: mutate.Shows(`if strings.ContainsRune(" \t\r\n", r) {`,
		`if r == '\t' || r == '\n' || r == '\r' || r == ' ' {`),
	Class:   beagle.E0,
	Gain:    1.2,
	Find:    findConstantSet,
	Rewrite: precomputed,
}

// findConstantSet looks for searches of a character in a constant text, of which only the presence
// counts.
func findConstantSet(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		call, ok := p.IsCall(call, "strings", "ContainsRune", "IndexRune", "IndexByte")
		if !ok || !takesTime(p, call) {
			continue
		}
		// The searched text is constant, and the character varies. It is evaluated several times in
		// the result, so it must be steady.
		set, ok := constString(p, call.Args[0])
		if !ok || set == "" || !isRepeatable(call.Args[1]) || p.Info.Types[call.Args[1]].Value != nil ||
			!sameEverywhere(p, call.Args[0]) {
			continue
		}
		what, negated, ok := asksForPresence(p, call)
		if !ok {
			continue
		}
		if text := setText(p.Text(call.Args[1]), set); text != "" {
			// The sum of comparisons needs parentheses wherever it goes.
			if text = "(" + text + ")"; negated {
				text = "!" + text
			}
			sites = append(sites, site(call, "search in "+p.Text(call.Args[0]), p.Replace(what, text)))
		}
	}
	return sites
}

// isRepeatable reports whether an expression gives the same again: a variable, or an element at
// one.
func isRepeatable(e ast.Expr) bool {
	// Each form is evaluated once for each comparison, so it may not do anything but read.
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return true
	case *ast.IndexExpr:
		_, list := e.X.(*ast.Ident)
		_, index := e.Index.(*ast.Ident)
		return list && index
	case *ast.SelectorExpr:
		_, ok := e.X.(*ast.Ident)
		return ok
	}
	return false
}

// asksForPresence is the expression that only asks whether a search finds something. negated says
// that it is true where the search finds nothing.
func asksForPresence(p *mutate.Pass, call *ast.CallExpr) (what ast.Expr, negated, ok bool) {
	// Contains and its like answer with a bool.
	if isBasicType(p.Info.TypeOf(call), types.Bool) {
		return call, false, true
	}
	b, ok := p.Parent(call).(*ast.BinaryExpr)
	if !ok || ast.Unparen(b.X) != ast.Expr(call) || p.Info.Types[b.Y].Value == nil {
		return nil, false, false
	}
	// IndexByte answers with a place. These comparisons only ask whether there is one.
	switch p.Info.Types[b.Y].Value.ExactString() + b.Op.String() {
	case "-1" + token.NEQ.String(), "-1" + token.GTR.String(), "0" + token.GEQ.String():
		return b, false, true
	case "-1" + token.EQL.String(), "0" + token.LSS.String():
		return b, true, true
	}
	return nil, false, false
}

// maxRuns bounds the comparisons that a set becomes.
const maxRuns = 8

// setText compares an operand with the characters of a set; "" if it is not ASCII, or too
// scattered.
func setText(operand, set string) string {
	// Sort the characters, and compare runs of neighbours by their ends.
	chars := []byte(set)
	inorder.Sort(chars)
	chars = slices.Compact(chars)
	// An empty set is in nothing, and needs no test.
	if set == "" {
		return ""
	}
	var parts []string
	for i := 0; i < len(chars); {
		last := i
		for last+1 < len(chars) && chars[last+1] == chars[last]+1 {
			last++
		}
		from, to := strconv.QuoteRune(rune(chars[i])), strconv.QuoteRune(rune(chars[last]))
		switch last - i {
		case 0:
			parts = append(parts, operand+" == "+from)
		case 1:
			parts = append(parts, operand+" == "+from, operand+" == "+to)
		default:
			parts = append(parts, from+" <= "+operand+" && "+operand+" <= "+to)
		}
		i = last + 1
	}
	// A character beyond ASCII takes several bytes in the text, and the byte functions see each of
	// them.
	if chars[len(chars)-1] >= utf8.RuneSelf || len(parts) > maxRuns {
		return ""
	}
	return strings.Join(parts, " || ")
}
