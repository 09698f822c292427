package example_test

import (
	"bytes"
	_ "embed"
	"go/format"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/example/exampletest"
)

//go:embed example_test.go
var source string

// mutator completes a rule of this test.
func mutator(r example.Rule) *mutate.Mutator {
	r.Doc, r.Class, r.Gain, r.Source = "A rule of a test.", beagle.E0, 2, source
	return r.Mutator()
}

// search replaces a loop by slices.Contains.
var search = mutator(example.Rule{
	Name:  "test-search",
	Pairs: []example.Pair{{Before: look[int], After: contains[int]}},
})

func look[T comparable](s []T, x T) bool {
	for _, v := range s {
		if v == x {
			return true
		}
	}
	return false
}

func contains[T comparable](s []T, x T) bool { return slices.Contains(s, x) }

// double replaces a product by a sum, which evaluates its parameter twice.
var double = mutator(example.Rule{
	Name: "test-double",
	Pairs: []example.Pair{{
		Before: func(x int) int { return 2 * x },
		After:  func(x int) int { return x + x },
	}},
})

// last says that only the last turn counts, and keeps the variable that lives on.
var last = mutator(example.Rule{
	Name: "test-last",
	Pairs: []example.Pair{{
		Before: func(s []int, n int) int {
			for _, v := range s {
				n = v
			}
			return n
		},
		After: func(s []int, n int) int {
			if len(s) > 0 {
				n = s[len(s)-1]
			}
			return n
		},
	}},
})

// turned runs two pieces of code in the other order.
var turned = mutator(example.Rule{
	Name: "test-turned",
	Pairs: []example.Pair{{
		Before: func(c bool, a, b func()) {
			if c {
				a()
			} else {
				b()
			}
		},
		After: func(c bool, a, b func()) {
			if !c {
				b()
			} else {
				a()
			}
		},
	}},
})

// quotes makes one step of all places, some of which lie in others.
var quotes = mutator(example.Rule{
	Name: "test-quotes",
	Pairs: []example.Pair{{
		Before: func(s string) string { return strings.TrimPrefix(s, "a") },
		After:  func(s string) string { return strings.TrimLeft(s, "a") },
		Given:  func(s string) bool { return !strings.HasPrefix(s, "aa") },
	}, {
		Before: func(s string) string { return strings.TrimSuffix(s, "b") },
		After:  func(s string) string { return strings.TrimRight(s, "b") },
		Given:  func(s string) bool { return !strings.HasSuffix(s, "bb") },
	}},
	Together: true,
	Label:    func(*example.Match) string { return "ends" },
})

// parted replaces a call of several results.
var parted = mutator(example.Rule{
	Name: "test-parted",
	Pairs: []example.Pair{{
		Before: func(s string) (string, bool) { return strings.CutPrefix(s, "") },
		After:  func(s string) (string, bool) { return strings.CutSuffix(s, "") },
	}},
})

// upper names what a function returns, whose type the example leaves open.
var upper = mutator(example.Rule{
	Name: "test-upper",
	Pairs: []example.Pair{{
		Before: func(s string) string {
			t := strings.ToUpper(strings.ToUpper(s))
			return t
		},
		After: func(s string) string {
			t := strings.ToUpper(s)
			return t
		},
	}},
})

// longer compares lengths in the other order.
var longer = mutator(example.Rule{
	Name: "test-longer",
	Pairs: []example.Pair{{
		Before: func(s string, n int) bool { return len(s) < n },
		After:  func(s string, n int) bool { return n > len(s) },
	}},
})

// asked is a function that asks a loop, and says no behind it.
func asked(params, loop string) string {
	return "func f(" + params + ") bool { " + loop + "\n return false }\n" + bump
}

// found is asked with the loop of most cases, over a condition.
func found(params, condition string) string {
	return asked(params, "for _, x := range a { if "+condition+" { return true } }")
}

// named drops two conversions.
var named = mutator(example.Rule{
	Name: "test-named",
	Pairs: []example.Pair{{
		Before: func(s string) string { return string([]byte(s)) },
		After:  func(s string) string { return s },
	}},
})

// trimmed reads the bytes that a name holds as a text.
var trimmed = mutator(example.Rule{
	Name: "test-trimmed",
	Pairs: []example.Pair{{
		Before: func(b []byte) string { return strings.TrimSpace(string(b)) },
		After:  func(b []byte) string { return string(bytes.TrimSpace(b)) },
	}},
})

// read is a function that reads bytes as a text.
func read(body string) string {
	return "import \"strings\"\n\nfunc f(b []byte) string { " + body + " }\n\nfunc clear(b []byte) { b[0] = 0 }\n"
}

