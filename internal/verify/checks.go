package verify

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
)

// The quick check's limits hold within the process. With the start of the sandbox, the check takes
// about 10 ms for a small function.
const (
	quickReplay  = 25 * time.Millisecond // a bound; small functions take one or two
	quickExhaust = 5 * time.Millisecond
)

// quick compares a candidate with the original on a few inputs, in one process.
func quick(ctx context.Context, j *Job) (*Rejection, error) {
	q, found, err := j.quickRequest(ctx)
	if found != nil || err != nil {
		return found, err
	}
	reply, found, err := j.replay(ctx, q, 1, 0)
	if found != nil || err != nil {
		return found, err
	}
	return j.Env.differs(j.quickResult(reply)), nil
}

// quickRequest returns the quick check's request to a program, or a rejection from reading.
func (j *Job) quickRequest(ctx context.Context) (*rt.Replay, *Rejection, error) {
	if why := j.bin.Failed[j.idx]; why != "" {
		return nil, &Rejection{Status: beagle.Invalid, Stage: "compile", Reason: why}, nil
	}
	if found, err := j.literals(ctx); found != nil || err != nil {
		return nil, found, err
	}
	x, err := j.exhaustRequest(ctx, quickExhaust)
	if err != nil {
		return nil, nil, err
	}
	q := &rt.Replay{Variant: j.idx, Records: []string{"quick"}, Deep: 24, Budget: int64(quickReplay), Then: x}
	return q, nil, nil
}

// quickResult takes in the program's reply, and returns the difference in it.
func (n *notes) quickResult(reply *rt.ReplayReply) *rt.Diff {
	n.tell(reply)
	if reply.Diff == nil && reply.Then != nil {
		n.result.Cases += reply.Then.Cases
		return reply.Then.Diff
	}
	return reply.Diff
}

// tell adds the counts of a replay to the check's result.
func (n *notes) tell(r *rt.ReplayReply) {
	n.result.Cases += r.Cases
	if r.Diff == nil && r.Cases < r.Records-r.Outside {
		n.note("%d of %d records", r.Cases, r.Records)
		n.addGap("%d of %d records of %q, for want of time", r.Records-r.Cases, r.Records, n.result.Name)
	}
	if r.Outside > 0 {
		n.note("%d records are outside the contract", r.Outside)
	}
	if r.Unstable > 0 {
		n.note("the original differs from itself on %d inputs, which prove nothing", r.Unstable)
		n.addGap("%d inputs of %q on which the original differs from itself", r.Unstable, n.result.Name)
	}
	if r.Opaque > 0 {
		n.note("%d outcomes could not be compared", r.Opaque)
		n.addGap("%d outcomes of %q that cannot be compared", r.Opaque, n.result.Name)
	}
}

// replayBudget bounds the replay of one set of records.
const replayBudget = 10 * time.Second

// replaySet gives both versions one set of records, and repeats a difference in a fresh process.
func (j *Job) replaySet(ctx context.Context, name string) (*Rejection, error) {
	if j.learned.sizes[name] == 0 {
		j.note("there are no such records")
		if name == "holdout" {
			j.addGap("held-out inputs: there were too few to hold some back")
		}
		return nil, nil
	}
	q := &rt.Replay{Variant: j.idx, Records: []string{name}, Deep: 2000, Budget: int64(replayBudget), Seed: 1}
	reply, found, err := j.replay(ctx, q, 1, 4*replayBudget)
	if found != nil || err != nil {
		return found, err
	}
	j.tell(reply)
	if reply.Diff != nil {
		if err := j.confirm(ctx, reply.Diff); err != nil {
			return nil, err
		}
	}
	return j.Env.differs(reply.Diff), nil
}

func replayTrain(ctx context.Context, j *Job) (*Rejection, error) { return j.replaySet(ctx, "train") }
func replayHoldout(ctx context.Context, j *Job) (*Rejection, error) {
	return j.replaySet(ctx, "holdout")
}
func replayGenerated(ctx context.Context, j *Job) (*Rejection, error) {
	return j.replaySet(ctx, "generated")
}

