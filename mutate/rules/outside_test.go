package rules

import (
	"testing"

	"github.com/beagle-go/beagle/mutate"
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
	for _, m := range All {
		sites += len(mutate.Choices(p, m))
	}
	for _, f := range p.Guard.Faults() {
		t.Errorf("%s: %s %s\n%s", f.Mutator, f.Function, f.Reason, f.Stack)
	}
	if sites == 0 {
		t.Error("no rule applies, so that nothing was tried")
	}
}
