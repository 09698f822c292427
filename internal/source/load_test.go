package source

import (
	"context"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const manyModule = `
-- main.go --
package main

import "fmt"

func main() { fmt.Println(double(2)) }

func double(n int) int { return n * factor() }

func factor() int { return 2 }
-- yaml.v3/yaml.go --
package yaml

type Node struct{ kids []*Node }

func Parse(b []byte) (*Node, error) { return nil, nil }
func (n Node) Depth() int           { return len(n.kids) }
-- internal/deep/deep.go --
package deep

func hidden(s string) int { return len(s) }
-- tagged/plain.go --
//go:build !fancy

package tagged

func Pick() string { return helper("plain") }
-- tagged/fancy.go --
//go:build fancy

package tagged

func Pick() string { return helper("fancy") + only("x") }

func only(s string) string { return s }
-- tagged/both.go --
package tagged

func helper(s string) string { return s }
-- broken/broken.go --
package broken

func Bad() int { return "no" }
-- parse/parse.go --
package parse

func Bad( {
-- needs/needs.go --
package needs

import "example.org/missing"

func F(s string) string { return missing.F(s) }
`

func TestLoadNames(t *testing.T) {
	dir := module(t, manyModule)
	t.Parallel()
	for spec, want := range map[string]string{
		"double":                           "example.com/m.double",
		"./double":                         "example.com/m.double",
		"./yaml.v3.Parse":                  "example.com/m/yaml.v3.Parse",
		"yaml.v3.Parse":                    "example.com/m/yaml.v3.Parse",
		"yaml.v3.Node.Depth":               "example.com/m/yaml.v3.Node.Depth",
		"example.com/m/yaml.v3.Node.Depth": "example.com/m/yaml.v3.Node.Depth",
		"./yaml.v3.(*Node).Depth":          "example.com/m/yaml.v3.Node.Depth",
		"./internal/deep.hidden":           "example.com/m/internal/deep.hidden",
		dir + "/internal/deep.hidden":      "example.com/m/internal/deep.hidden",
	} {
		if got := load(t, dir, spec).Target.Spec(); got != want {
			t.Errorf("%s: %s, want %s", spec, got, want)
		}
	}
}

// TestNearNames checks that names are suggested for what a user may have meant, and not only
// because they are short.
func TestNearNames(t *testing.T) {
	names := []string{"all", "over", "bench", "price", "service"}
	for typed, want := range map[string]string{
		"slo": "", "al": "all", "bnech": "bench", "prcie": "price", "servcies": "service", "xy": "",
	} {
		if got := NearNames(typed, names); got != want {
			t.Errorf("%s: %q, want %q", typed, got, want)
		}
	}
}

func TestLoadRefusesModules(t *testing.T) {
	t.Parallel()
	for mod, want := range map[string]string{
		"module example.com/m\n\nnonsense 1\n":                                    "the go command refuses the module",
		"module example.com/m\n\ngo 1.999\n":                                      "requires go >= 1.999",
		"module example.com/m\n\ngo 1.24\n\nrequire example.org/missing v1.0.0\n": "run `go mod download`",
	} {
		dir := module(t,
			"-- go.mod --\n"+mod+
				"-- a.go --\npackage a\n\nimport _ \"example.org/missing\"\n\nfunc F(s string) string { return s }\n")
		if got := refused(t, dir, "F").Error(); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant %q", mod, got, want)
		}
	}
}