// confirm repeats a difference in a fresh process. A difference that needs earlier calls is
// evidence of state.
func (j *Job) confirm(ctx context.Context, d *rt.Diff) error {
	if d.Check != "" || len(d.Args) == 0 {
		return nil
	}
	path, remove, err := j.writeRecord(d.Args)
	if err != nil {
		return err
	}
	defer remove()
	var reply rt.ReplayReply
	q := &rt.Replay{Variant: j.idx, Records: []string{"one"}, Panics: j.panics()}
	exit, err := j.bin.Run(ctx, j.Env.Box, &rt.Request{Replay: q}, &reply,
		harness.RunOptions{CPU: -1, Files: map[string]string{"one": path}})
	if err == nil && exit == nil && reply.Diff == nil {
		d.Kind, d.Check = "state", rt.CheckOrder
	}
	return err
}

// threads calls the candidate from several goroutines at once.
func threads(ctx context.Context, j *Job) (*Rejection, error) {
	name := "train"
	if j.learned.sizes[name] == 0 {
		j.note("there are no records")
		return nil, nil
	}
	q := &rt.Replay{Variant: j.idx, Records: []string{name}, Max: 2000, Threads: 4, Budget: int64(time.Second)}
	reply, found, err := j.replay(ctx, q, 2, 30*time.Second)
	if found != nil || err != nil {
		return found, err
	}
	j.result.Cases = reply.Cases
	if reply.Diff == nil {
		return nil, nil
	}
	if same, err := j.originalRaces(ctx, j.bin, q); same || err != nil {
		j.note("the original also answers differently if several goroutines call it")
		j.addGap("calls from several goroutines, in which the original answers differently too")
		return nil, err
	}
	return j.Env.differs(reply.Diff), nil
}

// originalRaces repeats a concurrent check with the original in the candidate's place.
func (j *Job) originalRaces(ctx context.Context, bin *harness.Binary, q *rt.Replay) (bool, error) {
	c, reply := *q, new(rt.ReplayReply)
	c.Variant = 0
	exit, err := bin.Run(ctx, j.Env.Box, &rt.Request{Procs: 2, Replay: &c}, reply,
		harness.RunOptions{CPU: -1, Wall: time.Minute, Files: j.learned.pick(q.Records...)})
	return exit != nil || reply.Diff != nil, err
}

// exhaustRequest asks for small inputs made from the constants of both versions.
func (j *Job) exhaustRequest(ctx context.Context, budget time.Duration) (*rt.Exhaust, error) {
	if j.cand == nil {
		if found, err := parse(ctx, j); err != nil || found != nil {
			return nil, errors.Join(fmt.Errorf("the candidate was built but does not parse: %v", found), err)
		}
	}
	x := &rt.Exhaust{Variant: j.idx, Records: []string{"quick"}, Seed: 1, Panics: j.panics(), Budget: int64(budget)}
	x.Ints, x.Strings = constantsOf(j.orig, j.cand)
	vocabularyOf(j.orig, j.cand).fill(x)
	if !j.quick {
		x.Bases = 12
	}
	return x, nil
}

