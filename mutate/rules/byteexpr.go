package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/beagle-go/beagle/mutate"
)

// A byteTest is a boolean expression that depends on one byte and nothing else. It joins
// comparisons with constants, calls of pure predicates and look-ups in frozen tables by && || and
// !.
type byteTest struct {
	operand ast.Expr // the byte: a variable or an element
	leaves  int      // comparisons, including those in called predicates
}

// testOf recognises a byteTest.
func testOf(p *mutate.Pass, e ast.Expr) (t byteTest, ok bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return testOf(p, e.X)
		}
	case *ast.BinaryExpr:
		return binaryTest(p, e)
	case *ast.CallExpr:
		if fn, arg := predicateCall(p, e); arg != nil {
			return byteTest{arg, countComparisons(p, fn)}, true
		}
	// A table of bools that never changes is a test, too.
	case *ast.IndexExpr:
		v := p.Var(e.X)
		if v == nil || !isTable(v.Type(), 256) || !p.Frozen(v) || p.Basic(e) != types.Bool {
			return t, false
		}
		if arg := byteOperand(p, e.Index); arg != nil {
			return byteTest{arg, 1}, true
		}
	}
	return t, false
}

// binaryTest recognises comparisons of a byte with constants, and their combinations.
func binaryTest(p *mutate.Pass, e *ast.BinaryExpr) (t byteTest, ok bool) {
	switch e.Op {
	// A connection is a test of a byte if both sides test the same one.
	case token.LAND, token.LOR:
		x, okX := testOf(p, e.X)
		y, okY := testOf(p, e.Y)
		if !okX || !okY || !p.Same(x.operand, y.operand) {
			return t, false
		}
		return byteTest{x.operand, x.leaves + y.leaves}, true
	// A comparison has the byte on one side and a constant on the other.
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		if _, constant := p.Int(e.Y); constant {
			if op := byteOperand(p, e.X); op != nil {
				return byteTest{op, 1}, true
			}
		}
		if _, constant := p.Int(e.X); constant {
			if op := byteOperand(p, e.Y); op != nil {
				return byteTest{op, 1}, true
			}
		}
	}
	return t, false
}

// byteOperand returns e if it is a byte that code may read twice: a variable, or an element named
// by variables and constants.
func byteOperand(p *mutate.Pass, e ast.Expr) ast.Expr {
	e = ast.Unparen(e)
	if t := p.Info.TypeOf(e); t == nil || !types.Identical(t, types.Typ[types.Uint8]) {
		return nil // a named byte type has its own constants
	}
	switch e := e.(type) {
	case *ast.Ident:
		if p.Var(e) != nil {
			return e
		}
	case *ast.IndexExpr:
		// An element may panic, at the first of two readings as at the only one. It must have no
		// effect.
		f := p.Effects(e)
		if p.Var(e.X) != nil && mutate.IsBytes(p.Info.TypeOf(e.X)) && !f.Writes {
			return e
		}
	}
	return nil
}

func isTable(t types.Type, n int64) bool {
	a, ok := t.Underlying().(*types.Array)
	return ok && a.Len() == n
}

// predicateCall recognises a call of a pure predicate of the candidate file on a byte, perhaps
// converted: isX(c), isX(rune(c)). It returns the predicate and the byte.
func predicateCall(p *mutate.Pass, call *ast.CallExpr) (*ast.FuncDecl, ast.Expr) {
	fn := p.Decl(p.Callee(call))
	if fn == nil || len(call.Args) != 1 || !isPredicate(p, fn) {
		return nil, nil
	}
	arg := ast.Unparen(call.Args[0])
	if conv, ok := arg.(*ast.CallExpr); ok && len(conv.Args) == 1 && p.Info.Types[conv.Fun].IsType() {
		arg = conv.Args[0]
	}
	return fn, byteOperand(p, arg)
}

// isPredicate reports whether fn maps one integer to a bool, and does and reads nothing else.
func isPredicate(p *mutate.Pass, fn *ast.FuncDecl) bool {
	if !integerToBool(p, fn) {
		return false
	}
	// A table of answers is computed once, so the answers must not depend on anything else.
	f := p.Effects(fn.Body)
	return !f.Writes && !f.Reads && !f.Panics
}

