package flow

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/store"
)

// each is a module whose function takes a callback, with a test and no benchmark.
var each = map[string]string{
	"go.mod": "module example.com/each\n\ngo 1.24\n",
	"each.go": `package each

// Each calls f with each byte of s until it says no, and counts the calls.
func Each(s string, f func(byte) bool) int {
	for i := 0; i < len(s); i++ {
		if !f(s[i]) {
			return i + 1
		}
	}
	return len(s)
}
`,
	"each_test.go": `package each

import "testing"

func TestEach(t *testing.T) {
	if n := Each("abc", func(b byte) bool { return b != 'b' }); n != 2 {
		t.Fatal(n)
	}
}
`,
}

const (
	eachEqual = "package each\n\nfunc Each(s string, f func(byte) bool) int {\n\tn := 0\n" +
		"\tfor _, b := range []byte(s) {\n\t\tn++\n\t\tif !f(b) {\n\t\t\treturn n\n\t\t}\n\t}\n\treturn n\n}\n"
	eachTwice = "package each\n\nfunc Each(s string, f func(byte) bool) int {\n\tn := 0\n" +
		"\tfor _, b := range []byte(s) {\n\t\tn++\n\t\tif !f(b) && !f(b) {\n\t\t\treturn n\n\t\t}\n\t}\n\treturn n\n}\n"
)

// inPlaceSpec returns the spec of a run on a module written to disk that measures nothing.
func inPlaceSpec(t *testing.T, evidence string) Spec {
	t.Helper()
	dir := t.TempDir()
	for name, text := range each {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	spec := Defaults()
	spec.Dir, spec.Target, spec.NoMeasure, spec.Evidence = dir, "./.Each", true, evidence
	return spec
}

// oneByOne leaves a test out of the short ones, which are for the race detector: it judges one
// version after the other, in other processes.
func oneByOne(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it judges one version after the other, in other processes")
	}
}

