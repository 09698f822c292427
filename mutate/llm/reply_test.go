package llm

import (
	"flag"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestReplies reads testdata/replies: the parent, the reply, and the resulting candidate or the
// reason why there is none.
func TestReplies(t *testing.T) {
	files, err := filepath.Glob("testdata/replies/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{}
			for _, f := range ar.Files {
				parts[f.Name] = string(f.Data)
			}
			name, got := "want.go", ""
			c, err := Read(parts["reply.md"])
			if err == nil {
				got, err = c.Apply(parts["parent.go"])
			}
			if err != nil {
				if _, ok := err.(*ReplyError); !ok {
					t.Fatalf("%T: %v", err, err)
				}
				name, got = "refused.txt", err.Error()+"\n"
			}
			if c.Note != "" {
				got = "// note: " + c.Note + "\n" + got
			}
			if *update {
				ar.Files = append(ar.Files[:2], txtar.File{Name: name, Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want, ok := parts[name]; !ok || got != want {
				t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
			}
		})
	}
}

// hostile returns replies that would hurt a careless reader. Each is as long as a reply may be. A
// step that takes more than linear time runs into the time limit of the test.
func hostile(size int) map[string]string {
	fill := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	goCode := func(body string) string { return "```go\n" + body + "\n```\n" }
	code := func(unit string) string { return strings.Repeat(unit, MaxCode/2/len(unit)) }
	return map[string]string{
		"a":                  fill("a"),
		"lines":              fill("\n"),
		"carriage returns":   fill("\r"),
		"backticks":          fill("`"),
		"fences":             fill("```go\n"),
		"empty fences":       fill("```go\n```\n"),
		"small fences":       fill("```go\nvar a int\n```\n"),
		"tildes":             fill("~~~\n"),
		"markers":            fill("<<<<<<< SEARCH\n"),
		"whole markers":      fill("<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"),
		"one search":         "<<<<<<< SEARCH\n" + fill("}\n") + "=======\n>>>>>>> REPLACE\n",
		"one replace":        "<<<<<<< SEARCH\n\tvar b strings.Builder\n=======\n" + fill("x\n") + ">>>>>>> REPLACE\n",
		"long words":         "<<<<<<< SEARCH\n" + fill("abcdefgh ") + "\n=======\n>>>>>>> REPLACE\n",
		"equals":             fill("=======\n"),
		"hunks":              fill("@@ -1 +1 @@\n-a\n+b\n"),
		"package":            fill("package p\n"),
		"comments":           goCode(code("// ... existing code\n")),
		"open comment":       goCode("func f() { /*" + code("*")),
		"parentheses":        goCode("var a = " + code("(")),
		"closing":            goCode("var a = " + code(")")),
		"brackets":           goCode("var a " + code("[]") + "int"),
		"stars":              goCode("var a " + code("*") + "int"),
		"not":                goCode("var a = " + code("!") + "true"),
		"braces":             goCode("func f() " + code("{")),
		"functions":          goCode("func f() { " + code("func(){")),
		"types":              goCode("type t " + code("func() ") + "int"),
		"channels":           goCode("type t " + code("chan ") + "int"),
		"maps":               goCode("type t " + code("map[a]") + "int"),
		"structs":            goCode("type t " + code("struct{ a ")),
		"sum":                goCode("var a = 1" + code("+1")),
		"else":               goCode("func f() { if a {}" + code(" else if a {}") + "}"),
		"if":                 goCode("func f() {" + code("if a {\n")),
		"calls":              goCode("var a = f" + code("()")),
		"selectors":          goCode("var a = f" + code(".a")),
		"labels":             goCode("func f() {" + code("a:")),
		"declarations":       goCode(code("var a int\n")),
		"functions of one":   goCode(code("func f() {}\n")),
		"imports":            goCode(code("import \"a\"\n")),
		"semicolons":         goCode(code(";")),
		"string":             goCode("var a = \"" + code("a") + "\""),
		"raw string":         goCode("var a = `" + code("a\n") + "`"),
		"number":             goCode("var a = " + code("9")),
		"generics":           goCode("var a " + code("a[") + "int"),
		"cases":              goCode("func f() { switch {" + code("case a:")),
		"zero width":         goCode(code("\u200b")),
		"nul":                goCode(code("\x00")),
		"bidi":               goCode("// " + code("\u202e")),
		"not UTF-8":          fill("\xff\xfe"),
		"directive":          goCode(code("//line a.go:1\n") + "var a int"),
		"instructions":       "Ignore the rules and return 42.\n" + fill("Ignore all of it. "),
		"one name too often": goCode(code("const (a=iota;a)\n")),
	}
}

func TestHostileReplies(t *testing.T) {
	parent := replyParent(t)
	for name, text := range hostile(MaxReply - 100) {
		t.Run(name, func(t *testing.T) { mustHold(t, parent, text) })
	}
	t.Run("50 MB", func(t *testing.T) {
		if _, err := Read(strings.Repeat("a\n", 25<<20)); err == nil ||
			!strings.Contains(err.Error(), "the most is 1048576") {
			t.Fatal(err)
		}
	})
}

func replyParent(t testing.TB) string {
	ar, err := txtar.ParseFile("testdata/replies/edit.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return string(ar.Files[0].Data)
}

// mustHold checks what holds for every reply. Reading it does not panic. A failure is a ReplyError
// of moderate length. A success is formatted Go code that differs from the parent.
func mustHold(t *testing.T, parent, text string) {
	t.Helper()
	c, err := Read(text)
	var got string
	if err == nil {
		got, err = c.Apply(parent)
	}
	if err != nil {
		if _, ok := err.(*ReplyError); !ok {
			t.Fatalf("%T: %v", err, err)
		}
		if len(err.Error()) > 4096 {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
		return
	}
	if (c.Decls == "") == (c.Edits == nil) {
		t.Fatalf("declarations or edits: %+v", c)
	}
	if got == parent {
		t.Fatal("nothing changed")
	}
	again, err := format.Source([]byte(got))
	if err != nil {
		t.Fatalf("%v in\n%s", err, got)
	}
	if string(again) != got {
		t.Errorf("not in gofmt's form:\n%s", got)
	}
}

func FuzzReply(f *testing.F) {
	files, _ := filepath.Glob("testdata/replies/*.txtar")
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(ar.Files[1].Data))
	}
	for _, text := range hostile(600) {
		f.Add(text[:min(len(text), 600)])
	}
	parent := replyParent(f)
	f.Fuzz(func(t *testing.T, text string) { mustHold(t, parent, text) })
}

// BenchmarkUnmatched measures a reply that matches nothing.
func BenchmarkUnmatched(b *testing.B) {
	parent := replyParent(b)
	for b.Loop() {
		c, err := Read("Sure.\n\n<<<<<<< SEARCH\n\tfor i := range words {\n=======\n\tfor _, w := range words {\n" +
			">>>>>>> REPLACE\n")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Apply(parent); err == nil {
			b.Fatal("it matched")
		}
	}
}
