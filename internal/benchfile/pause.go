package benchfile

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/similarity"
)

// A service takes a few calls, waits, and takes the next ones. Meanwhile others have the processor,
// and its caches: the next call finds neither its code there nor what it keeps from call to call. A
// benchmark is never interrupted for long. So it pauses itself, and takes its own caches away.

// pauseBytes are touched in a pause: more than the caches hold that a core has alone.
const pauseBytes = 4 << 20

const (
	firstPause = 16   // calls between two pauses in the first form that is tried
	rarest     = 2048 // calls between two pauses, beyond which they are not seen
	mostPauses = 6    // forms that are tried
	sameEvery  = 1.2  // factor between two forms that are as good as the same
	leastGain  = 0.01 // of the similarity
)

// pause returns the most alike form with pauses. In it some calls come soon after a pause, and
// others long after. So a form with fewer pauses is a blend of one with more and one with none. The
// profiles of a few forms tell which blend is most like production, and that says how often a form
// has to pause. pause tries this form next, as long as the blend would gain.
func (f *Fitter) pause(from *try, attempt func(Plan, string) (*try, error)) (best *try, err error) {
	best = from
	tried := []*try{from}
	for every := firstPause; every > 0 && len(tried) <= mostPauses; every = f.every(tried, best) {
		p := from.plan
		p.Pause = every
		t, err := attempt(p, "the recorded shares")
		if err != nil {
			return nil, err
		}
		tried = append(tried, t)
		if better(t, best) {
			best = t
		}
		if !unlike(best) {
			break
		}
	}
	return best, nil
}

// every returns after how many calls the next form pauses, 0 if none is promising.
func (f *Fitter) every(tried []*try, best *try) int {
	every, alike := f.blend(tried)
	most := math.MaxInt // frequent pauses that were tried
	for _, t := range tried {
		if t.plan.Pause > 0 {
			most = min(most, t.plan.Pause)
		}
	}
	// Beyond the tried forms no blend says how often.
	if every < sameEvery*float64(most) && best.plan.Pause == most {
		return most / 4
	}
	near := func(t *try) bool {
		p := float64(t.plan.Pause)
		return p > 0 && max(p/every, every/p) < sameEvery
	}
	if every > rarest || alike < f.alike(shapesOf(best.run.Subtree))+leastGain || slices.ContainsFunc(tried, near) {
		return 0
	}
	return int(math.Round(every))
}

// blend returns in how many calls the most alike blend of some forms pauses once, and how alike it
// is as it is.
func (f *Fitter) blend(tried []*try) (every, alike float64) {
	var forms [][]similarity.Shape
	start, free := make([]float64, len(tried)), make([]float64, len(tried))
	for i, t := range tried {
		forms = append(forms, shapesOf(t.run.Subtree))
		start[i], free[i] = 1, 1e6
	}
	production := shapesOf(f.Production)
	weights := similarity.Mix(production, forms, start, free)
	var joint []similarity.Shape
	for d := range production {
		var parts []similarity.Shape
		for _, form := range forms {
			parts = append(parts, form[d])
		}
		joint = append(joint, similarity.Blend(parts, weights))
	}
	// A form's share of the time stands for a number of calls, and these for pauses.
	calls, pauses := 0.0, 0.0
	for i, t := range tried {
		n := weights[i] / t.run.busy()
		calls += n
		if t.plan.Pause > 0 {
			pauses += n / float64(t.plan.Pause)
		}
	}
	return calls / pauses, f.alike(joint)
}

// alike returns how alike some shapes are to production's as they are.
func (f *Fitter) alike(shapes []similarity.Shape) float64 {
	least := 1.0
	for d, whole := range shapesOf(f.Production) {
		least = min(least, similarity.Plain(whole, shapes[d]))
	}
	return least
}

// writePause declares the function that takes the caches away.
func (p *Plan) writePause(b *strings.Builder) {
	comment(b, fmt.Sprintf("%[1]sPause touches %[2]d MB after each %[3]d calls, as others do while a service waits. "+
		"It counts in ns/op.", p.lower(), pauseBytes>>20, p.Pause))
	fmt.Fprintf(b, `func %[1]sPause() {
	if %[1]sSince++; %[1]sSince < %[2]s {
		return
	}
	%[1]sSince = 0
	for k := 0; k < len(%[1]sTaken); k += 64 {
		%[1]sTaken[k]++
	}
}

var (
	%[1]sSince int
	%[1]sTaken [%[3]d]byte
)

`, p.lower(), p.number(everyName, p.Pause), pauseBytes)
}
