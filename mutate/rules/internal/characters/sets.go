package characters

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// This file tests a byte for the characters of a constant text.

// AsksForPresence is the expression that only asks whether a search finds something. negated says
// that it is true where the search finds nothing.
func AsksForPresence(p *mutate.Pass, call *ast.CallExpr) (what ast.Expr, negated, ok bool) {
	// Contains and its like answer with a bool.
	if syntax.IsPredeclared(p.Info.TypeOf(call), types.Bool) {
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

// SetText compares an operand with the characters of a set; "" if it is not ASCII, or too
// scattered.
func SetText(operand, set string) string {
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
