package facts

import (
	"go/ast"
	"testing"

	"github.com/beagle-go/beagle/mutate"
)

func TestInRegisters(t *testing.T) {
	for typ, want := range map[string]bool{
		"int": true, "string": true, "[]int": true, "any": true, "[1]string": true, "[0]int": true,
		"struct{ a, b string }": true, "struct{ a [1]int; b, c bool }": true, "T": true, "struct{ x T }": true,
		"[2]int8": false, "struct{ a, b, c, d, e bool }": false, "struct{ a, b []int }": false,
		"struct{ a [2]bool }": false, "L": false,
	} {
		p := check(t, "func f[T any, L [9]int | [8]string]() { var v "+typ+"; _ = v }")
		if got := InRegisters(variable(t, p, "v").Type()); got != want {
			t.Errorf("%s is in registers: %v", typ, got)
		}
	}
}

func TestInInnerLoop(t *testing.T) {
	for code, want := range map[string]bool{
		"n++": false, "if n > 1 { n++ }": false, "switch { case n > 1: n++ }": false,
		"for range 3 { n++ }": true, "for n < 9 { n++ }": true, "func() { n++ }()": true,
	} {
		p := check(t, "func f(n int) { for { "+code+" } }")
		for _, s := range mutate.Nodes[*ast.IncDecStmt](p, nil) {
			if got := InInnerLoop(p, s, p.Func.Body.List[0].(*ast.ForStmt).Body); got != want {
				t.Errorf("%s: n++ is in an inner loop: %v", code, got)
			}
		}
	}
}

func TestHoldsBranch(t *testing.T) {
	for code, want := range map[string]bool{
		"n++": false, "return": false, "switch { case n > 1: fallthrough; default: }": false,
		"break": true, "if n > 1 { continue }": true, "for range 3 { break }": true, "goto end": true,
	} {
		p := check(t, "func f(n int) { for { "+code+" }; goto end; end: }")
		if got := HoldsBranch(p, p.Func.Body.List[0]); got != want {
			t.Errorf("%s holds a branch: %v", code, got)
		}
	}
}

func TestReadsOnly(t *testing.T) {
	for code, want := range map[string]bool{
		"return v.a + v.b[1]": true, "x := *v; return x.a": true, "if v.a > 1 { return v.a }; return 0": true,
		"v.a = 1; return 0": false, "v.b[1] = 1; return 0": false, "*v = s{}; return 0": false,
		"x := &v.a; return *x": false, "return v.get()": false, "kept = v; return 0": false,
		"return func() int { return v.a }()": false,
	} {
		p := check(t, `type s struct{ a int; b [3]int }
func (v *s) get() int { return v.a }
var kept *s
func f(v *s) int { `+code+` }`)
		if got := ReadsOnly(p, p.Func, variable(t, p, "v")); got != want {
			t.Errorf("%s only reads: %v", code, got)
		}
	}
}

func TestKeepsValueOver(t *testing.T) {
	p := check(t, `var global int
func g(...any) int { global++; return 1 }
func f(a, b int) int {
	c := 1
	h := func() { c++ }
	d := &b
	return g(a, 7, nil, b, c, global, a+1, h, d)
}`)
	want := []bool{true, true, true, false, false, false, false, true, true}
	for _, call := range mutate.Nodes[*ast.CallExpr](p, p.Func) {
		for i, arg := range call.Args {
			if got := KeepsValueOver(p, arg); got != want[i] {
				t.Errorf("%s keeps its value: %v", p.Text(arg), got)
			}
		}
	}
}

func TestChangesWhole(t *testing.T) {
	for code, want := range map[string]bool{
		"a = [2]int{}": true, "b = T{}": true, "for _, b = range list { }": true, "c = 3": true,
		"a[1] = 2": false, "b.n = 1": false, "n = 1": false, "x := a; _ = x": false, "_ = b": false,
		"for _, b := range list { _ = b }": false, "list[0] = T{}": false,
	} {
		p := check(t, `type T struct{ n int }
func f(a [2]int, b T, c any, n int, list []T) { `+code+` }`)
		if got := ChangesWhole(p, p.Func.Body); got != want {
			t.Errorf("%s changes a whole value: %v", code, got)
		}
	}
}

func TestChangesOnlyLocals(t *testing.T) {
	for code, want := range map[string]bool{
		"n++": true, "m[1] = 2": true, "own = append(own, 1)": true, "own[0] = 1": true,
		"v[0] = 1": false, "*to = 1": false, "g()": false, "v = append(v, 1)": false,
	} {
		p := check(t, `var count int
func g() { count++ }
func f(v []int, m map[int]int, to *int, n int) int {
	own := make([]int, 3)
	`+code+`
	return len(own)
}`)
		if got := ChangesOnlyLocals(p, p.Func.Body.List[1], nil); got != want {
			t.Errorf("%s changes locals alone: %v", code, got)
		}
	}
	p := check(t, "func f() int { own := make([]int, 3); own[0] = 1; return len(own) }")
	if ChangesOnlyLocals(p, p.Func.Body.List[1], variable(t, p, "own")) {
		t.Error("the list itself may be changed")
	}
}