// countComparisons counts the comparisons of a predicate; a call counts as three.
func countComparisons(p *mutate.Pass, fn *ast.FuncDecl) int {
	n := 0
	for e := range mutate.Nodes[ast.Expr](p, fn.Body) {
		switch e := e.(type) {
		case *ast.BinaryExpr:
			if e.Op != token.LAND && e.Op != token.LOR {
				n++
			}
		case *ast.CallExpr:
			n += 3
		}
	}
	for c := range mutate.Nodes[*ast.CaseClause](p, fn.Body) {
		n += len(c.List)
	}
	return n
}

// operands flattens a chain of one operator.
func operands(e ast.Expr, op token.Token) []ast.Expr {
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && b.Op == op {
		return append(operands(b.X, op), operands(b.Y, op)...)
	}
	return []ast.Expr{e}
}

// baseName turns isTagChar and IsTagChar into tagChar, and parse into parse.
func baseName(name string) string {
	for _, prefix := range []string{"is", "Is"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" && unicode.IsUpper(rune(rest[0])) {
			name = rest
		}
	}
	return lowerFirst(name)
}

// lowerFirst makes a name unexported: ASCIIOnly becomes asciiOnly.
func lowerFirst(name string) string {
	upper := 0
	for upper < len(name) && unicode.IsUpper(rune(name[upper])) {
		upper++
	}
	if upper > 1 && upper < len(name) {
		upper--
	}
	return strings.ToLower(name[:upper]) + name[upper:]
}

func upperFirst(name string) string {
	r, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[size:]
}

// filledTable declares a table that a loop fills when the program starts. fill sets t[i].
func filledTable(name, says, elem string, size int, fill string) string {
	return fmt.Sprintf(`// %[1]s %[2]s.
var %[1]s = func() (t [%[4]d]%[3]s) {
	for i := range t {
		%[5]s
	}
	return t
}()`, name, says, elem, size, fill)
}

// A quickRune is a helper that answers for small characters from a table, and asks for others.
type quickRune struct {
	name, table string
	param, typ  string // of the character
	result      string
	slow        string // what it asks for other characters
	of, each    string // the characters that the table holds
	size        int
}

// function declares the helper, except its table.
func (q quickRune) function() string {
	return fmt.Sprintf(`// %[1]s is %[2]s, from a table for %[3]s.
func %[1]s(%[4]s %[5]s) %[6]s {
	if uint64(%[4]s) < %[7]d {
		return %[8]s[uint64(%[4]s)]
	}
	return %[2]s
}`, q.name, q.slow, q.of, q.param, q.typ, q.result, q.size, q.table)
}

// filled declares the table. says names what is asked, and ask asks it for i.
func (q quickRune) filled(says, ask string) string {
	return filledTable(q.table, "is what "+says+" says of each "+q.each, q.result, q.size, "t[i] = "+ask)
}

// mustTest is testOf for an expression that the caller knows to be a test.
func mustTest(p *mutate.Pass, e ast.Expr) byteTest {
	t, ok := testOf(p, e)
	if !ok {
		panic("rules: a run holds an expression that is no byte test")
	}
	return t
}

// A byteClass is a set of bytes.
type byteClass [256]bool

func (c *byteClass) len() int {
	n := 0
	for _, in := range c {
		if in {
			n++
		}
	}
	return n
}

func quotedByte(c byte) string { return strconv.QuoteRuneToASCII(rune(c)) }

// tableOf declares a table of 256 booleans from the ranges of a set.
func tableOf(name string, set byteClass, what string) string {
	return filledTable(name, "holds "+what, "bool", 256, "c := byte(i)\nt[i] = "+rangesOf(set))
}

// rangesOf writes a set of bytes as comparisons of c.
func rangesOf(set byteClass) string {
	var parts []string
	for lo := 0; lo < 256; lo++ {
		if !set[lo] {
			continue
		}
		hi := lo
		for hi+1 < 256 && set[hi+1] {
			// Neighbours in the set become one range.
			hi++
		}
		switch {
		case lo == hi:
			parts = append(parts, "c == "+quotedByte(byte(lo)))
		case lo == 0 && hi == 255:
			parts = append(parts, "true")
		case lo == 0:
			// 0 and 255 need no comparison.
			parts = append(parts, "c <= "+byteText(hi))
		case hi == 255:
			parts = append(parts, "c >= "+byteText(lo))
		default:
			parts = append(parts, fmt.Sprintf("c >= %s && c <= %s", byteText(lo), byteText(hi)))
		}
		lo = hi
	}
	if len(parts) == 0 {
		return "false"
	}
	return strings.Join(parts, " || ")
}
