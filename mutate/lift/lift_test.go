package lift

import (
	"os"
	"strings"
	"testing"
)

// TestFound holds functions that the library has, however they are spelled, and
// functions that look like one of the library and are none.
func TestFound(t *testing.T) { testFound(t, "testdata/functions.go.txt") }

// TestBuilders holds loops of larger functions that append to a builder, however they are spelled.
func TestBuilders(t *testing.T) { testFound(t, "testdata/builders.go.txt") }

func testFound(t *testing.T, file string) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, rep := study(t, string(src), Options{Seed: 1, Total: 1 << 40, Time: 1 << 40})
	found := map[string][]string{}
	for _, f := range rep.Matches {
		found[f.Func] = append(found[f.Func], f.Kind+": "+f.Term)
	}
	if testing.Verbose() {
		for _, a := range rep.Answers {
			if a.Why != "a larger region is a term already" {
				t.Log(a.Region, "is", a.Term, a.Why)
			}
		}
	}
	for name, want := range wanted(string(src)) {
		got := strings.Join(found[name], "\n")
		switch {
		case want == "none" && got != "":
			t.Errorf("%s is a trap, and is taken for\n%s", name, got)
		case want != "none" && !strings.Contains(got, want):
			t.Errorf("%s is taken for %q, want %q", name, got, want)
		}
	}
	rewritten(t, p, rep.Matches)
	t.Logf("%d terms, %d restarts", rep.Terms, rep.Restarts)
}

// wanted reads from the comment above each function what it is.
func wanted(src string) map[string]string {
	out := map[string]string{}
	want := ""
	for line := range strings.Lines(src) {
		if text, ok := strings.CutPrefix(line, "// want: "); ok {
			want = strings.TrimSpace(text)
		}
		if text, ok := strings.CutPrefix(line, "func "); ok && want != "" {
			name, _, _ := strings.Cut(text, "(")
			out[name], want = want, ""
		}
	}
	return out
}
