package verify

import (
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
)

// TestCheapest checks which contract the search tries next: it excuses every counterexample,
// excludes least, and has few parts.
func TestCheapest(t *testing.T) {
	atoms := func(list ...*atom) []*atom { return list }
	at := func(loss float64, hits ...bool) *atom { return &atom{loss: loss, hits: hits} }
	for name, c := range map[string]struct {
		atoms []*atom
		found int
		want  []int
	}{
		"the widest":                  {atoms(at(.5, true), at(.1, true), at(.2, true)), 1, []int{1}},
		"the first of equals":         {atoms(at(.1, false), at(.1, true), at(.1, true)), 1, []int{1}},
		"one rather than two":         {atoms(at(.1, true, false), at(.1, false, true), at(.25, true, true)), 2, []int{2}},
		"two when one costs too much": {atoms(at(0, true, false), at(0, false, true), at(.25, true, true)), 2, []int{0, 1}},
		"none for an open one":        {atoms(at(0, true, false), at(0, true, false)), 2, nil},
		"no more than three": {atoms(at(0, true, false, false, false), at(0, false, true, false, false), at(0, false, false, true, false),
			at(0, false, false, false, true)), 4, nil},
	} {
		s := &nearMissSearch{atoms: c.atoms, found: make([]beagle.Record, c.found)}
		got := s.cheapest()
		if len(got) != len(c.want) {
			t.Errorf("%s: %d atoms, want %v", name, len(got), c.want)
			continue
		}
		for i, k := range c.want {
			if got[i] != c.atoms[k] {
				t.Errorf("%s: part %d is not atom %d", name, i, k)
			}
		}
	}
}

// TestMayBeNear checks that a verdict that does not depend on the input has no near miss.
func TestMayBeNear(t *testing.T) {
	args := []byte{1}
	for _, c := range []struct {
		status beagle.Status
		kind   string
		args   []byte
		want   bool
	}{
		{beagle.Wrong, "result", args, true}, {beagle.Wrong, "alias", args, true}, {beagle.Hung, "hang", args, true}, {beagle.Crashed, "crash", args, true},
		{beagle.Wrong, "state", args, false}, {beagle.Wrong, "race", args, false}, {beagle.Wrong, "goroutine", args, false},
		{beagle.Wrong, "result", nil, false}, {beagle.Forbidden, "result", args, false}, {beagle.Equal, "result", args, false},
	} {
		v := &beagle.Verdict{Status: c.status, Counterexample: &beagle.Counterexample{Kind: c.kind, Args: c.args}}
		if got := mayBeNear(v); got != c.want {
			t.Errorf("%s %s: %v", c.status, c.kind, got)
		}
	}
	if mayBeNear(&beagle.Verdict{Status: beagle.Wrong}) {
		t.Error("a verdict without an input is near to nothing")
	}
}

func TestExcluded(t *testing.T) {
	s := &rt.Sifted{Each: [][]byte{{0b101}, {0b111}}}
	if n := excluded(s, 0, 3); n != 1 {
		t.Errorf("%d records are excluded, want 1", n)
	}
	if n := excluded(s, 1, 3); n != 0 {
		t.Errorf("%d records are excluded, want none", n)
	}
	if n := excluded(s, 5, 3); n != 3 {
		t.Errorf("a condition that was not evaluated excludes %d, want all", n)
	}
}
