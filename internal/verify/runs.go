package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
)

// panics returns how to compare the candidate's panics. Their text counts if every step promises to
// keep it. Only their presence counts if a step changes them. For versions from elsewhere, their
// kind counts.
func (j *Job) panics() string {
	if !j.Candidate.ByRules() {
		return rt.PanicsKind
	}
	for _, s := range j.Candidate.Steps {
		switch s.Class {
		case beagle.E1, beagle.E4, beagle.E5:
			return rt.PanicsAny
		}
	}
	return rt.PanicsExact
}

// replay runs a replay request to its end. It leaves out inputs that the original does not survive,
// and runs again. Recorded inputs are left out one by one, made-up ones by the phase, so that an
// original that no phase suits is judged by what was recorded.
func (j *Job) replay(
	ctx context.Context, q *rt.Replay, procs int, wall time.Duration,
) (*rt.ReplayReply, *Rejection, error) {
	j.complete(q)
	var last *harness.Exit
	for range 2*maxSkips + rt.Phases() {
		reply := new(rt.ReplayReply)
		j.leaveOut(q)
		exit, err := j.bin.Run(ctx, j.Env.Box, &rt.Request{Procs: procs, Replay: q}, reply, harness.RunOptions{
			CPU: -1, Wall: wall, Files: j.learned.pick(q.Records...)})
		if err != nil {
			return nil, nil, err
		}
		if exit == nil {
			return reply, nil, nil
		}
		last = exit
		found, err := j.judgeEnd(ctx, exit, q)
		if found != nil || err != nil {
			return nil, found, err
		}
	}
	return nil, nil, fmt.Errorf("the original does not survive its own inputs: %s; %s", last, j.result.Note)
}

// complete adds the panic policy to a request, and the inputs to exclude: those that the original
// does not survive.
func (j *Job) complete(q *rt.Replay) {
	q.Panics = j.panics()
	j.learned.mu.Lock()
	defer j.learned.mu.Unlock()
	q.Skip = slices.Clone(j.learned.slow[inputsOf(q)])
}

// inputsOf names the inputs of a request among the exclusions. A record that the original does not
// survive when it is stretched is good evidence as it was recorded.
func inputsOf(q *rt.Replay) string {
	name := strings.Join(q.Records, " ")
	if q.Grow {
		name += ", stretched"
	}
	return name
}

// leaveOut adds the phases that the original does not survive.
func (k *exclusions) leaveOut(q *rt.Replay) {
	if q.Then != nil {
		q.Then.Skip, q.Then.Slow = k.skips()
	}
}

// judgeEnd decides what an early end means. It says nothing about the candidate if the original was
// running, unless a difference had been found before.
func (j *Job) judgeEnd(ctx context.Context, exit *harness.Exit, q *rt.Replay) (*Rejection, error) {
	if d := foundDiff(exit); d != nil {
		if err := j.confirm(ctx, d); err != nil {
			return nil, err
		}
		return j.Env.differs(d), nil
	}
	guilty := exit.Variant == j.idx && j.idx != 0
	if exit.Kind == harness.Memory || exit.Variant < 0 {
		var err error
		if guilty, err = j.originalSurvives(ctx, q); err != nil {
			return nil, err
		}
		if !guilty && exit.Variant < 0 {
			return nil, j.astray(exit)
		}
	}
	if guilty {
		return j.fatal(ctx, exit, q)
	}
	if phase := rt.PhaseOf(exit.Record); phase != "" && !j.quick {
		if alone, err := j.originalSurvives(ctx, q); alone || err != nil {
			j.noteBeside(phase)
			return nil, err
		}
	}
	j.forgive(exit, q)
	return nil, nil
}

// astray takes in an end between inputs, which no version is to blame for. The check is made once
// more. When it ends again, nothing is known of this candidate, and the search goes on.
func (j *Job) astray(exit *harness.Exit) error {
	if j.astrays++; j.astrays <= maxAstray {
		return nil
	}
	return &JudgeFailure{Check: j.result.Name, Candidate: j.Candidate.ID, What: "ended between inputs",
		Value: exit.String()}
}

// maxAstray bounds the repetitions of a check after an end between inputs.
const maxAstray = 1

