package beagle

// A Campaign records the work on the hot spots of a service, and its saving.
type Campaign struct {
	ID       string           `json:"id"`
	Module   string           `json:"module"`
	Service  string           `json:"service,omitempty"`
	State    string           `json:"state"`           // done, stopped or spent: a budget ended it
	Created  string           `json:"created"`         // UTC
	Least    float64          `json:"least"`           // share under which a function is not worth a change
	Samples  float64          `json:"samples"`         // of the profile, of equal weight
	Score    string           `json:"score,omitempty"` // the ranking of versions, if not the time of recorded calls
	Budget   CampaignCost     `json:"budget"`          // 0: no limit
	Spent    CampaignCost     `json:"spent"`
	Targets  []CampaignTarget `json:"targets"` // in the order of work
	Saving   CampaignSaving   `json:"saving"`  // of all improvements together
	Notes    []string         `json:"notes,omitempty"`
	Warnings []string         `json:"warnings,omitempty"` // of the profile
}

// CampaignCost is the budget of a campaign, or the part that it has used.
type CampaignCost struct {
	ProcessorSeconds float64 `json:"processor_seconds"`
	Dollars          float64 `json:"dollars"`
}

// The states of a campaign's target.
const (
	CampaignWaiting  = "waiting"
	CampaignRunning  = "running"  // its run was stopped and can be resumed
	CampaignImproved = "improved" // and the package's own tests pass
	CampaignNothing  = "no-improvement"
	CampaignKnown    = "known"   // an earlier campaign tried it, and nothing changed
	CampaignRefused  = "refused" // it cannot be judged
	CampaignTests    = "tests-failed"
	CampaignFailed   = "failed"
	CampaignUnspent  = "budget" // the budget ended before it, or within it
)

// A CampaignTarget is a function that a campaign took up.
type CampaignTarget struct {
	Target string  `json:"target"`
	Why    string  `json:"why"` // why it was taken up
	Net    float64 `json:"net"` // shares of the service, as the hot spot has them
	Cum    float64 `json:"cum"` //
	// waiting, running, improved, no-improvement, known, refused, tests-failed, failed or budget
	State      string      `json:"state"`
	Reason     string      `json:"reason,omitempty"`
	Inputs     string      `json:"inputs,omitempty"` // file of recorded calls; empty: the package's tests
	Run        string      `json:"run,omitempty"`
	Ratio      *Ratio      `json:"ratio,omitempty"`    // corrected for having tried many
	Measured   *Ratio      `json:"measured,omitempty"` // the same as it was measured
	Again      *Ratio      `json:"again,omitempty"`    // of a second measurement, beside the winner's steps
	Tests      string      `json:"tests,omitempty"`    // the command that ran the package's own tests on the winner
	Similarity *Similarity `json:"similarity,omitempty"`
	// nil: the ratio is of the function's calls alone, or it is not known
	Part   *BenchmarkPart  `json:"part,omitempty"`
	Saving *CampaignSaving `json:"saving,omitempty"` // without what callees save already
	Spent  CampaignCost    `json:"spent"`
	Next   string          `json:"next,omitempty"` // the caller that is taken up after it, and why
}

// InVain reports whether the target is done without a result.
func (t *CampaignTarget) InVain() bool {
	switch t.State {
	case CampaignNothing, CampaignKnown, CampaignRefused, CampaignTests, CampaignFailed:
		return true
	}
	return false
}

// A BenchmarkPart is the share of the time in a benchmark's loop that is the target's, callees
// included. A benchmark in which the whole loop was timed shows less of a gain than the target has.
type BenchmarkPart struct {
	Share   float64 `json:"share"`
	Samples float64 `json:"samples"` // of the loop's profile
}

// A CampaignSaving is a share of the service's processor time, and its value in money.
type CampaignSaving struct {
	Share    float64 `json:"share"`
	Low      float64 `json:"low"` // 95 % interval, of the profile, the benchmark and the measurement
	High     float64 `json:"high"`
	Cores    float64 `json:"cores,omitempty"`
	Year     float64 `json:"year,omitempty"` // money, as far as a saving becomes fewer machines
	YearLow  float64 `json:"year_low,omitempty"`
	YearHigh float64 `json:"year_high,omitempty"`
	Currency string  `json:"currency,omitempty"`
}

// A CampaignAttempt is a campaign's memory of a target.
type CampaignAttempt struct {
	At         string  `json:"at"` // UTC
	Campaign   string  `json:"campaign"`
	Target     string  `json:"target"`
	TargetID   string  `json:"target_id"`        // of its text with its helpers
	Around     string  `json:"around,omitempty"` // digest of the code that it is built with
	Inputs     string  `json:"inputs"`           // hash of the file of calls; empty: the package's tests
	Candidates int     `json:"candidates"`
	By         string  `json:"by,omitempty"` // digest of the rewrites, the models, the score and the version of Beagle
	Go         string  `json:"go,omitempty"` // the toolchain
	State      string  `json:"state"`
	Reason     string  `json:"reason,omitempty"`
	Run        string  `json:"run,omitempty"`
	Net        float64 `json:"net"`
	Ratio      float64 `json:"ratio,omitempty"`
}