// exhaust gives both versions systematic inputs.
func exhaust(ctx context.Context, j *Job) (*Rejection, error) {
	// Ask for a replay of a single record that the exhaustion follows.
	x, err := j.exhaustRequest(ctx, j.Budget.Exhaust)
	if err != nil {
		return nil, err
	}
	none := 1
	// The budget is processor time, and a loaded machine may take long to grant it.
	q := &rt.Replay{Variant: j.idx, Records: []string{"quick"}, Max: none, Then: x}
	reply, found, err := j.replay(ctx, q, 1, 40*j.Budget.Exhaust+time.Minute)
	if found != nil || err != nil {
		return found, err
	}
	out := reply.Then
	if out == nil {
		return j.Env.differs(reply.Diff), nil
	}
	// Report which kinds of inputs the exhaustion covered.
	j.result.Cases = out.Cases
	j.learned.mu.Lock()
	j.learned.cap, j.learned.capLen = out.Cap, out.CapLen
	j.learned.mu.Unlock()
	var complete, partial []string
	for _, p := range out.Phases {
		switch {
		case p.Done:
			complete = append(complete, p.Name)
		case p.Note != "":
			partial = append(partial, p.Name+" ("+p.Note+")")
		default:
			partial = append(partial, p.Name)
		}
	}
	if len(complete) > 0 {
		j.note("all of: %s", strings.Join(complete, ", "))
	}
	if len(partial) > 0 {
		j.note("part of: %s", strings.Join(partial, ", "))
		j.addGap("all small inputs of the kinds %s", strings.Join(partial, ", "))
	}
	if out.Outside > 0 {
		j.note("%d more inputs are outside the contract", out.Outside)
	}
	if out.Unstable > 0 {
		j.note("the original differs from itself on %d inputs", out.Unstable)
		j.addGap("%d small inputs on which the original differs from itself", out.Unstable)
	}
	// Repeat a difference in a fresh process.
	if out.Diff != nil {
		if err := j.confirm(ctx, out.Diff); err != nil {
			return nil, err
		}
	}
	return j.Env.differs(out.Diff), nil
}

// goes reports whether a candidate starts goroutines. These may still run beside the caller's own
// after the call.
func (c *code) goes() bool {
	found := false
	ast.Inspect(c.file, func(n ast.Node) bool {
		_, is := n.(*ast.GoStmt)
		found = found || is
		return !found
	})
	return found
}

// race builds the original and the candidate with the race detector and runs both.
func race(ctx context.Context, j *Job) (*Rejection, error) {
	// Decide whether the detector is worth its time.
	switch {
	case j.Budget.Race < 0:
		j.note("left out")
		j.addGap("data races: the race detector was left out")
		return nil, nil
	case !j.Corpus.Concurrent && !j.cand.goes() && !j.cand.keeps():
		j.note("not needed: the target was not seen in several goroutines at once, and the candidate starts none and " +
			"has no variable that may change")
		j.addGap("data races: the function was never seen in two goroutines at once")
		return nil, nil
	case j.learned.sizes["train"] == 0:
		j.note("there are no records")
		return nil, nil
	}
	// Build both versions with the detector.
	vs := harness.Versions(&j.Env.Unit.Target, j.Candidate)
	bin, err := j.Env.Builder.Build(ctx, vs, harness.Link{Race: true})
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		j.note("the race detector could not be built in: %v", err)
		j.addGap("data races: the race detector could not be built in")
		return nil, nil
	}
	defer bin.Remove()
	// Call the candidate from four goroutines.
	q := &rt.Replay{Variant: 1, Records: []string{"train"}, Max: 1000, Threads: 4, Cold: rt.ColdThreads,
		Panics: j.panics(), Budget: int64(j.Budget.Race)}
	reply := new(rt.ReplayReply)
	exit, err := bin.Run(ctx, j.Env.Box, &rt.Request{Procs: 2, Replay: q}, reply,
		harness.RunOptions{CPU: -1, Wall: 10*j.Budget.Race + 20*time.Second, Files: j.learned.pick("train")})
	if err != nil {
		return nil, err
	}
	j.result.Cases = reply.Cases
	if exit == nil && reply.Diff == nil {
		return nil, nil
	}
	// A race of the original's own excuses the candidate.
	if same, err := j.originalRaces(ctx, bin, q); same || err != nil {
		j.note("the original races too")
		j.addGap("data races, since the original has some")
		return nil, err
	}
	if exit == nil {
		return j.Env.differs(reply.Diff), nil
	}
	return &Rejection{Status: beagle.Wrong, Reason: "the race detector found a data race: " + exit.Detail,
		Diff: &rt.Diff{Kind: "race", Got: exit.Detail}}, nil
}
