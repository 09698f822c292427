package source

import (
	"os"
	"path/filepath"
	"testing"
)

const surrounded = `
-- go.mod --
module m

go 1.26

require (
	example.org/near v0.0.0
	example.org/other v0.0.0
)

replace (
	example.org/near => ./near
	example.org/other => ./other
)
-- k/k.go --
package k

import "m/deep"

func F(s string) int { return deep.Length(s) }
-- k/other.go --
package k

import _ "embed"

//go:embed table.txt
var table string
-- k/table.txt --
1
-- k/k_test.go --
package k
-- deep/deep.go --
package deep

import "example.org/near"

func Length(s string) int { return near.Length(s) }
-- beside/beside.go --
package beside
-- near/go.mod --
module example.org/near

go 1.26
-- near/near.go --
package near

func Length(s string) int { return len(s) }
-- other/go.mod --
module example.org/other

go 1.26
-- other/other.go --
package other
`

// TestAround changes files in turn: only those that versions are built of count.
func TestAround(t *testing.T) {
	t.Setenv("GOWORK", "off")
	around := func(dir string, tags ...string) string {
		u, err := Load(t.Context(), Options{Dir: dir, Spec: "./k.F", Also: []string{"example.org/other"}, Tags: tags})
		if err != nil {
			t.Fatal(err)
		}
		return u.Package.Around
	}
	dir := module(t, surrounded)
	was := around(dir)
	if copied := around(module(t, surrounded)); copied != was {
		t.Errorf("%s in a copy, %s before", copied, was)
	}
	if tagged := around(dir, "purego"); tagged == was || around(dir, []string{}...) != was {
		t.Error("a build tag does not count, or an empty list of them does")
	}
	for _, c := range []struct {
		file, added string
		counts      bool
	}{
		{"k/other.go", "// changed\n", true},
		{"k/table.txt", "2\n", true},
		{"deep/deep.go", "// changed\n", true}, // of a module whose path has no dot
		{"near/near.go", "// changed\n", true},
		{"other/other.go", "// changed\n", true}, // versions may import it
		{"near/go.mod", "toolchain go1.26.0\n", false},
		{"go.mod", "// changed\n", false},
		{"go.mod", "godebug asynctimerchan=1\n", true},
		{"k/k_test.go", "// changed\n", false},
		{"beside/beside.go", "// changed\n", false},
	} {
		path := filepath.Join(dir, filepath.FromSlash(c.file))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write := func(text []byte) {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write(append(text[:len(text):len(text)], c.added...))
		if now := around(dir); (now != was) != c.counts {
			t.Errorf("%s changed: %s, before %s; counts: %v", c.file, now, was, c.counts)
		}
		write(text)
	}
	// The version of Go decides what the code means.
	path := filepath.Join(dir, "near", "go.mod")
	if err := os.WriteFile(path, []byte("module example.org/near\n\ngo 1.21\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if around(dir) == was {
		t.Error("the version of Go of a module does not count")
	}
}
