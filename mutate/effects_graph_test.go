package mutate

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// mutual returns a package of n functions that all call each other. The last one also calls leaf.
func mutual(n int, leaf string) string {
	var b strings.Builder
	b.WriteString("package p\n\nvar counter int\n\nfunc quiet() {}\n\nfunc writes() { counter = 1 }\n")
	for i := range n {
		fmt.Fprintf(&b, "\nfunc f%d(k int) {\n", i)
		for j := range n {
			if i != j {
				fmt.Fprintf(&b, "\tf%d(k)\n", j)
			}
		}
		if i == n-1 {
			fmt.Fprintf(&b, "\t%s()\n", leaf)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func TestEffectsOfMutualRecursion(t *testing.T) {
	for _, n := range []int{12, 40, 200} {
		for leaf, want := range map[string]Effects{
			"quiet":  {Panics: true},
			"writes": {Panics: true, Reads: true, Writes: true},
		} {
			p := pass(t, mutual(n, leaf))
			for range 2 { // the second round must not analyse anything again
				for _, d := range Nodes[*ast.FuncDecl](p, nil) {
					if got := p.Effects(d.Body); strings.HasPrefix(d.Name.Name, "f") && got != want {
						t.Fatalf("%d functions that call each other and %s: effects of %s are %+v, want %+v", n, leaf,
							d.Name.Name, got, want)
					}
				}
			}
			if got, want := p.callGraph().analysed, n+2; got != want {
				t.Errorf("%d functions that call each other: %d bodies were analysed, want each of %d once", n, got,
					want)
			}
		}
	}
}

// TestEffectsOfComponents checks functions around cycles: only functions that reach a cycle have
// its effects.
func TestEffectsOfComponents(t *testing.T) {
	p := pass(t, `package p

var counter int

func above() int { return even(3) + plain() }
func plain() int { return 1 }
func even(n int) int { if n == 0 { return plain() }; return odd(n - 1) }
func odd(n int) int { if n == 0 { return reads() }; return even(n - 1) }
func reads() int { return counter }
func other(n int) int { if n > 0 { return other(n - 1) }; return plain() }
func twice() int { return plain() + plain() + reads() }
func held(n int) func() int { f := func() int { return even(n) }; return f }
func outer(n int) int { return middle(n) }
func middle(n int) int { counter++; return inner(n) + outer(n) }
func inner(n int) int { return other(n) + back(n) }
func back(n int) int { return inner(n) }
`)
	for name, want := range map[string]Effects{
		"above": {Reads: true, Panics: true}, "plain": {}, "even": {Reads: true, Panics: true}, "odd": {Reads: true, Panics: true},
		"reads": {Reads: true}, "other": {Panics: true}, "twice": {Reads: true}, "held": {Reads: true, Panics: true, Allocs: true},
		"outer": {Writes: true, Reads: true, Panics: true}, "middle": {Writes: true, Reads: true, Panics: true},
		"inner": {Panics: true}, "back": {Panics: true},
	} {
		want.Jumps = true
		if got := p.Effects(fn(p, name).Body); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
