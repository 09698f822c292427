package source

import (
	"os"
	"path/filepath"
	"testing"
)

const surrounded = `
-- go.mod --
module example.com/m

go 1.26

require example.org/near v0.0.0

replace example.org/near => ./near
-- k/k.go --
package k

import "example.com/m/deep"

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
`

// TestAround changes files in turn: only those that the target's program is built of count.
func TestAround(t *testing.T) {
	t.Setenv("GOWORK", "off")
	dir := module(t, surrounded)
	was := load(t, dir, "./k.F").Package.Around
	if was == "" {
		t.Fatal("nothing is around")
	}
	if copied := load(t, module(t, surrounded), "./k.F").Package.Around; copied != was {
		t.Errorf("%s in a copy, %s before", copied, was)
	}
	for file, counts := range map[string]bool{
		"k/other.go": true, "k/table.txt": true, "deep/deep.go": true, "near/near.go": true,
		"k/k_test.go": false, "beside/beside.go": false,
	} {
		path := filepath.Join(dir, filepath.FromSlash(file))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write := func(text []byte) {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write(append(text, "\n// changed\n"...))
		if now := load(t, dir, "./k.F").Package.Around; (now != was) != counts {
			t.Errorf("%s changed: %s, before %s; counts: %v", file, now, was, counts)
		}
		write(text)
	}
}
