package mutants

import (
	"slices"
	"strings"
	"testing"
)

const sample = `package p

func F(s string, n int) bool {
	if len(s) == 0 || n > 9 {
		return false
	}
	for i := range len(s) {
		switch {
		case s[i] == 'a', s[i] == 'b':
			n++
		default:
			n -= 2
		}
	}
	if n%2 == 0 {
		n = n - 1
	} else {
		n = 1
	}
	return strings.Contains(s[1:], "xy") && n < 7
}
`

// TestMake: every operator finds something, every text differs from all others,
// and the known slips are among them.
func TestMake(t *testing.T) {
	all, err := Make(sample)
	if err != nil {
		t.Fatal(err)
	}
	seen, ops := map[string]bool{sample: true}, map[string]bool{}
	for _, m := range all {
		if seen[m.Source] {
			t.Errorf("%v: a text that was there already", &m)
		}
		seen[m.Source], ops[m.Op] = true, true
	}
	for _, o := range operators {
		if !ops[o.name] && o.name != "truth" {
			t.Errorf("operator %q made nothing", o.name)
		}
	}
	for _, want := range []string{"n >= 9", "len(s) != 0", "case s[i] == 'b':", "n--", "'c'", `"x"`, "s[(1)+1:]",
		"n < 8", "n > 10", "!(n%2 == 0)", "return true"} {
		if !slices.ContainsFunc(all, func(m Mutant) bool { return strings.Contains(m.Source, want) }) {
			t.Errorf("no mutant holds %q", want)
		}
	}
	if _, err := Make("package"); err == nil {
		t.Error("what is not a Go file has no mutants")
	}
}
