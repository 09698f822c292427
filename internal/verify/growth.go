package verify

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
)

// growthBudget bounds one measurement of growth; a process that finds something repeats it.
const growthBudget = time.Second

// growth stretches the recorded inputs and compares how the time of both versions grows. A corpus
// of short inputs hides the cost of long ones.
func growth(ctx context.Context, j *Job) (*Rejection, error) {
	var first *rt.Growth
	// Measure twice: a steep growth must show both times.
	for range 2 {
		q := &rt.Replay{Variant: j.idx, Records: []string{"train"}, Max: coldRecords, Grow: true, Seed: 1}
		q.Budget = int64(growthBudget)
		if j.learned.sizes["train"] == 0 {
			j.note("there are no records")
			return nil, nil
		}
		reply, found, err := j.replay(ctx, q, 1, time.Minute)
		if found != nil || err != nil {
			return found, err
		}
		j.result.Cases += reply.Cases
		if reply.Diff != nil {
			if err := j.confirm(ctx, reply.Diff); err != nil {
				return nil, err
			}
			return j.Env.differs(reply.Diff), nil
		}
		if g := reply.Growth; g == nil || !g.Steep { // it found nothing, or nothing that shows twice
			if g != nil {
				last := len(g.Lengths) - 1
				j.note("on inputs of length %d it takes %v, the original %v (%s)",
					g.Lengths[last], roundTime(g.Got[last]), roundTime(g.Want[last]), g.Way)
			}
			return nil, nil
		}
		first = reply.Growth
	}
	d := &rt.Diff{Kind: "slow", Args: first.Args, Want: row(first.Want), Got: row(first.Got)}
	d.Check = fmt.Sprintf("lengths %s: %s", commas(first.Lengths), first.Way)
	return &Rejection{Status: beagle.Wrong, Reason: growthText(first), Diff: d}, nil
}

// growthText puts the result of a stretched input into words.
func growthText(g *rt.Growth) string {
	last := len(g.Lengths) - 1
	return fmt.Sprintf("its time grows faster than the original's: %v against %v at length %d, %v against %v at "+
		"length %d (%s)",
		roundTime(g.Got[0]), roundTime(g.Want[0]), g.Lengths[0], roundTime(g.Got[last]), roundTime(g.Want[last]),
		g.Lengths[last], g.Way)
}

// roundTime rounds a time to the digits that it is worth.
func roundTime(ns int64) time.Duration {
	d := time.Duration(ns)
	switch {
	case d > time.Millisecond:
		return d.Round(10 * time.Microsecond)
	case d > 10*time.Microsecond:
		return d.Round(100 * time.Nanosecond)
	}
	return d
}

// row lists times in words.
func row(times []int64) string {
	var out []string
	for _, t := range times {
		out = append(out, roundTime(t).String())
	}
	return "takes " + strings.Join(out, ", ") + " of processor time"
}

func commas(list []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
}
