package inject

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const lib = `package lib

import (
	"context"
	str "strings"
)

// T has methods.
type T struct{ n int }

type pair struct{ a, b int }

func Upper(s string) string { return str.ToUpper(s) }

func (t *T) Add(n int, more ...int) (sum int, err error) {
	t.n += n
	for _, m := range more { t.n += m }
	return t.n, nil
}

func (T) Value(_ int, string2 string) (_ pair, ok bool) { return pair{1, 2}, true }

func Local(p *pair, f func(a, b int) int, c struct {
	X int // with a comment
	Y []string
}) (x, y int) {
	y = f(p.a, p.b)
	return c.X, y
}

func Nothing(ctx context.Context, ch <-chan int) {
	if len(ch) > 0 {
		panic(str.Repeat("x", 3))
	}
}

func Fact(n int) int {
	if n < 2 { return 1 }
	return n * Fact(n-1)
}

func Escapes(b []byte) (n int) {
	for _, c := range b { n += int(c) }
	return
}
`

const test = `package lib

import "testing"

func TestAll(t *testing.T) {
	v := &T{}
	if s, err := v.Add(1, 2, 3); s != 6 || err != nil { t.Error(s, err) }
	if p, ok := v.Value(1, ""); p != (pair{1, 2}) || !ok { t.Error(p, ok) }
	if x, y := Local(&pair{2, 3}, func(a, b int) int { return a * b }, struct { X int; Y []string }{X: 7}); x != 7 || y != 6 { t.Error(x, y) }
	if Upper("a") != "A" || Fact(5) != 120 { t.Error("wrong") }
	Nothing(nil, nil)
	n := testing.AllocsPerRun(100, func() { var b [64]byte; Escapes(b[:]) })
	if n != 0 { t.Errorf("%v allocations: an argument moved to the heap", n) }
}
`

// newModule writes a module outside of the repository.
func newModule(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOFLAGS", "-pgo=off")
	return dir
}

func command(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestWrite: all kinds of signatures are instrumented in a module whose go.mod says nothing but its
// name. The package's tests pass, no argument moves to the heap, and the tree stays as it was.
func TestWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a package and its test")
	}
	const mod = "module example.com/lib\n"
	dir := newModule(t, map[string]string{"go.mod": mod, "lib.go": lib, "lib_test.go": test})
	specs := []string{"Upper", "T.Add", "T.Value", "Local", "Nothing", "Fact", "Escapes"}
	for i := range specs {
		specs[i] = "example.com/lib." + specs[i]
	}
	o, err := Write(t.Context(), Options{Dir: dir, Specs: specs}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	command(t, dir, "test", "-vet=off", "-overlay="+o.Path, ".")
	plain, probed := leaks(t, dir), leaks(t, dir, "-overlay="+o.Path)
	for _, line := range plain {
		if !slices.Contains(probed, line) {
			t.Errorf("the instrumented file no longer has %q: it has %q", line, probed)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "go.mod")); string(text) != mod {
		t.Errorf("go.mod became %q", text)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("the tree holds %v", entries)
	}
	if len(o.Sites) != 7 ||
		!slices.ContainsFunc(o.Sites, func(s Site) bool { return s.Warning != "" }) {
		t.Errorf("%+v", o.Sites)
	}
}

var escape = regexp.MustCompile(
	`(?m)^\./lib\.go:(\d+):\d+: ((?:leaking param|moved to heap)\S* \S+|.* does not escape)$`)

// leaks lists what the compiler says of parameters, by line.
func leaks(t *testing.T, dir string, flags ...string) (all []string) {
	t.Helper()
	out := command(t, dir, slices.Concat([]string{"build", "-gcflags=-m"}, flags, []string{"."})...)
	for _, m := range escape.FindAllStringSubmatch(out, -1) {
		if !strings.Contains(m[2], "...") {
			all = append(all, m[1]+": "+m[2])
		}
	}
	if len(all) == 0 {
		t.Fatalf("the compiler says nothing: %s", out)
	}
	return all
}

func TestRefuse(t *testing.T) {
	dir := newModule(t, map[string]string{"go.mod": "module example.com/lib\n\ngo 1.22\n", "a/a.go": `package a

func Generic[T any](x T) T { return x }

type G[T any] struct{}

func (G[T]) M(x int) int { return x }

func init() {}

func Empty() {}

func Assembly(x int) int
`, "a/a.s": "", "b/b.go": "package b\n\nfunc F(x int) int { return y }\n"})
	for spec, want := range map[string]string{"./a.Generic": "generic", "./a.G.M": "generic",
		"./a.init":  "nothing calls it",
		"./a.Empty": "takes nothing", "./a.Assembly": "no Go body", "./b.F": "does not compile", "./a.Missing": "declares no Missing",
		"./nowhere.F": "no package ./nowhere or .", "strings.ToLower": "standard library"} {
		_, err := Write(t.Context(), Options{Dir: dir, Specs: []string{spec}}, t.TempDir())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
}

// TestSkip checks that functions that cannot be instrumented are left out on demand, and that
// misspelt names and lists of nothing else still end the build.
func TestSkip(t *testing.T) {
	dir := newModule(t, map[string]string{"go.mod": "module example.com/lib\n\ngo 1.22\n", "a/a.go": `package a

func Generic[T any](x T) T { return x }

func Plain(x int) int { return x + 1 }
`})
	write := func(specs ...string) (*Overlay, error) {
		return Write(t.Context(), Options{Dir: dir, Specs: specs, Skip: true}, t.TempDir())
	}
	o, err := write("./a.Generic", "./a.Plain")
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Sites) != 1 || o.Sites[0].Name != "example.com/lib/a.Plain" || len(o.Left) != 1 ||
		o.Left[0].Spec != "./a.Generic" || !strings.HasPrefix(o.Left[0].Why, "it is generic") {
		t.Errorf("%+v", o)
	}
	if _, err := write("./a.Plain", "./a.Missing"); err == nil ||
		!strings.Contains(err.Error(), "declares no Missing") {
		t.Error(err)
	}
	if _, err := write("./a.Generic"); err == nil || !strings.Contains(err.Error(), "no function can be instrumented") {
		t.Error(err)
	}
}