// cut is a function that takes a text apart.
func cut(body string) string {
	return "import \"strings\"\n\nfunc f(s string) string { " + body + " }\n\nvar _ = strings.Cut\n"
}

// bump and those behind it are functions with an effect.
const bump = "func bump(p *int) int { *p++; return *p }\n" +
	"func text(p *int) string { *p++; return \"x\" }\n" +
	"func set(s *string) int { *s = \"\"; return 1 }"

func TestMatch(t *testing.T) {
	const ints = "a []int, w int"
	for _, test := range []struct {
		name string
		rule *mutate.Mutator
		code string // of function f
		want string // a part of the result; empty if there is no site
	}{
		{"value", search, found("a []string, w string", "x == w"), "return slices.Contains(a, w)"},
		{"index", search, asked("a []string, w string", "for i := 0; i < len(a); i++ { if w == a[i] { return true } }"),
			"return slices.Contains(a, w)"},
		{"range of the length", search, asked("a []int", "for i := range len(a) { if a[i] == 3 { return true } }"),
			"return slices.Contains(a, 3)"},
		{"continue", search, asked(ints, "for _, x := range a { if x != w { continue }; return true }"),
			"return slices.Contains(a, w)"},
		{"negation", search, found(ints, "!(x != w)"), "return slices.Contains(a, w)"},
		{"what is sought is the element", search, found("a []int", "x == x"), ""},
		{"what is sought changes", search, found(ints, "x == bump(&w)"), ""},
		{"interfaces may panic", search, found("a []any, w any", "x == w"), ""},
		{"starts late", search, asked(ints, "for i := 1; i < len(a); i++ { if a[i] == w { return true } }"), ""},
		{"the name slices is taken", search,
			asked("slices []int, w int", "for _, x := range slices { if x == w { return true } }"),
			"stdslices.Contains(slices, w)"},

		{"plain", double, "func f(a int) int { return a * 2 }", "return a + a"},
		{"parentheses", double, "func f(a, b int) int { return 7 - 2*(a-b) }", "return 7 - (a - b + (a - b))"},
		{"effects", double, "func f(p *int) int { return 2 * bump(p) }\n" + bump, ""},
		{"another type", double, "func f(a int8) int8 { return 2 * a }", ""},

		{"lives on", last, "func f(a []int) int { most := 0\n for _, x := range a { most = x }\n return most }",
			"if len(a) > 0 {\n\t\tmost = a[len(a)-1]\n\t}\n\treturn most"},
		{"captured", last, "func f(a []int) (most int) { g := func() int { return most }\n" +
			"for _, x := range a { most = x }\n return g() }", ""},

		{"branches", turned, "func f(c bool) (n int) { if c { n = 1 } else { n = 2 }\n return n }",
			"if !c {\n\t\tn = 2\n\t} else {\n\t\tn = 1\n\t}"},
		{"returns", turned, "func f(c bool) (n int) { if c { return 1 } else { n = 2 }\n return n }",
			"if !c {\n\t\tn = 2\n\t} else {\n\t\treturn 1\n\t}"},
		{"a name lives on behind", turned, "func f(c bool) int { if c { x := 1; _ = x } else { x := 2; _ = x }\n" +
			" return 0 }", "x := 2"},

		{"together", quotes, "import \"strings\"\n\nfunc f(s string) string { if s == \"\" { return " +
			"strings.TrimSuffix(s, \"b\") }\n return strings.TrimSuffix(strings.TrimPrefix(s[1:], \"a\"), \"b\") }",
			"\t\treturn strings.TrimRight(s, \"b\")\n\t}\n\treturn " +
				"strings.TrimRight(strings.TrimLeft(s[1:], \"a\"), \"b\")"},

		{"a type of the same kind", upper,
			cut("var t string = strings.ToUpper(strings.ToUpper(s))\n return t"), "t := strings.ToUpper(s)"},
		{"a type of another kind", upper,
			cut("var t any = strings.ToUpper(strings.ToUpper(s))\n _ = t\n return s"), ""},
		{"effects in the order of the code", longer,
			"func f(w int) bool { return bump(&w) > len(text(&w)) }\n" + bump, "bump(&w) > len(text(&w))"},
		{"effects in another order", longer,
			"func f(w int) bool { return len(text(&w)) < bump(&w) }\n" + bump, ""},
		{"a variable that the other operand sets", longer,
			"func f(w int, s string) bool { return len(s) < set(&s) }\n" + bump, ""},
		{"a variable that the other operand leaves", longer,
			"func f(w int, s string) bool { return len(s) < bump(&w) }\n" + bump, "bump(&w) > len(s)"},

		{"several results", parted, cut("t, _ := strings.CutPrefix(s, \"\")\n return t"),
			"t, _ := strings.CutSuffix(s, \"\")"},

		{"a name", quotes, cut("t := strings.TrimPrefix(s, \"a\")\n return strings.TrimSuffix(t, \"b\")"),
			"t := strings.TrimLeft(s, \"a\")\n\treturn strings.TrimRight(t, \"b\")"},
		{"a name for a value", named, cut("b := []byte(s)\n s = \"\"\n_ = s\n return string(b)"), ""},
		{"a name for a value that stays", named, cut("b := []byte(s)\n return string(b)"),
			"func f(s string) string {\n\treturn s\n}"},
		{"a name that is read again", named, cut("b := []byte(s)\n b = append(b, 1)\n return string(b)"), ""},
		{"a name for bytes", trimmed, read("s := string(b)\n t := 1\n _ = t\n return strings.TrimSpace(s)"),
			"string(bytes.TrimSpace(b))"},
		{"a name for bytes that change", trimmed, read("s := string(b)\n b[0] = 1\n return strings.TrimSpace(s)"), ""},
		{"a name for bytes that a call changes", trimmed,
			read("s := string(b)\n clear(b)\n return strings.TrimSpace(s)"), ""},
		{"a name for bytes in a condition", trimmed,
			read("s := string(b)\n for len(b) > 2 { b = b[1:]; if strings.TrimSpace(s) == \"\" { break } }\n " +
				"return \"\""), ""},
		{"a name in a loop", named, cut("b := []byte(s)\n for range 3 { s = string(b) }\n return s"), ""},
		{"a name of another block", named, cut("b := []byte(s)\n if s := 3; s > 2 { return string(b) }\n return s"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := mutate.Check("package p\n\n"+test.code+"\n", "f", nil)
			if err != nil {
				t.Fatal(err)
			}
			sites := test.rule.Find(p)
			if test.want == "" {
				if len(sites) > 0 {
					t.Fatalf("found %q, want no site", sites[0].Label)
				}
				return
			}
			if len(sites) != 1 {
				t.Fatalf("found %d sites, want one", len(sites))
			}
			text, _, err := mutate.Take(p, test.rule, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			out, err := format.Source([]byte(text.Src))
			if err != nil {
				t.Fatalf("%v\n%s", err, text.Src)
			}
			if _, err := mutate.Check(string(out), "f", nil); err != nil {
				t.Errorf("the result does not compile: %v\n%s", err, out)
			}
			if !strings.Contains(string(out), test.want) {
				t.Errorf("got\n%s\nwant %q in it", out, test.want)
			}
		})
	}
}

// TestPairs runs the pairs of this file, and one that is wrong for a few inputs only.
func TestPairs(t *testing.T) {
	for _, r := range example.Registered() {
		for i, p := range r.Pairs {
			if err := exampletest.Pair(r.Class, p, 1000); err != nil {
				t.Errorf("%s, pair %d: %v", r.Name, i, err)
			}
		}
	}
	for name, wrong := range map[string]example.Pair{
		"empty": {Before: func(s []int) int { return len(s) }, After: func(s []int) int { return max(len(s), 1) }},
		"order": {
			Before: func(a, b func()) { a(); b() },
			After:  func(a, b func()) { b(); a() },
		},
		"argument": {
			Before: func(s []byte) { copy(s, "x") },
			After:  func(s []byte) { clear(s) },
		},
		"panic": {
			Before: func(s []int) bool { return s == nil || s[0] >= 0 || true },
			After:  func(s []int) bool { return true },
		},
	} {
		if exampletest.Pair(beagle.E0, wrong, 1000) == nil {
			t.Errorf("nothing tells Before from After of the wrong pair %q", name)
		}
	}
}

// TestMistakes checks that a rule that is no rule is refused with its reason when it is first
// used.
func TestMistakes(t *testing.T) {
	example.Forget(t)
	for _, test := range []struct{ name, source, want string }{
		{"no-literal", "package p", "does not hold the rule's literal"},
		{"no-name", "package p\nvar r = example.Rule{Name: \"no-name\", Pairs: []example.Pair{{Before: " +
			"func(x int) int { return y }, After: func(x int) int { return x }}}}", "nothing declares y"},
		{"no-syntax", "package", "expected"},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				got, _ := recover().(string)
				if !strings.Contains(got, test.want) {
					t.Errorf("got %q, want %q in it", got, test.want)
				}
			}()
			one := func(x int) int { return x }
			pairs := []example.Pair{{Before: one, After: one}}
			example.Rule{Name: test.name, Source: test.source, Pairs: pairs}.Mutator().Example()
		})
	}
}
