package source

import (
	"go/format"
	"strings"
	"testing"
)

// TestLines checks that every line of the canonical text on which something begins is traced to the
// line of the written one that has the same words.
func TestLines(t *testing.T) {
	const written = `package p
import ("strings"; "os")



// F is odd.
func F(s string) int { n := 0
  for i := 0; i < len(s); i++ { if s[i] == 'a' { n++ } }; if os.Getenv("X") != "" { return 1 }

  //go:nosplit

  return n + len(strings.ToUpper(s)) }
`
	text, err := format.Source(
		[]byte(strings.Replace(written, `import ("strings"; "os")`, "import (\n\"os\"\n\"strings\"\n)\n", 1)))
	if err != nil {
		t.Fatal(err)
	}
	at := func(text, what string) int { return 1 + strings.Count(text[:strings.Index(text, what)], "\n") }
	lines := Lines(string(text), written)
	for _, what := range []string{"package p", `"os"`, `"strings"`, "func F", "n := 0", "for i", "if s[i]", "n++",
		"if os.Getenv", "return 1", "//go:nosplit", "return n"} {
		if from, to := at(string(text), what), at(written, what); lines[from] != to {
			t.Errorf("%s: line %d is traced to %d, it was written on %d", what, from, lines[from], to)
		}
	}
	if len(Lines("package p", "pack")) != 0 {
		t.Error("what does not parse has lines")
	}
}

// TestReceiverSpellings checks that a method is found however its receiver is written.
func TestReceiverSpellings(t *testing.T) {
	dir := module(t,
		"-- go.mod --\nmodule example.com/m\n\ngo 1.26\n-- p/p.go --\npackage p\n\ntype Buffer struct{ n int }\n\n"+
			"func (b *Buffer) Push(n int) int { b.n += n; return b.n }\n")
	for _, spec := range []string{"./p.Buffer.Push", "./p.*Buffer.Push", "./p.(*Buffer).Push", "./p.(Buffer).Push",
		"p.*Buffer.Push"} {
		if u := load(t, dir, spec); u.Target.Name != "Buffer.Push" {
			t.Errorf("%s: %s", spec, u.Target.Name)
		}
	}
}
