package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle"
)

// TestWritten reads all versions that people wrote. A set without versions proves nothing.
func TestWritten(t *testing.T) {
	for _, set := range []string{"A", "B"} {
		list, err := readVersions("../..", set, "")
		if err != nil {
			t.Fatal(err)
		}
		honest := 0
		for _, v := range list {
			if v.honest {
				honest++
			}
		}
		if honest == 0 || honest == len(list) {
			t.Errorf("set %s has %d honest versions of %d", set, honest, len(list))
		}
		only, err := readVersions("../..", set, "wrong")
		if err != nil || len(only) != len(list)-honest {
			t.Errorf("set %s: %d wrong versions, %v; want %d", set, len(only), err, len(list)-honest)
		}
	}
	if _, err := readVersions("../..", "Z9", ""); err == nil {
		t.Error("a set that nobody wrote is no error")
	}
}

func TestParseVersion(t *testing.T) {
	file := txtar.File{Name: "quick.go", Data: []byte("// honest under --ignore 'error text': no copy\npackage p\n")}
	v, err := parseVersion(function{name: "A3"}, file)
	if err != nil {
		t.Fatal(err)
	}
	if v.name != "A3/quick" || !v.honest || v.what != "no copy" ||
		!slices.Equal(v.flags, []string{"--ignore", "error text"}) {
		t.Errorf("got %+v", v)
	}
	for _, head := range []string{"package p", "// quick: no copy", "// honest"} {
		file := txtar.File{Name: "x.go", Data: []byte(head + "\n")}
		if _, err := parseVersion(function{name: "A3"}, file); err == nil {
			t.Errorf("%q says neither wrong nor honest, and is no error", head)
		}
	}
}

func TestExpand(t *testing.T) {
	const original = "package p\n\n// F counts.\nfunc F(n int) int {\n\tif n == 0 {\n\t\treturn 0\n\t}\n" +
		"\treturn 1 + F(n-1)\n}\n"
	for _, c := range []struct{ name, text, want, problem string }{
		{"text", "package p\nfunc F(n int) int { return n }\n", "func F(n int) int { return n }", ""},
		{
			"original", "package p\n\nfunc F(n int) int { return slow(n) }\n\n//original as slow\n",
			"return 1 + slow(n-1)", "",
		},
		{"edit", `//edit "1 + F(n-1)" => "n"`, "return n\n", ""},
		{"two edits", "//edit \"n == 0\" => \"n <= 0\"\n//edit \"1 + F\" => \"2 + F\"", "return 2 + F(n-1)", ""},
		{"ambiguous", `//edit "n" => "m"`, "", "occurs"},
		{"no arrow", `//edit "n"`, "", "=>"},
		{"does not parse", "package p\nfunc F( {", "", "expected"},
	} {
		got, err := expand(c.text, original, "F")
		switch {
		case c.problem != "":
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: error %v, want one with %q", c.name, err, c.problem)
			}
		case err != nil || !strings.Contains(got, c.want):
			t.Errorf("%s: got %v\n%s\nwant %q", c.name, err, got, c.want)
		}
	}
	if _, err := expand("package p\n//original as slow\n", original, "G"); err == nil {
		t.Error("the original lacks G, and that is no error")
	}
}

func TestReportVersions(t *testing.T) {
	judged := func(name string, honest bool, status beagle.Status, stage string) *version {
		return &version{name: name, honest: honest, what: "why", cpu: time.Second,
			verdict: &beagle.Verdict{Status: status, Stage: stage}}
	}
	list := []*version{
		judged("A1/seen", false, beagle.Wrong, "fuzz"),
		judged("A1/seen-too", false, beagle.Wrong, "fuzz"),
		judged("A1/missed", false, beagle.Accepted, "measure"),
		judged("A1/quiet", false, beagle.Equal, "measure"),
		judged("A1/good", true, beagle.Accepted, "measure"),
		judged("A1/slow", true, beagle.Equal, "measure"),
		judged("A1/refused", true, beagle.Wrong, "replay"),
	}
	var b strings.Builder
	if err := reportVersions(&b, list); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"wrong, accepted: A1/missed (why)",
		"wrong, not seen, but not faster: A1/quiet",
		"honest, rejected: A1/refused",
		"4 wrong versions: 1 accepted (25.0 %), 1 more not seen but not called faster; rejected by fuzz 2",
		"3 honest versions: 1 rejected (33.3 %)",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, b.String())
		}
	}
	if err := reportVersions(&b, append(list, &version{name: "A1/broken"})); err == nil {
		t.Error("a version that could not be judged is no error")
	}
}

func TestSuits(t *testing.T) {
	long := strings.Repeat("\tn++\n", minLines)
	for _, c := range []struct {
		head string
		want bool
	}{
		{"func F(s string) int", true},
		{"func F(n int, rest ...[]byte) (string, error)", true},
		{"func F(n int) int", false},                   // no sequence
		{"func F(s string)", false},                    // no result
		{"func (r R) F(s string) int", false},          // a method
		{"func F[T any](s string) int", false},         // generic
		{"func F(s string, m map[int]int) int", false}, // no plain value
		{"func F(s string) fmt.Stringer", false},
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "f.go", "package p\n"+c.head+" {\n"+long+"}\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := suits(fset, f.Decls[0].(*ast.FuncDecl)); got != c.want {
			t.Errorf("%s: %v, want %v", c.head, got, c.want)
		}
	}
}
