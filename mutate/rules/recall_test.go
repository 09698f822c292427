package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules/gofix"
)

// TestRecall checks that every rule was counted on public packages, and no other
// name is in the table.
func TestRecall(t *testing.T) {
	for _, m := range All {
		r, ok := RecallOf(m.Name)
		own := !slices.Contains(gofix.Rules, (*mutate.Mutator)(m))
		switch {
		case own && !ok:
			t.Errorf("%s: nobody counted where it applies: go run ./bench/field recall -write", m.Name)
		case !own && ok:
			t.Errorf("%s is counted, and is a rule of Go's own tools", m.Name)
		case own && (r.Functions < 10000 || r.Packages < 400 || r.Found > r.Functions):
			t.Errorf("%s: %+v", m.Name, r)
		}
	}
	for line := range strings.Lines(recallText) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		if r, ok := RecallOf(name); ok && r.AtLeast != strings.Contains(count, "+") {
			t.Errorf("%q reads %+v", line, r)
		}
	}
	if _, ok := RecallOf("no-such-rule"); ok {
		t.Error("a rule that is not there was counted")
	}
}

// TestDefault is the gate of the default set: a rule in it finds places in public code, or it is
// off until somebody names it. A rare one says why it stays.
func TestDefault(t *testing.T) {
	for _, m := range Default {
		r, counted := RecallOf(m.Name)
		reason := Reason(m.Name)
		switch {
		case !counted: // a rule of Go's own tools
		case r.Found == 0:
			t.Errorf("%s finds no place in %d public functions: widen it, or move it to Suite", m.Name, r.Functions)
		case r.Rare() && len(reason) < 40:
			t.Errorf("%s finds %d places in %d public functions: widen it, or say in sets.go why it stays",
				m.Name, r.Found, r.Functions)
		case !r.Rare() && reason != "":
			t.Errorf("%s is not rare any more: delete its reason in sets.go", m.Name)
		}
	}
	for _, m := range Suite {
		if r, _ := RecallOf(m.Name); !r.Rare() {
			t.Errorf("%s finds %d places in public code: move it from Suite to Default", m.Name, r.Found)
		}
		if Reason(m.Name) != "" {
			t.Errorf("%s is off by default and has a reason to stay", m.Name)
		}
	}
	for name := range rare {
		if Named(name) == nil {
			t.Errorf("sets.go gives a reason for %s, which is no rule", name)
		}
	}
	if len(Default)+len(Suite) != len(All) {
		t.Errorf("%d rules are on and %d off, of %d", len(Default), len(Suite), len(All))
	}
}
