package mutate

import (
	"fmt"
	"go/ast"
	"math/rand/v2"
	"strings"
	"testing"
)

const bytesOf = `package p

const limit = 'm'

var table = [256]bool{'x': true}

var short = []bool{199: true}

var changed = [256]bool{}

func F(c byte, s string, i int) bool {
	changed[i] = true
	return TEST
}

func of(c byte) byte { return c }

func is(c byte) bool {
	c |= 0x20
	return 'a' <= c && c <= 'z'
}

func loops(c byte) bool { return loops(c) }
`

// testOfC returns the result of F, which is a test of its parameter c, and a mention of c.
func testOfC(t *testing.T, test string) (p *Pass, result, operand ast.Expr) {
	t.Helper()
	p, err := Check(strings.Replace(bytesOf, "TEST", test, 1), "F", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ret := range Nodes[*ast.ReturnStmt](p, p.Func) {
		result = ret.Results[0]
	}
	for _, id := range Nodes[*ast.Ident](p, p.Func) {
		if id.Name == "c" {
			return p, result, id
		}
	}
	t.Fatal("no c")
	return nil, nil, nil
}

func TestComparedBytes(t *testing.T) {
	for _, c := range []struct {
		test string
		fast bool
	}{
		{"c == 'a'", true},
		{"'a' <= c && c <= 'z' || (c) == '_'", true},
		{"!(c < 0x80)", true},
		{"limit > c", true},
		{"c != 0 && !(c >= limit)", true},
		{"table[c]", true},
		{"c == 'a' || !table[c]", true},
		{"short[c]", false},
		{"changed[c]", false},
		{"of(c) == 'a'", false},
		{"is(c) || c == '_'", true},
		{"!is((c))", true},
		{"loops(c)", false},
		{"is(c + 1)", false},
		{"c&0x80 == 0", false},
		{"c == c", false},
		{"c == 'a' || s == \"\"", false}, // it tests more than the byte
		{"1 < 2", false},
	} {
		p, test, operand := testOfC(t, c.test)
		set, ok := p.Values().compared(test, operand)
		if ok != c.fast {
			t.Errorf("%s: at once %v", c.test, ok)
		}
		want, err := p.Values().byteSet(test, operand)
		if ok && (err != nil || set != want) {
			t.Errorf("%s: at once %v, one by one %v, %v", c.test, set, want, err)
		}
		set, again := p.Values().ByteSet(test, operand)
		if set != want && again == nil || (again == nil) != (err == nil) {
			t.Errorf("%s: %v %v, want %v %v", c.test, set, again, want, err)
		}
	}
}

// TestComparedBytesAtRandom checks that random tests give the same set at once and byte by byte.
func TestComparedBytesAtRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var draw func(depth int) string
	draw = func(depth int) string {
		if depth == 0 || rng.IntN(4) == 0 {
			op := []string{"==", "!=", "<", "<=", ">", ">="}[rng.IntN(6)]
			if rng.IntN(3) == 0 {
				return fmt.Sprintf("%d %s c", rng.IntN(256), op)
			}
			return fmt.Sprintf("c %s %d", op, rng.IntN(256))
		}
		switch rng.IntN(4) {
		case 0:
			return "!(" + draw(depth-1) + ")"
		case 1:
			return "(" + draw(depth-1) + " && " + draw(depth-1) + ")"
		}
		return "(" + draw(depth-1) + " || " + draw(depth-1) + ")"
	}
	for range 200 {
		text := draw(4)
		p, test, operand := testOfC(t, text)
		set, ok := p.Values().compared(test, operand)
		want, err := p.Values().byteSet(test, operand)
		if !ok || err != nil || set != want {
			t.Fatalf("%s: at once %v %v, one by one %v %v", text, ok, set, err, want)
		}
	}
}
