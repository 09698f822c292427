package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
)

// Observed holds what a run of the original over the corpus showed, beyond the facets. A count of
// -1 was not taken.
type Observed struct {
	NonDeterministic int // records whose results differ from one call to the next
	Results          int // distinct results over the corpus
}

// unobserved is for callers that ran nothing.
var unobserved = Observed{NonDeterministic: -1, Results: -1}

const (
	refuseDistinct = 2    // fewer distinct inputs are a constant
	warnDistinct   = 256  // fewer are learnt by a branch predictor in no time
	oneClass       = 0.99 // share of calls above which they are all of one kind
	enoughRecords  = 16   // records below which a facet says nothing of a class
)

// An audit looks for one weakness of a corpus as a benchmark.
type audit func(t *beagle.Target, c *beagle.Corpus, o Observed) *beagle.Finding

var audits = []audit{generatedOnly, nonDeterministic, deadResult, constantFoldable, fewDistinct,
	oneClassOnly, mutatesInput, otherAnswers}

// Audit lists the faults of a corpus as a benchmark: a candidate may win on it for reasons that
// production does not have.
func Audit(t *beagle.Target, c *beagle.Corpus, o Observed) []beagle.Finding {
	var out []beagle.Finding
	for _, a := range audits {
		if f := a(t, c, o); f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// generatedOnly finds a corpus without recorded calls. Inputs of tests and benchmarks are better
// than made-up ones, but say nothing of production.
func generatedOnly(_ *beagle.Target, c *beagle.Corpus, _ Observed) *beagle.Finding {
	if !c.GeneratedOnly {
		return nil
	}
	// Inputs of tests, benchmarks and files count as recorded, though not by a probe.
	n, recorded := len(c.Train)+len(c.Holdout)+len(c.Generated), 0
	for _, r := range append(slices.Clone(c.Train), c.Holdout...) {
		if r.Source == "test" || r.Source == "bench" || r.Source == "file" {
			recorded++
		}
	}
	figure := fmt.Sprintf("no recorded call; all %d inputs are generated from the types", n)
	if recorded > 0 {
		figure = fmt.Sprintf("%d recorded input; the other %d are generated from the types", recorded, n-recorded)
	}
	return &beagle.Finding{
		Code:   "generated-only",
		Figure: figure,
		Remedy: "write a test or a benchmark that calls the function with realistic data, or give recorded calls " +
			"with --corpus",
	}
}

func nonDeterministic(_ *beagle.Target, _ *beagle.Corpus, o Observed) *beagle.Finding {
	if o.NonDeterministic <= 0 {
		return nil
	}
	return &beagle.Finding{
		Code: "non-deterministic", Refuse: true,
		Figure: fmt.Sprintf("%d inputs give another result when the call is repeated", o.NonDeterministic),
		Remedy: "make the result a function of the arguments (pass the time, the random source or the order of a " +
			"map's keys in), or choose the part of the function that is",
	}
}

func deadResult(t *beagle.Target, c *beagle.Corpus, _ Observed) *beagle.Finding {
	if len(t.Results) > 0 || len(c.Facets.Mutates) > 0 {
		return nil
	}
	f := &beagle.Finding{
		Code: "dead-result", Refuse: true,
		Figure: "no results, and no argument differs after any recorded call: an empty function does the same",
		Remedy: "choose a function with a result, or record calls in which it changes its arguments",
	}
	if len(t.Facts.WritesGlobal) > 0 {
		f.Figure = fmt.Sprintf("no results; its only effect is on %s, which cannot be compared",
			strings.Join(t.Facts.WritesGlobal, ", "))
	}
	return f
}

// constantFoldable finds a function or a corpus for which a constant does the same. Without
// parameters there is nothing to measure.
func constantFoldable(t *beagle.Target, c *beagle.Corpus, o Observed) *beagle.Finding {
	n := len(c.Train) + len(c.Holdout)
	switch {
	case len(t.Params) == 0:
		return &beagle.Finding{
			Code: "constant-foldable", Refuse: true,
			Figure: "no parameters: a constant does the same",
			Remedy: "choose a function that gets the inputs on which its work depends",
		}
	// A function that changes its arguments does more than return a result.
	case o.Results == 1 && n >= enoughRecords && len(t.Results) > 0 && len(c.Facets.Mutates) == 0:
		return &beagle.Finding{
			Code:   "constant-foldable",
			Figure: fmt.Sprintf("all %d inputs give the same result: a constant does the same on them", n),
			Remedy: "record calls with other results, for example through a test of the other branch",
		}
	}
	return nil
}

func fewDistinct(t *beagle.Target, c *beagle.Corpus, _ Observed) *beagle.Finding {
	n := len(c.Train) + len(c.Holdout)
	if c.GeneratedOnly || len(t.Params) == 0 || n >= warnDistinct || smallDomain(t) {
		return nil
	}
	return &beagle.Finding{
		Code: "few-distinct", Refuse: n < refuseDistinct,
		Figure: fmt.Sprintf("%d distinct inputs; a branch predictor learns fewer than %d by heart, and the same "+
			"change can look 4 times better or worse than on thousands", n, warnDistinct),
		Remedy: "call the function with more of the values that production sees, in a test, a benchmark or --corpus; " +
			"4,096 is plenty",
	}
}

// smallDomain reports whether there are no 256 inputs to be had.
func smallDomain(t *beagle.Target) bool {
	for _, p := range t.Params {
		switch p.Kind {
		case "bool", "int8", "uint8":
		default:
			return false
		}
	}
	return true
}

// oneClassOnly finds a corpus in which one kind of call covers nearly all, so that other paths are
// not measured.
func oneClassOnly(t *beagle.Target, c *beagle.Corpus, _ Observed) *beagle.Finding {
	f := &c.Facets
	found := func(refuse bool, figure, remedy string) *beagle.Finding {
		return &beagle.Finding{Code: "one-class", Refuse: refuse, Figure: figure, Remedy: remedy}
	}
	// Panics and errors first: for them the parameters do not matter.
	switch {
	case f.Panics > oneClass:
		return found(true, fmt.Sprintf("%.1f %% of the calls panic", 100*f.Panics), "record calls that return")
	case f.Errors > oneClass:
		return found(false,
			fmt.Sprintf("%.1f %% of the calls return an error: only the failing path is measured", 100*f.Errors),
			"add calls that succeed, in the share that production has")
	// Few records, and made-up ones, say nothing of shares.
	case f.Records < enoughRecords || c.GeneratedOnly:
		return nil
	}
	// One finding is enough, for the first parameter that shows it.
	for _, p := range f.Params {
		switch {
		case p.Nil > oneClass:
			return found(false, fmt.Sprintf("%s is nil in %.1f %% of the calls", p.Name, 100*p.Nil),
				"add calls with a value")
		case p.Empty > oneClass:
			return found(false, fmt.Sprintf("%s is empty in %.1f %% of the calls", p.Name, 100*p.Empty),
				"add calls with elements")
		case p.Len[0] == p.Len[4] && p.Len[0] > 0 && p.Distinct > 1 && !hasFixedLength(t, p.Name):
			return found(false, fmt.Sprintf("%s has length %d in all calls", p.Name, p.Len[0]),
				"add calls with other lengths, unless production has only this one")
		case p.Distinct == 1:
			return found(false, fmt.Sprintf("%s has one value in all calls", p.Name),
				"add calls with other values, unless production has only this one")
		}
	}
	return nil
}

// hasFixedLength reports whether the parameter's type leaves no other length.
func hasFixedLength(t *beagle.Target, name string) bool {
	return slices.ContainsFunc(t.Params, func(p beagle.Param) bool { return p.Name == name && p.Kind == "array" })
}

func mutatesInput(_ *beagle.Target, c *beagle.Corpus, _ Observed) *beagle.Finding {
	if len(c.Facets.Mutates) == 0 {
		return nil
	}
	return &beagle.Finding{
		Code:   "mutates-input",
		Figure: "the call changes " + strings.Join(c.Facets.Mutates, ", "),
		Remedy: "nothing to do: arguments are put back before each timed slice, outside of it; expect fewer samples",
	}
}

// otherAnswers finds calls that the checkout's original answers otherwise than production did. A
// winner is compared with that original, so it would change what such calls return, too.
func otherAnswers(_ *beagle.Target, c *beagle.Corpus, _ Observed) *beagle.Finding {
	a := c.Answers
	if a == nil || a.Otherwise == 0 && a.Varied == 0 {
		return nil
	}
	var found []string
	if a.Otherwise > 0 {
		found = append(found, fmt.Sprintf("%d of %d recorded inputs with results (%.3g %% of their calls) have "+
			"other results here than in production: %s", a.Otherwise, a.Compared, 100*a.Share, a.Example))
	}
	if a.Varied > 0 {
		found = append(found, fmt.Sprintf("%d inputs had several results in production", a.Varied))
	}
	return &beagle.Finding{
		Code:   "other-answers",
		Figure: strings.Join(found, "; "),
		Remedy: "check out the commit that the service was built from; if it is that one, the results depend on " +
			"state or time, which the recorded arguments do not hold",
	}
}
