package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// siteModule writes a module whose package a declares the targets and whose
// package b has the functions of body.
func siteModule(t *testing.T, body string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module ex.com/m\n\ngo 1.24\n",
		"a/a.go": `package a

func F(s string, n int) int { return len(s) * n }

func G(dst, src []byte) int { return copy(dst, src) }

func V(xs ...string) int { return len(xs) }

type T struct{ n int }

func (t *T) M(b byte) int { return t.n + int(b) }

func P(p *int) int { return *p }

var _ = F("own", 1)
`,
		"b/b.go": "package b\n\nimport (\n\t\"unicode/utf8\"\n\n\t\"ex.com/m/a\"\n)\n\nvar _ = utf8.RuneLen\n\n" + body + "\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCallSites tries one call a case, in a function f(s, t string, n, m int, x, y []byte); F's own
// package adds one call that keeps to everything that is asked here.
func TestCallSites(t *testing.T) {
	cases := []struct {
		target, cond, code string
		proved             bool
	}{
		{"F", "n > 0", `a.F(s, 5)`, true},
		{"F", "n > 0", `a.F(s, 0)`, false},
		{"F", "n > 0", `a.F(s, n)`, false},
		{"F", "n >= 0", `a.F(s, len(x))`, true},
		{"F", "n >= 0", `a.F(s, len(x)-1)`, false},
		{"F", "n > 0", `a.F(s, len(x)+1)`, true},
		{"F", "n < 8", `a.F(s, n&7)`, true},
		{"F", "n < 8", `a.F(s, n%8)`, true},
		{"F", "n >= 0", `a.F(s, n%8)`, false},
		{"F", "n >= 0", `a.F(s, int(x[0]))`, true},
		{"F", "n < 1<<8", `a.F(s, int(uint8(n)))`, true},
		{"F", "n >= 0", `a.F(s, int(int8(n)))`, false},
		{"F", "n >= 0 && n < 10", `for i := 0; i < 10; i++ { a.F(s, i) }`, true},
		{"F", "n >= 0", `for i := 0; i < 10; i++ { i = -1; a.F(s, i) }`, false},
		{"F", "n >= 0", `for i := 9; i > -5; i-- { a.F(s, i) }`, false},
		{"F", "n < len(s)", `for i := range s { a.F(s, i) }`, true},
		{"F", "n < len(s)", `for i := range s { s = s[1:]; a.F(s, i) }`, false},
		{"F", "n < len(s)", `for i := range t { a.F(s, i) }`, false},
		{"F", "n >= 0", `for i := range n { a.F(s, i) }`, true},
		{"F", "n > 0", `if n > 0 { a.F(s, n) }`, true},
		{"F", "n > 0", `if n >= 0 { a.F(s, n) }`, false},
		{"F", "n >= 0", `if n > 0 { a.F(s, n) }`, true},
		{"F", "n > 0", `if n > 0 { n = m; a.F(s, n) }`, false},
		{"F", "n > 0", `if n > 0 { for range 3 { a.F(s, n); n-- } }`, false},
		{"F", "n > 0", `if n > 0 { p := &n; *p = 0; a.F(s, n) }`, false},
		{"F", "n > 0", `if n > 0 { func() { n = 0 }(); a.F(s, n) }`, false},
		{"F", "n > 0", `if n > 0 { _ = func() int { return a.F(s, n) } }`, false},
		{"F", "n > 0", `if n <= 0 { return }; a.F(s, n)`, true},
		{"F", "n > 0", `if n <= 0 { m++ }; a.F(s, n)`, false},
		{"F", "n > 0", `if n <= 0 { return }; n--; a.F(s, n)`, false},
		{"F", "n > 0", `if n < 1 || m < 0 { panic(n) }; a.F(s, n)`, true},
		{"F", "n > 0", `if n < 1 && m < 0 { return }; a.F(s, n)`, false},
		{"F", "n > 0", `if n < 1 { m++ } else { a.F(s, n) }`, true},
		{"F", "n > 0", `goto L; if n < 1 { return }
L: a.F(s, n)`, false},
		{"F", "n > 0", `k := 4; a.F(s, k)`, true},
		{"F", "n > 0", `k := 4; k -= 4; a.F(s, k)`, false},
		{"F", "n > 0", `k := n; a.F(s, k)`, false},
		{"F", "len(s) < 4", `a.F("abc", n)`, true},
		{"F", "len(s) < 4", `a.F("abcd", n)`, false},
		{"F", "len(s) < 4", `if len(s) < 4 { a.F(s, n) }`, true},
		{"F", "len(s) < 4", `if len(s) < 4 { s += t; a.F(s, n) }`, false},
		{"F", "len(s) < 4", `if len(s) < 3 { a.F(s, n) }`, true},
		{"F", "len(s) < 4", `if len(s) > 40 { return }; a.F(s, n)`, false},
		{"F", "len(s) < 4", `a.F(string(x[:3]), n)`, true},
		{"F", "len(s) < 4", `a.F(s[:3], n)`, true},
		{"F", "len(s) < 4", `a.F(s[n:], n)`, false},
		{"F", "utf8.ValidString(s)", `a.F("\xff", n)`, false},
		{"F", "utf8.ValidString(s)", `a.F("ä", n)`, true},
		{"F", "utf8.ValidString(s)", `if utf8.ValidString(s) { a.F(s, n) }`, true},
		{"F", "utf8.ValidString(s)", `if utf8.ValidString(t) { a.F(s, n) }`, false},
		{"F", "utf8.ValidString(s)", `if !utf8.ValidString(s) { return }; a.F(s, n)`, true},
		{"F", "utf8.ValidString(s) && utf8.RuneCountInString(s) == len(s)", `a.F("abc", n)`, true},
		{"F", "utf8.ValidString(s) && utf8.RuneCountInString(s) == len(s)", `a.F("ä", n)`, false},
		{"F", "strings.IndexByte(s, 0) < 0", `a.F("abc", n)`, true},
		{"F", "strings.IndexByte(s, 0) < 0", `a.F("a\x00c", n)`, false},
		{"G", "len(src) <= len(dst)", `d := make([]byte, len(x)); a.G(d, x)`, true},
		{"G", "len(src) <= len(dst)", `d := make([]byte, len(x)); x = y; a.G(d, x)`, false},
		{"G", "len(src) <= len(dst)", `d := make([]byte, len(y)); a.G(d, x)`, false},
		{"G", "len(src) == len(dst)", `a.G(x, x)`, true},
		{"G", "len(src) <= len(dst)", `if len(x) <= len(y) { a.G(y, x) }`, true},
		{"G", "len(src) <= len(dst)", `if len(x) >= len(y) { a.G(y, x) }`, false},
		{"G", "len(src) <= len(dst)", `if len(y) < len(x) { return }; a.G(y, x)`, true},
		{"G", "dst != nil", `a.G([]byte(s), x)`, true},
		{"G", "dst != nil", `a.G(x, x)`, false},
		{"G", "dst != nil", `a.G(nil, x)`, false},
		{"G", "dst != nil", `if x != nil { a.G(x, x) }`, true},
		{"V", "len(xs) > 1", `a.V(s, t)`, true},
		{"V", "len(xs) > 1", `a.V(s)`, false},
		{"V", "len(xs) > 1", `a.V([]string{s, t}...)`, true},
		{"T.M", "b < 128", `new(a.T).M(1)`, true},
		{"T.M", "b < 128", `new(a.T).M(x[0])`, false},
		{"T.M", "t != nil", `new(a.T).M(x[0])`, true},
		{"T.M", "t != nil", `var q *a.T; q.M(x[0])`, false},
		{"P", "p != nil", `a.P(&n)`, true},
		{"P", "p != nil", `a.P(nil)`, false},
	}
	var body strings.Builder
	for i, c := range cases {
		fmt.Fprintf(&body, "func f%d(s, t string, n, m int, x, y []byte) {\n\t%s\n}\n\n", i, c.code)
	}
	dir := siteModule(t, body.String())
	units := map[string]*Unit{}
	for _, c := range cases {
		if units[c.target] == nil {
			units[c.target] = load(t, dir, "./a."+c.target)
		}
	}
	pkg := loadSites(t, units["F"])
	for i, c := range cases {
		u := units[c.target]
		p, err := u.Conditions.Predicate(c.cond)
		if err != nil {
			t.Errorf("%s: %v", c.cond, err)
			continue
		}
		sites := u.Callers.sitesOfFunction(pkg, fmt.Sprintf("f%d", i))
		if len(sites) != 1 {
			t.Errorf("%s: %d call sites of %s, want 1", c.code, len(sites), c.target)
			continue
		}
		if got := sites[0].keeps([]*Predicate{p}); got != c.proved {
			t.Errorf("%s for %s: proved is %v, want %v", c.cond, c.code, got, c.proved)
		}
	}
	proved, all, err := units["F"].Callers.CallSites(context.Background(), nil)
	if err != nil || all < 50 || proved != all {
		t.Errorf("without a condition %d of %d sites keep to it, %v", proved, all, err)
	}
}
