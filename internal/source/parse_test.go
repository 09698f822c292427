package source

import (
	"go/format"
	"strings"
	"sync"
	"testing"
)

// rename changes the text of the target's source; every old must occur.
func rename(t testing.TB, src string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(src, pairs[i]) {
			t.Fatalf("no %q in\n%s", pairs[i], src)
		}
		src = strings.ReplaceAll(src, pairs[i], pairs[i+1])
	}
	return src
}

func TestParseProblems(t *testing.T) {
	u := load(t, module(t, tagsModule), "./tags.Normalize")
	for _, c := range []struct {
		name, stage, message string
		line                 int
		src                  string
	}{
		{"syntax", "parse", "missing ','", 3, "package tags\n\nfunc Normalize(s string string { return s }\n"},
		{"empty", "parse", "expected", 1, ""},
		{"package", "scope", "package clause says tag", 1, "package tag\n\nfunc Normalize(s string) string { return s }\n"},
		{"type error", "types", "cannot use 1", 3, "package tags\n\nfunc Normalize(s string) string { return 1 }\n"},
		{"unused variable", "types", "declared and not used", 3, "package tags\n\nfunc Normalize(s string) string { x := 1; return s }\n"},
		{"unused import", "types", "imported and not used", 3, "package tags\n\nimport \"fmt\"\n\nfunc Normalize(s string) string { return s }\n"},
		{"missing return", "types", "missing return", 3, "package tags\n\nfunc Normalize(s string) string { for s != \"\" { } }\n"},
		{"undefined", "types", "undefined: lower", 3, "package tags\n\nfunc Normalize(s string) string { return lower(s) }\n"},
		{"no target", "scope", "does not declare Normalize", 0, "package tags\n\nfunc lower(s string) string { return s }\n"},
		{"twice", "scope", "declared twice", 4, "package tags\n\nfunc Normalize(s string) string { return s }\nfunc Normalize(s string) string { return s }\n"},
		{"signature", "scope", "the signature of Normalize changed: func([]byte) string, was func(string) string", 3, "package tags\n\nfunc Normalize(s []byte) string { return string(s) }\n"},
		{"rest", "scope", "Other is declared by the rest", 4, "package tags\n\nfunc Normalize(s string) string { return s }\nfunc Other() int { return 1 }\n"},
		{"rest variable", "scope", "shared is declared by the rest", 4, "package tags\n\nfunc Normalize(s string) string { return s }\nvar shared = 2\n"},
		{"used by a test", "scope", "usedByTest is declared by the rest", 4, "package tags\n\nfunc Normalize(s string) string { return s }\nfunc usedByTest() int { return 2 }\n"},
		{"exported", "scope", "New is exported", 4, "package tags\n\nfunc Normalize(s string) string { return s }\nfunc New() {}\n"},
		{"init", "scope", "init function", 4, "package tags\n\nfunc Normalize(s string) string { return s }\nfunc init() {}\n"},
		{"blank", "scope", "blank", 4, "package tags\n\nfunc Normalize(s string) string { return s }\nvar _ = 1\n"},
		{"method", "scope", "may not change the methods of T", 4, "package tags\n\nfunc Normalize(s string) string { return s }\nfunc (t T) extra() {}\n"},
		{"no body", "scope", "has no body", 4, "package tags\n\nfunc Normalize(s string) string { return s }\nfunc asm()\n"},
		{"cgo", "scope", "cgo", 3, "package tags\n\nimport \"C\"\n\nfunc Normalize(s string) string { return s }\n"},
		{"foreign import", "scope", "import of example.org/x", 3, "package tags\n\nimport \"example.org/x\"\n\nfunc Normalize(s string) string { return x.F(s) }\n"},
		{"internal import", "scope", "import of internal/abi", 3, "package tags\n\nimport \"internal/abi\"\n\nfunc Normalize(s string) string { return s }\n"},
		{"no such std", "scope", "import of strngs", 3, "package tags\n\nimport \"strngs\"\n\nfunc Normalize(s string) string { return s }\n"},
		{"new language", "types", "", 3, "package tags\n\nfunc Normalize(s string) string { return *new(s) }\n"},
	} {
		f, p := u.Reader.Parse(c.src)
		switch {
		case p == nil:
			t.Errorf("%s: accepted %v", c.name, f.Func)
		case p.Stage != c.stage || !strings.Contains(p.Message, c.message) || p.Line != c.line:
			t.Errorf("%s: %+v, want %s %q line %d", c.name, *p, c.stage, c.message, c.line)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	u := load(t, module(t, tagsModule), "./tags.Normalize")
	for name, src := range map[string]string{
		"other names, new helper, new import": "package tags\n\nimport \"strings\"\n\nfunc Normalize(tag string) (out string) { return helper(strings.TrimSpace(tag)) }\n\nfunc helper(s string) string { return s }\n",
		"own type with methods":               "package tags\n\ntype pair struct{ a, b string }\n\nfunc (p pair) join() string { return p.a + p.b }\n\nfunc Normalize(s string) string { return pair{s, \"\"}.join() }\n",
		"seldom imported std":                 "package tags\n\nimport \"encoding/base64\"\n\nfunc Normalize(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }\n",
		"helper becomes a variable":           "package tags\n\nvar lower = 1\n\nfunc Normalize(s string) string { return s[lower:] }\n",
		"rest's names":                        "package tags\n\nfunc Normalize(s string) string { t := T{n: shared + other}; t.Add(1); return s }\n",
	} {
		f, p := u.Reader.Parse(src)
		if p != nil {
			t.Errorf("%s: %+v", name, *p)
			continue
		}
		if f.Func.Name.Name != "Normalize" || f.Types.Scope().Lookup("T") == nil {
			t.Errorf("%s: file %+v", name, f)
		}
		if f.Types.Scope().Lookup("T").Pos() >= f.AST.FileStart {
			t.Errorf("%s: the rest's positions lie in the candidate", name)
		}
	}
}

func TestParseConcurrently(t *testing.T) {
	u := load(t, module(t, tagsModule), "./tags.Normalize")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			src := rename(t, u.Target.Source, "strings.ToLower(", "strings.ToUpper(")
			if i%2 == 0 {
				src = "package tags\n\nimport (\"slices\"; \"net/netip\"; \"regexp\")\n\nvar x netip.Addr\n" +
					"var r regexp.Regexp\nfunc Normalize(s string) string { slices.Max([]int{1}); _ = x.String(); " +
					"return r.String() }\n"
			}
			f, p := u.Reader.Parse(src)
			if p != nil {
				t.Errorf("%+v", *p)
				return
			}
			if _, err := u.Writer.Variant(f, "__b1"); err != nil {
				t.Error(err)
			}
			u.Package.TypeString(f.Types.Scope().Lookup("T").Type())
		})
	}
	wg.Wait()
}

