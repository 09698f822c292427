package beagle

// An Assurance says how far the evidence for a candidate's behaviour reaches.
type Assurance struct {
	Inputs      int      `json:"inputs"`                // on which both versions were compared
	Saturated   bool     `json:"saturated"`             // the guided search ended because it met nothing new, not for want of time
	Unreached   []Branch `json:"unreached,omitempty"`   // branches of either version that no input reached
	Proof       *Proof   `json:"proof,omitempty"`       // nil when nothing was proved
	Constructed []string `json:"constructed,omitempty"` // rewrites among the steps whose lemma is proved
	NotChecked  []string `json:"not_checked,omitempty"` // what no check looked at, and why
}

// A Branch is one side of a decision in a version's source.
type Branch struct {
	Version string `json:"version"` // "original" or "candidate"
	Line    int    `json:"line"`
	Text    string `json:"text"` // the condition
	Side    string `json:"side"` // "true", "false", "case", "loop never entered"
}

// A Proof is what a solver, or terms that came out equal, proved.
type Proof struct {
	Complete bool     `json:"complete"`          // for all inputs; otherwise up to Length
	Length   int      `json:"length,omitempty"`  // of every string and slice
	Solvers  []string `json:"solvers,omitempty"` // that agree; none when the terms were equal already
	Not      []string `json:"not,omitempty"`     // what the proof does not compare: "error texts", "capacity"
	Millis   float64  `json:"millis"`
}
