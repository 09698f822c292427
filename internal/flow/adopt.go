package flow

import (
	"context"

	"github.com/beagle-go/beagle"
)

// Adopt takes over verdicts of a recorded run as if this run had made them. They must come from
// the same kind of machine. Verdicts that the store has already stay.
func (a *Activities) Adopt(ctx context.Context, run string, evaluated []Evaluation) error {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return err
	}
	for _, e := range evaluated {
		if _, known := x.works.verdict(e.Candidate); known || e.Verdict.Status == beagle.Duplicate {
			continue
		}
		if err := x.works.putVerdict(e); err != nil {
			return err
		}
	}
	return nil
}

// StartFrom starts a run from the prepared state of a recorded run with the same target and
// inputs. Preparing again would give another profile, and so another trajectory.
func (a *Activities) StartFrom(ctx context.Context, run string, p Prepared) (*Prepared, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	p = x.preparer.startFrom(p)
	return &p, a.Store.Save(run, "prepared", p)
}

// Machine returns the kind of machine that a run's verdicts are of.
func (a *Activities) Machine(run string) beagle.Machine {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x := a.sessions[run]; x != nil {
		return x.works.machine
	}
	return ThisMachine("")
}
