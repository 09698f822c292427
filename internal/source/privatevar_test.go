package source

import (
	"slices"
	"strings"
	"testing"
)

const privateVarModule = `
-- p.go --
package p

import "regexp"

// Known reports whether a word is a known one.
func Known(s string) (int, bool) {
	if !word.MatchString(s) || grown[0] == s || given.MatchString(s) || double.MatchString(s) || early.MatchString(s) {
		return 0, false
	}
	n, ok := ranks[s]
	return n + weights[n], ok && find(s)
}

func find(s string) bool { return ranks[s] > limits["low"] }

var (
	word = regexp.MustCompile("^[a-z]+$")

	// ranks are places.
	ranks = map[string]int{
		"one": 1,
		"two": 2, // the second
	}
)

var weights = [...]int{10, 20, 30}

var limits = map[string]int{"low": 1}

var grown = []string{"a"}

var given *regexp.Regexp

var (
	double *regexp.Regexp
	early  *regexp.Regexp
)

func init() {
	given = regexp.MustCompile("^g")
	double = regexp.MustCompile("^d")
}

func init() {
	double = regexp.MustCompile("^dd")
	if len(grown) > 3 {
		return
	}
	early = regexp.MustCompile("^e")
}

func Other(s string) int {
	grown = append(grown, s)
	return ranks[s] + weights[0] + limits[s] + len(word.String())
}

func Third(s string) bool { return find(s) }
`

// TestWidenVars: lists, maps and patterns that nothing changes get copies, which leave no trace
// where they stay as they are.
func TestWidenVars(t *testing.T) {
	u := load(t, module(t, privateVarModule), "./.Known")
	wide, copies := u.Copies.Widen(u.Target.Source)
	for _, name := range []string{"wordForKnown", "givenForKnown", "ranksForKnown", "weightsForKnown", "limitsForKnown",
		"findForKnown"} {
		if !slices.Contains(copies, name) {
			t.Errorf("no copy %s: %v", name, copies)
		}
	}
	for _, text := range []string{`wordForKnown.MatchString(s)`, `"two": 2, // the second`, `grown[0] == s`,
		`ranksForKnown[s] > limitsForKnown["low"]`} {
		if !strings.Contains(wide, text) {
			t.Errorf("it lacks %q:\n%s", text, wide)
		}
	}
	for _, name := range []string{"grown", "double", "early"} {
		if strings.Contains(wide, name+"ForKnown") {
			t.Errorf("%s changes, or may stay empty, and has a copy:\n%s", name, wide)
		}
	}
	if again, more := u.Copies.Widen(wide); again != wide || more != nil {
		t.Errorf("widened twice, with %v:\n%s", more, again)
	}
	if back, err := u.Copies.Narrow(wide); err != nil || back != u.Target.Source {
		t.Errorf("narrowed %v:\n%s", err, back)
	}

	changed := strings.Replace(wide, `"low": 1`, `"low": 0 + 1`, 1)
	back, err := u.Copies.Narrow(changed)
	if err != nil {
		t.Fatal(err)
	}
	if _, problem := u.Reader.Parse(back); problem != nil {
		t.Fatalf("%+v\n%s", problem, back)
	}
	for _, text := range []string{`findForKnown(s)`, `ranks[s] > limitsForKnown["low"]`, "word.MatchString"} {
		if !strings.Contains(back, text) {
			t.Errorf("it lacks %q:\n%s", text, back)
		}
	}
	if strings.Contains(back, "ranksForKnown") || strings.Contains(back, "weightsForKnown") {
		t.Errorf("a copy has no reason to stay:\n%s", back)
	}
	if p := mustPatch(t, u, back); !strings.Contains(p.Diff, "+var limitsForKnown = ") {
		t.Errorf("patch:\n%s", p.Diff)
	}
}
