package beagle

// ModelSummary says what the models of a run did, and what it cost.
type ModelSummary struct {
	Calls  int `json:"calls"`  // answers, repairs included
	Tokens int `json:"tokens"` // of prompts and replies
	// what they cost; calls that broke off count with the most they can have cost
	Dollars float64 `json:"dollars"`
	// calls that were under way when a process of the run ended or was killed: not in Calls, asked
	// again if the run went on
	Lost int `json:"lost,omitempty"`
	// what the lost calls can have cost besides, if the provider made their answers all the same;
	// the budget counts it as spent
	AtMost   float64     `json:"lost_dollars,omitempty"`
	Redacted bool        `json:"redacted"` // captured values were sent as shapes only
	Replayed bool        `json:"replayed"` // from a recording: nobody was asked, nothing was paid
	Closed   bool        `json:"closed"`   // the models were given up before the end
	Authors  []AuthorSum `json:"authors"`  // each model, and the rules, by what they earned
}

// An AuthorSum is what one author of candidates did: a model, at one
// temperature when there are several, or the rules together.
type AuthorSum struct {
	Author     string `json:"author"`     // the model's name, or "rules"
	Asked      int    `json:"asked"`      // proposals
	Unheard    int    `json:"unheard"`    // of them, without an answer
	Useless    int    `json:"useless"`    // of them, without a new candidate
	Candidates int    `json:"candidates"` // evaluated
	Behaving   int    `json:"behaving"`   // of them, equal to the original as far as the search checks
	// verified gain: what its candidates added to the logarithm of the best speed, and a tenth of
	// what they added to their parents'
	Earned  float64 `json:"earned"`
	Dollars float64 `json:"dollars"`
	Seconds float64 `json:"seconds"` // waiting for it and evaluating
}
