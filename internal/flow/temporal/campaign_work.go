package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/campaign"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/campaigns"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/store"
)

// registerCampaigns takes the workflows of campaigns, and what decides in them.
func registerCampaigns(r registry, b *localActivities) {
	r.RegisterWorkflowWithOptions(Campaign, workflow.RegisterOptions{Name: campaignWorkflow})
	r.RegisterWorkflowWithOptions(Target, workflow.RegisterOptions{Name: targetWorkflow})
	for name, f := range map[string]any{
		standCampaignLocal: b.StandCampaign, closeCampaignLocal: b.CloseCampaign, enterTargetLocal: b.EnterTarget,
		planSearchLocal: b.PlanSearch,
	} {
		r.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
}

// worked opens a campaign of the store.
func worked(s *store.Store, id string) (*campaigns.Work, *campaign.State, error) {
	w := &campaigns.Work{Base: campaigns.Base{Store: s, ID: id}}
	state, err := w.Load()
	if err != nil {
		return nil, nil, err
	}
	w.Order, err = w.Base.Order()
	return w, state, err
}

// StandCampaign returns the next target.
func (b *localActivities) StandCampaign(_ context.Context, c CampaignInput) (campaigns.Stand, error) {
	w, s, err := worked(b.store, c.Campaign)
	if err != nil {
		return campaigns.Stand{}, err
	}
	if c.Again {
		s.Retry()
	}
	return w.Stand(s)
}

// EnterTarget stores the state of a target. It enters nothing twice if its worker died.
func (b *localActivities) EnterTarget(_ context.Context, p TargetPart) (campaigns.Stand, error) {
	w, s, err := worked(b.store, p.Campaign)
	switch {
	case err != nil:
		return campaigns.Stand{}, err
	case s.Round == p.Round+1:
		return w.Stand(s)
	case s.Round != p.Round:
		what := fmt.Sprintf("campaign %s is at target %d in the store, and at %d in its workflow: another process "+
			"writes its state", p.Campaign, s.Round, p.Round)
		return campaigns.Stand{}, temporal.NewNonRetryableApplicationError(what, usageType, nil, "stop the other one")
	}
	if at := s.Target(p.Taken.Target.Target); at != nil && p.Taken.Target.State == beagle.CampaignFailed {
		failed := *at // its workflow failed, and told no more
		failed.State, failed.Reason = p.Taken.Target.State, p.Taken.Target.Reason
		p.Taken.Target = failed
	}
	return w.Enter(s, p.Taken)
}

// CloseCampaign notes that a campaign ended before its last target.
func (b *localActivities) CloseCampaign(_ context.Context, c CampaignInput) error {
	w, s, err := worked(b.store, c.Campaign)
	if err != nil {
		return err
	}
	s.Campaign.State = "stopped"
	for _, t := range s.Campaign.Targets {
		if t.State != beagle.CampaignRunning {
			continue // its money was counted when it was entered
		}
		if err := w.Bill(s, t.Target); err != nil {
			return err
		}
	}
	return w.Save(s)
}

// PlanSearch writes the task of a target's search, and its name into the campaign.
func (b *localActivities) PlanSearch(_ context.Context, p TargetPart) (out SearchPlan, err error) {
	w, s, err := worked(b.store, p.Campaign)
	if err != nil {
		return out, err
	}
	// Give the target a run, and note it in the campaign before the run begins.
	out.Taken = p.Taken
	t := &out.Taken.Target
	if t.Run == "" {
		t.Run = w.Run(t.Target)
	}
	if at := s.Target(t.Target); at != nil {
		*at = *t
	}
	if err := w.Save(s); err != nil {
		return out, err
	}
	if err := b.place(w, t.Run); err != nil {
		return out, err
	}
	spec := w.Spec(s, t)
	// Continue a run that began before.
	if ok, err := b.store.Load(t.Run, task, &out.Task); err != nil {
		return out, err
	} else if ok {
		entry, err := b.store.Run(t.Run)
		if err != nil {
			return out, err
		}
		if out.Done = entry.State == store.Done; out.Done {
			return out, nil
		}
		entry.State, entry.Note, entry.Updated = store.Running, "", time.Now()
		_, err = b.store.Load(t.Run, lastStateName, &out.Task.RunState)
		return out, errors.Join(err, b.store.SaveRun(entry))
	}
	// Begin a new run.
	digest, err := b.store.PutJSON(spec)
	if err != nil {
		return out, err
	}
	out.Task = Task{Run: t.Run, Spec: digest, MachineKind: p.MachineKind, Limits: limitsOf(&spec)}
	return out, errors.Join(b.store.SaveRun(store.Run{ID: t.Run, Spec: spec.Target, State: store.Running,
		Created: time.Now(), Updated: time.Now()}), b.store.Save(t.Run, task, out.Task))
}

// place stores the server of a search, so that 'beagle resume' and 'beagle cancel' find it.
func (b *localActivities) place(w *campaigns.Work, run string) error {
	at, ok, err := w.Server()
	if err != nil || !ok {
		return err
	}
	return fleet.Place(b.store, run, at)
}

// LookTarget finds the text and the inputs of a target.
func (a *activities) LookTarget(ctx context.Context, o TargetOrder) (out campaigns.TargetOutcome, err error) {
	w, s, err := worked(a.store, o.Campaign)
	if err != nil {
		return out, err
	}
	_, err = a.carryOut(ctx, o.Campaign, works, func(ctx context.Context, _ Stages) error {
		out, err = w.Look(ctx, s, o.Target)
		return err
	})
	return out, err
}

// JudgeTarget tests the winner of a target's search, and compares its inputs with production.
func (a *activities) JudgeTarget(ctx context.Context, p TargetPart) (out campaigns.TargetOutcome, err error) {
	w, s, err := worked(a.store, p.Campaign)
	if err != nil {
		return out, err
	}
	out = p.Taken
	r := new(beagle.Result)
	if ok, err := a.store.Load(out.Target.Run, "result", r); err != nil || !ok {
		return out, errors.Join(fmt.Errorf("run %s has no result in the store", out.Target.Run), err)
	}
	if out.NoteEnd(r); out.Over() {
		return out, nil
	}
	_, err = a.carryOut(ctx, p.Campaign, timing, func(ctx context.Context, _ Stages) error {
		out, err = w.Judge(ctx, s, out)
		return err
	})
	return out, err
}

// Campaign starts the workflow of a campaign, or finds the one that is under way, and returns when
// it is over. Its order and state are in the store.
func (d *Driver) Campaign(ctx context.Context, id string) error {
	c, err := Dial(ctx, d.Server)
	if err != nil {
		return err
	}
	defer c.Close()
	machineKind := d.MachineKind
	if machineKind == "" {
		machineKind = flow.MachineKind(flow.ThisMachine(""))
	}
	if err := join(ctx, c, fleet.CampaignRun(id), runQueue, campaignWorkflow,
		CampaignInput{Campaign: id, MachineKind: machineKind, Again: true}); err != nil {
		return fmt.Errorf("start campaign %s on %s: %w", id, d.Server.Address, err)
	}
	w := &waiter{c: c, workflow: fleet.CampaignRun(id), warn: d.Watch.Warn, server: d.Server.Address, queue: runQueue,
		missing: "the campaign waits for workers: beagle worker --temporal " + d.Server.Address}
	return awaitedEnd(ctx, w.wait(ctx, nil), id, "campaign "+id,
		"nothing is lost: 'beagle campaign --resume "+id+"' goes on with it")
}
