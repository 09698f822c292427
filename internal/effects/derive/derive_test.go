package derive

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/effects"
)

// TestTable derives the table again. Read its report: a function that does more than before may
// need a line in reviewed.txt. Then "go generate ./internal/effects" writes the new table.
func TestTable(t *testing.T) {
	if testing.Short() {
		t.Skip("it type-checks the standard library from source")
	}
	reviewed, err := effects.Reviewed()
	if err != nil {
		t.Fatal(err)
	}
	now, err := Table(reviewed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../std.txt")
	if err != nil {
		t.Fatal(err)
	}
	was := strings.Split(strings.TrimSpace(string(text)), "\n")
	if now[0] != was[0] {
		t.Logf("the table is of %q, this is %q: only what does more than the table says counts", was[0], now[0])
	}
	known := map[string]string{}
	for _, line := range was {
		name, effect, _ := strings.Cut(line, " ")
		known[name] = effect
	}
	for _, line := range now[1:] {
		name, effect, _ := strings.Cut(line, " ")
		old, ok := known[name]
		switch {
		case !ok && now[0] == was[0]:
			t.Errorf("%s is not in the table: %s", name, effect)
		case ok && old != effect && (now[0] == was[0] || grew(old, effect)):
			t.Errorf("%s: %q, in the table %q", name, effect, old)
		}
	}
}

// grew reports whether a function gained an effect.
func grew(old, now string) bool {
	was := strings.Fields(old)
	return slices.ContainsFunc(strings.Fields(now), func(e string) bool { return !slices.Contains(was, e) })
}

// TestKnown checks that the derivation finds what the documentation of these functions says.
func TestKnown(t *testing.T) {
	table := effects.Standard()
	for name, want := range map[string]string{
		"strings.ToLower":          "",
		"strings.Builder.Reset":    "w:p0",
		"bytes.TrimSpace":          "r0:p0",
		"bytes.Clone":              "r0:new",
		"hash/crc32.MakeTable":     "r0:*",
		"hash/crc64.MakeTable":     "r0:*",
		"regexp/syntax.Compile":    "r0/:*",
		"strings.Reader.Seek":      "w:p0",
		"net/url.Values.Set":       "w:p0",
		"sort.Strings":             "w:p0",
		"container/list.List.Init": "w:p0",
		"math/big.Int.Add":         "w:p0",
		"time.Time.Location":       "r0:*",
		"regexp.Regexp.Longest":    "w:p0",
		"errors.Join":              "r0/:d0",

		"crypto/subtle.ConstantTimeCompare": "",
		"crypto/subtle.ConstantTimeCopy":    "w:p1",
		"crypto/subtle.XORBytes":            "w:p0",
		"runtime.Stack":                     "w:p0",
		"runtime.Callers":                   "w:p1",
	} {
		s := table.SummaryOf(name)
		if s == nil {
			t.Errorf("%s is not in the table", name)
		} else if words := strings.Fields(s.String()); want != "" && !slices.Contains(words, want) ||
			want == "" && len(words) > 0 {
			t.Errorf("%s: %q, want %q", name, s, want)
		}
	}
}
