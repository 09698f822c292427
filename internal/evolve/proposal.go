package evolve

import "github.com/beagle-go/beagle"

// Kind says which idea a proposal follows.
type Kind string

const (
	Step    Kind = "step"    // one move
	Stack   Kind = "stack"   // several moves before any is judged
	Cross   Kind = "cross"   // steps of other lineages on top of a candidate
	Sibling Kind = "sibling" // a candidate with another parameter at one step
	Prune   Kind = "prune"   // a good candidate without some of its steps
	Model   Kind = "model"   // a model writes it: from the parent, or from the parent and a mate
)

// A Wish is a step that a proposal wants taken wherever it fits: at the site
// with this label if there is one, else at any site that the mutator finds;
// with the parameter of this label if there is one, else with any whose label
// is not in Not. The choice is drawn from the proposal's seed. A wish that fits
// nowhere is left out.
type Wish struct {
	Mutator string   `json:"mutator"`
	Site    string   `json:"site,omitempty"`
	Param   string   `json:"param,omitempty"`
	Not     []string `json:"not,omitempty"`
}

// A Proposal is a candidate to make: the first move on the parent, exactly, then the wishes in
// their order on the result.
type Proposal struct {
	ID         int    `json:"id"`
	Generation int    `json:"generation"`
	Island     int    `json:"island"`
	Kind       Kind   `json:"kind"`
	Parent     string `json:"parent"` // candidate ID
	// candidate that is made again, for siblings and prunes; the parent is its base then. For a
	// model, the other candidate to take from
	Mate string       `json:"mate,omitempty"`
	Move *beagle.Move `json:"move,omitempty"` // nil when wishes are all
	Then []Wish       `json:"then,omitempty"`
	Seed uint64       `json:"seed"`

	// Of a proposal for a model only.
	// the proposals whose conversation goes on, the first first; none begins one
	Talk []int `json:"talk,omitempty"`
	// the candidate that the last of them made, when it is not the parent: it fell
	Fell string `json:"fell,omitempty"`
	// all that models have written so far, the first first
	Ideas []string `json:"ideas,omitempty"`
	// gains of the rewriting rules, the best first
	Rules       []RuleNote `json:"rules,omitempty"`
	Author      string     `json:"author,omitempty"` // Author.Name
	Model       string     `json:"model,omitempty"`
	Temperature float64    `json:"temperature,omitempty"`
	Sample      int        `json:"turn,omitempty"`     // how often the author was asked for the same before
	Examples    []string   `json:"examples,omitempty"` // other good candidates to show
	Tried       []string   `json:"tried,omitempty"`    // candidates that fell, the latest first
}

// Feedback is the outcome of a proposal. Candidate needs no Source. Its Steps are all steps since
// the original. It is the zero value if no rewrite fitted; that, and a Duplicate verdict, costs
// no budget. Moves are the moves that its source offers next.
type Feedback struct {
	Proposal  int              `json:"proposal"` // Proposal.ID
	Candidate beagle.Candidate `json:"candidate"`
	Verdict   beagle.Verdict   `json:"verdict"`
	Moves     []beagle.Move    `json:"moves,omitempty"`

	Dollars float64 `json:"dollars,omitempty"` // the cost of making it
	Seconds float64 `json:"seconds,omitempty"` // that making and judging it took
	Unheard bool    `json:"unheard,omitempty"` // the model did not answer; there is no candidate
	Unsent  bool    `json:"unsent,omitempty"`  // the model was not asked: there was no money for the call
	Twin    string  `json:"twin,omitempty"`    // of a duplicate: the candidate that had its machine code first
	Known   bool    `json:"known,omitempty"`   // the model's answer repeats a known candidate
	Shape   string  `json:"shape,omitempty"`   // candidates of one shape are the same; empty when it is not known
	Private bool    `json:"private,omitempty"` // its source may not be shown to models
	Reading int     `json:"reading,omitempty"` // the effort to read its source; 0 if unknown
}
