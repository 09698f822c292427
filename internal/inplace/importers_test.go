package inplace

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/source"
)

// TestImporters times a target in the benchmark of a package that imports it and is not below it.
func TestImporters(t *testing.T) {
	dir := module(t, map[string]string{
		"sum/sum.go": "package sum\n\n// A Total holds a function, so that no record can hold it.\n" +
			"type Total struct {\n\tTold func(int)\n\tn    int\n}\n\n" +
			"func (t *Total) Add(n int) int {\n\tt.n += n\n\tt.Told(t.n)\n\treturn t.n\n}\n",
		"sum/sum_test.go": "package sum\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n" +
			"\ts := &Total{Told: func(int) {}}\n\tif s.Add(1)+s.Add(2) != 4 {\n\t\tt.Error(s)\n\t}\n}\n",
		"user/user.go": "package user\n\nimport \"example.com/place/sum\"\n\nfunc Use(t *sum.Total) int { return t.Add(3) }\n",
		"user/user_test.go": "package user\n\nimport (\n\t\"testing\"\n\n\t\"example.com/place/sum\"\n)\n\n" +
			"func BenchmarkUse(b *testing.B) {\n\tt := &sum.Total{Told: func(int) {}}\n" +
			"\tfor b.Loop() {\n\t\tUse(t)\n\t}\n}\n",
	})
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
}