// TestParseHoldsLittle checks that what is held of parsed texts is bounded, the more so the larger
// their package is: 25 MB for each of the 8 or more of one with 5 MB of text.
func TestParseHoldsLittle(t *testing.T) {
	for text, want := range map[int]int{0: maxParsed, 100_000: maxParsed, 5_000_000: 10, 500_000_000: 8} {
		if got := roomFor(text); got != want {
			t.Errorf("%d of a package with %d bytes of text", got, text)
		}
	}
	u := load(t, module(t, tagsModule), "./tags.Normalize")
	if u.Reader.Room() != maxParsed {
		t.Errorf("room for %d of a small package", u.Reader.Room())
	}
	u.Reader.room = 3
	for i := range 10 {
		src := u.Target.Source + strings.Repeat("\n", i)
		if _, problem := u.Reader.Parse(src); problem != nil {
			t.Fatal(problem)
		}
		if n := len(u.Reader.parsed); n == 0 || n > 3 {
			t.Fatalf("%d held", n)
		}
	}
}

func TestNormalize(t *testing.T) {
	u := load(t, module(t, tagsModule), "./tags.Normalize")
	for _, c := range []struct{ name, src, want string }{
		{"imports and layout",
			"package tags\nimport \"fmt\"\nimport (\n\t\"unicode/utf8\" // why\n)\n\n\n\nfunc Normalize(s string)string{return strings.ToLower(s[:bits.Len(utf8.RuneLen('x'))])}",
			"package tags\n\nimport (\n\t\"math/bits\"\n\t\"strings\"\n\t\"unicode/utf8\"\n)\n\nfunc Normalize(s string) string { return strings.ToLower(s[:bits.Len(utf8.RuneLen('x'))]) }\n"},
		{"a local named as a package",
			"package tags\n\nfunc Normalize(strings T) string { return strings.x }",
			"package tags\n\nfunc Normalize(strings T) string { return strings.x }\n"},
		{"names kept",
			"package tags\n\nimport str \"strings\"\nimport _ \"embed\"\n\nfunc Normalize(s string) string { return str.ToLower(s) }",
			"package tags\n\nimport (\n\t_ \"embed\"\n\tstr \"strings\"\n)\n\nfunc Normalize(s string) string { return str.ToLower(s) }\n"},
		{"raw strings",
			"package tags\n\nvar x = `a\n\n\n\nb`\n\nfunc Normalize(s string) string { return x }",
			"package tags\n\nvar x = `a\n\n\n\nb`\n\nfunc Normalize(s string) string { return x }\n"},
		{"layout alone",
			"package tags\n\nimport (\n\t\"math/bits\"\n\t\"strings\"\n)\n\n// Normalize it.\nfunc Normalize(s string) string {\nn  := bits.Len( 0XFFP1 ) // a\nlong := 0O17  // b\n\treturn strings.Repeat(s, n+long)\n}\n",
			"package tags\n\nimport (\n\t\"math/bits\"\n\t\"strings\"\n)\n\n// Normalize it.\nfunc Normalize(s string) string {\n\tn := bits.Len(0xFFp1) // a\n\tlong := 0o17          // b\n\treturn strings.Repeat(s, n+long)\n}\n"},
	} {
		got, err := u.Reader.Normalize(c.src)
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, c.want)
		}
		if layout, err := format.Source([]byte(got)); err != nil || string(layout) != got {
			t.Errorf("%s: gofmt makes of it, %v\n%s", c.name, err, layout)
		}
		if again, _ := u.Reader.Normalize(got); again != got {
			t.Errorf("%s: not stable:\n%s", c.name, again)
		}
	}
	if _, err := u.Reader.Normalize("package"); err == nil {
		t.Error("accepted a text that is not Go")
	}
}

func TestTypeStrings(t *testing.T) {
	u := load(t, module(t, `
-- s.go --
package s

import (
	crand "crypto/rand"
	goscan "go/scanner"
	"math/rand"
	"text/scanner"
)

type T struct{}

var _ = crand.Reader
var hidden rand.Source

func F(a *T, r map[string]rand.Source, p scanner.Position, e *goscan.Error) []T { return nil }
`), "F")
	sig := u.Package.TypeString(u.Sig.Params())
	if sig != "(a *T, r map[string]rand.Source, p scanner.Position, e *scanner2.Error)" {
		t.Errorf("types %s", sig)
	}
}

func BenchmarkParse(b *testing.B) {
	u := load(b, module(b, tagsModule), "./tags.Normalize")
	for b.Loop() {
		if _, p := u.Reader.Parse(u.Target.Source); p != nil {
			b.Fatal(p)
		}
	}
}
