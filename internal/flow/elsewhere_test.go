package flow

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/mutate/rules"
)

// TestElsewhere: rules see what a method does that no version may change, and that calls through an
// interface alone reach.
func TestElsewhere(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module p\n\ngo 1.26\n",
		"p.go": `package p

import "sort"

func Order(names []string) { sort.Sort(byLength(names)) }

func Count(names []string) { sort.Sort(counted(names)) }
`,
		"types.go": `package p

type byLength []string

func (b byLength) Len() int           { return len(b) }
func (b byLength) Less(i, j int) bool { return len(b[i]) < len(b[j]) }
func (b byLength) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

type counted []string

var asked int

func (c counted) Len() int           { asked++; return len(c) }
func (c counted) Less(i, j int) bool { return len(c[i]) < len(c[j]) }
func (c counted) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for spec, want := range map[string]bool{"Order": true, "Count": false} {
		u, err := source.Load(t.Context(), source.Options{Dir: dir, Spec: spec})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorkbench(u, &beagle.Facets{}, rules.Default, bench.Profile{})
		root := beagle.NewCandidate(u.Target.Source, nil, nil)
		moves := w.moves(root)
		i := slices.IndexFunc(moves, func(m beagle.Move) bool { return m.Mutator == "short-sort" })
		if i >= 0 != want {
			t.Errorf("%s: moves %+v, want short-sort %v", spec, moves, want)
			continue
		}
		if !want {
			continue
		}
		child, err := w.apply(root, moves[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, problem := u.Reader.Parse(child.Source); problem != nil {
			t.Errorf("%s\n%s", problem.Message, child.Source)
		}
		if w.passOfOther("byLength.Len") == nil || w.passOfOther("byLength.Lean") != nil {
			t.Error("a method that is there is not shown, or one that is not")
		}
	}
}
