package benchfile

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/similarity"
)

// This file moves the weights of a plan's groups towards production's profile.

const (
	leastMoved = 0.005 // a smaller change of the weights is noise
	apartShare = 0.01  // of the calls: smaller groups keep their weight, few samples would move it
)

// maxWeight bounds how often a group may count for what the recording says, and how seldom. Beyond
// that, the recording is of other traffic.
const maxWeight = 10

// mostWeight bounds the same of one group. Its inputs know little of their kind where they are few:
// n inputs may count for n+1 times of what they were recorded for.
func mostWeight(g Group) float64 { return min(maxWeight, float64(g.Distinct)+1) }

// reweigh profiles each group alone and finds the shares of the groups whose sum is most like
// production. It returns the groups' profiles, and nil for a plan when that changes nothing.
func (f *Fitter) reweigh(ctx context.Context, from *try) (*Plan, []*hotspots.Subtree, error) {
	// Build a benchmark with a part for each group.
	plan := from.plan
	b, err := f.program(ctx, &plan, Form{Fast: true, Apart: true})
	if err != nil {
		return nil, nil, err
	}
	f.Say(fmt.Sprintf("profiling each of %d groups alone", len(plan.Groups)))
	// Profile the groups that have a notable share.
	var alone []*hotspots.Subtree
	var shapes [][]similarity.Shape
	var costs, start, most []float64
	var which []int
	for i, g := range plan.Groups {
		if g.Share < apartShare {
			continue
		}
		run, err := b.Profile(ctx, fmt.Sprintf("^Benchmark%sApart$/^g%d$", plan.name(), i),
			max(0.5, f.Seconds*math.Sqrt(g.Share)/2), plan.numbers()...)
		if errors.As(err, new(unreached)) {
			continue // the caller takes another way for these inputs: they move nothing here
		}
		if err != nil {
			return nil, nil, err
		}
		which = append(which, i)
		cost := run.busy()
		costs = append(costs, cost)
		start = append(start, g.Weight*cost)
		most = append(most, mostWeight(g))
		alone = append(alone, run.Subtree)
		shapes = append(shapes, shapesOf(run.Subtree))
	}
	if len(which) < 2 {
		return nil, alone, nil
	}
	// Find the shares whose sum is most like production.
	weights := similarity.Mix(shapesOf(f.Production), shapes, start, most)
	return plan.weighed(which, weights, costs), alone, nil
}

// shapesOf returns how a subtree divides by callee and by line.
func shapesOf(s *hotspots.Subtree) []similarity.Shape {
	return []similarity.Shape{shape(s.Callees, s.Effective), shape(s.Lines, s.Effective)}
}

// weighed returns the plan with other weights of some groups. shares are of the time, costs the
// time of one call. The groups together keep the share of the calls that they had.
func (p *Plan) weighed(which []int, shares, costs []float64) *Plan {
	out := *p
	out.Groups = append([]Group{}, p.Groups...)
	had, sum := 0.0, 0.0
	calls := make([]float64, len(which))
	for k, i := range which {
		had += p.Groups[i].Weight
		calls[k] = shares[k] / max(costs[k], 0.1)
		sum += calls[k]
	}
	if sum == 0 {
		return nil
	}
	for k, i := range which {
		out.Groups[i].Weight = had * calls[k] / sum
		out.moved += math.Abs(out.Groups[i].Weight-p.Groups[i].Share) / 2
	}
	if out.moved < leastMoved {
		return nil
	}
	return &out
}