// noteBeside notes that the original ended in a phase beside the candidate, but not without it. The
// phase gets one more try. After that, it is left out for this candidate alone: no candidate may
// remove a phase for the others.
func (j *Job) noteBeside(phase string) {
	if j.candidateEnds == nil {
		j.candidateEnds = map[string]int{}
	}
	if j.candidateEnds[phase]++; j.candidateEnds[phase] > 1 {
		j.addGap("inputs of the phase %s: the original is too slow for them beside the candidate, though not alone",
			phase)
	}
}

// originalSurvives repeats a request with the original in the candidate's place. It has time enough
// for all of the request: an original that only ran out of it would excuse any candidate.
func (j *Job) originalSurvives(ctx context.Context, q *rt.Replay) (bool, error) {
	c := *q
	c.Variant = 0
	if q.Then != nil {
		x := *q.Then
		x.Variant, c.Then = 0, &x
	}
	exit, err := j.bin.Run(ctx, j.Env.Box, &rt.Request{Replay: &c}, nil,
		harness.RunOptions{CPU: -1, Wall: time.Minute, Files: j.learned.pick(q.Records...)})
	return exit == nil, err
}

// forgive leaves out the input or the phase that the original does not survive.
func (j *Job) forgive(exit *harness.Exit, q *rt.Replay) {
	if phase := rt.PhaseOf(exit.Record); phase != "" {
		j.learned.mu.Lock()
		j.learned.skip[phase] = exit.Kind == harness.Hang
		j.learned.mu.Unlock()
		return
	}
	what := "does not survive"
	if exit.Kind == harness.Hang {
		what = "is too slow on"
	}
	j.note("the original %s record %d, which was left out", what, exit.Record)
	inputs := inputsOf(q)
	j.addGap("record %d of %q: the original %s it", exit.Record, inputs, what)
	q.Skip = append(q.Skip, exit.Record)
	j.learned.mu.Lock()
	j.learned.slow[inputs] = slices.Clone(q.Skip)
	j.learned.mu.Unlock()
}

// skips lists the phases to leave out, and those of them for which the original is too slow.
func (k *exclusions) skips() (all, slow []string) {
	k.learned.mu.Lock()
	defer k.learned.mu.Unlock()
	for name, isSlow := range k.learned.skip {
		all = append(all, name)
		if isSlow {
			slow = append(slow, name)
		}
	}
	for name, times := range k.candidateEnds {
		if times > 1 {
			all, slow = append(all, name), append(slow, name)
		}
	}
	inorder.Sort(all)
	return slices.Compact(all), slow
}

var fates = map[string]struct {
	status beagle.Status
	kind   string
	text   string
}{
	harness.Hang:   {beagle.Hung, "hang", "it does not return"},
	harness.Crash:  {beagle.Crashed, "crash", "the process died"},
	harness.Memory: {beagle.Crashed, "crash", "it used up the memory"},
	harness.Output: {beagle.Crashed, "crash", "it printed without end"},
	harness.Denied: {beagle.Crashed, "crash", "it tried what the sandbox forbids"},
	harness.Race:   {beagle.Wrong, "race", "the race detector found a data race"},
}

// fatal returns the finding for a candidate that ended its process.
func (j *Job) fatal(ctx context.Context, exit *harness.Exit, q *rt.Replay) (*Rejection, error) {
	fate := fates[exit.Kind]
	d, err := j.findInput(ctx, exit, q)
	if err != nil {
		return nil, err
	}
	// The watchdog may have written down the input and the reason. Without it, the first line of
	// the program's output stands for the reason.
	d.Kind, d.Got = fate.kind, fate.text
	if bark := watchdogDiff(exit.Detail); bark != nil {
		d.Got = bark.Got
		if len(d.Call) == 0 {
			d.Args, d.Call, d.Imports, d.Want = bark.Args, bark.Call, bark.Imports, bark.Want
		}
		if bark.Kind == "memory" {
			fate = fates[harness.Memory]
			d.Kind = fate.kind
		}
		// a truncated difference is not worth showing
	} else if line, _, _ := strings.Cut(exit.Detail, "\n"); line != "" && !strings.HasPrefix(line, rt.BarkPrefix) {
		d.Got += ": " + line
	}
	// The full ladder makes the input small.
	if !j.quick && exit.Kind != harness.Race {
		if err := j.shrinkFatal(ctx, d, exit.Kind); err != nil {
			return nil, err
		}
	}
	return &Rejection{Status: fate.status, Reason: j.Env.inOneLine(d), Diff: d}, nil
}

