package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// A fixture is a module in a temporary directory with a target in it.
type fixture struct {
	u   *source.Unit
	box *sandbox.Sandbox
	b   *Builder
}

// module writes a module whose files are given as "path": "text".
func module(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if files["go.mod"] == "" {
		files["go.mod"] = "module ex.com/hx\n\ngo 1.24\n"
	}
	for name, text := range files {
		if err := write(filepath.Join(dir, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func load(t testing.TB, dir, spec string) *fixture {
	t.Helper()
	u, err := source.Load(t.Context(), source.Options{Dir: dir, Spec: spec})
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBuilder(t.Context(), u, box, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{u, box, b}
}

// build makes a program of the original and the candidates.
func (f *fixture) build(t testing.TB, o Link, candidates ...string) *Binary {
	t.Helper()
	bin, err := f.b.Build(t.Context(), f.variants(candidates...), o)
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

func (f *fixture) variants(candidates ...string) []Variant {
	vs := []Variant{{ID: "original", Source: f.u.Target.Source}}
	for _, c := range candidates {
		vs = append(vs, Variant{ID: "candidate" + c, Source: c})
	}
	return vs
}

// edit is the original with a replacement.
func (f *fixture) edit(t testing.TB, old, new string) string {
	t.Helper()
	if !strings.Contains(f.u.Target.Source, old) {
		t.Fatalf("the original does not contain %q:\n%s", old, f.u.Target.Source)
	}
	return strings.Replace(f.u.Target.Source, old, new, 1)
}

const sumFile = `package sum

// Sum adds the first n numbers.
func Sum(s []int, n int) int {
	t := 0
	for i := 0; i < n; i++ {
		t += weigh(s[i])
	}
	return t
}

func weigh(x int) int { return x*3 + 1 }
`

func TestBuild(t *testing.T) {
	f := load(t, module(t, map[string]string{"sum/sum.go": sumFile}), "./sum.Sum")
	bin := f.build(t, Link{FuncAlign: 64},
		f.edit(t, "i < n", "i < n && i < len(s)"),
		f.edit(t, "return t", "return u"),
	)
	if bin.Failed[2] == "" || len(bin.Failed) != 1 {
		t.Errorf("failed: %v", bin.Failed)
	}
	for i, s := range bin.Static {
		t.Logf("%d %+v", i, s)
	}
	t.Logf("%+v", bin)
}

var _ = errors.New
var _ = context.Background

func TestSplit(t *testing.T) {
	f := load(t, module(t, map[string]string{"sum/sum.go": sumFile}), "./sum.Sum")
	f.build(t, Link{FuncAlign: 64})
	bin := f.build(t, Link{FuncAlign: 64})
	t.Log(bin.Prepare, bin.Compile, bin.LinkTime, bin.Inspect)
	t.Log(bin.dir)
	os.CopyFS("/tmp/keep", os.DirFS(f.b.dir))
}
