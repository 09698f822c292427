package verify

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
)

// A guidance runs the guided search of a job.
type guidance struct {
	*Job
	traced *harness.Traced // both versions, with calls at their decisions
}

// fuzz searches for an input on which the versions differ. Their comparisons and branches guide the
// search.
func fuzz(ctx context.Context, j *Job) (*Rejection, error) {
	if j.Budget.Fuzz < 0 {
		j.note("left out")
		j.addGap("what the fuzzer finds: it was switched off")
		return nil, nil
	}
	// Build both versions with calls at their decisions.
	traced, err := j.trace(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		j.note("no traced program could be built: %v", err)
		j.addGap("what the guided search finds: its program could not be built")
		return nil, nil
	}
	// The check untested may need the program again; it then removes it.
	defer func() {
		if j.held == nil {
			traced.Remove()
		}
	}()
	for _, version := range traced.Plain {
		j.note("the branches of the %s are not known: it does not compile with calls that count them", version)
		j.addGap("the branches of the %s: the guided search could not trace it", version)
	}
	// Search, guided by what the calls report.
	g := &guidance{j, traced}
	q, err := g.guideRequest(ctx)
	if err != nil {
		return nil, err
	}
	return g.guided(ctx, q)
}

// trace builds the traced program for the search.
func (j *Job) trace(ctx context.Context) (*harness.Traced, error) {
	vs := harness.Versions(&j.Env.Unit.Target, j.Candidate)
	traced, err := j.Env.Builder.Traced(ctx, vs, j.termConditions)
	if err == nil && j.terms != nil {
		traced.Binary = traced.WithTerms(j.terms)
	}
	return traced, err
}

// guideRequest asks for a search that starts from the records and the constants.
func (g *guidance) guideRequest(ctx context.Context) (*rt.GuideRequest, error) {
	x, err := g.exhaustRequest(ctx, g.Budget.Fuzz)
	if err != nil {
		return nil, err
	}
	x.Variant = 1 // its number in the traced program
	x.Skip, _ = g.skips()
	q := &rt.GuideRequest{Exhaust: *x, Sites: len(g.traced.Sites)}
	g.learned.mu.Lock()
	q.Cap, q.CapLen = g.learned.cap, g.learned.capLen
	g.learned.mu.Unlock()
	return q, nil
}

// maxSearches bounds the searches, of which each ends at an input that ends the original.
const maxSearches = 3

// guided runs the search to its end.
func (g *guidance) guided(ctx context.Context, q *rt.GuideRequest) (*Rejection, error) {
	for range maxSearches {
		reply := new(rt.GuideReply)
		exit, err := g.guide(ctx, q, reply)
		switch {
		case err != nil:
			return nil, err
		case exit == nil && reply.Diff != nil:
			g.result.Cases += reply.Inputs
			return g.guidedTo(ctx, reply.Diff)
		case exit == nil:
			g.searched(reply)
			return nil, nil
		}
		found, err := g.guideEnded(ctx, q, exit)
		if found != nil || err != nil {
			return found, err
		}
	}
	g.addGap("what the guided search finds: it met %d inputs that the original does not survive", maxSearches)
	return nil, nil
}

// guide runs the traced program once.
func (g *guidance) guide(
	ctx context.Context, q *rt.GuideRequest, reply *rt.GuideReply,
) (*harness.Exit, error) {
	// The budget is processor time, and a loaded machine may take long to grant it.
	wall := 40*time.Duration(q.Budget) + time.Minute
	return g.traced.Run(ctx, g.Env.Box, &rt.Request{Guide: q}, reply,
		harness.RunOptions{CPU: -1, Wall: wall, Files: g.learned.pick(q.Records...)})
}

// guidedTo judges a difference that the traced program showed. It counts if the program without
// tracing shows it too. A difference that neither program shows in a fresh process depends on
// earlier calls.
func (g *guidance) guidedTo(ctx context.Context, d *rt.Diff) (*Rejection, error) {
	if d.Check != "" || len(d.Args) == 0 {
		return g.Env.differs(d), nil
	}
	// Try the input in a fresh process: first in the program without tracing, then in the traced
	// one.
	for _, bin := range []*harness.Binary{g.bin, g.traced.Binary} {
		idx := g.idx
		if bin != g.bin {
			idx = 1
		}
		reply, exit, err := g.replayAlone(ctx, bin, idx, d.Args)
		switch {
		case err != nil:
			return nil, err
		case exit == nil && reply.Diff == nil:
		case bin != g.bin:
			g.note("the traced program differs on an input where the candidate does not: %s",
				strings.Join(d.Call, ", "))
			g.addGap("what the guided search finds: it ended at an input on which only the traced program differs")
			return nil, nil
		case exit == nil:
			return g.Env.differs(reply.Diff), nil
		case exit.Variant == g.idx:
			return g.deadly(ctx, exit, d)
		}
	}
	// Neither program shows the difference alone.
	d.Kind, d.Check = "state", rt.CheckOrder
	return g.Env.differs(d), nil
}

// replayAlone replays one input in a fresh process.
func (j *Job) replayAlone(
	ctx context.Context, bin *harness.Binary, idx int, args []byte,
) (*rt.ReplayReply, *harness.Exit, error) {
	path, remove, err := j.writeRecord(args)
	if err != nil {
		return nil, nil, err
	}
	defer remove()
	reply := new(rt.ReplayReply)
	q := &rt.Replay{Variant: idx, Records: []string{"one"}, Panics: j.panics()}
	exit, err := bin.Run(ctx, j.Env.Box, &rt.Request{Replay: q}, reply,
		harness.RunOptions{CPU: -1, Files: map[string]string{"one": path}})
	return reply, exit, err
}

