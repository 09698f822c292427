package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules"
)

// TestSaveSome checks that counts of some rules leave those of the others as they were, and never
// stand beside counts of other functions.
func TestSaveSome(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recall.txt")
	all := &recall{functions: 100, packages: 9, modules: 3, rules: ownRules(),
		hits: map[string]int{"unroll": 4, "window": 2}}
	if err := all.save(path); err != nil {
		t.Fatal(err)
	}
	some := &recall{functions: 100, packages: 9, modules: 3, names: "window",
		rules: []*mutate.Mutator{rules.Named("window")}, hits: map[string]int{"window": 7}}
	if err := some.save(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	for _, line := range []string{"\nunroll 4\n", "\nwindow 7\n"} {
		if err != nil || !strings.Contains(string(text), line) {
			t.Errorf("%v\n%s", err, text)
		}
	}
	some.functions = 90
	if err := some.save(path); err == nil {
		t.Error("counts of 90 functions replaced some of 100")
	}
	if again, _ := os.ReadFile(path); string(again) != string(text) {
		t.Errorf("the table changed:\n%s", again)
	}
}

// TestRecallGoesOn checks that kept counts are not made again, and add up as new ones do.
func TestRecallGoesOn(t *testing.T) {
	m := module{"example.com/m", "v1.0.0"}
	first := &recall{dir: t.TempDir(), per: 8, hits: map[string]int{}, faults: map[string]int{}}
	if err := first.keep(); err != nil {
		t.Fatal(err)
	}
	kept := &moduleCounts{
		Key: first.key(m), Modules: 1, Packages: 2, Functions: 30,
		Hits: map[string]int{"unroll": 4}, Failed: "example.com/m: a part of it",
	}
	if err := first.kept.put(kept.Key, kept); err != nil {
		t.Fatal(err)
	}
	again := &recall{dir: first.dir, per: 8, hits: map[string]int{"unroll": 1}, faults: map[string]int{}}
	if err := again.keep(); err != nil {
		t.Fatal(err)
	}
	if err := again.counts(context.Background(), m); err != nil { // nobody can download it
		t.Fatal(err)
	}
	if again.modules != 1 || again.packages != 2 || again.functions != 30 || again.hits["unroll"] != 5 ||
		len(again.failed) != 1 {
		t.Errorf("%+v", again)
	}
	if again.per = 9; again.key(m) == kept.Key {
		t.Error("counts of more packages have the same key")
	}
}
