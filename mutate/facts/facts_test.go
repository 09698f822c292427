package facts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/mutate"
)

func check(t *testing.T, src string) *mutate.Pass {
	t.Helper()
	p, err := mutate.Check("package p\n\n"+src+"\n", "f", nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func variable(t *testing.T, p *mutate.Pass, name string) *types.Var {
	t.Helper()
	for _, id := range mutate.Nodes[*ast.Ident](p, p.Func) {
		if v, ok := p.Info.Defs[id].(*types.Var); ok && id.Name == name {
			return v
		}
	}
	t.Fatalf("no variable %s", name)
	return nil
}

func TestOwned(t *testing.T) {
	for code, want := range map[string]bool{
		"c := make([]int, 3); c[0] = 1; _ = len(c)":                         true,
		"c := append([]int(nil), v...); c = append(c, 1); _ = c[0]":         true,
		"var c []int; for _, x := range v { c = append(c, x) }":             true,
		"c := make([]int, 3); c = c[:2]; c = slices.Compact(c)":             true,
		"var ( c []int; n = 1 ); c = append(append(c, n), v...)":            true,
		"c := strconv.AppendInt(nil, 7, 10); c = c[:1]; text(string(c))":    true,
		"c := make([]int, 3); v = append(v, c...); copy(v, c[1:])":          true,
		"c := make([]int, 3); for _, x := range c[1:] { v[0] += x }":        true,
		"c := make([]int, 3); c = append(c[:1], c[2:]...); _ = c":           true,
		"c := make([]int, 3); _ = sum(c) + c[1:][0]":                        true,
		"c := []byte(text(``)); n, _ := utf8.DecodeRune(c); v[0] += int(n)": true,
		"c := [3]int{}; c[1] = 2; d := c; d[0] = 1":                         true,
		"c := [3]int{}; copy(c[1:], v); v[0] = c[1]":                        true,
		"c := map[int]int{}; c[1] = 2; delete(c, 2); v[0] = c[1]":           true,

		"c := make([]int, 3); c = slices.Insert(c, 0, v...)":         false,
		"c := make([]int, 3); keep(slices.Clip(c))":                  false,
		"c := make([]int, 3); keep(c[1:])":                           false,
		"c := append(v[:0:0], 1); _ = c":                             false,
		"c := v; c[0] = 1":                                           false,
		"c := v[1:]; c[0] = 1":                                       false,
		"c := make([]int, 3); d := c; d[0] = 1":                      false,
		"c := make([]int, 3); d := append(c, 1); d[0] = 1":           false,
		"c := make([]int, 3); var d = c[:1]; d[0] = 1":               false,
		"c := make([]int, 3); keep(c)":                               false,
		"c := make([]int, 3); go slices.Sort(c)":                     false,
		"c := make([]int, 3); defer slices.Sort(c)":                  false,
		"c := make([]int, 3); lists = append(lists, c)":              false,
		"c := make([]int, 3); _ = same(c)":                           false,
		"c := make([]int, 3); p := &c[0]; *p = 1":                    false,
		"c := make([]int, 3); p := &c[1:][0]; *p = 1":                false,
		"c := make([]int, 3); p := &c; *p = v":                       false,
		"c := make([][2]int, 3); d := c[0][:]; d[0] = 1":             false,
		"c := make([]struct{ x int }, 3); p := &c[0].x; *p = 1":      false,
		"c := make([]int, 3); g := func() { c[0] = 1 }; g()":         false,
		"c := make([]int, 3); c = v; c[0] = 1":                       false,
		"var c []int; n := 0; c, n = v, 1; c[n] = 1":                 false,
		"var c []int; for _, c = range lists { c[0] = 1 }":           false,
		"c := make([]int, 3); type s struct{ x []int }; _ = s{x: c}": false,
		"c := [3]int{}; d := c[:]; d[0] = 1":                         false,
		"c := [3]int{}; p := &c; p[0] = 1":                           false,
		"c := map[int]int{}; d := c; d[0] = 1":                       false,
	} {
		p := checkUses(t, code)
		if got := Owns(p, variable(t, p, "c")); got != want {
			t.Errorf("%s: owned is %v", code, got)
		}
	}
}

// checkUses checks code that has lists, and functions that take them.
func checkUses(t *testing.T, code string) *mutate.Pass {
	t.Helper()
	return check(t, `import ("slices"; "strconv"; "unicode/utf8")

var lists [][]int
var _, _, _ = slices.Clip[[]int], strconv.Itoa, utf8.RuneLen
func keep(x []int) { lists = append(lists, x) }
func same(x []int) []int { return x }
func sum(x []int) (n int) { for _, v := range x { n += v }; return n }
func text(s string) string { return s }
func f(v []int) []int { `+code+`; return v }`)
}

// TestUses lists what code learns or does besides.
func TestUses(t *testing.T) {
	for code, want := range map[string]Use{
		"c := make([]int, 3); c[0]++; clear(c)":              0,
		"c := make([]int, 3); v[0] = cap(c)":                 Sizes,
		"var c []int; if c == nil { v[0]++ }":                Sizes,
		"c := make([]int, 3); c = c[:1:2]":                   Sizes | Cuts,
		"c := make([]int, 3); c = append(c, 1)[:2]":          Sizes | Cuts | Grows,
		"c := make([]int, 3); v[0] = sum(c)":                 Sizes, // a helper may ask for nil
		"c := make([]int, 3); c = nil":                       Renews,
		"c := make([]int, 3); c = append(make([]int, 2), 1)": Renews,
		"c := make([]int, 3); c = append(c[:1], 1)":          Cuts | Grows,
		"c := make([]int, 3); return c":                      Hands,
		"c := make([]int, 3); c = v":                         Borrows,
	} {
		p := checkUses(t, code+"; _ = len(c)")
		if got := Owned.Of(p)[variable(t, p, "c")].All; got != want {
			t.Errorf("%s: uses %06b, want %06b", code, got, want)
		}
	}
}

// TestUsesUnsafe: a text without a copy shares the bytes of a slice, although its function only
// reads.
func TestUsesUnsafe(t *testing.T) {
	for text, want := range map[string]bool{`*(*string)(unsafe.Pointer(&b))`: false, `string(b)`: true} {
		src := "func text(b []byte) string { return " + text + " }\n" +
			"func f() string { c := make([]byte, 3); return text(c) }"
		if !want {
			src = "import \"unsafe\"\n" + src
		}
		p := check(t, src)
		if got := Owns(p, variable(t, p, "c")); got != want {
			t.Errorf("with %s, owned is %v", text, got)
		}
	}
}

// TestOwnsUpTo: what follows the loop does not matter to it.
func TestOwnsUpTo(t *testing.T) {
	for code, want := range map[string]bool{
		"c := make([]int, 3); for range 3 {}; keep(c)":                                    true,
		"c := make([]int, 3); c[0] = 1; copy(c, v); for range 3 {}; return c":             true,
		"var c [3]int; for range 3 {}; keep(c[:])":                                        true,
		"for range v { c := make([]int, 3); for range 3 {}; keep(c) }":                    true,
		"c := make([]int, 3); keep(c); for range 3 {}":                                    false,
		"c := make([]int, 3); g := func() { keep(c) }; g(); for range 3 {}":               false,
		"var ( c = make([]int, 3); d = c ); for range 3 {}; keep(d)":                      false,
		"c := make([]int, 3); if len(v) > 1 { for range 3 {} }; keep(c)":                  false,
		"c := v; for range 3 {}; keep(c)":                                                 false,
		"c := make([]int, 3); c = v; for range 3 {}; keep(c)":                             false,
		"c := make([]int, 3); again: v[0]++; for range 3 {}; keep(c); goto again":         false,
		"var c [3]int; d := c[:]; for range 3 {}; keep(d)":                                false,
		"var c [3]int; d := c; for range 3 {}; keep(d[:])":                                true,
		"c := make([][3]int, 3); d := c[0][:]; for range 3 {}; keep(d); _ = c":            false,
		"c := make([]int, 3); for range 3 { keep(c) }":                                    true, // later
		"c := make([]int, 3); defer keep(c); for range 3 {}":                              false,
		"c := make([]int, 3); lists[0] = c; for range 3 {}":                               false,
		"c := append(v[:0], 1); for range 3 {}; keep(c)":                                  false,
		"var c []int; for range v { c = append(c, 1) }; for range 3 {}; keep(c)":          true,
		"var c []int; for range v { c = append(c, 1); keep(c) }; for range 3 {}; keep(c)": false,
	} {
		p := checkUses(t, code)
		var loop ast.Stmt
		for _, s := range mutate.Nodes[*ast.RangeStmt](p, p.Func) {
			if lit, ok := s.X.(*ast.BasicLit); ok && lit.Value == "3" {
				loop = s
			}
		}
		if got := OwnsUpTo(p, variable(t, p, "c"), loop); got != want {
			t.Errorf("%s: owned up to the loop is %v", code, got)
		}
	}
}

// TestApartTypes: slices of two types share memory after a conversion, or where a type parameter
// stands for the other type.
func TestApartTypes(t *testing.T) {
	for types, want := range map[string]bool{
		"type A = int8; type B = int32":                          true,
		"type A = struct{ X int }; type B = struct{ X int8 }":    true,
		"type A = struct{ X int }; type B struct{ X int }":       true,
		"type A = struct{ X int }; type B = struct{ X int `x` }": false,
		"type A = int; type B = T":                               false,
	} {
		generic := ""
		if strings.Contains(types, "= T") {
			generic = "[T any]"
		}
		p := check(t, "var kept any\nfunc f"+generic+"() { "+types+`
	other := kept.([]A)
	to := make([]B, 3)
	kept = to
	other = kept.([]A)
	_ = other
}`)
		if got := Apart(p, variable(t, p, "to"), variable(t, p, "other")); got != want {
			t.Errorf("%s: apart is %v", types, got)
		}
	}
}

// TestApart checks when a slice shares no memory with another variable.
func TestApart(t *testing.T) {
	for code, want := range map[string]bool{
		"var to []int; other := v; to = append(to, other[0]); keep(to)":                      false,
		"other := v; var to []int; to = append(to, other[0]); keep(to)":                      true,
		"other := v; var to []int; to = append(to, 1); other = to; keep(other)":              false,
		"other := v; var to []int; to = append(to[:0], 1); keep(to); keep(other)":            true,
		"other := v; to := v[:0]; to = append(to, other[0])":                                 false,
		"to := make([]int, 0, 8); other := to[:4]; to = append(to, other[0])":                false,
		"to := make([]int, 0, 8); other := make([]int, 4); keep(to); keep(other)":            true,
		"to := make([]int, 0, 8); other := [3]int{}; keep(to); _ = other":                    true,
		"to := make([]int, 0, 8); other := b; keep(to); _ = other":                           true,
		"to := make([][4]int, 0, 8); other := v; to = append(to, [4]int{other[0]}); all(to)": false,
		"to := make([]int, 4); other := v; keep(other); to[0] = 1":                           true,
		"to := v[:1]; other := make([]int, 4); other[0] = 1; keep(to)":                       true,
	} {
		p := check(t, "var kept any\nfunc keep(x []int) { kept = x }\nfunc all(x [][4]int) { kept = x }\n"+
			"func f(v []int, b []byte) { "+code+" }")
		if got := Apart(p, variable(t, p, "to"), variable(t, p, "other")); got != want {
			t.Errorf("%s: apart is %v", code, got)
		}
	}
}

func TestLoops(t *testing.T) {
	for code, want := range map[string]LoopKind{
		"for range v {}":                                                   OverElements,
		"for i := range v { _ = i }":                                       OverElements,
		"for i := range len(v) { _ = i }":                                  OverElements,
		"for i := 0; i < len(v); i++ {}":                                   OverElements,
		"for i := 0; i != len(v); i++ {}":                                  OverElements,
		"for i := 0; i < len(s); i++ {}":                                   OverElements,
		"for i := range s { _ = i }":                                       OverRunes,
		"for i := 0; i < n; i++ {}":                                        OverNumbers,
		"for i := range n { _ = i }":                                       OverNumbers,
		"for i := 1; i < len(v); i++ {}":                                   OtherLoop,
		"for i := 0; i < n; i++ { n-- }":                                   OtherLoop,
		"for i := 0; i < len(v); i++ { i++ }":                              OtherLoop,
		"for i := 0; i < len(v); i++ { v = v[1:] }":                        OtherLoop,
		"for i := range v { i++ }":                                         OtherLoop,
		"for n > 0 { n-- }":                                                OtherLoop,
		"for k := range map[string]int{} { _ = k }":                        OverMap,
		"var i int; for i = range v { _ = i }":                             OtherLoop,
		"for i := 0; i <= len(v); i++ {}":                                  OtherLoop,
		"for i, x := range v { v[i] = x + 1; _ = v[i]}":                    OverElements,
		"k := len(v); for i := 0; i < k; i++ { _ = v[i] + 0 }":             OverElements,
		"k := len(s); for i := range k { _ = s[i] + 0 }":                   OverElements,
		"k := len(v); v = v[1:]; for i := 0; i < k; i++ { _ = v[i] + 0 }":  OverNumbers,
		"k := uint(len(v)); for i := uint(0); i < k; i++ { _ = v[i] + 0 }": OverNumbers,
	} {
		p := check(t, "func f(v []int, s string, n int) { "+code+" }")
		for _, l := range Loops.Of(p) {
			if l.Kind != want {
				t.Errorf("%s: kind %d, want %d", code, l.Kind, want)
			}
			if len(l.Elems) > 0 && code[len(code)-9:] == "_ = v[i]}" {
				t.Errorf("%s: v[i] is taken for the element although the body changes it", code)
			}
		}
	}
}

// TestEndsIn checks which jump ends a list: a jump to a label counts as a goto.
func TestEndsIn(t *testing.T) {
	for code, want := range map[string]token.Token{
		"return":      token.RETURN,
		"n++; break":  token.BREAK,
		"continue":    token.CONTINUE,
		"break l":     token.GOTO,
		"continue l":  token.GOTO,
		"goto l":      token.GOTO,
		"return; n++": token.ILLEGAL,
		"":            token.ILLEGAL,
	} {
		p := check(t, "func f(n int) { l: for range n { if n > 1 { "+code+" }; continue l } }")
		for _, s := range mutate.Nodes[*ast.IfStmt](p, nil) {
			for _, kind := range []token.Token{token.RETURN, token.BREAK, token.CONTINUE, token.GOTO} {
				if got := EndsIn(s.Body.List, token.FALLTHROUGH, kind); got != (kind == want) {
					t.Errorf("%q ends in %v: %v", code, kind, got)
				}
			}
		}
	}
}

func TestStopsEarly(t *testing.T) {
	for code, want := range map[string]bool{
		"for _, x := range v { if x > 1 { break } }":                              true,
		"for _, x := range v { if x > 1 { return } }":                             true,
		"for _, x := range v { if x > 1 { goto end } }; end:":                     true,
		"outer: for _, x := range v { for range 3 { if x > 1 { break outer } } }": true,
		"for _, x := range v { if x > 1 { continue }; v[0] = 1 }":                 false,
		"for _, x := range v { for range 3 { if x > 1 { break } } }":              false,
		"for _, x := range v { switch { case x > 1: break } }":                    false,
		"for _, x := range v { _ = func() bool { return x > 1 } }":                false,
	} {
		p := check(t, "func f(v []int) { "+code+" }")
		for _, s := range mutate.Nodes[*ast.RangeStmt](p, nil) {
			if l := Loops.Of(p)[s]; l.Value != nil && l.StopsEarly(p) != want {
				t.Errorf("%s: stops early is %v", code, !want)
			}
		}
	}
}

// TestRequires checks that facts have names, and that none requires itself by way of others.
func TestRequires(t *testing.T) {
	all := []Named{Declared, Captured, Single, Owned, Loops, Reached}
	seen := map[string]bool{}
	for _, f := range all {
		for _, r := range f.requires() {
			if !seen[r.name()] {
				t.Errorf("%s requires %s, which comes later", f.name(), r.name())
			}
		}
		if f.name() == "" || seen[f.name()] {
			t.Errorf("the name %q is empty or taken", f.name())
		}
		seen[f.name()] = true
		f.compute(check(t, "func f() {}"))
	}
}

// TestChangesOnly lists all ways to change memory besides plain local variables.
func TestChangesOnly(t *testing.T) {
	for code, want := range map[string]bool{
		"n = 1; _ = v[0]; m := n; m++":       false,
		"for n = range v {}":                 false,
		"for i, x := range v { n += i + x }": false,
		"v[0] = 1":                           true,
		"v[0]++":                             true,
		"for v[0] = range v {}":              true,
		"for _, v[0] = range v {}":           true,
		"m := map[int]int{}; m[0] = n":       true,
		"v = append(v, 1)":                   true,
		"n, v[0] = 1, 2":                     true,
		"<-c":                                true,
		"for range c {}":                     true,
		"c <- 1":                             true,
		"select {}":                          true,
		"go func() {}()":                     true,
		"defer func() {}()":                  true,
		"for range g {}":                     true,
		"p := &n; n = 1; _ = p":              true,
		"p := &n; _ = p":                     false,
		"for range 3 { if n > 1 { copy(v, v) } }":    true,
		"for range 3 { if n > 1 { n = len(v[1:]) }}": false,
	} {
		p := check(t, "func f(v []int, n int, c chan int, g func(func(int) bool)) { "+code+" }")
		if got := !ChangesOnly(p, p.Func.Body, nil, nil); got != want {
			t.Errorf("%s: changes memory is %v", code, got)
		}
	}
}

// TestTypeText: a type has a text if the candidate can write it.
func TestTypeText(t *testing.T) {
	p := check(t, `import "encoding/binary"
type own struct{}
func f() {
	a, b, c := own{}, binary.LittleEndian, &binary.LittleEndian
	var d map[string][]binary.ByteOrder
	_, _, _, _ = a, b, c, d
}`)
	for name, want := range map[string]bool{"a": true, "b": false, "c": false, "d": true} {
		if text, ok := TypeText(p, variable(t, p, name).Type()); ok != want {
			t.Errorf("%s: %s can be written: %v", name, text, ok)
		}
	}
}

// TestIsZero: a value that an interface holds makes it another one than nil.
func TestIsZero(t *testing.T) {
	for code, want := range map[string]bool{
		"var e = 0": true, "var e float64 = -0.0": true, "var e complex128 = 0i": true, `var e = ""`: true,
		"var e complex64 = 1i - 1i": true, "var e = false": true, "var e []int = nil": true, "var e any = nil": true,
		"var e = ([2]int{})": true, "var e = struct{ n int }{}": true,
		"var e any = 0": false, "var e any = [2]int{}": false, "var e = []int{}": false, "var e = map[int]int{}": false,
		"var e = 1": false, "var e = 1i": false, `var e = " "`: false, "var e = [2]int{0}": false, "var e = n": false,
	} {
		p := check(t, "func f(n int) { "+code+"; _ = e }")
		v := variable(t, p, "e")
		if got := IsZero(p, Declared.Of(p)[v].Value, v.Type()); got != want {
			t.Errorf("%s: zero is %v", code, got)
		}
	}
}

// TestPointed: a method may keep the address of the variable that it is called with.
func TestPointed(t *testing.T) {
	p := check(t, `import "strings"
type own struct{ at *own }
func (o *own) keep() { o.at = o }
func (o own) look() {}
func f() {
	var a, b, c own
	var d strings.Builder
	a.keep()
	b.look()
	_ = &c.at
	d.Reset()
}`)
	for name, want := range map[string]bool{"a": true, "b": false, "c": true, "d": false} {
		if got := Pointed(p, variable(t, p, name)); got != want {
			t.Errorf("%s is pointed to: %v", name, got)
		}
	}
}

// TestPointedAbroad: a method of another module may keep it too, and one of another package of this
// module, whose name has no dot.
func TestPointedAbroad(t *testing.T) {
	for _, path := range []string{"example.com/far", "p/far"} {
		pointedAbroad(t, path)
	}
}

func pointedAbroad(t *testing.T, path string) {
	t.Helper()
	p := abroad(t, path, `package far
type T struct{ at *T }
func (t *T) Keep() { t.at = t }
func (t T) Look() {}`, `package p
import "`+path+`"
func f() {
	var a, b far.T
	a.Keep()
	b.Look()
}`)
	for name, want := range map[string]bool{"a": true, "b": false} {
		if got := Pointed(p, variable(t, p, name)); got != want {
			t.Errorf("%s: %s is pointed to: %v", path, name, got)
		}
	}
}

// abroad is check for a file that imports the package far of a path.
func abroad(t *testing.T, path, far, src string) *mutate.Pass {
	t.Helper()
	p := &mutate.Pass{Src: []byte(src), Fset: token.NewFileSet(), Info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	from := map[string]*types.Package{}
	typed := func(path, text string, info *types.Info) (*ast.File, *types.Package) {
		f, err := parser.ParseFile(p.Fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		conf := types.Config{Importer: imports(from)}
		pkg, err := conf.Check(path, p.Fset, []*ast.File{f}, info)
		if err != nil {
			t.Fatal(err)
		}
		return f, pkg
	}
	_, from[path] = typed(path, far, nil)
	p.File, p.Pkg = typed("p", src, p.Info)
	p.Func = p.File.Decls[len(p.File.Decls)-1].(*ast.FuncDecl)
	return p
}

// imports are packages by their paths.
type imports map[string]*types.Package

func (from imports) Import(path string) (*types.Package, error) { return from[path], nil }

// TestHoistable: what a call reads does not change up to its place in the statement, and code in
// front of the statement runs as often.
func TestHoistable(t *testing.T) {
	for code, want := range map[string]bool{
		"_ = look(at)":              true,
		"_, _ = look(at), change()": true,
		"_, _ = change(), look(at)": false,
		"_, _ = change(), same(n)":  true,
		"set := func() int { n++; return 1 }; _, _ = set(), same(n)": false,
		"p := &n; _, _ = change(), same(n); _ = p":                   false,
		"if change() > 0 { _ = look(at) }":                           true,
		"if change() > look(at) {}":                                  false,
		"again: n = look(n); if n < 9 { goto again }":                false,
		"for v[look(n)] = range v {}":                                false,
		"for range look(n) {}":                                       true,
		"_ = n > 0 && look(n) > 0":                                   false,
	} {
		p := check(t, "var at int\nfunc look(n int) int { return n + at }\nfunc same(n int) int { return n }\n"+
			"func change() int { at++; return at }\nfunc f(v []int, n int) { "+code+" }")
		for _, call := range mutate.Nodes[*ast.CallExpr](p, p.Func) {
			if id, ok := call.Fun.(*ast.Ident); ok && (id.Name == "look" || id.Name == "same") {
				if _, got := Hoistable(p, call); got != want {
					t.Errorf("%s: the call can move in front: %v", code, got)
				}
			}
		}
	}
}

// TestElements: s[i] is no element where the loop may change it by another name.
func TestElements(t *testing.T) {
	for code, want := range map[string]int{
		"for i := range v { n += v[i] }":                                                      1,
		"w := []int{}; for i := range v { w = append(w, v[i]) }; _ = w":                       1,
		"w := []int{0}; v = append(w, 1); for i := range v { w = append(w, v[i]) }; _ = w":    0,
		"w := []int{0}; x := append(w, 1); for i := range x { w = append(w, x[i]) }; keep(w)": 0,
		"w := []int8{0}; x := n; for i := range v { w = append(w, int8(v[i])) }; _, _ = w, x": 1,
		"for i := range len(s) { n += int(s[i]) }":                                            1,
		"set := func() { s = \"\" }; for i := range len(s) { set(); n += int(s[i]) }":         0,
		"p := &s; for i := range len(s) { *p = \"\"; n += int(s[i]) }":                        0,
		"for i := range len(all) { grow(); n += int(all[i]) }":                                0,
		"for i := range len(all) { n += int(all[i]) }":                                        1,
	} {
		p := check(t, "var all string\nvar kept []int\nfunc grow() { all += all }\nfunc keep(x []int) { kept = x }\n"+
			"func f(v []int, s string, n int) int { "+code+"; return n }")
		for _, l := range Loops.Of(p) {
			if len(l.Elems) != want {
				t.Errorf("%s: %d elements, want %d", code, len(l.Elems), want)
			}
		}
	}
}
