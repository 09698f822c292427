package source

import (
	"strings"
	"testing"
)

// TestComplete: a version may use helpers of the original without declaring
// them again; what it declares itself stays its own.
func TestComplete(t *testing.T) {
	u := load(t, module(t, `
-- tags.go --
package tags

import "strings"

const longest = 200

const (
	plain kind = iota
	other
)

type kind int

func (k kind) ok() bool { return k == plain }

// Valid reports whether a tag is in form.
func Valid(s string) bool {
	return len(s) <= longest && kindOf(s).ok()
}

func kindOf(s string) kind {
	if strings.ContainsRune(s, ' ') {
		return other
	}
	return plain
}
`), "./.Valid")
	got := u.Reader.Complete("package tags\n\nfunc Valid(s string) bool {\n" +
		"\treturn len(s) <= longest && !spaced(s) && " +
		"kindOf(s).ok()\n}\n\nfunc spaced(s string) bool { return false }\n")
	text, err := u.Reader.Normalize(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"const longest = 200", "func kindOf(", `import "strings"`} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is there %d times:\n%s", want, strings.Count(text, want), text)
		}
	}
	if _, problem := u.Reader.Parse(text); problem != nil {
		t.Errorf("%+v", problem)
	}
	for _, whole := range []string{u.Target.Source, "not Go",
		"package tags\n\nfunc Valid(s string) bool { return undefined(s) }\n"} {
		if got := u.Reader.Complete(whole); got != whole {
			t.Errorf("changed to:\n%s", got)
		}
	}
}

// TestKeptImports: what a version keeps of the original brings its imports.
func TestKeptImports(t *testing.T) {
	u := load(t, module(t, `
-- tags.go --
package tags

import (
	re "regexp"
	"net/url"
)

var word = re.MustCompile("^[a-z]+$")

func Valid(s string) bool {
	_, err := url.Parse(s)
	return err == nil && word.MatchString(s)
}
`), "./.Valid")
	text, err := u.Reader.Normalize(
		u.Reader.Complete("package tags\n\nfunc Valid(s string) bool {\n" +
			"\tif !word.MatchString(s) {\n\t\treturn false\n\t}\n" +
			"\t_, err := url.Parse(s)\n\treturn err == nil\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, problem := u.Reader.Parse(text); problem != nil {
		t.Errorf("%+v\n%s", problem, text)
	}
}
