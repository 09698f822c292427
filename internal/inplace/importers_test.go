package inplace

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
)

// totalFiles have no benchmark in the target's package, but one in a package that imports it.
var totalFiles = map[string]string{
	"sum/sum.go": `package sum

// A Total holds a function, so that no record can hold it.
type Total struct {
	Told func(int)
	n    int
}

func (t *Total) Add(n int) int {
	t.n += n
	t.Told(t.n)
	return t.n
}
`,
	"sum/sum_test.go": `package sum

import "testing"

func TestAdd(t *testing.T) {
	s := &Total{Told: func(int) {}}
	if s.Add(1)+s.Add(2) != 4 {
		t.Error(s)
	}
}
`,
	"user/user.go": `package user

import "example.com/place/sum"

func Use(t *sum.Total) int { return t.Add(3) }
`,
	"user/user_test.go": `package user

import (
	"testing"

	"example.com/place/sum"
)

func BenchmarkUse(b *testing.B) {
	t := &sum.Total{Told: func(int) {}}
	for b.Loop() {
		Use(t)
	}
}
`,
}

// TestImporters times a target in the benchmark of a package that imports it and is not below it.
func TestImporters(t *testing.T) {
	dir := module(t, maps.Clone(totalFiles))
	u, p := newPlace(t, source.Options{Dir: dir, Spec: "./sum.Total.Add", InPlace: true})
	e, err := p.Survey(t.Context(), u.Target.Source)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Choose(t.Context(), -1); err != nil || len(e.Timed) != 1 || e.Timed[0] != "BenchmarkUse" {
		t.Errorf("timed %q, untimed: %s, error %v", e.Timed, e.Untimed, err)
	}
}

// TestImportersThatDoNotBuild says why a benchmark of an importing package was not timed.
func TestImportersThatDoNotBuild(t *testing.T) {
	dir := module(t, map[string]string{
		"sum/sum.go": "package sum\n\n// Add adds one.\nfunc Add(n int) int {\n\treturn n + 1\n}\n",
		"sum/sum_test.go": "package sum\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n" +
			"\tif Add(1) != 2 {\n\t\tt.Error(\"no\")\n\t}\n}\n",
		"user/user.go": "package user\n\nimport \"example.com/place/sum\"\n\nfunc Use() int { return sum.Add(3) }\n",
		"user/user_test.go": "package user\n\nimport \"testing\"\n\nfunc BenchmarkUse(b *testing.B) {\n" +
			"\tfor b.Loop() {\n\t\tUse(0)\n\t}\n}\n",
	})
	u, p := newPlace(t, source.Options{Dir: dir, Spec: "./sum.Add", InPlace: true})
	e, err := p.Survey(t.Context(), u.Target.Source)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Choose(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(e.Untimed, "no benchmark calls Add (the tests of example.com/place/user do not build: ") {
		t.Errorf("untimed: %s", e.Untimed)
	}
	// A caller that wants times hears that before the tests are tried.
	var said []string
	p.watch = func(what string) { said = append(said, what) }
	p.Timing = true
	_, err = p.Survey(t.Context(), u.Target.Source)
	var bad *beagle.UsageError
	if !errors.As(err, &bad) || !strings.Contains(bad.What, "cannot be timed in place: no benchmark calls Add") {
		t.Errorf("survey for times: %v", err)
	}
	if slices.ContainsFunc(said, func(what string) bool { return strings.HasPrefix(what, "the tests of") }) {
		t.Errorf("tests were tried: %q", said)
	}
}
