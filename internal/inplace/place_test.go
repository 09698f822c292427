package inplace

import (
	"context"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
)

// lines is a target that writes to any writer, with tests that call it.
var lines = map[string]string{
	"lines.go": `package place

import "io"

// WriteLines writes each line with its end.
func WriteLines(w io.Writer, lines []string) (int, error) {
	n := 0
	for _, l := range lines {
		m, err := w.Write([]byte(l + "\n"))
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
`,
	"lines_test.go": `package place

import (
	"bytes"
	"errors"
	"testing"
)

type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.room {
		return 0, errors.New("full")
	}
	f.room -= len(p)
	return len(p), nil
}

func TestWriteLines(t *testing.T) {
	var b bytes.Buffer
	if n, err := WriteLines(&b, []string{"a", "bc"}); n != 5 || err != nil || b.String() != "a\nbc\n" {
		t.Fatal(n, err, b.String())
	}
}

func TestFull(t *testing.T) {
	if n, err := WriteLines(&full{3}, []string{"a", "bc"}); err == nil {
		t.Log(n)
		t.Fatal("no error")
	}
}

func BenchmarkWriteLines(b *testing.B) {
	list := []string{"one", "two", "three", "four"}
	var w bytes.Buffer
	for i := 0; i < b.N; i++ {
		w.Reset()
		WriteLines(&w, list)
	}
}
`,
}

func TestSurvey(t *testing.T) {
	_, p, e := place(t, module(t, lines), "./.WriteLines")
	if e.Within != beagle.ByTape || e.Taped == 0 || len(e.Tests) != 2 || len(e.Benchmarks) != 1 {
		t.Fatalf("%+v", e)
	}
	if err := p.Choose(context.Background(), -1); err != nil || len(e.Timed) != 1 {
		t.Fatal(e, err)
	}
}

// TestLinesStay checks that the function of a version stands in the line that it has in the
// candidate, whatever is above it, so that profiles mean the candidate's lines.
func TestLinesStay(t *testing.T) {
	u, p := newPlace(t, source.Options{Dir: module(t, counted), Spec: "./.Join"})
	for name, above := range map[string]string{"nothing": "\n", "a comment": "\n// Join joins.\n",
		"a long comment": "\n// Join joins.\n//\n// All of them.\n", "an empty line of a comment": "\n//\n"} {
		was := strings.Replace(u.Target.Source, "\nfunc Join", above+"func Join", 1)
		if was == u.Target.Source && above != "\n" {
			t.Fatalf("no place for %s in\n%s", name, u.Target.Source)
		}
		text, err := p.variant(was, "__b0")
		if err != nil {
			t.Fatal(err)
		}
		if line(was, "func Join") != line(text, "func Join__b0") ||
			!strings.Contains(text, "//go:noinline\nfunc Join__b0") {
			t.Errorf("%s above: the function is in line %d, not %d, of\n%s", name, line(text, "func Join__b0"),
				line(was, "func Join"), text)
		}
	}
}

// line returns the number of the line in which something stands.
func line(text, what string) int {
	before, _, _ := strings.Cut(text, what)
	return 1 + strings.Count(before, "\n")
}
