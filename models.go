package beagle

// ModelSummary sums up the work and the cost of a run's models.
type ModelSummary struct {
	Calls  int `json:"calls"`  // answers, repairs included
	Tokens int `json:"tokens"` // of prompts and replies
	// their cost; broken calls count with their highest possible cost
	Dollars float64 `json:"dollars"`
	// calls that were under way when a process of the run ended or was killed: not in Calls, asked
	// again if the run went on
	Lost int `json:"lost,omitempty"`
	// highest possible cost of the lost calls besides, if the provider answered them; the budget
	// counts it as spent
	AtMost   float64     `json:"lost_dollars,omitempty"`
	Redacted bool        `json:"redacted"` // captured values were sent as shapes only
	Replayed bool        `json:"replayed"` // from a recording: no model was asked, nothing was paid
	Closed   bool        `json:"closed"`   // the models were given up before the end
	Authors  []AuthorSum `json:"authors"`  // each model, and the rules, by earnings
}

// An AuthorSum sums up the work of one author of candidates: a model, at one temperature if there
// are several, or the rules together.
type AuthorSum struct {
	Author     string `json:"author"`     // the model's name, or "rules"
	Asked      int    `json:"asked"`      // proposals
	Unheard    int    `json:"unheard"`    // of them, without an answer
	Useless    int    `json:"useless"`    // of them, without a new candidate
	Candidates int    `json:"candidates"` // evaluated
	Behaving   int    `json:"behaving"`   // of them, equal to the original as far as the search checks
	// verified gain: the sum of its candidates' gains on the best version, in logarithms, and a
	// tenth of those on their parents
	Earned  float64 `json:"earned"`
	Dollars float64 `json:"dollars"`
	Seconds float64 `json:"seconds"` // waiting for it and evaluating
}
