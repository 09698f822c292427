package verify

import (
	"context"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
)

// An Entrant is a candidate that was built into a program.
type Entrant struct {
	Version   int // in the program
	Candidate beagle.Candidate
}

// QuickTogether is Quick for several candidates in one process, since most of the cost of a process
// is its start. It accepts only. A candidate with a nil verdict must be compared in a process of
// its own: Together found something, or the process ended, and another candidate may be the reason.
// Candidates of untrusted authors do not belong here: one could spoil the result of the next.
func QuickTogether(
	ctx context.Context, e *Env, bin *harness.Binary, list []Entrant, corpus *beagle.Corpus,
) ([]*beagle.Verdict, error) {
	out := make([]*beagle.Verdict, len(list))
	if len(QuickLadder) != 1 { // only its own check can be shared
		return out, nil
	}
	// Prepare a request for each candidate. A candidate without one gets its answer elsewhere.
	var jobs []*Job
	var at []int
	request := rt.Request{Procs: 1}
	for i, c := range list {
		j := &Job{Env: e, Candidate: c.Candidate, Corpus: corpus, bin: bin, idx: c.Version, notes: notes{quick: true}}
		j.result.Name = QuickLadder[0].Name
		q, err := j.prepareQuick(ctx)
		if err != nil {
			return out, err
		}
		if q == nil {
			continue
		}
		jobs, at, request.Series = append(jobs, j), append(at, i), append(request.Series, *q)
	}
	if len(jobs) == 0 {
		return out, nil
	}
	// Run all requests in one process. Unless it answers them all, nothing is known.
	var replies []rt.ReplayReply
	wall := time.Duration(len(jobs)) * togetherWall
	exit, err := bin.Run(ctx, e.Box, &request, &replies,
		harness.RunOptions{CPU: -1, Wall: wall, Files: jobs[0].learned.pick("quick")})
	if err != nil || exit != nil || len(replies) != len(jobs) {
		return out, err
	}
	for i := range replies {
		if j := jobs[i]; j.quickResult(&replies[i]) == nil {
			out[at[i]] = j.passed(&replies[i])
		}
	}
	return out, nil
}

// togetherWall bounds a candidate's time beside others. A slow function is compared alone.
const togetherWall = 2 * time.Second

// prepareQuick returns the request of the quick check. It returns nil if reading finds something or
// panics; the comparison alone then reports that.
func (j *Job) prepareQuick(ctx context.Context) (q *rt.Replay, err error) {
	defer func() {
		if recover() != nil {
			q, err = nil, nil
		}
	}()
	if err := j.prepare(); err != nil {
		return nil, err
	}
	q, found, err := j.quickRequest(ctx)
	if err != nil || found != nil {
		return nil, err
	}
	j.complete(q)
	j.leaveOut(q)
	return q, nil
}

// passed is the verdict of the quick check that found nothing.
func (j *Job) passed(r *rt.ReplayReply) *beagle.Verdict {
	j.result.Passed, j.result.Millis = true, r.Millis
	return &beagle.Verdict{
		Candidate: j.Candidate.ID, Status: beagle.Equal, Stage: j.result.Name, Contract: j.Env.Unit.Target.Contract,
		Checks: []beagle.CheckResult{j.result},
	}
}
