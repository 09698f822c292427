package beagle

import "slices"

// A Candidate is a version of the target: a Go file that declares the target
// again, with the helpers that it needs. It is immutable.
type Candidate struct {
	ID      string   `json:"id"` // hash of the formatted source
	Parents []string `json:"parents,omitempty"`
	Steps   []Step   `json:"steps,omitempty"` // from the original to here, in order
	Source  string   `json:"source"`
	Note    string   `json:"note,omitempty"` // where a hand-written one came from
}

// NewCandidate makes a candidate of a source that is already formatted.
func NewCandidate(source string, parents []string, steps []Step) Candidate {
	return Candidate{ID: HashOf("candidate", source), Parents: parents, Steps: steps, Source: source}
}

// ByRules reports whether rules alone have made the candidate.
func (c *Candidate) ByRules() bool {
	elsewhere := func(s Step) bool { return s.Class == "" || s.Mutator == Written }
	return len(c.Steps) > 0 && !slices.ContainsFunc(c.Steps, elsewhere)
}

// A Step is one application of a mutator.
type Step struct {
	Mutator string `json:"mutator"`
	Site    string `json:"site"` // the rewritten place, for people: "for loop at line 12"
	Param   string `json:"param,omitempty"`
	Class   Class  `json:"class"`
}

// A Move is a step that could be taken from a candidate.
type Move struct {
	Mutator string  `json:"mutator"`
	Site    int     `json:"site"`   // index into what the mutator's Find returns for that source
	Param   int     `json:"param"`  // index into what its Params returns for that site
	Weight  float64 `json:"weight"` // share of the profile on the site's lines times the mutator's expected gain
}

// Written is the mutator of a step whose version a model or a person wrote. Such a step promises
// nothing: the judge does not rely on its claims about panics.
const Written = "model"

// Class is a legality class: how a rewrite may differ from the original, and
// so which checks it must pass.
type Class string

const (
	E0 Class = "E0" // exact for all inputs, panics, nil-ness and aliasing included
	E1 Class = "E1" // exact unless the function panics
	E2 Class = "E2" // the representation may differ: nil or empty, capacity, aliasing, map order
	E3 Class = "E3" // exact because a guard is emitted and the original stays as the slow path
	E4 Class = "E4" // another algorithm for the same specification
	E5 Class = "E5" // not equivalent in corner cases: never applied, reported as advice
)
