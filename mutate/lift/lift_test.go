package lift

import (
	"os"
	"strings"
	"testing"
)

// TestFound holds functions that the library has, however they are spelled, and look-alikes that it
// does not have.
func TestFound(t *testing.T) { testFound(t, "testdata/functions.go.txt") }

// TestBuilders holds loops of larger functions that append to a builder, however they are spelled.
func TestBuilders(t *testing.T) { testFound(t, "testdata/builders.go.txt") }

// TestAppendsNothing checks that a rewrite does not touch a builder to which it appends nothing: a
// builder that was used cannot be copied.
func TestAppendsNothing(t *testing.T) {
	_, rep := study(t, `package main

import "strings"

func packed(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != ' ' {
			b.WriteByte(s[i])
		}
	}
	c := b
	c.WriteByte(']')
	return c.String()
}
`, Options{Seed: 1, Total: 1 << 40, Time: 1 << 40})
	if len(rep.Matches) == 0 {
		t.Fatal("nothing is found")
	}
	for _, m := range rep.Matches {
		for _, v := range m.New {
			if !strings.Contains(v.Text, `!= ""`) {
				t.Errorf("it appends in any case:\n%s", v.Text)
			}
		}
	}
}

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
