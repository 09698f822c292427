package inplace

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/source"
)

const totalBenchmark = `
func BenchmarkAdd(b *testing.B) {
	s := &Total{Told: func(int) {}}
	for b.Loop() {
		s.Add(1)
	}
}
`

// TestNoInternal judges and times a target in modules whose own packages cannot lie in internal at
// the root.
func TestNoInternal(t *testing.T) {
	for name, more := range map[string]map[string]string{
		"a module of its own": {"internal/go.mod": "module example.com/place/internal\n\ngo 1.24\n",
			"internal/internal.go": "package internal\n"},
		"a file": {"internal": "text\n"},
	} {
		files := maps.Clone(totalFiles)
		maps.Copy(files, more)
		files["sum/sum_test.go"] += totalBenchmark
		for _, spec := range []string{"./sum.Total.Add", "./sum.Total"} {
			u, p := newPlace(t, source.Options{Dir: module(t, files), Spec: spec, InPlace: true,
				Group: spec == "./sum.Total"})
			e, err := p.Survey(t.Context(), u.Target.Source)
			if err != nil {
				t.Errorf("internal is %s, %s: %v", name, spec, err)
				continue
			}
			err = p.Choose(t.Context(), -1)
			if err != nil || len(e.Tests) != 1 || !slices.Equal(e.Timed, []string{"BenchmarkAdd"}) {
				t.Errorf("internal is %s, %s: tests %q, timed %q, untimed: %s, error %v",
					name, spec, e.Tests, e.Timed, e.Untimed, err)
			}
		}
	}
}

// TestNoInternalForImporters says why a benchmark beside the target's package is not timed where it
// cannot import package live.
func TestNoInternalForImporters(t *testing.T) {
	files := maps.Clone(totalFiles)
	files["internal"] = "text\n"
	u, p := newPlace(t, source.Options{Dir: module(t, files), Spec: "./sum.Total.Add", InPlace: true})
	e, err := p.Survey(t.Context(), u.Target.Source)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Choose(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(e.Untimed, "the tests of example.com/place/user do not build: ") ||
		!strings.Contains(e.Untimed, "use of internal package") {
		t.Errorf("untimed: %s", e.Untimed)
	}
}
