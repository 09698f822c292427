package rules_test

import (
	"go/ast"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules"
)

// TestCodeOfVariables asks every rule about a candidate whose helper is a function
// in a package variable: its loops and branches stand in no function declaration.
func TestCodeOfVariables(t *testing.T) {
	const src = `package p

var longest = func(list []string) int {
	most, n := 0, 0
	for i := 0; i < len(list); i++ {
		if len(list[i]) > most {
			most = len(list[i])
		}
		if list[i] == "" {
			n++
		}
	}
	for _, s := range list {
		for i := 0; i < len(s); i++ {
			if s[i] == ' ' {
				n++
			}
		}
	}
	return most + n
}

func F(list []string) int { return longest(list) }
`
	p, err := mutate.Check(src, "F", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Guard = new(mutate.Guard)
	sites := 0
	for _, m := range rules.All {
		sites += len(mutate.Choices(p, m))
	}
	for _, f := range p.Guard.Faults() {
		t.Errorf("%s: %s %s\n%s", f.Mutator, f.Function, f.Reason, f.Stack)
	}
	if sites == 0 {
		t.Error("no rule applies, so that nothing was tried")
	}
}

// TestEntries asks rules that need all calls of a helper about one that others call, too.
func TestEntries(t *testing.T) {
	for _, name := range []string{"needless-copy", "pointer-param"} {
		m := rules.Named(name)
		ar, err := txtar.ParseFile(archiveOf(m.Name))
		if err != nil {
			t.Fatal(err)
		}
		p, err := mutate.Check(string(ar.Files[0].Data), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Find(p)) == 0 {
			t.Errorf("%s: no site where the file holds all calls of the helper", m.Name)
		}
		p.Entries = map[string]bool{}
		for _, d := range mutate.Nodes[*ast.FuncDecl](p, nil) {
			p.Entries[d.Name.Name] = true
		}
		if sites := m.Find(p); len(sites) > 0 {
			t.Errorf("%s: found %q, whose helper others call", m.Name, sites[0].Label)
		}
	}
}
