// Package campaigns carries a campaign over hot spots out. Package campaign decides; this package
// has the loop, the parts of a target, and the stored state. An engine has the parts done: [Local]
// in this process, and package temporal as workflows.
package campaigns

import "github.com/beagle-go/beagle"

// A Stand is the progress of a campaign.
type Stand struct {
	Round int    `json:"round"` // targets that were entered
	Next  string `json:"next"`  // the target that is next; empty when there is none
}

// A TargetOutcome is the outcome of a target.
type TargetOutcome struct {
	Target   beagle.CampaignTarget  `json:"target"`
	Attempt  beagle.CampaignAttempt `json:"attempt"` // its line in the memory of later campaigns
	Module   string                 `json:"module,omitempty"`
	Spent    beagle.CampaignCost    `json:"spent"`
	Searched bool                   `json:"searched,omitempty"` // its search came to a result
}

// Over reports whether the target needs no further part.
func (t *TargetOutcome) Over() bool { return t.Target.State != beagle.CampaignRunning }

// An Engine takes targets up, and stores their outcomes.
type Engine interface {
	// Stand returns the next step.
	Stand() (Stand, error)
	// Take brings a target to its end. An error ends the campaign, which can be resumed.
	Take(target string) (TargetOutcome, error)
	// Enter takes the outcome into the campaign, which is stored before Enter returns.
	Enter(TargetOutcome) (Stand, error)
	// Rest reports whether another engine shall go on from here.
	Rest() bool
}

// Run works on the targets of a campaign one after the other, until none is left, the budget is
// spent or the engine rests.
func Run(e Engine) error {
	at, err := e.Stand()
	for err == nil && at.Next != "" && !e.Rest() {
		var t TargetOutcome
		if t, err = e.Take(at.Next); err == nil {
			at, err = e.Enter(t)
		}
	}
	return err
}

// Parts are the steps of work on one target.
type Parts interface {
	// Look finds its text and its inputs, and whether it is worth a search: then it is running.
	Look(target string) (TargetOutcome, error)
	// Search runs its search, or goes on with it.
	Search(TargetOutcome) (TargetOutcome, error)
	// Judge tests a winner, and compares its inputs with production.
	Judge(TargetOutcome) (TargetOutcome, error)
}

// Take does all parts of a target, as far as they are needed.
func Take(p Parts, target string) (TargetOutcome, error) {
	t, err := p.Look(target)
	for _, part := range []func(TargetOutcome) (TargetOutcome, error){p.Search, p.Judge} {
		if err != nil || t.Over() {
			break
		}
		t, err = part(t)
	}
	return t, err
}