// TestInPlace judges versions of a function that takes a callback, and goes on
// with the run in another process.
func TestInPlace(t *testing.T) {
	oneByOne(t)
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	watch := func(e Event) {
		if e.Stage != nil && e.Stage.Name == "evidence" {
			said = append(said, e.Stage.Detail)
		}
	}
	acts := &Activities{Store: s, Watch: watch}
	ready, err := acts.Prepare(t.Context(), "run", inPlaceSpec(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if ready.InPlace == nil || ready.InPlace.Within != beagle.ByTape || ready.InPlace.Untimed == "" {
		t.Errorf("the evidence is %+v", ready.InPlace)
	}
	if len(said) == 0 || !strings.Contains(said[0], "parameter f cannot be recorded") {
		t.Errorf("it said %q", said)
	}
	v, err := acts.JudgeSource(t.Context(), "run", eachEqual, "equal.go")
	if err != nil {
		t.Fatal(err)
	}
	if v.Status != beagle.Equal || v.Assurance == nil || !v.Assurance.InPlace || len(v.Assurance.NotChecked) == 0 {
		t.Errorf("an equal version: %s by %s: %s", v.Status, v.Stage, v.Reason)
	}
	acts.Close()
	again := &Activities{Store: s}
	defer again.Close()
	if v, err = again.JudgeSource(t.Context(), "run", eachTwice, "twice.go"); err != nil {
		t.Fatal(err)
	}
	if v.Status != beagle.Wrong || v.Counterexample == nil || v.Counterexample.Kind != "trace" {
		t.Errorf("a version that calls back twice: %s by %s: %s", v.Status, v.Stage, v.Reason)
	}
}

// TestInstead goes in place where recorded calls say nothing, and only if the tests say more.
func TestInstead(t *testing.T) {
	oneByOne(t)
	const source = "package each\n\nvar total int\n\n// Hit counts.\nfunc Hit(n int) { total += n }\n\n" +
		"// Idle is called and not looked at.\nfunc Idle(n int) { total += n }\n"
	const idle = "package each\n\nfunc Hit(n int) {}\n"
	const same = "package each\n\nfunc Hit(n int) { total = n + total }\n"
	prepare := func(target, evidence string) (*Activities, *Prepared, error) {
		spec := inPlaceSpec(t, evidence)
		spec.Target = target
		for name, text := range map[string]string{"hit.go": source, "hit_test.go": `package each

import "testing"

func TestHit(t *testing.T) {
	total = 0
	for i := range 40 {
		Hit(i)
	}
	if total != 780 {
		t.Fatal(total)
	}
}

func TestIdle(t *testing.T) {
	for i := range 40 {
		Idle(i)
	}
}
`} {
			if err := os.WriteFile(filepath.Join(spec.Dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s, err := store.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		acts := &Activities{Store: s}
		t.Cleanup(acts.Close)
		ready, err := acts.Prepare(t.Context(), "run", spec)
		return acts, ready, err
	}
	acts, ready, err := prepare("./.Hit", "")
	if err != nil || ready.InPlace == nil || !strings.Contains(ready.InPlace.Because, "dead-result") {
		t.Fatalf("the evidence is %+v: %v", ready, err)
	}
	for text, want := range map[string]beagle.Status{idle: beagle.Wrong, same: beagle.Equal} {
		v, err := acts.JudgeSource(t.Context(), "run", text, "hit.go")
		if err != nil || v.Status != want {
			t.Errorf("%s: %+v, %v; want %s", text, v, err, want)
		}
	}
	for _, x := range [][2]string{{"./.Idle", ""}, {"./.Hit", EvidenceCorpus}} {
		var usage *beagle.UsageError
		if _, _, err := prepare(x[0], x[1]); !errors.As(err, &usage) || !strings.Contains(usage.What, "dead-result") {
			t.Errorf("%s with evidence %q: %v", x[0], x[1], err)
		}
	}
}

// TestEvidenceAskedFor: a run that wants a corpus, or wants to measure where no
// benchmark is, is refused with what to do.
func TestEvidenceAskedFor(t *testing.T) {
	corpus, timed := inPlaceSpec(t, EvidenceCorpus), inPlaceSpec(t, "")
	timed.NoMeasure = false
	for _, x := range []struct {
		spec Spec
		want string
	}{{corpus, "cannot be recorded"}, {timed, "no benchmark calls Each"}} {
		s, err := store.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		acts := &Activities{Store: s}
		_, err = acts.Prepare(t.Context(), "run", x.spec)
		acts.Close()
		var usage *beagle.UsageError
		if !errors.As(err, &usage) || !strings.Contains(usage.What, x.want) || usage.Remedy == "" {
			t.Errorf("got %v, want a usage error with %q", err, x.want)
		}
	}
}

// TestEvidenceOfState: a method that leaves something in its receiver is judged in the package's
// benchmark, and with a corpus where there is none. A run that was prepared stays with what it has.
func TestEvidenceOfState(t *testing.T) {
	if testing.Short() {
		t.Skip("under the race detector it takes a minute")
	}
	sampletest.Rarely(t, 3)
	for _, c := range []struct {
		target, bench string
		inPlace       bool
	}{
		{"./.Set.Count", "func BenchmarkCount(b *testing.B) {\n\ts := new(Set)\n\tfor i := range b.N {\n" +
			"\t\ts.Count(i % 100)\n\t}\n}\n", true},
		{"./.Set.Count", "", false},
		{"./.Plain", "func BenchmarkPlain(b *testing.B) {\n\tfor i := range b.N {\n\t\tPlain(i)\n\t}\n}\n", false},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.24\n", "m.go": stateful,
			"m_test.go": statefulTest + c.bench} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s, err := store.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		spec := Defaults()
		spec.Dir, spec.Target, spec.Evidence = dir, c.target, EvidenceState
		for range 2 {
			acts := &Activities{Store: s, Watch: func(Event) {}}
			ready, err := acts.Prepare(t.Context(), "run", spec)
			acts.Close()
			if err != nil || (ready.InPlace != nil) != c.inPlace {
				t.Errorf("%s with %q: the evidence is %+v: %v", c.target, c.bench, ready, err)
			}
		}
	}
}

const stateful = `package m

type Set struct{ seen map[int]int }

func (s *Set) Count(n int) int {
	if s.seen == nil {
		s.seen = map[int]int{}
	}
	s.seen[n]++
	return s.seen[n]
}

func Plain(n int) int { return n*n%7 + n }
`

const statefulTest = `package m

import "testing"

func TestAll(t *testing.T) {
	s := new(Set)
	for i := range 40 {
		if got := s.Count(i % 4); got != 1+i/4 {
			t.Fatal(got)
		}
		if Plain(i) < i {
			t.Fatal(i)
		}
	}
}

`

// TestAllPanic goes in place, with and without --force, where every call of a corpus panics: there
// is nothing to time. One call that returns is enough for --force.
func TestAllPanic(t *testing.T) {
	for _, x := range []struct {
		panics        float64
		force, refuse bool
	}{{1, false, true}, {1, true, true}, {0.995, false, true}, {0.995, true, false}} {
		set := setting{spec: &Spec{Force: x.force}, unit: &source.Unit{}}
		n := &inputs{setting: set}
		n.hold(&beagle.Corpus{Facets: beagle.Facets{Panics: x.panics}}, 0)
		_, err := n.audit(&corpus.Built{Unstable: -1, Outcomes: -1})
		if x.refuse != errors.Is(err, errNoCorpus) || !x.refuse && err != nil {
			t.Errorf("%+v: %v", x, err)
		}
		if x.refuse && x.force && strings.Contains(err.Error(), "--force") {
			t.Errorf("a remedy that does not help: %v", err)
		}
	}
}

// TestNeither names both reasons, and the remedy in the user's tests first.
func TestNeither(t *testing.T) {
	corpus := &beagle.UsageError{What: "p.F: no call", Remedy: "give --corpus"}
	err := noEvidenceError(corpus, &beagle.UsageError{What: "p.F cannot be timed", Remedy: "write a benchmark"})
	if got, want := err.Error(), "p.F: no call; and in place: p.F cannot be timed\nwrite a benchmark\n"+
		"or give --corpus"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
