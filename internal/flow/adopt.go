package flow

import (
	"context"

	"github.com/beagle-go/beagle"
)

// Adopt takes over verdicts of a recorded run, as if they had been made here.
// They must be of this kind of machine. What the store has already stays.
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

// StartFrom has a run start from what a recorded run of the same target and the
// same inputs started from: its profile and what follows from that differ from
// time to time.
func (a *Activities) StartFrom(ctx context.Context, run string, p Prepared) (*Prepared, error) {
	x, err := a.prepared(ctx, run)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	p.CorpusBlob, p.Machine, p.Seconds = x.ready.CorpusBlob, x.ready.Machine, x.ready.Seconds
	x.ready = p
	x.rewriter.weigh(&p)
	return &p, a.Store.Save(run, "prepared", p)
}

// Machine is the kind of machine that a run's verdicts are of.
func (a *Activities) Machine(run string) beagle.Machine {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x := a.sessions[run]; x != nil {
		return x.works.machine
	}
	return ThisMachine("")
}