// writeRecord writes a file of one record.
func (j *Job) writeRecord(args []byte) (path string, remove func(), err error) {
	path = filepath.Join(j.Env.Dir, "single-"+j.Candidate.ID)
	return path, func() { os.Remove(path) }, rt.WriteRecords(path, []rt.Record{{Args: args, Weight: 1}})
}

// deadly returns the finding for an input that ends the candidate's process.
func (g *guidance) deadly(ctx context.Context, exit *harness.Exit, d *rt.Diff) (*Rejection, error) {
	fate := fates[exit.Kind]
	d.Kind, d.Got = fate.kind, fate.text
	if bark := watchdogDiff(exit.Detail); bark != nil {
		d.Got = bark.Got
		if bark.Kind == "memory" {
			fate = fates[harness.Memory]
			d.Kind = fate.kind
		}
	} else if line, _, _ := strings.Cut(exit.Detail, "\n"); line != "" && !strings.HasPrefix(line, rt.BarkPrefix) {
		d.Got += ": " + line
	}
	if err := g.shrinkFatal(ctx, d, exit.Kind); err != nil {
		return nil, err
	}
	return &Rejection{Status: fate.status, Reason: d.Got, Diff: d}, nil
}

// guideEnded interprets the end of the search's process. The watchdog may have written the input
// down; otherwise the same search runs again up to that input.
func (g *guidance) guideEnded(
	ctx context.Context, q *rt.GuideRequest, exit *harness.Exit,
) (*Rejection, error) {
	// Find the input that ended the process.
	d := foundDiff(exit)
	if d == nil {
		d = watchdogDiff(exit.Detail)
	}
	if d == nil || len(d.Args) == 0 {
		var err error
		if d, err = g.guideShown(ctx, q, exit); err != nil {
			return nil, err
		}
	}
	if d == nil || len(d.Args) == 0 {
		g.note("a process of the search ended (%s) at an input that could not be found again", exit.Kind)
		q.Seed++
		return nil, nil
	}
	// Try it in a program without tracing, in a fresh process.
	reply, alone, err := g.replayAlone(ctx, g.bin, g.idx, d.Args)
	switch {
	case err != nil:
		return nil, err
	case alone == nil && reply.Diff != nil:
		return g.Env.differs(reply.Diff), nil
	case foundDiff(alone) != nil:
		return g.Env.differs(foundDiff(alone)), nil
	case alone != nil && alone.Variant == g.idx:
		return g.deadly(ctx, alone, d)
	case alone != nil || exit.Variant == 0:
		g.note("inputs that the original does not survive were left out")
	default:
		g.note("an input ended a search (%s), but the candidate survives that input alone", exit.Kind)
	}
	lowerInputs(q)
	return nil, nil
}

// guideShown runs a search again up to the input that ended it.
func (g *guidance) guideShown(
	ctx context.Context, q *rt.GuideRequest, exit *harness.Exit,
) (*rt.Diff, error) {
	if exit.Record < 0 {
		return nil, nil
	}
	if rt.PhaseOf(exit.Record) != "" {
		x := q.Exhaust
		x.Case = &exit.Record
		x.Variant = g.idx
		return g.shownCase(ctx, &x)
	}
	again, reply := *q, new(rt.GuideReply)
	again.Stop, again.Budget = exit.Record, 4*q.Budget
	if last, err := g.guide(ctx, &again, reply); err != nil || last != nil {
		return nil, err
	}
	return reply.Shown, nil
}

// lowerInputs makes the next search take another path, with smaller inputs.
func lowerInputs(q *rt.GuideRequest) {
	q.Seed++
	half := func(n, most int64) int64 {
		if n == 0 || n > most {
			return most
		}
		return max(n/16, 64)
	}
	q.Cap, q.CapLen = half(q.Cap, 1<<16), int(half(int64(q.CapLen), 1<<12))
	q.Skip = append(q.Skip, "numbers", "negative", "bounds", "fields", "random", "solved")
}

// maxUnreached bounds the unreached branches that a verdict lists.
const maxUnreached = 40

// searched adds a search without a difference to the verdict.
func (g *guidance) searched(reply *rt.GuideReply) {
	g.result.Cases += reply.Inputs
	a := g.assurance()
	a.Inputs += reply.Inputs
	a.Saturated = reply.Saturated && len(g.traced.Plain) == 0
	list := unreached(g.traced, reply)
	a.Unreached = list[:min(len(list), maxUnreached)]
	g.watch(reply)
	if reply.Unstable > 0 {
		g.note("the original differs from itself on %d inputs", reply.Unstable)
	}
	if reply.Saturated {
		g.note("saturated: nothing new since input %d", reply.Last)
	} else {
		g.note("the time ended before it was saturated")
	}
	if len(list) > 0 {
		g.note("%d branches were not reached", len(list))
	}
}

// unreached lists the sides of decisions that no input took, by version and line.
func unreached(traced *harness.Traced, reply *rt.GuideReply) []beagle.Branch {
	var list []beagle.Branch
	for side, ids := range reply.Unreached {
		for _, id := range ids {
			s := traced.Sites[id]
			if s.Sides[side] == "" || s.Version < 0 {
				continue // readers see the versions only
			}
			version := "original"
			if s.Version != 0 {
				version = "candidate"
			}
			list = append(list, beagle.Branch{Version: version, Line: s.Line, Text: s.Text, Side: s.Sides[side]})
		}
	}
	inorder.By(list, func(a, b beagle.Branch) int {
		if a.Version != b.Version {
			return strings.Compare(b.Version, a.Version) // the original first
		}
		return a.Line - b.Line
	})
	return list
}
