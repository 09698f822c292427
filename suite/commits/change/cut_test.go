package change

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// version writes a package as a module of its own and loads it.
func version(t *testing.T, typed bool, files ...string) *pkg {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/p\n\ngo 1.24\n")
	for i, text := range files {
		write(string(rune('a'+i))+".go", "package p\n\n"+text)
	}
	read := load
	if typed {
		read = loadTyped
	}
	p, err := read(t.Context(), dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const beforeText = `
import "strings"

const limit = 4

type list []string

func Join(s []string) string { return strings.Join(short(s), ",") }

func Other(s []string) string { return strings.Join(short(s), ";") }

func short(s []string) []string {
	if len(s) > limit {
		s = s[:limit]
	}
	return s
}

func same(s string) string { return s }

func (l list) First() string { return l[0] }
`

// TestCut checks that new helpers are copied, unchanged code is not, and a changed shared helper
// gets a new name.
func TestCut(t *testing.T) {
	after := strings.NewReplacer(
		`strings.Join(short(s), ",")`, `join(short(s), comma)`,
		"const limit = 4", "const limit = 8",
		"func same", "const (\n\tcomma = same2\n\tsame2 = ','\n)\n\nfunc unrelated() string { return \"x\" }\n\nfunc same",
	).Replace(beforeText)
	joiner := `
import sb "strings"

//go:noinline
func join(s []string, sep byte) string {
	var b sb.Builder
	for i, x := range s {
		if i > 0 {
			b.WriteByte(sep)
		}
		b.WriteString(same(x))
	}
	return b.String()
}
`
	got, err := cut(version(t, false, beforeText), version(t, true, after, joiner), "Join", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"package p\n", `import sb "strings"`,
		"func Join(s []string) string { return join(shortAfter(s), comma) }",
		"func shortAfter(", "s = s[:limitAfter]", "const limitAfter = 8",
		"//go:noinline\nfunc join(", "const comma = same2", "same(x)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the file lacks %q", want)
		}
	}
	for _, no := range []string{"unrelated", "func same", "Other", "type list"} {
		if strings.Contains(got, no) {
			t.Errorf("the file contains %q", no)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// TestCutRefuses checks that an error names the part that no candidate can bring along.
func TestCutRefuses(t *testing.T) {
	const before = `
type T struct{ a int }

func (t T) Get() int { return t.a }

func F(t T) int { return t.Get() }
`
	for _, c := range []struct{ name, after, want string }{
		{"type", strings.Replace(before, "a int", "a int; b int", 1), "type T differs"},
		{"method", strings.Replace(before, "return t.a", "return t.a + 0", 1), "method T.Get differs"},
		{"init", before[:strings.Index(before, "func F")] +
			"var table [256]int\n\nfunc init() { table[1] = 1 }\n\nfunc F(t T) int { return table[t.a] }\n",
			"set by an init function"},
		{"same", before, "F is the same in both versions"},
		{"gone", "func G() {}\n", "F is not a function of the later version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := cut(version(t, false, before), version(t, true, c.after), "F", nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("cut: %v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestCutNewType checks that a new type brings its methods.
func TestCutNewType(t *testing.T) {
	const before = "func F(s string) int { return len(s) }\n"
	const after = `
func F(s string) int { return counter{s}.count() }

type counter struct{ s string }

func (c counter) count() int { return len(c.s) }
`
	got, err := cut(version(t, false, before), version(t, true, after), "F", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, "type counter struct") || !strings.Contains(got, "func (c counter) count()") {
		t.Error(got)
	}
}

// TestCutKeeps checks that changes of other commits are not copied.
func TestCutKeeps(t *testing.T) {
	const before = `
type T struct{ a int }

func (t T) Get() int { return t.a }

func F(t T) int { return t.Get() }
`
	after := strings.Replace(before, "return t.a", "return t.a + 0", 1)
	after = strings.Replace(after, "return t.Get()", "x := t.Get(); return x", 1)
	got, err := cut(version(t, false, before), version(t, true, after), "F", []string{"T.Get"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, "x := t.Get()") || strings.Contains(got, "t.a") {
		t.Error(got)
	}
}
