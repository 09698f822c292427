package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/mcp"
	"github.com/beagle-go/beagle/internal/store"
)

// backendWith serves a module from a store with runs.
func backendWith(t *testing.T, runs map[string]string) *Backend {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for id, spec := range runs {
		r := store.Run{ID: id, Spec: spec, State: store.Running,
			Note: `wrong: panic: string: on the list: UrsulaMeierhofer`, Created: time.Now(), Updated: time.Now()}
		if err := s.SaveRun(r); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	b := &Backend{judge: newJudge(flow.Defaults(), s), dir: dir}
	b.module = func() (mcp.Module, error) { return mcp.Module{Path: "example.com/served", Dir: dir}, nil }
	return b
}

// TestRunsOfTheModule checks that a server hears of the runs of its own module alone, and of
// those of an agent's search alone when it serves one.
func TestRunsOfTheModule(t *testing.T) {
	b := backendWith(t, map[string]string{
		"aaaa": "example.com/served/tag.Normal",
		"bbbb": "example.com/served2.Other",
		"cccc": "example.com/served.Root",
	})
	runs, err := b.Runs()
	if err != nil || len(runs) != 2 {
		t.Fatalf("%+v %v", runs, err)
	}
	var bad *beagle.UsageError
	_, of := b.Result("bbbb")
	_, submitted := b.Submitted("bbbb", "x")
	_, submit := b.Submit("bbbb", "package p", "")
	for _, err := range []error{of, submitted, submit} {
		if !errors.As(err, &bad) || !strings.Contains(bad.What, "another module") {
			t.Errorf("of another module: %v", err)
		}
	}
	b.search = "bbbb"
	if runs, err := b.Runs(); err != nil || len(runs) != 1 || runs[0].ID != "bbbb" {
		t.Errorf("within a search: %+v %v", runs, err)
	}
	b.search = ""
	if err := b.store.Save("aaaa", "spec", flow.Spec{Dir: filepath.Join(t.TempDir(), "elsewhere")}); err != nil {
		t.Fatal(err)
	}
	if runs, err := b.Runs(); err != nil || len(runs) != 1 {
		t.Errorf("another checkout of the module: %+v %v", runs, err)
	}
}

// TestRunsOfTheModulesPlaces checks that a run is of the module however the directory is written
// that it was started in, and from the root of a workspace too.
func TestRunsOfTheModulesPlaces(t *testing.T) {
	b := backendWith(t, map[string]string{"aaaa": "example.com/served.Root"})
	root := t.TempDir()
	dir, link := filepath.Join(root, "served"), filepath.Join(t.TempDir(), "link")
	for name, text := range map[string]string{
		"go.work":       "go 1.26\n\nuse ./served\n",
		"served/go.mod": "module example.com/served\n\ngo 1.26\n",
	} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	b.module = func() (mcp.Module, error) { return mcp.Module{Path: "example.com/served", Dir: link}, nil }
	for from, want := range map[string]int{dir: 1, link: 1, root: 1, filepath.Dir(root): 0, t.TempDir(): 0} {
		if err := b.store.Save("aaaa", "spec", flow.Spec{Dir: from}); err != nil {
			t.Fatal(err)
		}
		if runs, err := b.Runs(); err != nil || len(runs) != want {
			t.Errorf("started in %s, with the module in %s: %d runs, not %d; %v", from, dir, len(runs), want, err)
		}
	}
}

// TestHidesErrors checks that a file of inputs that cannot be read is quoted in errors: not to
// an agent that gets shapes, which still hears what a record looks like.
func TestHidesErrors(t *testing.T) {
	t.Setenv("BEAGLE_HOME", t.TempDir())
	dir := t.TempDir()
	corpus := filepath.Join(dir, "prod.jsonl")
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "prod.jsonl": `{"args": {"s": "x", "n": 1}, "weight": "UrsulaMeierhofer"}` + "\n",
		"m.go": "package m\n\nfunc Count(s string, n int) int {\n\tfor i := range s {\n\t\tif s[i] == 'a' {\n\t\t\tn++\n\t\t}\n\t}\n\treturn n\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	spec := flow.Defaults()
	spec.Dir, spec.CorpusFile, spec.Models.Redact = dir, corpus, "auto"
	b, err := New(spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var told strings.Builder
	tell := func(stage, detail string) { told.WriteString(stage + " " + detail + "\n") }
	d, err := b.Describe(t.Context(), "./.Count", tell)
	if err != nil || d.Refused == nil {
		t.Fatalf("%+v %v", d, err)
	}
	_, err = b.Evaluate(t.Context(), "./.Count",
		"package m\n\nfunc Count(s string, n int) int { return n }\n", "", tell)
	var bad *beagle.UsageError
	if !errors.As(err, &bad) {
		t.Fatal(err)
	}
	for _, e := range []*beagle.UsageError{d.Refused, bad} {
		if strings.Contains(e.What, "Ursula") || !strings.Contains(e.What, `prod.jsonl:1: field "weight"`) ||
			!strings.HasSuffix(e.Remedy, `a record of Count looks like {"args": {"s":"","n":0}, "weight": 1}`) {
			t.Errorf("%s | %s", e.What, e.Remedy)
		}
	}
	v := b.veil("./.Count")
	v.progress(tell)("note", `the file has "UrsulaMeierhofer"`)
	if strings.Contains(told.String(), "Ursula") {
		t.Errorf("%s", told.String())
	}
	for field, shown := range map[string]bool{"args.n": true, "args": true, "Ursula": false, "args.Ursula": false,
		"args.4711": false} {
		e := v.usage(&beagle.UsageError{
			What:   fmt.Sprintf("prod.jsonl:1: field %q: \"x\" is not a number", field),
			Remedy: `a record of Count looks like {"args": {"s":"","n":0}, "weight": 1}`,
		})
		if strings.Contains(e.What, `"`+field+`"`) != shown || strings.Contains(e.What, `"x"`) {
			t.Errorf("field %s: %s", field, e.What)
		}
	}
	if got := v.remedy(`A record looks like {"args": ["UrsulaMeierhofer"], "weight": 1}`); strings.Contains(got,
		"Ursula") {
		t.Errorf("%s", got)
	}
}

// TestSubmitToAKilledRun checks that a run whose process is gone takes nothing, and says how it
// goes on.
func TestSubmitToAKilledRun(t *testing.T) {
	b := backendWith(t, map[string]string{"aaaa": "example.com/served.Root"})
	var bad *beagle.UsageError
	if _, err := b.Submit("aaaa", "package p", ""); !errors.As(err, &bad) ||
		!strings.Contains(bad.Remedy, "beagle resume aaaa") {
		t.Errorf("got %v", err)
	}
	lock, err := b.store.Lock("a run")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	if err := b.store.SaveRun(store.Run{ID: "aaaa", Spec: "example.com/served.Root", State: store.Running,
		Updated: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if s, err := b.Submit("aaaa", "package p", ""); err != nil || s.Waiting != 1 {
		t.Errorf("a run that goes on: %+v %v", s, err)
	}
	b.redact = true
	if runs, err := b.Runs(); err != nil || strings.Contains(runs[0].Note, "Ursula") {
		t.Errorf("%+v %v", runs, err)
	}
}

// TestRedactsFiles checks that inputs from a file are not shown unless the user says so.
func TestRedactsFiles(t *testing.T) {
	t.Setenv("BEAGLE_HOME", t.TempDir())
	for _, k := range []struct {
		redact, corpus string
		want           bool
	}{{"auto", "", false}, {"auto", "prod.jsonl", true}, {"no", "prod.jsonl", false}, {"yes", "", true}} {
		spec := flow.Defaults()
		spec.Dir, spec.CorpusFile, spec.Models.Redact = ".", k.corpus, k.redact
		b, err := New(spec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if b.redact != k.want {
			t.Errorf("--redact %s with inputs from %q: %v", k.redact, k.corpus, b.redact)
		}
		b.Close()
	}
	r := beagle.Result{
		Run: "run",
		Why: "What was faster is not equivalent: it panics differently: panic: string: on the list: UrsulaMeierhofer",
	}
	if hideValues(&r); strings.Contains(r.Why, "Ursula") || !strings.Contains(r.Why, "not equivalent") {
		t.Errorf("%s", r.Why)
	}
}

func TestHideValues(t *testing.T) {
	r := beagle.Result{
		Files: []beagle.PatchFile{{Path: "p.go"}, {Path: "beagle_test.go"}, {Path: "q.go"}},
		Patch: "--- a/p.go\n+++ b/p.go\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/beagle_test.go\n@@ -0,0 +1 @@\n" +
			"+secret\n--- a/q.go\n+++ b/q.go\n@@ -1 +1 @@\n--- x\n+++ b/y\n",
		Attempts: []beagle.Attempt{{Reason: `literal "secret": it equals an argument of the corpus`}},
	}
	hideValues(&r)
	if strings.Contains(r.Patch, "secret") || !strings.Contains(r.Patch, "+b\n") ||
		!strings.HasSuffix(r.Patch, "+++ b/q.go\n@@ -1 +1 @@\n--- x\n+++ b/y\n") {
		t.Errorf("%s", r.Patch)
	}
	if got := r.Attempts[0].Reason; strings.Contains(got, "secret") || !strings.Contains(got, "equals an argument") {
		t.Errorf("%s", got)
	}
	// A version for the frequent case holds it in its source.
	for line, hidden := range map[string]bool{`+if s == "secret" {`: true, `-if s == "secret" {`: false,
		"+if s == `secret` {": true, "+// the others": false,
		"+if s == \"se\" +\n+\t\"cr\" +\n+\t\"et\" {":                            true,
		"+case 's':\n+case 'e':\n+case 'c':\n+case 'r':\n+case 'e':\n+case 't':": true,
		"+if s == \"se\" +\n \t\"cr\" +\n+\t\"et\" {":                            true,
		"+x := \"se\" +\n+\t\"lf\"":                                              false} {
		r := beagle.Result{
			Run: "run", Why: "It is faster.", Patch: "--- a/p.go\n+++ b/p.go\n@@ -1 +1 @@\n" + line + "\n",
			Corpus: beagle.CorpusSummary{
				Facets: beagle.Facets{Params: []beagle.ParamFacet{{Top: []beagle.TopValue{{Value: `"secret"`}}}}},
			},
		}
		if hideValues(&r); (r.Patch == "") != hidden || strings.Contains(r.Why, "not shown") != hidden {
			t.Errorf("%s: %q %s", line, r.Patch, r.Why)
		}
	}
}
