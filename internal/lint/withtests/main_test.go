package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"
)

// TestOnce asks for the packages of a module as a linter does: one without tests, one with tests of
// its own, one with tests from outside alone, one with both.
func TestOnce(t *testing.T) {
	module, err := txtar.FS(txtar.Parse([]byte(`
-- go.mod --
module m
go 1.26
-- none/a.go --
package none
import _ "m/inside"
-- inside/a.go --
package inside
-- inside/a_test.go --
package inside
import "testing"
func Test(*testing.T) {}
-- outside/a.go --
package outside
-- outside/a_test.go --
package outside_test
import "testing"
func Test(*testing.T) {}
-- both/a.go --
package both
-- both/a_test.go --
package both
-- both/b_test.go --
package both_test
import "testing"
func Test(*testing.T) {}
`)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, module); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	request, err := json.Marshal(packages.DriverRequest{
		Mode:  packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps,
		Env:   append(os.Environ(), "GOWORK=off", "GOFLAGS="),
		Tests: true,
	})
	if err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer
	if err := answer(bytes.NewReader(request), &out, []string{"./..."}); err != nil {
		t.Fatal(err)
	}

	var response packages.DriverResponse
	if err := json.Unmarshal(out.Bytes(), &response); err != nil {
		t.Fatal(err)
	}
	slices.Sort(response.Roots)
	want := []string{
		"m/both [m/both.test]", "m/both_test [m/both.test]", "m/inside [m/inside.test]", "m/none", "m/outside",
		"m/outside_test [m/outside.test]",
	}
	if !slices.Equal(response.Roots, want) {
		t.Errorf("the roots are %q, want %q", response.Roots, want)
	}
	// A package that only others import is no root, but is described.
	if !slices.ContainsFunc(response.Packages, func(p *packages.Package) bool { return p.ID == "m/inside" }) {
		t.Error("m/inside, which m/none imports, is not described")
	}
}