func TestLoadTags(t *testing.T) {
	dir := module(t, manyModule)
	names := func(u *Unit) string {
		var out []string
		for _, d := range u.Target.Scope {
			out = append(out, d.Name)
		}
		return strings.Join(out, " ")
	}
	// helper is used by the file of the other configuration too.
	if got := names(load(t, dir, "./tagged.Pick")); got != "Pick" {
		t.Errorf("scope without tags: %s", got)
	}
	u := load(t, dir, "./tagged.Pick", "fancy")
	if got := names(u); got != "Pick only" || filepath.Base(u.Target.File) != "fancy.go" {
		t.Errorf("scope with tags: %s in %s", got, u.Target.File)
	}
	if slices.ContainsFunc(u.Package.Files(), func(f string) bool { return strings.HasSuffix(f, "plain.go") }) {
		t.Errorf("files %v", u.Package.Files())
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := module(t, manyModule)
	t.Parallel()
	for spec, want := range map[string]string{
		"duble":              "Did you mean double?",
		"./yaml.v3.Prase":    "Did you mean Parse?",
		"./yaml.v3.Node.Dpt": "Did you mean Node.Depth?",
		"./yaml.v3.Node":     "Node is a type, not a function",
		"./yaml.v3":          "names a package",
		"./nowhere.Double":   "there is no directory nowhere, and package",
		"./node.Depths":      "name the function by a directory that is there",
		"./deep.hidden":      "Did you mean ./internal/deep?",
		"./broken.Bad":       `broken.go:3:`,
		"./parse.Bad":        "parse.go:3:",
		"./needs.F":          "example.org/missing",
		"strings.ToLower":    "standard library",
		"main":               "nothing to compare",
		"":                   "names no function",
		".":                  "names no function",
		"..":                 "names no function",
	} {
		if got := refused(t, dir, spec).Error(); !strings.Contains(got, want) {
			t.Errorf("%q: %s\nwant %q", spec, got, want)
		}
	}
	refused(t, filepath.Join(dir, "nowhere"), "F")
	if got := refused(t, t.TempDir(), "F").Error(); !strings.Contains(got, "no such package") {
		t.Errorf("empty directory: %s", got)
	}
}

// TestLoadNewerGo: the module is of a release that the go command cannot have,
// or that the type checker in this program does not know.
func TestLoadNewerGo(t *testing.T) {
	dir := module(t,
		"-- go.mod --\nmodule ex.com/later\n\ngo 1.99.0\n-- a.go --\npackage later\n\nfunc F() int { return 1 }\n")
	t.Setenv("GOTOOLCHAIN", "auto")
	t.Setenv("GOPROXY", "off")
	got := refused(t, dir, "F").Error()
	wantIn(t, got, dir, "go1.99.0", "run `go version` there once")
	t.Setenv("GOTOOLCHAIN", "local")
	wantIn(t, refused(t, dir, "F").Error(), dir, "requires go >= 1.99.0", "install that Go release")
	err := goCommandError(&Options{
		Dir: dir,
	}, "a.go:1:1: package requires newer Go version go1.99 (application built with go1.26)")
	if err == nil {
		t.Fatal("nothing is said of a language that is not known here")
	}
	wantIn(t, err.Error(), dir, "GOTOOLCHAIN=go1.99.0 go install ./cmd/beagle")
}

func TestLoadMain(t *testing.T) {
	u := load(t, module(t, manyModule), "double")
	f, p := u.Reader.Parse(u.Target.Source)
	if p != nil {
		t.Fatal(p)
	}
	v, err := u.Writer.Variant(f, "__b0")
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, v, "package main_\n", "n * factor__b0()")
	files := u.Package.BuildFiles()
	if len(files) != 1 || !strings.HasPrefix(files[u.Package.Files()[0]], "package main_\n") {
		t.Errorf("build files %v", files)
	}
}

func TestLoadWorkspaceAndVendor(t *testing.T) {
	t.Parallel()
	dir := module(t, `
-- go.work --
go 1.24

use ./a
use ./b
-- a/go.mod --
module example.com/a

go 1.24

require example.com/b v0.0.0
-- a/a.go --
package a

import "example.com/b"

func F(s b.S) int { return s.N }
-- b/go.mod --
module example.com/b

go 1.24
-- b/b.go --
package b

type S struct{ N int }
-- v/go.mod --
module example.com/v

go 1.24

require example.com/dep v1.0.0
-- v/v.go --
package v

import "example.com/dep"

func F(s string) int { return dep.N(s) }
-- v/vendor/modules.txt --
# example.com/dep v1.0.0
## explicit; go 1.24
example.com/dep
-- v/vendor/example.com/dep/dep.go --
package dep

func N(s string) int { return len(s) }
`)
	u, err := Load(context.Background(), Options{Dir: filepath.Join(dir, "a"), Spec: "F", Env: []string{"GOWORK="}})
	if err != nil {
		t.Fatal(err)
	}
	if u.Target.Module != "example.com/a" || u.Target.Dir != filepath.Join(dir, "a") ||
		u.Target.Params[0].Type != "b.S" {
		t.Errorf("target %+v", u.Target)
	}
	u, err = Load(context.Background(), Options{Dir: filepath.Join(dir, "v"), Spec: "F", Env: []string{"GOWORK=off"}})
	if err != nil {
		t.Fatal(err)
	}
	if f := u.Target.Facts.Calls; !slices.Equal(f, []string{"example.com/dep.N"}) {
		t.Errorf("calls %v", f)
	}
	u, err = Load(context.Background(),
		Options{Dir: filepath.Join(dir, "v"), Spec: "example.com/dep.N", Env: []string{"GOWORK=off"}})
	if err != nil || u.Target.Dir != filepath.Join(dir, "v") {
		t.Errorf("vendored package: %v", err)
	}
}

