package benchfile

import (
	"fmt"
	"slices"
	"strings"
)

// The parts of an input lie at different distances: a caller has just written a list of tags, and
// takes the name from a table that it has not read for a while. So each parameter has a state of
// its own: it is read just before the call, or its memory comes again only after many bytes of
// others.

// distances are tried for a far parameter: what lies in the second cache, in the third one and in
// memory on most machines.
var distances = []int{256 << 10, 4 << 20, coldBytes}

// cold returns the plan with all that it can move in memory, and not in a cache.
func (p *Plan) cold() Plan {
	out := *p
	out.Far, out.Distance = p.movable(), coldBytes
	return out
}

func (p *Plan) isCold() bool {
	return !p.Handed && len(p.Far) > 0 && p.Distance == coldBytes && slices.Equal(p.Far, p.movable())
}

// CanBeCold reports whether inputs can be copied to memory of their own.
func (p *Plan) CanBeCold() bool { return len(p.movable()) > 0 }

// farNames lists the far parameters.
func (p *Plan) farNames() string {
	var list []string
	for _, i := range p.Far {
		list = append(list, p.Unit.Target.Params[i].Name)
	}
	return strings.Join(list, " and ")
}

// away describes how far the far parameters are.
func (p *Plan) away() string {
	if p.Distance < 1<<20 {
		return fmt.Sprintf("%d KB", p.Distance>>10)
	}
	return fmt.Sprintf("%d MB", p.Distance>>20)
}

// farAway names the far parameters and their distance, "" if there are none.
func (p *Plan) farAway() string {
	if len(p.Far) == 0 {
		return ""
	}
	return fmt.Sprintf(", but %s %s away", p.farNames(), p.away())
}

// parts returns the most alike form in which some parameters are near, as if just read, and others
// far away. It takes one parameter after the other, first the one that gains most, as long as that
// gains. With each it goes farther away, as long as that gains.
func (f *Fitter) parts(from *try, attempt func(Plan, string) (*try, error)) (*try, error) {
	best := from
	for gains := true; gains && unlike(best); {
		round := best
		for _, i := range from.plan.movable() {
			if slices.Contains(round.plan.Far, i) {
				continue
			}
			t, err := f.farther(round.plan, i, attempt)
			if err != nil {
				return nil, err
			}
			if better(t, best) {
				best = t
			}
		}
		gains = best != round
	}
	return best, nil
}

// farther returns the most alike form in which one more parameter is far away. All far parameters
// have the same distance.
func (f *Fitter) farther(p Plan, param int, attempt func(Plan, string) (*try, error)) (best *try, err error) {
	tried := distances
	if len(p.Far) > 0 {
		tried = []int{p.Distance}
	}
	p.Far, p.Handed = append(slices.Clone(p.Far), param), true
	slices.Sort(p.Far)
	for _, p.Distance = range tried {
		t, err := attempt(p, "the recorded shares")
		if err != nil {
			return nil, err
		}
		if best != nil && score(t) <= score(best) {
			break
		}
		best = t
	}
	return best, nil
}

// Be gives the plan a state by its name: cold or handed; otherwise it stays warm.
func (p *Plan) Be(state string) {
	p.Handed, p.Far, p.Distance = state == "handed", nil, 0
	if state == "cold" {
		*p = p.cold()
	}
}
