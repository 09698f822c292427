package temporal

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/beagle-go/beagle/internal/flow/loop"
	"github.com/beagle-go/beagle/internal/tail"
)

// defaultBlock is the number of generations in a history before the run continues as new: about
// 2,000 events, far below a server's limit.
const defaultBlock = 40

// Run carries out a run as a workflow.
func Run(ctx workflow.Context, t Task) (Outcome, error) {
	r := &runner{task: t, RunState: t.RunState, stage: "prepare", enoughSignal: workflow.GetSignalChannel(ctx,
		enoughSignal)}
	if err := workflow.SetQueryHandler(ctx, progressQuery, r.progress); err != nil {
		return Outcome{}, err
	}
	out, err := r.carry(ctx)
	if err != nil && !workflow.IsContinueAsNewError(err) {
		// A canceled run is closed, too.
		apart, _ := workflow.NewDisconnectedContext(ctx)
		end := EndOrder{Run: t.Run, Canceled: ctx.Err() != nil || temporal.IsCanceledError(err), Why: reason(err)}
		if lerr := locally(apart, closeLocal, end, nil); lerr != nil {
			workflow.GetLogger(ctx).Warn("the end of the run was not noted", "run", t.Run, "error", lerr)
		}
	}
	return out, err
}

// A runner is the Run workflow at work.
type runner struct {
	RunState
	task         Task
	stage        string
	waiting      string
	enoughSignal workflow.ReceiveChannel
}

func (r *runner) progress() (Progress, error) {
	return Progress{Stage: r.stage, About: r.task.Limits.About, Notes: r.Notes, Event: r.Event, Waiting: r.waiting}, nil
}

func (r *runner) carry(ctx workflow.Context) (Outcome, error) {
	if r.State == "" {
		if err := r.prepare(ctx); err != nil {
			return Outcome{}, err
		}
	}
	r.stage = "search"
	ended, err := r.search(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if !ended {
		r.heed()
		next := r.task
		next.RunState = r.RunState
		return Outcome{}, workflow.NewContinueAsNewError(ctx, runWorkflow, next)
	}
	r.stage = "judge"
	return r.finish(ctx)
}

// search carries the search to its end, or until this history is full.
func (r *runner) search(ctx workflow.Context) (ended bool, err error) {
	e := newEngine(ctx, r)
	terms := r.task.Limits.Terms
	terms.Time = r.task.Limits.Time
	return loop.Run(e, terms)
}

// heed takes all signals that have come in: those that a history leaves behind
// are lost with it.
func (r *runner) heed() {
	for r.enoughSignal.ReceiveAsync(nil) {
		r.Enough = true
	}
}

// runActivity has an activity done and keeps its messages.
func (r *runner) runActivity(
	ctx workflow.Context, queue string, limit time.Duration, name string, in any,
) (Delivery, error) {
	var out Delivery
	err := act(ctx, queue, limit, name, in, &out, func(queue string) { r.waiting = queue })
	r.note(out.Notes)
	return out, err
}

func locally(ctx workflow.Context, name string, in, out any) error {
	return workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, localOptions()), name, in).Get(ctx, out)
}

func (r *runner) bench() string { return benchQueue(r.task.MachineKind) }

// prepare asks a measuring machine for its kind, has the inputs made, and begins the search.
func (r *runner) prepare(ctx workflow.Context) error {
	machine, err := r.runActivity(ctx, r.bench(), grace, identifyActivity, Order{Run: r.task.Run, What: r.task.Spec})
	if err != nil {
		return err
	}
	if _, err := r.runActivity(ctx, buildQueue, grace, prepareActivity,
		Order{Run: r.task.Run, What: r.task.Spec, More: machine.What}); err != nil {
		return err
	}
	var told TellReply
	if err := locally(ctx, beginLocal, Order{Run: r.task.Run}, &told); err != nil {
		return err
	}
	r.stand(told)
	return nil
}

func (r *runner) stand(t TellReply) {
	r.State, r.Done, r.Seconds, r.Event = t.State, t.Done, t.Seconds, t.Event
	r.Standing, r.Visited, r.Draft = t.Standing, t.Visited, t.Draft
	r.note(t.Notes)
}

// note keeps the messages of a step.
func (r *runner) note(digest string) {
	if digest != "" {
		r.Notes = append(r.Notes, digest)
	}
}

