package campaigns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/campaign"
	"github.com/beagle-go/beagle/internal/flow/local"
)

// A Local is the engine that carries a campaign out in this process.
type Local struct {
	Work
	State *campaign.State
	Used  func() float64 // processor seconds of this process and its children

	ctx context.Context
	n   int // targets taken up
}

// Carry carries the campaign out. When ctx ends, the state is kept and its error returned.
func (l *Local) Carry(ctx context.Context) error {
	l.ctx = ctx
	return Run(l)
}

// Stand returns the next step; see [Engine].
func (l *Local) Stand() (Stand, error) { return l.Work.Stand(l.State) }

// Enter stores the outcome of a target; see [Engine].
func (l *Local) Enter(t TargetOutcome) (Stand, error) { return l.Work.Enter(l.State, t) }

// Rest reports false: this engine ends with its campaign.
func (l *Local) Rest() bool { return false }

// Take brings a target to its end; see [Engine]. A failure is the target's, unless a person
// stopped the campaign.
func (l *Local) Take(target string) (TargetOutcome, error) {
	l.n++
	l.say("target", fmt.Sprintf("%d of %d: %s (%s)", l.n, l.n+l.State.Left()-1, target, l.State.Target(target).Why))
	before := l.Used()
	t, err := Take(l, target)
	t.Spent.ProcessorSeconds = l.Used() - before
	if l.ctx.Err() != nil {
		return t, errors.Join(l.ctx.Err(), l.keepStopped(t), l.Save(l.State))
	}
	if err != nil {
		t.Target.State, t.Target.Reason = beagle.CampaignFailed, err.Error()
	}
	return t, nil
}

// keepStopped keeps where a target stands whose search was stopped.
func (l *Local) keepStopped(t TargetOutcome) error {
	s := l.State
	if at := s.Target(t.Target.Target); at != nil {
		spent := at.Spent
		if *at = t.Target; at.State != beagle.CampaignRunning {
			at.State = beagle.CampaignWaiting
		}
		at.Spent = spent
		at.Spent.ProcessorSeconds += t.Spent.ProcessorSeconds
	}
	s.Campaign.Spent.ProcessorSeconds += t.Spent.ProcessorSeconds
	s.Campaign.State = "stopped"
	s.Tally()
	return l.Bill(s, t.Target.Target)
}

// Look carries out the first part; see [Parts].
func (l *Local) Look(target string) (TargetOutcome, error) {
	return l.Work.Look(l.ctx, l.State, target)
}

// Judge carries out the last part; see [Parts].
func (l *Local) Judge(t TargetOutcome) (TargetOutcome, error) { return l.Work.Judge(l.ctx, l.State, t) }

// Search runs or resumes the search of a target; see [Parts]. Its name is kept before it begins.
func (l *Local) Search(t TargetOutcome) (TargetOutcome, error) {
	at := &t.Target
	spec := l.Spec(l.State, at)
	// Store the name of the run first, so that a killed campaign finds it.
	begun := false
	if at.Run != "" {
		entry, err := l.Store.Run(at.Run)
		begun = err == nil && entry.ID == at.Run
	}
	if at.Run == "" {
		at.Run = l.Run(at.Target)
	}
	*l.State.Target(at.Target) = *at
	if err := l.Save(l.State); err != nil {
		return t, err
	}
	// Start or resume the search, within its budget of processor time.
	budget := l.State.NextBudget()
	others := budget < l.State.Unused()
	promise := &promise{next: l.Watch}
	bounded, end := l.bounded(budget, func() bool { return others && promise.vain() })
	defer end()
	before := l.Used()
	d := &local.Driver{Store: l.Store, Watch: promise.watch, ID: at.Run}
	var r *beagle.Result
	var err error
	if begun {
		r, err = d.Resume(bounded, at.Run)
	} else {
		r, err = d.Start(bounded, spec)
	}
	// An interruption is the budget or a person; the target can be taken up again.
	var stopped *local.Interrupted
	if errors.As(err, &stopped) {
		at.Run = stopped.Run
		if interrupted(at, l.ctx.Err() != nil, bounded.Err() != nil, others) {
			l.Watch.Note("wait", fmt.Sprintf("%s has had %.0f s of processor time, and %s: the others go before it "+
				"goes on", at.Target, l.Used()-before, promise))
		}
		return t, l.ctx.Err()
	}
	if err != nil {
		return t, refuseTarget(at, err)
	}
	t.NoteEnd(r)
	return t, nil
}

// interrupted notes the state of a target whose search was stopped: with the campaign, by the end
// of its time, or by itself. It reports whether the target only makes way for others.
func interrupted(at *beagle.CampaignTarget, campaign, time, others bool) (makesWay bool) {
	switch {
	case campaign:
		if at.Run == "" {
			at.State = beagle.CampaignWaiting
		}
	case !time: // going on must not overrule a cancellation
		at.State, at.Reason = beagle.CampaignFailed, "its search was canceled"
	case others:
		at.State = beagle.CampaignWaiting
		return true
	default:
		at.State, at.Reason = beagle.CampaignUnspent, "the budget of processor time ended within its search"
	}
	return false
}

// bounded ends once this many seconds of processor time are spent, or a part of them without a
// promise.
func (l *Local) bounded(seconds float64, vain func() bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(l.ctx)
	first := l.Used()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
				if used := l.Used() - first; used > seconds || used > vainShare*seconds && vain() {
					cancel()
				}
			}
		}
	}()
	return ctx, cancel
}
