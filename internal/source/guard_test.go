package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// guardModule has targets of several forms.
const guardModule = `package p

import "strings"

const sep = ','

// Count counts fields.
func Count(s string, extra ...int) int {
	n := len(extra)
	for _, f := range strings.Split(s, string(rune(sep))) {
		n += weigh(f)
	}
	return n
}

func weigh(f string) int { return len(f) + offset }

const offset = 2

type T struct{ n int }

// Add adds.
func (t *T) Add(by int) {
	if by > 100 {
		t.Add(by - 100)
	}
	t.n += by
}

func Map[K comparable, V any](m map[K]V, def V, k K) V {
	if v, ok := m[k]; ok {
		return v
	}
	return def
}

func Blank(_ string) int { return 1 }
`

func guardUnit(t *testing.T, target string) *Unit {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module ex.com/p\n\ngo 1.24\n", "p.go": guardModule} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return load(t, dir, "./."+target)
}

func TestGuarded(t *testing.T) {
	for _, c := range []struct {
		target, cond, src string
		want              []string // pieces of the guarded form
		refused           string
	}{
		{"Count", "utf8.ValidString(s) && len(extra) < 3", `package p

func Count(text string, more ...int) int { return len(more) + weigh(text) }

func weigh(f string) int { return len(f) + offset + 0 }

const offset = 3
`, []string{
			"if !(utf8.ValidString(text) && len(more) < 3) {\n\t\treturn countOriginal(text, more...)\n\t}",
			"func countOriginal(s string, extra ...int) int {", "n += weighOriginal(f)",
			"func weighOriginal(f string) int { return len(f) + offsetOriginal }", "const offsetOriginal = 2", "const offset = 3", `"strings"`, `"unicode/utf8"`,
		}, ""},
		{"Count", "len(s) > 0", "package p\n\nfunc Count(s string, extra ...int) int { return weigh(s) }\n\nfunc weigh(f string) int { return len(f) + offset }\n\nconst offset = 9\n",
			[]string{"weighOriginal(f)", "offsetOriginal"}, ""}, // weigh is the same text, but means another offset
		{"T.Add", "by >= 0", "package p\n\nfunc (x *T) Add(k int) { x.n += k }\n",
			[]string{"if !(k >= 0) {\n\t\ttAddOriginal(x, k)\n\t\treturn\n\t}", "func tAddOriginal(t *T, by int) {",
				"t.Add(by - 100)"}, ""},
		{"Map", "len(m) > 0", "package p\n\nfunc Map[K comparable, V any](q map[K]V, def V, k K) V { return q[k] }\n",
			[]string{"return mapOriginal[K, V](q, def, k)", "func mapOriginal[K comparable, V any]("}, ""},
		{"Blank", `arg0 != ""`, "package p\n\nfunc Blank(_ string) int { return 1 }\n", nil, "without a name"},
	} {
		u := guardUnit(t, c.target)
		p, err := u.Conditions.Predicate(c.cond)
		if err != nil {
			t.Fatal(err)
		}
		got, err := u.Writer.Guarded(u.Reader.Complete(c.src), []*Predicate{p})
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want %q", c.target, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.target, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", c.target, want, got)
			}
		}
	}
}
