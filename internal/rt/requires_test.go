package rt

import (
	"errors"
	"strings"
	"testing"
)

type termArgs struct {
	A0 []int
	A1 string
}

type termResults struct {
	R0 []int
	R1 error
}

// differOf compares two versions on one input under a contract.
func differOf(t *testing.T, a termArgs, ignore []string, original, candidate func(*termArgs, *termResults)) *Diff {
	t.Helper()
	h := &Harness[termArgs, termResults]{
		Variants: []Variant[termArgs, termResults]{{Eval: original}, {Eval: candidate}},
	}
	if err := h.agree(&Terms{Ignore: ignore}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.agree(&Terms{}) })
	return newChecker(startWatchdog(h), 1, PanicsExact).compare(0, &a)
}

// TestIgnore checks that each kind of difference is seen when it is not ignored, and only its own
// name lets it pass.
func TestIgnore(t *testing.T) {
	list := []int{3, 1, 2, 0, 0, 0}[:3]
	kinds := []string{IgnoreErrorText, IgnorePanicValue, IgnoreNilEmpty, IgnoreCapacity, IgnoreScratch}
	for _, c := range []struct {
		kind                string
		original, candidate func(*termArgs, *termResults)
	}{
		{IgnoreErrorText, func(a *termArgs, r *termResults) { r.R1 = errors.New("one") }, func(a *termArgs, r *termResults) { r.R1 = errors.New("two") }},
		{IgnorePanicValue, func(a *termArgs, r *termResults) { panic("one") }, func(a *termArgs, r *termResults) { panic("two") }},
		{IgnoreNilEmpty, func(a *termArgs, r *termResults) {}, func(a *termArgs, r *termResults) { r.R0 = []int{} }},
		{IgnoreCapacity, func(a *termArgs, r *termResults) { r.R0 = a.A0[:1] }, func(a *termArgs, r *termResults) { r.R0 = a.A0[:1:1] }},
		{IgnoreScratch, func(a *termArgs, r *termResults) {}, func(a *termArgs, r *termResults) { _ = append(a.A0, 7) }},
	} {
		if differOf(t, termArgs{A0: list}, nil, c.original, c.candidate) == nil {
			t.Errorf("%s: the strict comparison sees no difference", c.kind)
		}
		for _, kind := range kinds {
			d := differOf(t, termArgs{A0: list}, []string{kind}, c.original, c.candidate)
			if (d == nil) != (kind == c.kind) {
				t.Errorf("a difference in %s under --ignore %s: %+v", c.kind, kind, d)
			}
		}
	}
}

// TestIgnoreHidesNoMore checks that what is ignored hides nothing else.
func TestIgnoreHidesNoMore(t *testing.T) {
	list := []int{3, 1, 2, 0, 0, 0}[:3]
	all := []string{IgnoreErrorText, IgnorePanicValue, IgnoreNilEmpty, IgnoreCapacity, IgnoreScratch}
	for name, candidate := range map[string]func(*termArgs, *termResults){
		"another result":         func(a *termArgs, r *termResults) { r.R0 = []int{4} },
		"no error":               func(a *termArgs, r *termResults) { r.R0, r.R1 = []int{3}, nil },
		"an error of other type": func(a *termArgs, r *termResults) { r.R0, r.R1 = []int{3}, new(termError) },
		"a panic":                func(a *termArgs, r *termResults) { panic("no") },
		"a changed argument":     func(a *termArgs, r *termResults) { a.A0[0]++; r.R0, r.R1 = []int{3}, errors.New("x") },
		"a shared element":       func(a *termArgs, r *termResults) { r.R0, r.R1 = a.A0[:1], errors.New("x") },
	} {
		original := func(a *termArgs, r *termResults) { r.R0, r.R1 = []int{3}, errors.New("x") }
		if differOf(t, termArgs{A0: list}, all, original, candidate) == nil {
			t.Errorf("%s passes when everything is ignored that can be", name)
		}
	}
}

type termError struct{}

func (*termError) Error() string { return "x" }

// TestRequires checks that inputs outside the contract are no evidence, and that inputs inside
// still are.
func TestRequires(t *testing.T) {
	defer func() { Predicates = nil }()
	Predicates = []any{func(a *termArgs) bool { return len(a.A1) < 3 && a.A1[0] == 'a' }}
	h := &Harness[termArgs, termResults]{Variants: []Variant[termArgs, termResults]{
		{Eval: func(a *termArgs, r *termResults) {}},
		{Eval: func(a *termArgs, r *termResults) { r.R0 = []int{1} }},
	}}
	if err := h.agree(&Terms{Requires: []int{0}}); err != nil {
		t.Fatal(err)
	}
	c := newChecker(startWatchdog(h), 1, PanicsExact)
	// "" panics
	for text, differs := range map[string]bool{"a": true, "ab": true, "abc": false, "b": false, "": false} {
		if d := c.compare(0, &termArgs{A1: text}); (d != nil) != differs {
			t.Errorf("%q: %+v, want a difference: %v", text, d, differs)
		}
	}
	if c.outside != 3 {
		t.Errorf("%d inputs are outside, want 3", c.outside)
	}
	if err := h.agree(&Terms{Requires: []int{1}}); err == nil || !strings.Contains(err.Error(), "predicate 1 of 1") {
		t.Errorf("a predicate that is not there: %v", err)
	}
}