// findInput asks for the input at which a process ended.
func (j *Job) findInput(ctx context.Context, exit *harness.Exit, q *rt.Replay) (*rt.Diff, error) {
	if exit.Record < 0 {
		return new(rt.Diff), nil
	}
	var reply rt.ReplayReply
	c := &rt.Replay{Records: q.Records, Show: &exit.Record}
	if q.Then != nil && rt.PhaseOf(exit.Record) != "" {
		x := *q.Then
		x.Case = &exit.Record
		return j.shownCase(ctx, &x)
	}
	last, err := j.bin.Run(ctx, j.Env.Box, &rt.Request{Replay: c}, &reply,
		harness.RunOptions{CPU: -1, Files: j.learned.pick(q.Records...)})
	if err != nil || last != nil || reply.Shown == nil {
		return new(rt.Diff), err
	}
	return reply.Shown, nil
}

func (j *Job) shownCase(ctx context.Context, x *rt.Exhaust) (*rt.Diff, error) {
	var reply rt.ExhaustReply
	exit, err := j.bin.Run(ctx, j.Env.Box, &rt.Request{Exhaust: x}, &reply,
		harness.RunOptions{CPU: -1, Files: j.learned.pick(x.Records...)})
	if err != nil || exit != nil || reply.Shown == nil {
		return new(rt.Diff), err
	}
	return reply.Shown, nil
}

// watchdogDiff parses the Diff that a harness's watchdog printed.
func watchdogDiff(text string) *rt.Diff {
	_, rest, _ := strings.Cut(text, rt.BarkPrefix)
	line, _, _ := strings.Cut(rest, "\n")
	return parseDiff(line)
}

// foundDiff returns the difference that a process had found before it ended; nil for none.
func foundDiff(exit *harness.Exit) *rt.Diff {
	if exit == nil {
		return nil
	}
	return parseDiff(exit.Found)
}

// parseDiff parses a line of a harness; nil if it holds no whole Diff.
func parseDiff(line string) *rt.Diff {
	d := new(rt.Diff)
	if json.Unmarshal([]byte(line), d) != nil {
		return nil
	}
	return d
}

// fatalBudget is the time to make a fatal input smaller: every try needs a process.
const fatalBudget = 4 * time.Second

// shrinkFatal makes the input smaller at which a process ended, and updates the difference.
func (j *Job) shrinkFatal(ctx context.Context, d *rt.Diff, kind string) error {
	v, err := rt.ParseValue(d.Args)
	if err != nil {
		return nil // there is no input to make smaller
	}
	path := filepath.Join(j.Env.Dir, "one-"+j.Candidate.ID)
	defer os.Remove(path)
	var failed error
	ask := func(v rt.Value, q *rt.Replay, reply *rt.ReplayReply) *harness.Exit {
		if failed = rt.WriteRecords(path, []rt.Record{{Args: v.Append(nil), Weight: 1}}); failed != nil {
			return nil
		}
		q.Records = []string{"one"}
		var exit *harness.Exit
		exit, err := j.bin.Run(ctx, j.Env.Box, &rt.Request{Replay: q}, reply,
			harness.RunOptions{CPU: -1, Files: map[string]string{"one": path}})
		if err != nil && ctx.Err() != nil {
			failed = err
		}
		return exit // other errors mean that v is not a record of the target's arguments
	}
	small, steps := rt.Minimise(v, func(v rt.Value) bool {
		if failed != nil {
			return false
		}
		exit := ask(v, &rt.Replay{Variant: j.idx, Panics: j.panics()}, nil)
		return exit != nil && exit.Kind == kind && exit.Variant == j.idx
	}, fatalBudget)
	if failed != nil || steps == 0 {
		return failed
	}
	first := 0
	var reply rt.ReplayReply
	if ask(small, &rt.Replay{Show: &first}, &reply) == nil && reply.Shown != nil {
		got, kind := d.Got, d.Kind
		*d = *reply.Shown
		d.Got, d.Kind, d.Shrunk = got, kind, steps
	}
	return failed
}

// differs returns the finding for a difference.
func (e *Env) differs(d *rt.Diff) *Rejection {
	if d == nil {
		return nil
	}
	return &Rejection{Status: beagle.Wrong, Reason: e.inOneLine(d), Diff: d}
}
