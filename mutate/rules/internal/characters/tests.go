package characters

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// A Test is a boolean expression that depends on one byte and nothing else. It joins
// comparisons with constants, calls of pure predicates and look-ups in frozen tables by && || and
// !.
type Test struct {
	Operand ast.Expr // the byte: a variable or an element
	Leaves  int      // comparisons, including those in called predicates
}

// TestOf recognises a Test.
func TestOf(p *mutate.Pass, e ast.Expr) (t Test, ok bool) {
	switch e := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return TestOf(p, e.X)
		}
	case *ast.BinaryExpr:
		return binaryTest(p, e)
	case *ast.CallExpr:
		if fn, arg := PredicateCall(p, e); arg != nil {
			return Test{arg, CountComparisons(p, fn)}, true
		}
	// A table of bools that never changes is a test, too.
	case *ast.IndexExpr:
		v := p.Var(e.X)
		if v == nil || !isTable(v.Type(), 256) || !p.Frozen(v) || p.Basic(e) != types.Bool {
			return t, false
		}
		if arg := ByteOperand(p, e.Index); arg != nil {
			return Test{arg, 1}, true
		}
	}
	return t, false
}

// binaryTest recognises comparisons of a byte with constants, and their combinations.
func binaryTest(p *mutate.Pass, e *ast.BinaryExpr) (t Test, ok bool) {
	switch e.Op {
	// A connection is a test of a byte if both sides test the same one.
	case token.LAND, token.LOR:
		x, okX := TestOf(p, e.X)
		y, okY := TestOf(p, e.Y)
		if !okX || !okY || !p.Same(x.Operand, y.Operand) {
			return t, false
		}
		return Test{x.Operand, x.Leaves + y.Leaves}, true
	// A comparison has the byte on one side and a constant on the other.
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		if _, constant := p.Int(e.Y); constant {
			if op := ByteOperand(p, e.X); op != nil {
				return Test{op, 1}, true
			}
		}
		if _, constant := p.Int(e.X); constant {
			if op := ByteOperand(p, e.Y); op != nil {
				return Test{op, 1}, true
			}
		}
	}
	return t, false
}

// ByteOperand returns e if it is a byte that code may read twice: a variable, or an element named
// by variables and constants.
func ByteOperand(p *mutate.Pass, e ast.Expr) ast.Expr {
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

// PredicateCall recognises a call of a pure predicate of the candidate file on a byte, perhaps
// converted: isX(c), isX(rune(c)). It returns the predicate and the byte.
func PredicateCall(p *mutate.Pass, call *ast.CallExpr) (*ast.FuncDecl, ast.Expr) {
	fn := p.Decl(p.Callee(call))
	if fn == nil || len(call.Args) != 1 || !IsPredicate(p, fn) {
		return nil, nil
	}
	arg := ast.Unparen(call.Args[0])
	if conv, ok := arg.(*ast.CallExpr); ok && len(conv.Args) == 1 && p.Info.Types[conv.Fun].IsType() {
		arg = conv.Args[0]
	}
	return fn, ByteOperand(p, arg)
}

// IsPredicate reports whether fn maps one integer to a bool, and does and reads nothing else.
func IsPredicate(p *mutate.Pass, fn *ast.FuncDecl) bool {
	if !facts.IntegerToBool(p, fn) {
		return false
	}
	// A table of answers is computed once, so the answers must not depend on anything else.
	f := p.Effects(fn.Body)
	return !f.Writes && !f.Reads && !f.Panics
}

// CountComparisons counts the comparisons of a predicate; a call counts as three.
func CountComparisons(p *mutate.Pass, fn *ast.FuncDecl) int {
	n := 0
	for _, e := range mutate.Nodes[ast.Expr](p, fn.Body) {
		switch e := e.(type) {
		case *ast.BinaryExpr:
			if e.Op != token.LAND && e.Op != token.LOR {
				n++
			}
		case *ast.CallExpr:
			n += 3
		}
	}
	for _, c := range mutate.Nodes[*ast.CaseClause](p, fn.Body) {
		n += len(c.List)
	}
	return n
}

// FilledTable declares a table that a loop fills when the program starts. fill sets t[i].
func FilledTable(name, says, elem string, size int, fill string) string {
	return fmt.Sprintf(`// %[1]s %[2]s.
var %[1]s = func() (t [%[4]d]%[3]s) {
	for i := range t {
		%[5]s
	}
	return t
}()`, name, says, elem, size, fill)
}

// MustTest is TestOf for an expression that the caller knows to be a test.
func MustTest(p *mutate.Pass, e ast.Expr) Test {
	t, ok := TestOf(p, e)
	if !ok {
		panic("rules: a run holds an expression that is no byte test")
	}
	return t
}

// A Class is a set of bytes.
type Class [256]bool

func (c *Class) Len() int {
	n := 0
	for _, in := range c {
		if in {
			n++
		}
	}
	return n
}

// Table declares a table of 256 booleans from the ranges of a set.
func Table(name string, set Class, what string) string {
	return FilledTable(name, "holds "+what, "bool", 256, "c := byte(i)\nt[i] = "+Comparisons(set))
}

// Comparisons writes a set of bytes as comparisons of c.
func Comparisons(set Class) string {
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
			parts = append(parts, "c == "+edit.QuotedByte(byte(lo)))
		case lo == 0 && hi == 255:
			parts = append(parts, "true")
		case lo == 0:
			// 0 and 255 need no comparison.
			parts = append(parts, "c <= "+edit.ByteText(hi))
		case hi == 255:
			parts = append(parts, "c >= "+edit.ByteText(lo))
		default:
			parts = append(parts, fmt.Sprintf("c >= %s && c <= %s", edit.ByteText(lo), edit.ByteText(hi)))
		}
		lo = hi
	}
	if len(parts) == 0 {
		return "false"
	}
	return strings.Join(parts, " || ")
}
