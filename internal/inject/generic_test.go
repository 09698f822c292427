package inject

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/syntax"
)

const genericLib = `package lib

import "cmp"

func Sum[T string | []byte](data T, seed uint64) (a, b uint64) {
	for i := range len(data) { seed = seed*31 + uint64(data[i]) }
	return seed, uint64(len(data))
}

type Table[K comparable, V any] struct{ m map[K]V }

func (t *Table[K, V]) Put(key K, _ V, more ...V) {
	if t.m == nil { t.m = map[K]V{} }
	for _, v := range more { t.m[key] = v }
}

func (t Table[Key, _]) Has(key Key) bool { _, ok := t.m[key]; return ok }

func Largest[S ~[]E, E cmp.Ordered](list S) (top E) {
	for _, e := range list { top = max(top, e) }
	return top
}

func Zero[T any](n int) int { var t T; _ = t; return n }

func Kept[T any](x T) { defer func() { _ = recover() }(); _ = any(x).(int) }
`

const genericTest = `package lib

import "testing"

func TestAll(t *testing.T) {
	if a, b := Sum("ab", 0); a != 97*31+98 || b != 2 { t.Error(a, b) }
	if a, b := Sum([]byte("ab"), 0); a != 97*31+98 || b != 2 { t.Error(a, b) }
	var s Table[string, int]
	s.Put("a", 1, 2, 3)
	var i Table[int, []string]
	i.Put(1, nil, []string{"x"})
	if s.m["a"] != 3 || i.m[1][0] != "x" || !s.Has("a") { t.Error(s, i) }
	if Largest([]int{1, 3, 2}) != 3 || Largest([]string{"a", "c"}) != "c" { t.Error("wrong") }
	Kept(1)
	Kept("a")
}
`

// named takes the instantiation from the name alone.
func named(_ context.Context, spec string) ([]string, error) {
	_, args := syntax.CutTypeArgs(spec)
	return args, nil
}

// TestWriteGeneric checks that generic functions and methods of generic types behave as before in
// an instrumented package, and that one instantiation of each is a site.
func TestWriteGeneric(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a package and its test")
	}
	dir := newModule(t, map[string]string{"go.mod": "module example.com/lib\n\ngo 1.24\n", "lib.go": genericLib,
		"lib_test.go": genericTest})
	specs := []string{"./.Sum[[]byte]", "./.Table.Put[string,int]", "./.Largest[[]string,string]"}
	o, err := Write(t.Context(), Options{Dir: dir, Specs: specs, TypeArgs: named}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	command(t, dir, "test", "-vet=off", "-overlay="+o.Path, ".")
	if len(o.Sites) != 3 || o.Sites[0].Name != "example.com/lib.Sum" || !o.Sites[0].Results {
		t.Errorf("%+v", o.Sites)
	}
	for spec, want := range map[string]string{
		"./.Sum[int]":              "do not satisfy",
		"./.Sum[string,string]":    "2 type arguments for 1",
		"./.Sum[nowhere.T]":        "cannot name",
		"./.Zero[int]":             "do not show which instantiation",
		"./.Table.Has[string,int]": "cannot be repeated",
	} {
		_, err := Write(t.Context(), Options{Dir: dir, Specs: []string{spec}, TypeArgs: named}, t.TempDir())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
}

// TestGenericVersions checks that versions of a generic function take turns with its own type
// parameters: the tests of the package pass whichever version runs.
func TestGenericVersions(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a package and its test")
	}
	dir := newModule(t, map[string]string{"go.mod": "module example.com/lib\n\ngo 1.24\n", "lib.go": genericLib,
		"lib_test.go": genericTest})
	version := func(name string) string {
		return "package lib\n\nfunc " + name + "[T string | []byte](data T, seed uint64) (a, b uint64) {\n" +
			"for i := range len(data) { seed = seed*31 + uint64(data[i]) }\nreturn seed, uint64(len(data)) }\n"
	}
	v := &Versions{Spec: "./.Sum", Function: "example.com/lib.Sum", Build: "b"}
	for _, arm := range []string{"Original", "Candidate", "Placebo"} {
		v.Names = append(v.Names, "SumBeagle"+arm)
		v.Texts = append(v.Texts, version("SumBeagle"+arm))
	}
	o, err := Write(t.Context(), Options{Dir: dir, Versions: v}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	command(t, dir, "test", "-vet=off", "-overlay="+o.Path, ".")
	p, err := WritePatch(t.Context(), Options{Dir: dir, Versions: v}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Files[0].After, "return sumRouted[T](data, seed)") {
		t.Errorf("%s", p.Files[0].After)
	}
	if _, err := os.Stat(filepath.Join(dir, "internal")); err == nil {
		t.Error("the tree was changed")
	}
}

// TestSecondInstantiation checks that a build never captures fewer instantiations than were named.
func TestSecondInstantiation(t *testing.T) {
	dir := newModule(t, map[string]string{"go.mod": "module example.com/lib\n\ngo 1.24\n", "lib.go": genericLib,
		"plain.go": "package lib\n\nfunc Plain(n int) int { return n }\n"})
	for _, c := range []struct {
		specs []string
		sites int
		error string
	}{
		{[]string{"./.Sum[string]", "./.Sum[ string ]"}, 1, ""},
		{[]string{"./.Sum[string]", "./.Largest[[]int, int]", "./.Sum[string]"}, 2, ""},
		{[]string{"./.Sum[string]", "./.Sum[[]byte]"}, 0, "--probe ./.Sum[[]byte]: --probe ./.Sum[string] captures " +
			"the calls with [string] already"},
		{[]string{"./.Table.Put[string, int]", "./.Table.Put[string, string]"}, 0, "captures the calls with " +
			"[string, int] already"},
		{[]string{"./.Plain[int]"}, 0, "--probe ./.Plain[int]: it has no type parameters"},
	} {
		o, err := Write(t.Context(), Options{Dir: dir, Specs: c.specs, TypeArgs: named}, t.TempDir())
		switch {
		case c.error == "" && (err != nil || len(o.Sites) != c.sites):
			t.Errorf("%q: got %v, %v", c.specs, o, err)
		case c.error != "" && (err == nil || !strings.Contains(err.Error(), c.error)):
			t.Errorf("%q: got %v", c.specs, err)
		}
	}
	specs := []string{"./.Sum[string]", "./.Sum[[]byte]"}
	o, err := Write(t.Context(), Options{Dir: dir, Specs: specs, TypeArgs: named, Skip: true}, t.TempDir())
	if err != nil || len(o.Sites) != 1 || len(o.Left) != 1 || o.Left[0].Spec != specs[1] {
		t.Errorf("with Skip: got %+v, %v", o, err)
	}
}