func TestRefusesParameters(t *testing.T) {
	dir := module(t, `
-- p.go --
package p

import (
	"context"
	"io"
	"sync"
	"time"
	"unsafe"
)

type S struct {
	mu   sync.Mutex
	once sync.Once
	n    int
	next *S
	hook func() // never set
}
type Set struct{ done chan int }
type Lit struct{ f func() }

var _ = Set{make(chan int)}
var _ = &Lit{f: func() {}}

func Chan(c chan int)                         {}
func Func(less func(a, b int) bool)           {}
func Unsafe(p unsafe.Pointer)                 {}
func Addr(p uintptr)                          {}
func Ctx(ctx context.Context, s string)       {}
func Deep(m map[string][]*Set)                {}
func Literal(l Lit)                           {}
func Result() func()                          { return nil }
func Fine(s *S, r io.Reader, t time.Time, a any, e error) int { return 0 }
func Blank(_ int, _ string, arg0 bool) int    { return 0 }
`)
	for spec, want := range map[string]string{
		"Chan":    "parameter c cannot be recorded: it is a channel (chan int)",
		"Func":    "parameter less cannot be recorded: it is a function",
		"Unsafe":  "parameter p cannot",
		"Addr":    "parameter p cannot",
		"Ctx":     "parameter ctx cannot be recorded: it is a value that means something only inside its process (context.Context)",
		"Deep":    "parameter m[][].done cannot be recorded: it is a channel",
		"Literal": "parameter l.f cannot",
		"Result":  "result #1 cannot be compared",
	} {
		e := refused(t, dir, spec)
		if !strings.Contains(e.What, want) || e.Remedy == "" {
			t.Errorf("%s: %v, want %q", spec, e, want)
		}
	}
	load(t, dir, "Fine")
	var names []string
	for _, p := range load(t, dir, "Blank").Target.Params {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, " "); got != "arg0_ arg1 arg0" {
		t.Errorf("names %s", got)
	}
}

func TestGenerics(t *testing.T) {
	dir := module(t, `
-- g/g.go --
package g

import "cmp"

type Kind uint8
type List[T any] struct{ items []T }
type Num interface{ ~int | ~float64 }

func (l *List[T]) Push(x T) int { l.items = append(l.items, x); return len(l.items) }

func Max[T cmp.Ordered](a, b T) T { return max(a, b) }
func Sum[T Num](xs []T) (n T) {
	for _, x := range xs {
		n += x
	}
	return n
}
func Sort[S ~[]E, E cmp.Ordered](s S) S { return s }
func Far[T comparable](a T) T           { return a }
func Strange[T interface{ Odd() }](a T)  {}

func local() Kind { return Max(Kind(1), 2) }
-- g/g_test.go --
package g

import "testing"

func TestMax(t *testing.T) {
	for _, x := range []string{"a"} {
		t.Run(x, func(t *testing.T) { Max(x, x) })
	}
}

func TestList(t *testing.T) { l := &List[Kind]{}; l.Push(1) }
-- user/user.go --
package user

import "example.com/m/g"

type mine int

var _ = g.Far(mine(1))
var _ = g.Far(uint16(1))
`)
	t.Parallel()
	for spec, want := range map[string]string{
		"./g.Max":       "string",
		"./g.Sum":       "int",
		"./g.Sort":      "[]int,int",
		"./g.Far":       "uint16",
		"./g.List.Push": "Kind",
	} {
		u := load(t, dir, spec)
		if got := strings.Join(u.Target.TypeArgs, ","); got != want || !u.Target.Facts.Generic {
			t.Errorf("%s[%s], want %s", spec, got, want)
		}
	}
	u := load(t, dir, "./g.List.Push")
	if u.Target.Params[0].Type != "*List[Kind]" || u.Target.Params[1].Type != "Kind" ||
		u.Target.Params[1].Kind != "uint8" {
		t.Errorf("params %v", u.Target.Params)
	}
	if e := refused(t, dir, "./g.Strange"); !strings.Contains(e.What, "no instantiation") {
		t.Error(e)
	}
}

