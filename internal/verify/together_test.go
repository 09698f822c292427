package verify

import (
	"slices"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/sampletest"
)

// TestTogether: what is refused alone is not accepted beside others. A run tries one of two
// catalogues, drawn anew each time.
func TestTogether(t *testing.T) {
	for _, name := range sampletest.Of(t, []string{"tag", "list"}, 1) {
		t.Run(name, func(t *testing.T) { testTogether(t, load(t, name)) })
	}
}

func testTogether(t *testing.T, c *catalogue) {
	var cands []beagle.Candidate
	for _, e := range c.cases {
		v, err := Static(t.Context(), c.env, e.candidate(), c.corpus)
		if err != nil {
			t.Fatal(err)
		}
		if v.OK() {
			cands = append(cands, e.candidate())
		}
	}
	bin, guilty, err := Build(t.Context(), c.env, cands, harness.Link{})
	if err != nil {
		t.Fatal(err)
	}
	defer bin.Remove()
	refusedAlone := func(x Entrant, tries int) (refused int) {
		for range tries {
			v, err := Quick(t.Context(), c.env, bin, x.Version, x.Candidate, c.corpus)
			if err != nil {
				t.Fatal(err)
			}
			if !v.OK() {
				refused++
			}
		}
		return refused
	}
	// The check ends by the clock, so chance has a part in what it finds: what differs in a few
	// tries must differ in many.
	const few, many = 3, 12
	var good, bad []Entrant
	for i, cand := range cands {
		if guilty[i] != nil {
			continue
		}
		x := Entrant{i + 1, cand}
		switch refusedAlone(x, few) {
		case 0:
			good = append(good, x)
		case few:
			bad = append(bad, x)
		}
	}
	together := func(list ...Entrant) []*beagle.Verdict {
		out, err := QuickTogether(t.Context(), c.env, bin, list, c.corpus)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range out {
			of := list[i].Candidate.ID
			if v != nil && (!v.OK() || v.Candidate != of || len(v.Checks) != 1 || v.Checks[0].Cases == 0) {
				t.Errorf("version %d has the verdict %+v", list[i].Version, v)
			}
		}
		return out
	}
	good = good[:min(len(good), 3)]
	if accepted := together(good...); !slices.ContainsFunc(accepted, func(v *beagle.Verdict) bool { return v != nil }) {
		t.Error("no good version is accepted beside others")
	}
	for i, x := range bad {
		at := i % len(good)
		list := slices.Insert(slices.Clone(good), at, x)
		accepted := func(tries int) (n int) {
			for range tries {
				if together(list...)[at] != nil {
					n++
				}
			}
			return n
		}
		if accepted(few) == few && refusedAlone(x, many) == many && accepted(many) == many {
			t.Errorf("version %d is refused alone, and accepted beside others", x.Version)
		}
	}
	t.Logf("%d good versions beside each of %d bad ones", len(good), len(bad))
}

// TestTogetherLeavesOtherChecks: where the quick ladder has another check, no candidate passes it
// beside others.
func TestTogetherLeavesOtherChecks(t *testing.T) {
	was := QuickLadder
	defer func() { QuickLadder = was }()
	QuickLadder = append(Ladder{{Name: "other"}}, was...)
	out, err := QuickTogether(t.Context(), nil, nil, []Entrant{{Version: 1}, {Version: 2}}, nil)
	if err != nil || len(out) != 2 || out[0] != nil || out[1] != nil {
		t.Errorf("verdicts %v, %v", out, err)
	}
}
