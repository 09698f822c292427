package evolve

import "github.com/beagle-go/beagle"

// Kind is the idea behind a proposal.
type Kind string

const (
	Step    Kind = "step"    // one move
	Stack   Kind = "stack"   // several moves before any is judged
	Cross   Kind = "cross"   // steps of other lineages on top of a candidate
	Sibling Kind = "sibling" // a candidate with another parameter at one step
	Prune   Kind = "prune"   // a good candidate without some of its steps
	Model   Kind = "model"   // a model's version of the parent, or of the parent and a mate
)

// A Wish is a step to take wherever it fits. It takes the site with this label, or else any site
// that the mutator finds; and the parameter with this label, or else any parameter whose label is
// not in Not. The proposal's seed decides the choice. A wish that fits nowhere is left out.
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
	// for siblings and prunes, the candidate to make again; the parent is its base then. For a
	// model, a second candidate to take ideas from
	Mate string       `json:"mate,omitempty"`
	Move *beagle.Move `json:"move,omitempty"` // nil when wishes are all
	Then []Wish       `json:"then,omitempty"`
	Seed uint64       `json:"seed"`

	// For a model's proposal only: the earlier proposals of its conversation, the oldest first;
	// none begins one
	Talk []int `json:"talk,omitempty"`
	// the candidate of the last of them, if it failed
	Fell string `json:"fell,omitempty"`
	// the candidates of models so far, the oldest first
	Ideas []string `json:"ideas,omitempty"`
	// gains of the rewriting rules, the best first
	Rules       []RuleNote `json:"rules,omitempty"`
	Author      string     `json:"author,omitempty"` // Author.Name
	Model       string     `json:"model,omitempty"`
	Temperature float64    `json:"temperature,omitempty"`
	Sample      int        `json:"turn,omitempty"`     // earlier proposals for the same of this author
	Examples    []string   `json:"examples,omitempty"` // other good candidates to show
	Tried       []string   `json:"tried,omitempty"`    // failed candidates, the latest first
}

// Feedback is the outcome of a proposal. Candidate needs no Source; its Steps are all steps since
// the original. If no rewrite fitted, Candidate is the zero value. That costs no budget, nor does a
// Duplicate verdict. Moves are the next moves on the candidate's source.
type Feedback struct {
	Proposal  int              `json:"proposal"` // Proposal.ID
	Candidate beagle.Candidate `json:"candidate"`
	Verdict   beagle.Verdict   `json:"verdict"`
	Moves     []beagle.Move    `json:"moves,omitempty"`

	Dollars float64 `json:"dollars,omitempty"` // the cost of the candidate
	Seconds float64 `json:"seconds,omitempty"` // the time to make and judge it
	Unheard bool    `json:"unheard,omitempty"` // the model did not reply; there is no candidate
	Unsent  bool    `json:"unsent,omitempty"`  // no request went out: there was no money for the call
	Twin    string  `json:"twin,omitempty"`    // of a duplicate: the first candidate with its machine code
	Known   bool    `json:"known,omitempty"`   // the model's reply repeats a known candidate
	Shape   string  `json:"shape,omitempty"`   // candidates of one shape are the same; empty if unknown
	Private bool    `json:"private,omitempty"` // models may not see its source
	Reading int     `json:"reading,omitempty"` // the effort to read its source; 0 if unknown
}
