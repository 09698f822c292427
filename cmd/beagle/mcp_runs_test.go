package main

import (
	"errors"
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
func backendWith(t *testing.T, runs map[string]string) *mcpBackend {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for id, spec := range runs {
		r := store.Run{ID: id, Spec: spec, State: store.Running, Note: `wrong: panic: string: on the list: UrsulaMeierhofer`, Created: time.Now(), Updated: time.Now()}
		if err := s.SaveRun(r); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	b := &mcpBackend{judge: newJudge(flow.Defaults(), s), dir: dir}
	b.module = func() (mcp.Module, error) { return mcp.Module{Path: "example.com/served", Dir: dir}, nil }
	return b
}

// A server hears of the runs of its own module alone, and of those of an agent's
// search alone when it serves one.
func TestMCPRunsOfTheModule(t *testing.T) {
	b := backendWith(t, map[string]string{"aaaa": "example.com/served/tag.Normal", "bbbb": "example.com/served2.Other", "cccc": "example.com/served.Root"})
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

// A run whose process is gone takes nothing, and says how it goes on.
func TestMCPSubmitToAKilledRun(t *testing.T) {
	b := backendWith(t, map[string]string{"aaaa": "example.com/served.Root"})
	var bad *beagle.UsageError
	if _, err := b.Submit("aaaa", "package p", ""); !errors.As(err, &bad) || !strings.Contains(bad.Remedy, "beagle resume aaaa") {
		t.Errorf("got %v", err)
	}
	lock, err := b.store.Lock("a run")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	if err := b.store.SaveRun(store.Run{ID: "aaaa", Spec: "example.com/served.Root", State: store.Running, Updated: time.Now()}); err != nil {
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

// Inputs from a file are not shown unless the user says so.
func TestMCPRedactsFiles(t *testing.T) {
	t.Setenv("BEAGLE_HOME", t.TempDir())
	for _, k := range []struct {
		redact, corpus string
		want           bool
	}{{"auto", "", false}, {"auto", "prod.jsonl", true}, {"no", "prod.jsonl", false}, {"yes", "", true}} {
		spec := flow.Defaults()
		spec.Dir, spec.CorpusFile, spec.Models.Redact = ".", k.corpus, k.redact
		b, err := newMCPBackend(spec, mcpOptions{redact: k.redact})
		if err != nil {
			t.Fatal(err)
		}
		if b.redact != k.want {
			t.Errorf("--redact %s with inputs from %q: %v", k.redact, k.corpus, b.redact)
		}
		b.Close()
	}
	r := beagle.Result{Run: "run", Why: "What was faster is not equivalent: it panics differently: panic: string: on the list: UrsulaMeierhofer"}
	if hideValues(&r); strings.Contains(r.Why, "Ursula") || !strings.Contains(r.Why, "not equivalent") {
		t.Errorf("%s", r.Why)
	}
}
