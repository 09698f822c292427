package bench

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/beagle-go/beagle/internal/rt"
)

// shortTurn is many slices long, and short against the time for which a host
// stays fast or slow.
const shortTurn = 4 * time.Millisecond

// timeApart times copies of the original in one process and those of a candidate
// in another, in turns, over the same inputs and with the joint process's number
// of calls.
func (m *confirmer) timeApart(ctx context.Context, im image, t *finalist, parts int) error {
	// Only copies that start at equal addresses are compared.
	pairs := m.matched(im, t)
	if t.fail != "" || len(pairs) == 0 {
		return nil
	}
	m.options.Log("measuring in processes apart")
	// A few copies of each side will do, or one if calls are slow.
	q := m.request(nil, []set{{file: m.sets[0].file, share: apartShare}}, float64(parts))
	sides := [2][]int{m.originals(), t.copies}
	if m.slow {
		sides = [2][]int{pairs[0][:1], pairs[0][1:]}
	}
	// A turn should last several rounds, so that changing between the processes costs little.
	round := time.Duration(typical(t.baseline).Nanos*float64(m.schedule.calls)) * time.Duration(len(sides[0])+1)
	q.Calls, q.Windows = m.schedule.calls, m.apartWindows(q, round)
	var qs [2]*rt.Time
	for i := range qs {
		qs[i] = forVariants(q, sides[i])
		qs[i].Turns = &rt.Turns{Length: int64(max(shortTurn, 2*round)), Second: i == 1}
	}
	// A process that dies or is refused makes the candidate fail, unless the machine may be the
	// cause.
	replies, failure, err := m.rig.timeApart(ctx, im, qs)
	if err != nil {
		return err
	}
	switch {
	case failure == "":
	case m.forgiven():
		return nil
	default:
		t.fail = "it could not be timed in processes apart: " + failure
		return nil
	}
	// Both measured the same slices at the same time, or the replies do not meet.
	base, cand := &replies[0].Sets[0], &replies[1].Sets[0]
	m.timeBudget.spent += time.Duration(max(base.Millis, cand.Millis) * float64(time.Millisecond))
	if !meet(base, cand) {
		t.missed++ // one of them was held up, which says nothing about the candidate
		return nil
	}
	if r, ok := stratify(im.seed(), compareApart(im, sides, base, cand)); ok {
		t.apartEstimates = append(t.apartEstimates, r.est)
	}
	return nil
}

// apartWindows returns how many windows a process apart can visit three times in its half of the
// time, so that both see the same inputs. It returns all windows if one of them may be most of the
// work.
func (m *confirmer) apartWindows(q *rt.Time, round time.Duration) int {
	if m.schedule.visits {
		return m.schedule.windows
	}
	visits := q.Sets[0].Budget / (2 * fewVisits * max(int64(round), 1))
	return min(max(int(visits), 1), m.schedule.windows)
}

// fewVisits of a window are enough for a quartile.
const fewVisits = 3

// compareApart compares each copy of the original in one process with each copy
// of the candidate in the other. Their slices have no partner to divide a slow
// moment by, so the lower quartile stands for a window.
func compareApart(im image, sides [2][]int, base, cand *rt.Timing) []copyPair {
	both := commonWindows(visited(base), visited(cand))
	var pairs []copyPair
	for i, b := range sides[0] {
		for j, c := range sides[1] {
			log := math.Log(perCall(base, i, 0.25, both) / perCall(cand, j, 0.25, both))
			pairs = append(pairs,
				copyPair{[2]int{b, c}, [2]int{im.align(b), im.align(c)}, Estimate{Log: log}})
		}
	}
	return pairs
}

// meet cuts two timings to the rounds in which both processes took turns: one may begin or end
// alone and have the machine for itself. It reports whether anything is left to compare.
func meet(a, b *rt.Timing) bool {
	if len(a.Turn) == 0 || len(b.Turn) == 0 {
		return false
	}
	from := max(a.Turn[0], b.Turn[0]) - 1
	to := min(a.Turn[len(a.Turn)-1], b.Turn[len(b.Turn)-1]) + 1
	cut(a, from, to)
	cut(b, from, to)
	return slices.Contains(commonWindows(visited(a), visited(b)), true)
}

// cut leaves the rounds of a timing that began in these turns.
func cut(t *rt.Timing, from, to int64) {
	first, _ := slices.BinarySearch(t.Turn, from)
	end, _ := slices.BinarySearch(t.Turn, to+1)
	t.Turn, t.Window = t.Turn[first:end], t.Window[first:end]
	for v := range t.Wall {
		t.Wall[v] = t.Wall[v][first:end]
		if len(t.CPU[v]) >= end {
			t.CPU[v] = t.CPU[v][first:end]
		}
	}
}

// commonWindows returns the windows that both lists have.
func commonWindows(a, b []bool) []bool {
	out := make([]bool, min(len(a), len(b)))
	for w := range out {
		out[w] = a[w] && b[w]
	}
	return out
}
