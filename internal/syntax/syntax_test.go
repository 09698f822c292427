package syntax

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// TestReceiver tries each form of a receiver, alone and in a name.
func TestReceiver(t *testing.T) {
	for text, want := range map[string]string{
		"func F()":              "",
		"func (T) F()":          "T",
		"func (t *T) F()":       "T",
		"func (t *(T)) F()":     "T",
		"func (t T[A]) F()":     "T",
		"func (t *T[A, B]) F()": "T",
		"func (struct{}) F()":   "",
		"func () F()":           "",
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text+" {}", parser.SkipObjectResolution)
		if f == nil {
			t.Fatal(text, err)
		}
		fn := f.Decls[0].(*ast.FuncDecl)
		if got := Receiver(fn); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if want != "" {
			want += "."
		}
		if got := DeclName(fn); got != want+"F" {
			t.Errorf("%s: %q, want %q", text, got, want+"F")
		}
	}
}

// TestParameters names what has no name, and leaves the rest of the text alone.
func TestParameters(t *testing.T) {
	for text, want := range map[string]string{
		"func F()":                          "func F()",
		"func F(a, b int, c ...string)":     "func F(a, b int, c ...string)",
		"func F(int, ...string) (_ int)":    "func F(beagle0 int, beagle1 ...string) (_ int)",
		"func (T) F(_, a int, _ string)":    "func (beagle0 T) F(beagle1, a int, beagle3 string)",
		"func (_ *T[_]) F(func(_ int) int)": "func (beagle0 *T[_]) F(beagle1 func(_ int) int)",
	} {
		fset := token.NewFileSet()
		text, want = "package p\n"+text+" {}", "package p\n"+want+" {}"
		f, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(text, err)
		}
		all, edits := Parameters(fset, f.Decls[0].(*ast.FuncDecl))
		if got := Apply(text, edits); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		for _, p := range all {
			if p.Name == "_" || p.Name == "" || p.Declared != "" && p.Declared != p.Name || p.Type == nil {
				t.Errorf("%s: parameter %+v", text, p)
			}
		}
	}
}

func TestApply(t *testing.T) {
	edits := []Edit{{4, 5, "E"}, {0, 0, "1"}, {0, 0, "2"}, {2, 4, ""}}
	if got := Apply("abcdef", edits); got != "12abEf" {
		t.Errorf("%q", got)
	}
}

// TestCalled names what each form of a call calls.
func TestCalled(t *testing.T) {
	for text, want := range map[string]string{
		"f()": "f", "(f)()": "f", "f[int]()": "f", "f[int, string]()": "f", "x.f()": "x.f", "x.y.f()": "x.y.f",
		"x.f[int]()": "x.f", "func() {}()": "", "f()()": "", "fs[0]()": "fs", "[]byte(s)": "",
	} {
		e, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(text, err)
		}
		fun, name := Called(e.(*ast.CallExpr))
		got := ""
		if name != nil {
			got = types.ExprString(fun)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestStores finds each form of an assignment, and stops when the caller does.
func TestStores(t *testing.T) {
	const text = `package p
func f() { a, b = 1, 2; c++; for d = range 3 {}; for _, e = range s {}; for x := range s {}; var g = &h; k := func() { l = 1 } }`
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for addresses, want := range map[bool]string{false: "abcd_ekl", true: "abcd_ehkl"} {
		got := ""
		for e := range Stores(f, addresses) {
			got += e.(*ast.Ident).Name
		}
		if got != want {
			t.Errorf("addresses %v: %q, want %q", addresses, got, want)
		}
	}
	for range Stores(f, true) {
		break // a second call of yield would panic
	}
}

func TestFuncName(t *testing.T) {
	const text = `package p
type T struct{}
type A = T
type G[X any] struct{}
type I interface{ Named() }
func F() {}
func (T) Value() {}
func (*T) Pointer() {}
func (*A) Alias() {}
func (*G[X]) Generic() {}
var v interface{ Unnamed() }`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{}).Check("p", fset, []*ast.File{f}, info); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"F": "F", "Value": "T.Value", "Pointer": "T.Pointer", "Alias": "T.Alias",
		"Generic": "G.Generic", "Named": "I.Named", "Unnamed": "interface.Unnamed"}
	for id, obj := range info.Defs {
		if fn, ok := obj.(*types.Func); ok && FuncName(fn) != want[id.Name] {
			t.Errorf("%s: %q, want %q", id.Name, FuncName(fn), want[id.Name])
		}
	}
}

// TestQualifiers: a variable hides a package of its name, where it is declared.
func TestQualifiers(t *testing.T) {
	for code, want := range map[string]bool{
		"func f() { path.Base(\"\") }":                              true,
		"func f(path struct{ n int }) int { return path.n }":        false,
		"func f(path *path.T) int { return path.n }":                true,
		"func f() { path := path.Base(\"\"); _ = path.n }":          true,
		"func f() { for _, path := range list { _ = path.n } }":     false,
		"func f() { if x { path := y; _ = path.n }; path.Base(z) }": true,
		"var path struct{ n int }; func f() int { return path.n }":  false,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p; import \"path\"; "+code, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := Qualifiers(f)["path"]; got != want {
			t.Errorf("%s: a package may be meant: %v", code, got)
		}
	}
}
