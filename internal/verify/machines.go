package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/tail"
)

// These constants bound the comparison on one other machine, in that machine's time: an emulated
// machine is about ten times slower.
const (
	machineReplay  = time.Second
	machineShare   = 4 // of the exhaustion's own budget
	machineDeep    = 32
	machineWall    = 2 * time.Minute
	machineRecords = 2000
)

// otherMachines compares both versions again as programs for other machines. There, an int has 32
// bits, or the bytes of a word have the other order.
func otherMachines(ctx context.Context, j *Job) (*Rejection, error) {
	for _, m := range harness.Machines {
		found, err := j.compareOn(ctx, m)
		if found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}

// compareOn compares both versions on one machine, or notes why it cannot.
func (j *Job) compareOn(ctx context.Context, m harness.Machine) (*Rejection, error) {
	// Build both versions for the machine. A candidate must compile wherever the original does.
	bin, err := j.Env.buildFor(ctx, m, j.Candidate)
	if bin != nil {
		defer bin.Remove()
	}
	if err != nil {
		return nil, j.skipMachine(ctx, m, err)
	}
	if why := bin.Failed[1]; why != "" {
		reason := fmt.Sprintf("it does not compile for %s, as the original does: %s", m.GOARCH, why)
		return &Rejection{Status: beagle.Invalid, Reason: reason}, nil
	}
	// Compare them there with a copy of the job that knows nothing of this machine's runs.
	k := *j
	k.bin, k.idx, k.learned, k.result, k.candidateEnds = bin, 1, j.learned.withoutRuns(), beagle.CheckResult{}, nil
	if found, err := k.starts(ctx, m); found != nil || err != nil {
		return found, j.skipMachine(ctx, m, err)
	}
	found, err := k.compareThere(ctx)
	j.result.Cases += k.result.Cases
	if k.result.Note != "" {
		j.note("%s: %s", m.GOARCH, k.result.Note)
	}
	if err != nil {
		return nil, j.skipMachine(ctx, m, err)
	}
	j.note("%s: %d cases", m.GOARCH, k.result.Cases)
	return onMachine(m, found), nil
}

// skipMachine notes that the check left out a machine. An error that ended the whole check stays an
// error.
func (n *notes) skipMachine(ctx context.Context, m harness.Machine, err error) error {
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	why := firstLine(err.Error())
	if errors.Is(err, harness.ErrOriginal) {
		why = "the original does not build for it"
	}
	n.note("%s: left out: %s", m.GOARCH, why)
	n.addGap("GOARCH=%s (%s): %s", m.GOARCH, m.Doc, why)
	return nil
}

func firstLine(s string) string { return strings.TrimSuffix(tail.First(s), ":") }

// buildFor builds both versions for a machine.
func (e *Env) buildFor(ctx context.Context, m harness.Machine, c beagle.Candidate) (*harness.Binary, error) {
	b, err := e.Builder.ForMachine(ctx, m)
	if err != nil {
		return nil, err
	}
	vs := harness.Versions(&e.Unit.Target, c)
	return b.Build(ctx, vs, harness.Link{})
}

// starts tests whether programs of a machine start here, and whether the candidate is the reason if
// one does not.
func (j *Job) starts(ctx context.Context, m harness.Machine) (*Rejection, error) {
	pkg := j.Env.Unit.Target.PkgPath
	_, exit, err := j.bin.Start(ctx, j.Env.Box, pkg)
	if err == nil && exit == nil || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	b, berr := j.Env.Builder.ForMachine(ctx, m)
	if berr != nil {
		return nil, berr
	}
	alone, berr := b.Build(ctx, harness.Versions(&j.Env.Unit.Target), harness.Link{})
	if berr != nil {
		return nil, berr
	}
	defer alone.Remove()
	switch _, own, ownErr := alone.Start(ctx, j.Env.Box, pkg); {
	case ownErr != nil || own != nil || exit == nil:
		return nil, fmt.Errorf("%w: a program with the original alone does not start", harness.ErrNoMachine)
	default:
		reason := fmt.Sprintf("on %s, a program with it does not start: %s", m.GOARCH, firstLine(exit.Detail))
		return &Rejection{Status: beagle.Crashed, Reason: reason}, nil
	}
}

// compareThere replays the recorded and generated calls and a bounded exhaustion with the program
// for another machine.
func (j *Job) compareThere(ctx context.Context) (*Rejection, error) {
	// Replay the records that fit into the machine's words.
	unfit := 0
	for _, name := range []string{"train", "holdout", "generated"} {
		if j.learned.sizes[name] == 0 {
			continue
		}
		q := &rt.Replay{Variant: j.idx, Records: []string{name}, Max: machineRecords, Deep: machineDeep, Seed: 1}
		q.Budget = int64(machineReplay)
		reply, found, err := j.replay(ctx, q, 1, machineWall)
		if found != nil || err != nil {
			return found, err
		}
		j.result.Cases += reply.Cases
		unfit += reply.Unfit
		if reply.Diff != nil {
			return j.Env.differs(reply.Diff), nil
		}
	}
	if unfit > 0 {
		j.note("%d records hold numbers of more than 32 bits in an int, which cannot be passed there", unfit)
	}
	// Exhaust small inputs with a part of the budget.
	x, err := j.exhaustRequest(ctx, j.Budget.Exhaust/machineShare)
	if err != nil {
		return nil, err
	}
	reply, found, err := j.replay(ctx, &rt.Replay{Variant: j.idx, Records: []string{"quick"}, Max: 1, Then: x},
		1, machineWall)
	if found != nil || err != nil {
		return found, err
	}
	d := reply.Diff
	if out := reply.Then; out != nil {
		j.result.Cases += out.Cases
		d = out.Diff
	}
	return j.Env.differs(d), nil
}

// onMachine adds the machine to the text of a finding.
func onMachine(m harness.Machine, f *Rejection) *Rejection {
	if f == nil {
		return nil
	}
	f.Reason = fmt.Sprintf("on %s (%s): %s", m.GOARCH, m.Doc, f.Reason)
	if d := f.Diff; d != nil && d.Check == "" { // the other kinds describe the call that a test must make
		d.Check = "run with GOARCH=" + m.GOARCH
	}
	return f
}

// withoutRuns returns the facts about a corpus without those that come from running the original on
// this machine.
func (l *corpusFacts) withoutRuns() *corpusFacts {
	return &corpusFacts{files: l.files, sizes: l.sizes, known: l.known, fromRuns: true,
		skip: map[string]bool{}, slow: map[string][]int{}, rechecked: map[string]bool{}}
}