// begin has every island evaluate its share, all at once.
func (r *runner) begin(ctx workflow.Context, shares []Share) []workflow.ChildWorkflowFuture {
	islands := make([]workflow.ChildWorkflowFuture, len(shares))
	for i := range shares {
		shares[i].MachineKind = r.task.MachineKind
		islands[i] = workflow.ExecuteChildWorkflow(islandContext(ctx, shares[i]), islandWorkflow, shares[i])
	}
	return islands
}

// evaluatedShares waits for all islands, the others' ends too where one fails: a run that ends
// leaves none behind.
func evaluatedShares(ctx workflow.Context, shares []Share, islands []workflow.ChildWorkflowFuture,
	hangUp workflow.CancelFunc) ([]string, error) {
	defer hangUp()
	out := make([]string, len(shares))
	var failed error
	for i, f := range islands {
		err := f.Get(ctx, &out[i])
		for n := 0; failed == nil && lingers(err) && n < 30; n++ {
			if err = workflow.Sleep(ctx, time.Second); err == nil {
				err = workflow.ExecuteChildWorkflow(islandContext(ctx, shares[i]), islandWorkflow, shares[i]).
					Get(ctx, &out[i])
			}
		}
		if err != nil && failed == nil {
			failed = err
			hangUp()
		}
	}
	if failed != nil {
		return nil, failed
	}
	return out, nil
}

func islandContext(ctx workflow.Context, s Share) workflow.Context {
	return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: fmt.Sprintf("%s/island-%d", s.Run, s.Island), TaskQueue: runQueue, WorkflowTaskTimeout: taskTimeout,
		WaitForCancellation: true, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
	})
}

// lingers reports whether the island of an earlier start of the run, which was
// terminated, has not ended yet.
func lingers(err error) bool {
	var there *temporal.ChildWorkflowExecutionAlreadyStartedError
	return errors.As(err, &there)
}

// finish judges the finalists and has the report written. The full
// verification needs no quiet machine, so it does not hold one up.
func (r *runner) finish(ctx workflow.Context) (Outcome, error) {
	start := workflow.Now(ctx)
	// Rank the field, and measure it.
	var rank Delivery
	if err := locally(ctx, rankLocal, Order{Run: r.task.Run, What: r.State}, &rank); err != nil {
		return Outcome{}, err
	}
	field, closing := rank.IDs[0], rank.IDs[1]
	measuring := grace + 10*r.task.Limits.Measure
	confirmed, err := r.runActivity(ctx, r.bench(), measuring, confirmActivity, Order{Run: r.task.Run, What: field})
	if err != nil {
		return Outcome{}, err
	}
	// Verify the measured versions in full, until one passes.
	for _, candidate := range confirmed.IDs {
		proven, err := r.runActivity(ctx, verifyQueue, grace+4*r.task.Limits.Fuzz, proveActivity,
			Order{Run: r.task.Run, What: field, More: candidate})
		if err != nil {
			return Outcome{}, err
		}
		if proven.Yes {
			break
		}
	}
	// Judge and report. Both find what was measured and verified in the store.
	judged, err := r.runActivity(ctx, r.bench(), measuring+4*r.task.Limits.Fuzz, judgeActivity, Order{
		Run:  r.task.Run,
		What: field,
	})
	if err != nil {
		return Outcome{}, err
	}
	last := ReportOrder{
		Run:     r.task.Run,
		Judged:  judged.What,
		Closing: closing,
		Seconds: workflow.Now(ctx).Sub(start).Seconds(),
	}
	result, err := r.runActivity(ctx, buildQueue, grace, reportActivity, last)
	return Outcome{Result: result.What}, err
}

// Island evaluates an island's share of a generation as a workflow. It returns the digest of a
// [flow.EvaluatedBatch].
func Island(ctx workflow.Context, s Share) (string, error) {
	var out Delivery
	err := act(ctx, benchQueue(s.MachineKind), grace, evaluateActivity, Order{Run: s.Run, What: s.Batch}, &out,
		func(string) {})
	return out.What, err
}

// reason returns the innermost of an error's causes, for the user.
func reason(err error) string {
	var a *temporal.ApplicationError
	if errors.As(err, &a) {
		return tail.Short(a.Message(), 500)
	}
	return tail.Short(err.Error(), 500)
}