func TestScopeKeepsOut(t *testing.T) {
	dir := module(t, `
-- k.go --
package k

import (
	_ "embed"
	_ "unsafe"
)

//go:embed k.txt
var text string

//go:linkname linked example.com/other.linked
func linked(n int) int { return n }

func forAsm(n int) int { return n }
func forWindows(n int) int { return n }
func mine(n int) int { return n }
func mutual(n int) int { return other(n) }
func other(n int) int { return mutual(n) }

type t struct{}

func (t) method(n int) int { return n }

var table, rest = pair()

func pair() (int, int) { return 1, 2 }

func Target(n int) int {
	return linked(n) + forAsm(n) + forWindows(n) + mine(n) + mutual(n) + len(text) + t{}.method(n) + table
}
-- k.txt --
x
-- k_windows.go --
package k

var _ = forWindows(1)
`)
	var got []string
	for _, d := range load(t, dir, "Target").Target.Scope {
		got = append(got, d.Name)
	}
	// table and rest are one declaration.
	if g := strings.Join(got, " "); g != "Target forAsm mine mutual other table rest pair" {
		t.Errorf("scope %s", g)
	}
	if err := os.WriteFile(filepath.Join(dir, "k_amd64.s"), []byte("TEXT ·x(SB), $0\n\tCALL ·forAsm(SB)\n"),
		0o666); err != nil {
		t.Fatal(err)
	}
	f, err := readFile(token.NewFileSet(), filepath.Join(dir, "k.go"))
	if err != nil {
		t.Fatal(err)
	}
	if out := outsideNames(dir, "k", []*srcFile{f}); !out["forAsm"] || !out["forWindows"] || out["mine"] {
		t.Errorf("outside %v", out)
	}
}

// TestImportAt checks that a package that is not on the machine is named, also when the go command
// says only where it is imported.
func TestImportAt(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\nimport \"example.com/far\"\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	for complaint, want := range map[string]string{
		"sub/a.go:3:8: module lookup disabled by GOPROXY=off":       "example.com/far (sub/a.go:3:8: module lookup disabled by GOPROXY=off)",
		"a.go:99:8: module lookup disabled by GOPROXY=off":          "a.go:99:8: module lookup disabled by GOPROXY=off",
		"example.com/far@v1.0.0: module lookup disabled by GOPROXY": "example.com/far@v1.0.0: module lookup disabled by GOPROXY",
	} {
		if got := importAt(dir, complaint); got != want {
			t.Errorf("importAt(%q) = %q, want %q", complaint, got, want)
		}
	}
}

// TestMayImport loads a target of a module that requires one which the target's package does not
// import, and of one that does not.
func TestMayImport(t *testing.T) {
	t.Parallel()
	const files = `
-- go.mod --
module example.com/m

go 1.26
REQUIRE
-- k/k.go --
package k

func F(s string) int { return len(s) }
-- other/go.mod --
module example.org/other

go 1.26
-- other/other.go --
package other

func Length(s string) int { return len(s) }
`
	const required = "\nrequire example.org/other v0.0.0\n\nreplace example.org/other => ./other\n"
	for text, want := range map[string]bool{required: true, "\n": false} {
		dir := module(t, strings.Replace(files, "\nREQUIRE", text, 1))
		u, err := Load(t.Context(), Options{Dir: dir, Spec: "./k.F", Also: []string{"example.org/other"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Package.MayImport("example.org/other"); got != want {
			t.Errorf("with %q: %v, want %v", text, got, want)
		}
		_, problem := u.Reader.Parse("package k\n\nimport \"example.org/other\"\n\n" +
			"func F(s string) int { return other.Length(s) }\n")
		if (problem == nil) != want {
			t.Errorf("with %q: a candidate that imports it: %v", text, problem)
		}
	}
}

// TestLookUpCollectsLess checks the variables of the go command in a look-up: it collects less
// garbage, unless the options say how much.
func TestLookUpCollectsLess(t *testing.T) {
	t.Setenv("GOGC", "100")
	for want, o := range map[string]Options{"GOGC=400": {}, "GOGC=50": {Env: []string{"GOGC=50"}}} {
		env := o.config(t.Context(), 0).Env
		last := ""
		for _, v := range env {
			if strings.HasPrefix(v, "GOGC=") {
				last = v
			}
		}
		if last != want {
			t.Errorf("with %q, the last is %s, want %s", o.Env, last, want)
		}
	}
}
