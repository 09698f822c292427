package flow

import (
	"context"

	"github.com/beagle-go/beagle"
)

// Adopt takes over verdicts of a recorded run, as if they had been made here.
// They must be of this kind of machine. What the store has already stays.
func (a *Activities) Adopt(ctx context.Context, run string, judged []Evaluated) error {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return err
	}
	for _, e := range judged {
		if _, known := x.verdict(e.Candidate); known || e.Verdict.Status == beagle.Duplicate {
			continue
		}
		if err := x.store.Cache(x.key("evaluated", e.Candidate, ""), evaluated{e.Verdict, e.Moves}); err != nil {
			return err
		}
	}
	return nil
}

// Machine is the kind of machine that a run's verdicts are of.
func (a *Activities) Machine(run string) beagle.Machine {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x := a.sessions[run]; x != nil {
		return x.machine
	}
	return thisMachine()
}
