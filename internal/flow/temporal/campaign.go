package temporal

import (
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow/campaigns"
	"github.com/beagle-go/beagle/internal/flow/fleet"
)

// targetsAtOnce bounds the targets in one history.
const targetsAtOnce = 100

// A CampaignInput is the input of a Campaign workflow, which passes it on when it continues as new.
type CampaignInput struct {
	Campaign    string `json:"campaign"`
	MachineKind string `json:"machine_kind"` // of the machines that measure
	Again       bool   `json:"again"`        // take up targets that a budget ended
}

// A TargetOrder asks for a part of a target.
type TargetOrder struct {
	Campaign    string `json:"campaign"`
	MachineKind string `json:"machine_kind"`
	Target      string `json:"target"`
}

// A TargetPart is the state of a target so far.
type TargetPart struct {
	Campaign    string                  `json:"campaign"`
	MachineKind string                  `json:"machine_kind,omitempty"`
	Round       int                     `json:"round,omitempty"`
	Taken       campaigns.TargetOutcome `json:"taken"`
}

// A SearchPlan is the search of a target.
type SearchPlan struct {
	Taken campaigns.TargetOutcome `json:"taken"`
	Task  Task                    `json:"task"`
	Done  bool                    `json:"done"` // its result is in the store
}

// Campaign runs a campaign as a workflow, with a child for each target.
func Campaign(ctx workflow.Context, c CampaignInput) error {
	e := &campaignEngine{ctx: ctx, c: c}
	err := campaigns.Run(e)
	if err != nil {
		apart, _ := workflow.NewDisconnectedContext(ctx)
		if lerr := locally(apart, closeCampaignLocal, c, nil); lerr != nil {
			workflow.GetLogger(ctx).Warn("the end was not noted", "campaign", c.Campaign, "error", lerr)
		}
		return err
	}
	if e.at.Next != "" {
		return workflow.NewContinueAsNewError(ctx, campaignWorkflow, CampaignInput{Campaign: c.Campaign,
			MachineKind: c.MachineKind})
	}
	return nil
}

// A campaignEngine carries a campaign out as steps of a workflow. Only its local activities write
// the state.
type campaignEngine struct {
	ctx   workflow.Context
	c     CampaignInput
	at    campaigns.Stand
	taken int
}

var _ campaigns.Engine = (*campaignEngine)(nil)

// Stand returns the next step; see [campaigns.Engine].
func (e *campaignEngine) Stand() (campaigns.Stand, error) {
	err := locally(e.ctx, standCampaignLocal, e.c, &e.at)
	return e.at, err
}

// Rest reports whether this history is long enough; see [campaigns.Engine].
func (e *campaignEngine) Rest() bool { return e.taken >= targetsAtOnce }

// Enter stores the state of a target; see [campaigns.Engine].
func (e *campaignEngine) Enter(t campaigns.TargetOutcome) (campaigns.Stand, error) {
	err := locally(e.ctx, enterTargetLocal, TargetPart{Campaign: e.c.Campaign, Round: e.at.Round, Taken: t}, &e.at)
	return e.at, err
}

// Take has a child bring a target to its end; see [campaigns.Engine]. A failure is the target's,
// unless a person stopped the campaign.
func (e *campaignEngine) Take(target string) (t campaigns.TargetOutcome, err error) {
	e.taken++
	o := TargetOrder{e.c.Campaign, e.c.MachineKind, target}
	err = child(e.ctx, targetRun(e.c.Campaign, target), targetWorkflow, o, &t)
	if err == nil || e.ctx.Err() != nil {
		return t, err
	}
	t = campaigns.TargetOutcome{Attempt: beagle.CampaignAttempt{Campaign: e.c.Campaign, Target: target},
		Target: beagle.CampaignTarget{Target: target, State: beagle.CampaignFailed, Reason: reason(err)}}
	return t, nil
}

// targetRun returns the ID of a target's workflow.
func targetRun(campaign, target string) string {
	return fleet.CampaignRun(campaign) + "/" + beagle.HashOf("target", target)[:8]
}

// Target works on one target of a campaign as a workflow. Its search is a Run workflow.
func Target(ctx workflow.Context, o TargetOrder) (campaigns.TargetOutcome, error) {
	return campaigns.Take(&targetParts{ctx, o}, o.Target)
}

// targetParts are the parts of a target as steps of a workflow.
type targetParts struct {
	ctx workflow.Context
	o   TargetOrder
}

var _ campaigns.Parts = (*targetParts)(nil)

// Look finds its inputs, on a machine that builds; see [campaigns.Parts].
func (p *targetParts) Look(string) (t campaigns.TargetOutcome, err error) {
	err = act(p.ctx, buildQueue, grace, lookActivity, p.o, &t, func(string) {})
	return t, err
}

// Search runs the Run workflow of the target, unless its result is there; see [campaigns.Parts].
func (p *targetParts) Search(t campaigns.TargetOutcome) (campaigns.TargetOutcome, error) {
	var planned SearchPlan
	if err := locally(p.ctx, planSearchLocal, p.part(t), &planned); err != nil || planned.Done {
		return planned.Taken, err
	}
	t = planned.Taken
	err := child(p.ctx, planned.Task.Run, runWorkflow, planned.Task, new(Outcome))
	switch {
	case err == nil || p.ctx.Err() != nil:
		return t, err
	case isUsage(err):
		t.Target.State, t.Target.Reason, t.Target.Run = beagle.CampaignRefused, reason(err), ""
	case temporal.IsCanceledError(err):
		t.Target.State, t.Target.Reason = beagle.CampaignUnspent,
			"its run was stopped; 'beagle campaign --resume' goes on with it"
	default:
		t.Target.State, t.Target.Reason = beagle.CampaignFailed, reason(err)
	}
	return t, nil
}

// Judge tests a winner, on a machine that measures; see [campaigns.Parts].
func (p *targetParts) Judge(t campaigns.TargetOutcome) (out campaigns.TargetOutcome, err error) {
	err = act(p.ctx, benchQueue(p.o.MachineKind), 3*grace, judgeTargetActivity, p.part(t), &out, func(string) {})
	return out, err
}

func (p *targetParts) part(t campaigns.TargetOutcome) TargetPart {
	return TargetPart{Campaign: p.o.Campaign, MachineKind: p.o.MachineKind, Taken: t}
}

// child runs a child workflow. One of an earlier start that was terminated may not have ended yet:
// it is waited for.
func child(ctx workflow.Context, id, name string, in, out any) error {
	with := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: id, TaskQueue: runQueue, WorkflowTaskTimeout: taskTimeout, WaitForCancellation: true,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	})
	err := workflow.ExecuteChildWorkflow(with, name, in).Get(ctx, out)
	for n := 0; lingers(err) && n < 30; n++ {
		if err = workflow.Sleep(ctx, time.Second); err == nil {
			err = workflow.ExecuteChildWorkflow(with, name, in).Get(ctx, out)
		}
	}
	if lingers(err) {
		return fmt.Errorf("workflow %s of an earlier start does not end: %w", id, err)
	}
	return err
}
