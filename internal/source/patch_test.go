package source

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

func mustPatch(t testing.TB, u *Unit, src string, extra ...beagle.PatchFile) beagle.Patch {
	t.Helper()
	src, err := u.Reader.Normalize(src)
	if err != nil {
		t.Fatal(err)
	}
	p, err := u.Writer.Patch(src, extra)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return p
}

// applied carries a patch out with git apply, so that the diff itself is under
// test, and returns the module's files by path.
func applied(t testing.TB, dir string, p beagle.Patch) map[string]string {
	t.Helper()
	c := exec.Command("git", "apply", "--whitespace=nowarn", "-")
	c.Dir, c.Stdin = dir, strings.NewReader(p.Diff)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v %s\n%s", err, out, p.Diff)
	}
	got := map[string]string{}
	for _, f := range p.Files {
		text, err := os.ReadFile(filepath.Join(dir, f.Path))
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != f.After {
			t.Errorf("%s: the diff gives\n%s\nnot\n%s", f.Path, text, f.After)
		}
		got[f.Path] = string(text)
	}
	return got
}

func TestPatchNothing(t *testing.T) {
	u := load(t, module(t, tagsModule), "./tags.Normalize")
	if p := mustPatch(t, u, u.Target.Source); p.Diff != "" || len(p.Files) != 0 {
		t.Errorf("patch of the original: %s", p.Diff)
	}
}

func TestPatch(t *testing.T) {
	dir := module(t, tagsModule)
	u := load(t, dir, "./tags.Normalize")
	src := rename(t, u.Target.Source,
		// strings becomes unused, bytes new
		"return strings.ToLower(s[:1]) + tail(s[1:])", "return string(bytes.ToLower([]byte(s[:1]))) + tail(s[1:])",
		"// lower is a helper.\n", "", // the doc comment was lost on the way
		"maxLen = 200 // bytes", "maxLen = 100 // runes",
		"return plain(s)", "return fresh(s) + fmt.Sprint(1)",
		"func plain(s string) string { return s + aliased(s) }",
		"// fresh is new.\nfunc fresh(s string) string { return aliased(s) + newTable[0] }\n\n"+
			"var newTable = []string{\"a\"}")
	p := mustPatch(t, u, src)
	want := `--- a/tags/tags.go
+++ b/tags/tags.go
@@ -4,12 +4,12 @@
 package tags
 
 import (
-	"strings"
+	"bytes"
 	"unicode/utf8"
 )
 
 const (
-	maxLen = 200 // bytes
+	maxLen = 100 // runes
 	other  = 3
 )
 
@@ -37,12 +37,17 @@
 	return lower(s)
 }
 
+// fresh is new.
+func fresh(s string) string { return aliased(s) + newTable[0] }
+
+var newTable = []string{"a"}
+
 // lower is a helper.
 func lower(s string) string {
 	if s == "" {
 		return ""
 	}
-	return strings.ToLower(s[:1]) + tail(s[1:])
+	return string(bytes.ToLower([]byte(s[:1]))) + tail(s[1:])
 }
 
 func tail(s string) string {
--- a/tags/more.go
+++ b/tags/more.go
@@ -1,11 +1,12 @@
 package tags
 
-import str "strings"
+import (
+	"fmt"
+	str "strings"
+)
 
 // deeper lives in another file and shares no import name.
-func deeper(s string) string { return plain(s) }
-
-func plain(s string) string { return s + aliased(s) }
+func deeper(s string) string { return fresh(s) + fmt.Sprint(1) }
 
 // aliased imports strings under another name.
 func aliased(s string) string { return str.TrimSpace(s) }
`
	// Files come in the compiler's order.
	if got := p.Diff; got != want && got != swapped(want) {
		t.Errorf("diff\n%s\nwant\n%s", got, want)
	}
	applied(t, dir, p)
	again := load(t, dir, "./tags.Normalize")
	if q := mustPatch(t, again, again.Target.Source); q.Diff != "" {
		t.Errorf("a second patch changes\n%s", q.Diff)
	}
}

func swapped(diff string) string {
	i := strings.Index(diff, "--- a/tags/more.go")
	return diff[i:] + diff[:i]
}

func TestPatchImportNames(t *testing.T) {
	dir := module(t, `
-- a.go --
package a

import (
	rand "crypto/rand"
	"fmt"

	"example.com/m/sub"
)

func Keep() { fmt.Println(rand.Reader, sub.X) }

func Target(s string) string { return s }
-- b.go --
package a

import str "strings"

var used = str.ToLower("X")
-- sub/sub.go --
package sub

var X = 1
`)
	u := load(t, dir, "Target")
	got := applied(t, dir, mustPatch(t, u, `package a

import (
	"math/rand"
	txt "strings"
)

func Target(s string) string {
	if rand.Int() > 1 {
		return s
	}
	return txt.ToLower(s)
}
`))["a.go"]
	wantIn(t, got, `	rand "crypto/rand"
	"fmt"
	rand2 "math/rand"
	txt "strings"

	"example.com/m/sub"
`, "if rand2.Int() > 1", "txt.ToLower(s)")
}

