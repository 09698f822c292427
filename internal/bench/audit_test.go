package bench

import (
	"fmt"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// goodCorpus has nothing to find.
func goodCorpus() *beagle.Corpus {
	c := &beagle.Corpus{}
	for i := range 500 {
		c.Train = append(c.Train, beagle.Record{Args: fmt.Append(nil, i), Weight: 1})
	}
	c.Facets = beagle.Facets{
		Records: 500,
		Params:  []beagle.ParamFacet{{Name: "s", Distinct: 500, Len: [5]int{0, 5, 9, 12, 30}}},
	}
	return c
}

func goodTarget() *beagle.Target {
	return &beagle.Target{Params: []beagle.Param{{Name: "s", Kind: "string"}}, Results: []beagle.Param{{Kind: "int"}}}
}

func TestAudit(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(*beagle.Target, *beagle.Corpus, *Observed)
		code   string
		refuse bool
		figure string
	}{
		{"good", func(*beagle.Target, *beagle.Corpus, *Observed) {}, "", false, ""},
		{"generated", func(_ *beagle.Target, c *beagle.Corpus, _ *Observed) { c.GeneratedOnly = true }, "generated-only", false, "500 inputs"},
		{"random", func(_ *beagle.Target, _ *beagle.Corpus, o *Observed) { o.NonDeterministic = 7 }, "non-deterministic", true, "7 inputs"},
		{"no effect", func(t *beagle.Target, _ *beagle.Corpus, _ *Observed) { t.Results = nil }, "dead-result", true, "empty function"},
		{"effect elsewhere", func(t *beagle.Target, _ *beagle.Corpus, _ *Observed) {
			t.Results, t.Facts.WritesGlobal = nil, []string{"count"}
		}, "dead-result", true, "count"},
		{"no parameters", func(t *beagle.Target, _ *beagle.Corpus, _ *Observed) { t.Params = nil }, "constant-foldable", true, "no parameters"},
		{"one result", func(_ *beagle.Target, _ *beagle.Corpus, o *Observed) { o.Results = 1 }, "constant-foldable", false, "500 inputs"},
		{"few", func(_ *beagle.Target, c *beagle.Corpus, _ *Observed) { c.Train = c.Train[:20] }, "few-distinct", false, "20 distinct"},
		{"one", func(_ *beagle.Target, c *beagle.Corpus, _ *Observed) { c.Train = c.Train[:1] }, "few-distinct", true, "1 distinct"},
		{"all panic", func(_ *beagle.Target, c *beagle.Corpus, _ *Observed) { c.Facets.Panics = 1 }, "one-class", true, "100.0 %"},
		{"all fail", func(_ *beagle.Target, c *beagle.Corpus, _ *Observed) { c.Facets.Errors = 0.995 }, "one-class", false, "99.5 %"},
		{"one length", func(_ *beagle.Target, c *beagle.Corpus, _ *Observed) {
			c.Facets.Params[0].Len = [5]int{8, 8, 8, 8, 8}
		}, "one-class", false, "length 8"},
		{"an array", func(t *beagle.Target, c *beagle.Corpus, _ *Observed) {
			t.Params[0].Kind, c.Facets.Params[0].Len = "array", [5]int{8, 8, 8, 8, 8}
		}, "", false, ""},
		{"all empty", func(_ *beagle.Target, c *beagle.Corpus, _ *Observed) { c.Facets.Params[0].Empty = 1 }, "one-class", false, "s is empty"},
		{"other answers", func(_ *beagle.Target, c *beagle.Corpus, _ *Observed) {
			c.Answers = &beagle.Answers{Compared: 40, Otherwise: 3, Share: 0.25, Example: "F(1) gave 2 there"}
		}, "other-answers", false, "3 of 40 recorded inputs with results (25 % of their calls)"},
		{"same answers", func(_ *beagle.Target, c *beagle.Corpus, _ *Observed) {
			c.Answers = &beagle.Answers{Compared: 40}
		}, "", false, ""},
		{"mutates", func(_ *beagle.Target, c *beagle.Corpus, _ *Observed) { c.Facets.Mutates = []string{"s"} }, "mutates-input", false, "changes s"},
	} {
		target, corpus, o := goodTarget(), goodCorpus(), unobserved
		c.spoil(target, corpus, &o)
		got := Audit(target, corpus, o)
		if c.code == "" {
			if len(got) != 0 {
				t.Errorf("%s: %v", c.name, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Code != c.code || got[0].Refuse != c.refuse ||
			!strings.Contains(got[0].Figure, c.figure) || got[0].Remedy == "" {
			t.Errorf("%s: %+v; want %s, refuse %v, figure with %q, and a remedy", c.name, got, c.code,
				c.refuse, c.figure)
		}
	}
}

// TestAuditSmallDomain checks that two booleans have four inputs: there are no more to ask for.
func TestAuditSmallDomain(t *testing.T) {
	target, corpus := goodTarget(), goodCorpus()
	target.Params = []beagle.Param{{Kind: "bool"}, {Kind: "bool"}}
	corpus.Train = corpus.Train[:4]
	corpus.Facets.Params = nil
	if got := Audit(target, corpus, unobserved); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
