package llm

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

func loadBundled(t *testing.T) []Lesson {
	t.Helper()
	all, err := LoadLessons()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestBundledLessons checks three things. Every fact that a lesson matches can occur. Every fact
// has a lesson, or an angle mentions it. No lesson is longer than what a prompt grants to all
// lessons.
func TestBundledLessons(t *testing.T) {
	all := loadBundled(t)
	if len(all) < 20 {
		t.Fatalf("%d lessons", len(all))
	}
	taught := map[string]bool{}
	for _, l := range all {
		if n := len(lessonInWords(&l)); n > DefaultLimits().Lessons/3 {
			t.Errorf("%s: %d bytes; three lessons must fit into a prompt", l.Name, n)
		}
		if again, err := ParseLesson(l.Name, l.Text()); err != nil || again.Title != l.Title || again.Body != l.Body ||
			!slices.Equal(again.Matches, l.Matches) {
			t.Errorf("%s does not survive being written and read: %+v, %v", l.Name, again, err)
		}
		for _, m := range l.Matches {
			taught[m] = true
		}
	}
	for _, f := range FactNames {
		if !taught[f] && f != "defer" && f != "lock" && f != "regexp" && f != "short-input" {
			t.Errorf("no lesson is for targets with the fact %q", f)
		}
	}
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

var boundsClaim = regexp.MustCompile(`^// bounds checks: (\d+)\n`)

var lessonImports = []string{"encoding/binary", "math/bits", "strings"}

// TestLessonsCode checks that the code of lessons compiles, and has as many bounds checks as the
// lessons say, with the Go that runs the test.
func TestLessonsCode(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module ex.com/lessons\n\ngo 1.26\n")
	claims := map[string]int{}
	for _, l := range loadBundled(t) {
		for i, m := range goBlock.FindAllStringSubmatch(l.Body, -1) {
			name := fmt.Sprintf("l%d_%s", i, strings.ReplaceAll(l.Name, "-", "_"))
			claim := boundsClaim.FindStringSubmatch(m[1])
			if claim == nil {
				t.Errorf("%s: a block does not say how many bounds checks it has", l.Name)
				continue
			}
			claims[name], _ = strconv.Atoi(claim[1])
			head := "package p\n"
			for _, path := range lessonImports {
				if strings.Contains(m[1], filepath.Base(path)+".") {
					head += fmt.Sprintf("import %q\n", path)
				}
			}
			write(name+"/p.go", head+m[1])
		}
	}
	if len(claims) < 8 {
		t.Fatalf("only %d blocks of code in all lessons", len(claims))
	}
	cmd := exec.Command("go", "build", "-gcflags=-d=ssa/check_bce", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range claims {
		if got := bytes.Count(out, []byte(name+"/p.go")); got != want {
			t.Errorf("%s: %d bounds checks, it says %d:\n%s", name, got, want, out)
		}
	}
}

func TestMatch(t *testing.T) {
	all := loadBundled(t)
	names := func(facts map[string]float64, limit int) []string {
		var out []string
		for _, l := range Match(all, facts, limit) {
			out = append(out, l.Name)
		}
		return out
	}
	got := names(map[string]float64{"bounds-check": 1, "loop": 0.4}, 8<<10)
	if len(got) == 0 || got[0] != "bounds-checks" {
		t.Errorf("for bounds checks: %v", got)
	}
	if got := names(map[string]float64{"sorted": 1, "sort": 0.8}, 4<<10); len(got) == 0 || got[0] != "sorted-merge" {
		t.Errorf("for sorted input: %v", got)
	}
	if got := names(nil, 8<<10); len(got) != 0 {
		t.Errorf("for no facts: %v", got)
	}
	if got := names(map[string]float64{"bounds-check": 1, "loop": 1, "text": 1}, 10); len(got) != 0 {
		t.Errorf("in ten bytes: %v", got)
	}
	own := Lesson{Name: "own", Title: "Ours", Matches: []string{"bounds-check"}, Body: "Use the helper.",
		From: "/home/x/own.md"}
	if got := Match(append(all, own), map[string]float64{"bounds-check": 1}, 8<<10); got[0].Name != "own" {
		t.Errorf("the user's own lesson is not first: %v", got[0].Name)
	}
}

func TestUserLessons(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("map-or-array.md", "---\ntitle: Our maps\nmatches: map\ngo: 1.26\n---\nUse intern.Table.\n")
	put("notes.txt", "not a lesson")
	all, err := LoadLessons(filepath.Join(dir, "none"), dir)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(l Lesson) bool { return l.Name == "map-or-array" })
	if all[i].Body != "Use intern.Table." || all[i].From != filepath.Join(dir, "map-or-array.md") {
		t.Errorf("the user's lesson does not replace the bundled one: %+v", all[i])
	}
	for name, text := range map[string]string{
		"no header":    "Use intern.Table.\n",
		"unknown key":  "---\ntitle: x\nmatches: map\nauthor: me\n---\nbody\n",
		"unknown fact": "---\ntitle: x\nmatches: maps\n---\nbody\n",
		"no body":      "---\ntitle: x\nmatches: map\n---\n\n",
		"too long":     "---\ntitle: x\nmatches: map\n---\n" + strings.Repeat("x", maxLesson),
	} {
		put("bad.md", text)
		_, err := LoadLessons(dir)
		usage, ok := err.(*beagle.UsageError)
		if !ok || !strings.Contains(usage.What, filepath.Join(dir, "bad.md")) || usage.Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseLesson(f *testing.F) {
	f.Add("---\ntitle: x\nmatches: map\ngo: 1.26\n---\nbody\n")
	f.Add("---\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLesson("x", text)
		if err != nil {
			return
		}
		again, err := ParseLesson("x", l.Text())
		if err != nil || again.Title != l.Title || again.Body != l.Body {
			t.Errorf("%q: %+v becomes %+v, %v", text, l, again, err)
		}
	})
}