func TestPatchGroupsAndComments(t *testing.T) {
	dir := module(t, `
-- a.go --
package a

// Floating comment above.

var (
	// one is first.
	one = 1 // trailing

	// two is second.
	two = 2

	shared = 3
)

var (
	gone1 = 1
	gone2 = 2
)

const (
	// A is exported.
	A = iota
	b
)

// Target has a doc comment.
func Target(n int) int { // opens
	return n + one + two + shared + gone1 + gone2 + helper(n) // sum
} // closes

// Floating comment between.

// helper helps.
func helper(n int) int { return n }

// Floating comment at the end.

func Other() int { return shared + b }
`)
	u := load(t, dir, "Target")
	got := applied(t, dir, mustPatch(t, u, `package a

// one is first.
var one = []int{
	1,
	2,
} // trailing

// Target has a doc comment.
func Target(n int) int { // opens
	return n + one[0] + shared // sum
} // closes
`))["a.go"]
	want := `package a

// Floating comment above.

var (
	// one is first.
	one = []int{
		1,
		2,
	} // trailing

	shared = 3
)

const (
	// A is exported.
	A = iota
	b
)

// Target has a doc comment.
func Target(n int) int { // opens
	return n + one[0] + shared // sum
} // closes

// Floating comment between.

// Floating comment at the end.

func Other() int { return shared + b }
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPatchUnusualFiles(t *testing.T) {
	for name, text := range map[string]string{
		"CRLF":                "package a\r\n\r\nimport \"fmt\"\r\n\r\n// Doc.\r\nfunc Target(s string) string {\r\n\treturn s\r\n}\r\n\r\nfunc Other() { fmt.Println() }\r\n",
		"not formatted":       "package a\nimport \"fmt\"\nfunc Other() { fmt.Println( ) }\nfunc Target(s string) string { return   s }\nvar  x   = 1",
		"no import":           "package a // comment\n\nfunc Target(s string) string { return s }\n",
		"no newline":          "package a\n\nfunc Target(s string) string { return s }",
		"target at the start": "package a; func Target(s string) string { return s }; func Other() {}\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := module(t, "")
			if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			u := load(t, dir, "Target")
			if p := mustPatch(t, u, u.Target.Source); p.Diff != "" {
				t.Errorf("the original changes: %q", p.Diff)
			}
			got := applied(t, dir,
				mustPatch(t, u,
					"package a\n\nfunc Target(s string) string {\n\treturn strings.ToLower(s) + extra\n}\n\n"+
						"var extra = \"e\"\n"))["a.go"]
			if name == "CRLF" && strings.Count(got, "\r\n") != strings.Count(got, "\n") {
				t.Errorf("line ends mixed: %q", got)
			}
			if name == "not formatted" && !strings.Contains(got, "fmt.Println( )") {
				t.Errorf("formatted what was not asked for:\n%s", got)
			}
			if q := mustPatch(t, load(t, dir, "Target"),
				"package a\n\nfunc Target(s string) string { return \"\" }\n"); !strings.Contains(q.Diff, "-") {
				t.Error("the patched file cannot be patched")
			}
		})
	}
}

func TestPatchExtraFiles(t *testing.T) {
	dir := module(t, tagsModule)
	u := load(t, dir, "./tags.Normalize")
	test := beagle.PatchFile{Path: "tags/beagle_test.go", After: "package tags\n"}
	p := mustPatch(t, u, u.Target.Source, test)
	wantIn(t, p.Diff, "--- /dev/null\n+++ b/tags/beagle_test.go\n@@ -0,0 +1 @@\n+package tags\n")
	applied(t, dir, p)
}

func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v %s", args, err, out)
	}
}

func TestApply(t *testing.T) {
	dir := module(t, tagsModule)
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	file := filepath.Join(dir, "tags/tags.go")
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	u := load(t, dir, "./tags.Normalize")
	p := mustPatch(t, u, rename(t, u.Target.Source, "maxLen = 200", "maxLen = 300", "s + aliased(s)", "aliased(s)"),
		beagle.PatchFile{Path: "tags/new_test.go", After: "package tags\n"})
	if len(p.Files) != 3 {
		t.Fatalf("%d files", len(p.Files))
	}
	refuse := func(why, want string) {
		t.Helper()
		before, _ := os.ReadFile(file)
		err := Apply(dir, p)
		if _, ok := err.(*beagle.UsageError); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", why, err, want)
		}
		if after, _ := os.ReadFile(file); string(after) != string(before) {
			t.Errorf("%s: refused, but the file changed", why)
		}
		if _, err := os.Stat(filepath.Join(dir, "tags/new_test.go")); why != "exists" && err == nil {
			t.Errorf("%s: refused, but a file was written", why)
		}
	}
	text, _ := os.ReadFile(file)
	os.WriteFile(file, append(text, "// more\n"...), 0o640)
	refuse("changed", "tags/tags.go changed since")
	os.WriteFile(file, text, 0o640)
	more := filepath.Join(dir, "tags/more.go")
	os.Rename(more, more+".away")
	refuse("gone", "tags/more.go is gone")
	os.Rename(more+".away", more)
	git(t, dir, "rm", "-q", "--cached", "tags/more.go")
	refuse("not under git", "uncommitted changes")
	git(t, dir, "add", "tags/more.go")
	os.WriteFile(filepath.Join(dir, "tags/new_test.go"), nil, 0o666)
	refuse("exists", "tags/new_test.go exists already")
	os.Remove(filepath.Join(dir, "tags/new_test.go"))
	if err := Apply(dir, p); err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Files {
		if got, _ := os.ReadFile(filepath.Join(dir, f.Path)); string(got) != f.After {
			t.Errorf("%s was not written", f.Path)
		}
	}
	if st, _ := os.Stat(file); st.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", st.Mode())
	}
	left, _ := filepath.Glob(filepath.Join(dir, "tags/.beagle-*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := Apply(dir, beagle.Patch{Files: []beagle.PatchFile{{Path: "../x.go", After: "x"}}}); err == nil {
		t.Error("wrote outside the module")
	}
}

func TestApplyRefusesUncommittedText(t *testing.T) {
	dir := module(t, tagsModule)
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	file := filepath.Join(dir, "tags/tags.go")
	text, _ := os.ReadFile(file)
	os.WriteFile(file, append(text, "// more\n"...), 0o666)
	u := load(t, dir, "./tags.Normalize") // loaded with the change: only git knows
	p := mustPatch(t, u, rename(t, u.Target.Source, "maxLen = 200", "maxLen = 300"))
	if err := Apply(dir, p); err == nil || !strings.Contains(err.Error(), "tags/tags.go has uncommitted changes") {
		t.Errorf("applied to a dirty file: %v", err)
	}
	git(t, dir, "commit", "-q", "-a", "-m", "second")
	if err := Apply(dir, p); err != nil {
		t.Error(err)
	}
}

func TestApplyRestoresOnFailure(t *testing.T) {
	dir := module(t, "-- a.go --\npackage a\n")
	if err := os.Mkdir(filepath.Join(dir, "dir"), 0o777); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "a.go"))
	err := Apply(dir, beagle.Patch{Files: []beagle.PatchFile{
		{Path: "a.go", Before: fileHash(string(text)), After: "package b\n"},
		{Path: "new.go", After: "package a\n"},
		{Path: "a.go/impossible.go", After: "package a\n"},
	}})
	if err == nil {
		t.Fatal("no error")
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "a.go")); string(got) != string(text) {
		t.Errorf("a.go is %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "new.go")); err == nil {
		t.Error("new.go was left")
	}
}

func TestLoadStopsWithItsContext(t *testing.T) {
	dir := module(t, tagsModule)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Load(ctx, Options{Dir: dir, Spec: "./tags.Normalize"}); err != context.Canceled {
		t.Errorf("Load = %v", err)
	}
}

// TestPatchLastHelpersGo: several helpers at the end of a file that the
// candidate has no use for.
func TestPatchLastHelpersGo(t *testing.T) {
	dir := module(t, "")
	text := "package a\n\nfunc Target(n int) int { return one(n) }\n\n// one calls.\n" +
		"func one(n int) int { return two(n) + three(n) }\n\nfunc two(n int) int { return n + n }\n\n" +
		"// three ends the file.\nfunc three(n int) int {\n\treturn -n\n}\n"
	for _, end := range []string{text, strings.TrimSuffix(text, "\n"), text + "\n// The end.\n"} {
		if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(end), 0o666); err != nil {
			t.Fatal(err)
		}
		p := mustPatch(t, load(t, dir, "Target"), "package a\n\nfunc Target(n int) int { return n }\n")
		want := "package a\n\nfunc Target(n int) int { return n }\n"
		if got := applied(t, dir, p)["a.go"]; strings.TrimSuffix(got, "\n// The end.\n") != want {
			t.Errorf("of %q is left %q, want %q", end, got, want)
		}
	}
}
