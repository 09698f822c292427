package main

import (
	"context"
	"testing"
)

// TestRecallGoesOn: counts that are kept are not counted again, and add up as if they were.
func TestRecallGoesOn(t *testing.T) {
	m := module{"example.com/m", "v1.0.0"}
	first := &recall{dir: t.TempDir(), per: 8, hits: map[string]int{}, faults: map[string]int{}}
	if err := first.keep(); err != nil {
		t.Fatal(err)
	}
	kept := &counted{
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
	if err := again.counts(context.Background(), m); err != nil { // it is nowhere to be downloaded
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
