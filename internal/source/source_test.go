package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle"
)

// module writes a txtar archive as a directory tree and returns its root. A
// go.mod is added if there is none.
func module(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	a := txtar.Parse([]byte(archive))
	if !slices.ContainsFunc(a.Files, func(f txtar.File) bool { return f.Name == "go.mod" || f.Name == "go.work" }) {
		a.Files = append(a.Files, txtar.File{Name: "go.mod", Data: []byte("module example.com/m\n\ngo 1.24\n")})
	}
	for _, f := range a.Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func load(t testing.TB, dir, spec string, tags ...string) *Unit {
	t.Helper()
	u, err := Load(context.Background(), Options{Dir: dir, Spec: spec, Tags: tags, Env: nil})
	if err != nil {
		t.Fatalf("Load(%s): %v", spec, err)
	}
	return u
}

// refused loads a function that must not load and returns the error.
func refused(t testing.TB, dir, spec string) *beagle.UsageError {
	t.Helper()
	_, err := Load(context.Background(), Options{Dir: dir, Spec: spec})
	var usage *beagle.UsageError
	if !errors.As(err, &usage) {
		t.Fatalf("Load(%s) = %v, want a usage error", spec, err)
	}
	return usage
}

func wantIn(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("missing %q in:\n%s", p, text)
		}
	}
}

func wantOut(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("unwanted %q in:\n%s", p, text)
		}
	}
}

const tagsModule = `
-- tags/tags.go --
// Copyright somebody.

// Package tags is about tags.
package tags

import (
	"strings"
	"unicode/utf8"
)

const (
	maxLen = 200 // bytes
	other  = 3
)

const (
	first = iota
	second
)

// table is for Normalize alone.
var table = [256]bool{'a': true}

var shared = 1

// A T is exported.
type T struct{ n int }

// Normalize does it.
//
// It has a second paragraph.
func Normalize(s string) string {
	// a comment inside
	if len(s) > maxLen {
		s = s[:maxLen] // cut
	}
	return lower(s)
}

// lower is a helper.
func lower(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToLower(s[:1]) + tail(s[1:])
}

func tail(s string) string {
	if shared > 0 && table[s[0]] {
		return s
	}
	return deeper(s)
}

func usedByTest() int { return second }

func Other() int { return shared + other + utf8.RuneLen('x') + usedByTest() }

// Add is a method.
func (t *T) Add(n int) int {
	t.n += n
	if n > 0 {
		return t.Add(n - 1)
	}
	return add(t.n, first)
}

func add(a, b int) int { return a + b }
-- tags/more.go --
package tags

import str "strings"

// deeper lives in another file and shares no import name.
func deeper(s string) string { return plain(s) }

func plain(s string) string { return s + aliased(s) }

// aliased imports strings under another name.
func aliased(s string) string { return str.TrimSpace(s) }
-- tags/tags_test.go --
package tags

import "testing"

func TestX(t *testing.T) { usedByTest() }
`

func TestScope(t *testing.T) {
	u := load(t, module(t, tagsModule), "./tags.Normalize")
	var got []string
	for _, d := range u.Target.Scope {
		got = append(got, d.Name)
	}
	want := "Normalize maxLen table lower tail deeper plain"
	if g := strings.Join(got, " "); g != want {
		t.Errorf("scope %s, want %s", g, want)
	}
	wantIn(t, u.Target.Source, "// It has a second paragraph.", "// a comment inside", "// cut",
		"const maxLen = 200 // bytes",
		"// table is for Normalize alone.\nvar table", "import \"strings\"\n", "// deeper lives in another file")
	wantOut(t, u.Target.Source, "shared =", "Copyright", "aliased imports", "\tother ")
	if u.Target.Signature != "func Normalize(s string) string" ||
		u.Target.Params[0] != (beagle.Param{Name: "s", Type: "string", Kind: "string"}) {
		t.Errorf("described as %s %v", u.Target.Signature, u.Target.Params)
	}
	if u.Target.PkgPath != "example.com/m/tags" || u.Target.Line != 32 || u.Target.Go != "1.24" {
		t.Errorf("target %+v", u.Target)
	}
	f := u.Target.Facts
	if !f.CanPanic || f.Recursive || strings.Join(f.ReadsGlobals, " ") != "shared table" ||
		!slices.Contains(f.Calls, "strings.ToLower") {
		t.Errorf("facts %+v", f)
	}
}

func TestMethod(t *testing.T) {
	u := load(t, module(t, tagsModule), "example.com/m/tags.T.Add")
	if u.Target.Recv != "*T" || u.Target.Params[0].Type != "*T" || u.Target.Params[0].Kind != "pointer" {
		t.Errorf("target %+v", u.Target)
	}
	if !u.Target.Facts.Recursive || !u.Target.Facts.Method {
		t.Errorf("facts %+v", u.Target.Facts)
	}
	f, p := u.Reader.Parse(u.Target.Source)
	if p != nil {
		t.Fatal(p)
	}
	got, err := u.Writer.Variant(f, "__b3")
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, got, "func (t *T) Add__b3(n int)", "return t.Add__b3(n - 1)", "return add__b3(t.n, first)",
		"func add__b3(a, b int)")
}
