package llm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
)

// Calls show what whole inputs and results look like: samples, and how results and the elements of
// lists are distributed. They come from the training corpus.
type Calls struct {
	Samples  []Sample `json:"samples,omitempty"`
	Results  []Share  `json:"results,omitempty"`  // the most frequent results, in Go syntax
	Distinct int      `json:"distinct,omitempty"` // distinct results among Seen
	Seen     int      `json:"seen,omitempty"`     // calls that were looked at
	Lengths  []Length `json:"lengths,omitempty"`  // of results, and of the elements of lists
	Shaped   bool     `json:"shaped,omitempty"`   // values are reduced to their shapes already
}

// Shapes returns the calls with every value reduced to its shape, for texts that must not hold
// captured values.
func (c *Calls) Shapes(t *beagle.Target) *Calls {
	out, hide := *c, newRedactor(t)
	out.Shaped = true
	out.Samples, out.Results = slices.Clone(c.Samples), slices.Clone(c.Results)
	for i := range out.Samples {
		s := &out.Samples[i]
		s.Args, s.Result = hide.value(s.Args), hide.value(s.Result)
	}
	for i := range out.Results {
		out.Results[i].Value = hide.value(out.Results[i].Value)
	}
	return &out
}

// A Sample is a call with its result, in Go syntax.
type Sample struct {
	Why    string `json:"why"` // "frequent", "rare", "fails"
	Args   string `json:"args"`
	Result string `json:"result"`
}

// A Share is a value in Go syntax with its share of the calls.
type Share struct {
	Value string  `json:"value"`
	Share float64 `json:"share"`
}

// A Length says how long some values are.
type Length struct {
	Of     string `json:"of"` // "the elements of names"
	Least  int    `json:"least"`
	Median int    `json:"median"`
	Most   int    `json:"most"`
}

// calls shows the samples and distributions. Redaction reduces each value to its shape.
func (e *Briefing) calls(limit int) string {
	c := e.Calls
	if c == nil {
		return ""
	}
	if e.Redact && !c.Shaped {
		c = c.Shapes(e.Target)
	}
	var lines []string
	for _, s := range c.Samples {
		lines = append(lines, fmt.Sprintf("%s: %s gives %s\n", s.Why, OneLine(s.Args),
			OneLine(s.Result)))
	}
	if len(c.Results) > 0 {
		var says []string
		for _, r := range c.Results {
			says = append(says, OneLine(r.Value)+" "+percent(r.Share))
		}
		lines = append(lines, fmt.Sprintf("Results: %d distinct of %d calls; most frequent %s\n", c.Distinct, c.Seen,
			strings.Join(says, ", ")))
	}
	for _, l := range c.Lengths {
		lines = append(lines,
			fmt.Sprintf("Length of %s: %d to %d, median %d\n", OneLine(l.Of), l.Least, l.Most, l.Median))
	}
	return inBlock(lines, limit, "lines")
}
