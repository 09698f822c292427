package inplace

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/beagle-go/beagle/internal/source"
)

var update = flag.Bool("update", false, "write the golden dispatchers anew")

// TestDispatchers holds the text of two dispatchers, so that a reader sees what the writer makes.
func TestDispatchers(t *testing.T) {
	files := map[string]string{"d.go": `package place

import (
	"context"
	"io"
)

type Tree struct{ words []string }

func (tr *Tree) Visit(ctx context.Context, w io.Writer, visit func(word string) bool, more ...string) (int, error) {
	n := 0
	for _, s := range append(tr.words, more...) {
		if ctx.Err() != nil || !visit(s) {
			break
		}
		m, err := io.WriteString(w, s)
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

func Words[T ~string](list []T, yield func(T)) func() int {
	for _, s := range list {
		yield(s)
	}
	return func() int { return len(list) }
}

var Empty = &Tree{}
`}
	dir := module(t, files)
	for _, c := range []struct{ target, golden string }{
		{"./.Tree.Visit", "visit.go.txt"}, {"./.Words", "words.go.txt"},
	} {
		u, err := source.Load(t.Context(), source.Options{Dir: dir, Spec: c.target, InPlace: true})
		if err != nil {
			t.Fatal(err)
		}
		d, err := newDispatcher(u)
		if err != nil {
			t.Fatal(err)
		}
		d.tape = true
		got, path := d.file([]int{0, 1}), filepath.Join("testdata", "dispatchers", c.golden)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: the dispatcher is\n%s\nwant\n%s", c.target, got, want)
		}
	}
}
