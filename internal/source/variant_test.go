package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// compilesBeside type-checks the user's files together with variants.
func compilesBeside(t testing.TB, u *Unit, texts ...string) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, path := range u.Package.Files() {
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	for _, text := range texts {
		f, err := parser.ParseFile(fset, "variant.go", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if _, err := u.Package.config(nil).Check(u.Target.PkgPath, fset, files, nil); err != nil {
		t.Errorf("does not compile beside the original: %v\n%s", err, strings.Join(texts, "\n// ----\n"))
	}
}

func variant(t testing.TB, u *Unit, src, suffix string) string {
	t.Helper()
	f, p := u.Reader.Parse(src)
	if p != nil {
		t.Fatalf("%+v in\n%s", *p, src)
	}
	out, err := u.Writer.Variant(f, suffix)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(out, "\n") != strings.Count(src, "\n") {
		t.Errorf("lines moved:\n%s", out)
	}
	return out
}

const hostile = `
-- h.go --
package h

import "strings"

type Node struct {
	Walk  func2
	kids  []*Node
	helper int
}

type func2 struct{}

type base struct{}

func (base) helper() int { return 1 }

type outer struct{ base }

func (n *Node) helperMethod() int { return 1 }

// Walk calls itself, helpers, and things that only look like them.
func Walk(n *Node, helper2 int) int {
	// helper is called helper.
	total := helper(n)
	{
		helper := func(x *Node) int { return limit }
		total += helper(n)
		for limit := 0; limit < 1; limit++ {
			total += limit
		}
	}
	m := Node{helper: limit, Walk: func2{}}
	total += m.helper + outer{}.helper() + outer{}.base.helper() + m.helperMethod()
	_ = m.Walk
	f := Walk
	for _, kid := range n.kids {
		total += Walk(kid, 1) + f(kid, 2)
	}
	switch limit := any(total).(type) {
	case int:
		return limit + strings.Count("limit helper Walk", "Walk")
	}
	table := map[string]int{helperName: limit}
	goto helper
helper:
	return table["Walk"]
}

// helper has a parameter limit.
func helper(limit *Node) int {
	if limit == nil {
		return Walk(nil, 0)
	}
	return limit.helper
}

const limit, helperName = 3, "x"
`

func TestVariantHostileNames(t *testing.T) {
	u := load(t, module(t, hostile), "Walk")
	got := variant(t, u, u.Target.Source, "__b12")
	wantIn(t, got, "func Walk__b12(n *Node, helper2 int) int", "total := helper__b12(n)",
		"helper := func(x *Node) int { return limit__b12 }",
		"total += helper(n)", "for limit := 0; limit < 1; limit++", "Node{helper: limit__b12, Walk: func2{}}",
		"m.helper + outer{}.helper() + outer{}.base.helper() + m.helperMethod()", "_ = m.Walk\n", "f := Walk__b12", "Walk__b12(kid, 1) + f(kid, 2)",
		"return limit + strings.Count(\"limit helper Walk\", \"Walk\")", "{helperName__b12: limit__b12}", "goto helper\nhelper:\n",
		"func helper__b12(limit *Node) int", "return limit.helper\n", "const limit__b12, helperName__b12 = 3",
		"// helper is called helper.")
	compilesBeside(t, u, got, variant(t, u, u.Target.Source, "__b13"))
}

func TestVariantOwnTypes(t *testing.T) {
	u := load(t, module(t, hostile), "Walk")
	src := `package h

type pair[T any] struct{ a, b T }

func (p pair[T]) first() T { return p.a }

type inner struct{ n int }

type whole struct {
	*inner
	pair[int]
}

var w = whole{inner: &inner{n: 1}, pair: pair[int]{a: 1}}

func Walk(n *Node, _ int) int {
	w.inner.n++
	return w.n + w.pair.first() + w.first() + (&w).inner.n + pair[int]{1, 2}.a
}
`
	got := variant(t, u, src, "__b1")
	wantIn(t, got, "whole__b1{inner__b1: &inner__b1{n: 1}, pair__b1: pair__b1[int]{a: 1}}", "w__b1.inner__b1.n++",
		"w__b1.pair__b1.first()", "func (p pair__b1[T]) first()")
	compilesBeside(t, u, got, variant(t, u, src, "__b2"), variant(t, u, u.Target.Source, "__b0"))
}

func TestVariantGenericMethod(t *testing.T) {
	u := load(t, module(t, `
-- l.go --
package l

type List[K comparable, V any] struct {
	next *List[K, V]
	key  K
	val  V
}

type getter[K comparable, V any] interface{ Get(k K) (V, bool) }

var _ getter[int, int] = (*List[int, int])(nil)

type wrap struct{ *List[string, int] }

func (l *List[K, V]) Get(k K) (v V, ok bool) {
	if l == nil {
		return v, false
	}
	if same(l.key, k) {
		return l.val, true
	}
	get := (*List[K, V]).Get
	_, _ = get(l.next, k)
	var other List[string, V]
	other.Get("x")
	wrap{}.Get("y")
	return l.next.Get(k)
}

func same[K comparable](a, b K) bool { return a == b }
`), "List.Get")
	got := variant(t, u, u.Target.Source, "__b4")
	wantIn(t, got, "func (l *List[K, V]) Get__b4(k K)", "same__b4(l.key, k)", "get := (*List[K, V]).Get__b4",
		"other.Get__b4(\"x\")",
		"wrap{}.Get__b4(\"y\")", "l.next.Get__b4(k)", "func same__b4[K comparable]")
	compilesBeside(t, u, got)
	if u.Target.Recv != "*List" || strings.Join(u.Target.TypeArgs, " ") != "int int" {
		t.Errorf("target %+v", u.Target)
	}
}

func TestVariantRefusesItsOwnSuffix(t *testing.T) {
	u := load(t, module(t, hostile), "Walk")
	f, p := u.Reader.Parse("package h\n\nfunc Walk(n *Node, Walk__b1 int) int { return Walk__b1 }\n")
	if p != nil {
		t.Fatal(p)
	}
	if _, err := u.Writer.Variant(f, "__b1"); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("clash accepted: %v", err)
	}
	if _, err := u.Writer.Variant(f, "__b2"); err != nil {
		t.Error(err)
	}
}

// TestForeignFunctions checks that functions that nobody here wrote stand beside their own
// variants, and that the original as a candidate is no change.
func TestForeignFunctions(t *testing.T) {
	for _, spec := range []string{"golang.org/x/mod/semver.Compare", "golang.org/x/mod/semver.ByVersion.Less",
		"golang.org/x/mod/module.EscapePath"} {
		u := load(t, "../..", spec)
		compilesBeside(t, u, variant(t, u, u.Target.Source, "__b0"), variant(t, u, u.Target.Source, "__b1"))
		if p := mustPatch(t, u, u.Target.Source); p.Diff != "" {
			t.Errorf("%s: the original changes\n%s", spec, p.Diff)
		}
	}
}
