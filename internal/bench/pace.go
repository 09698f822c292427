package bench

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/beagle-go/beagle/internal/inorder"
)

// Plan names the division of layouts and time, and the way from slices to intervals, so that an
// open verdict of another plan does not count. The rule of decision has a name of its own, [Rule].
const Plan = "first look long enough for its finalists and all that was tried, one more for the best, more where a " +
	"gain is not known well, errors by the layouts"

// leastPace is the least share of its planned time that a layout is given.
const leastPace = 1.0 / 3

// needs returns the number of layouts below which a look cannot tell a gain from chance. Where all
// of n layouts favour a candidate, chance does the same once in 2^n times, and the risk of a look
// is shared among the finalists.
func needs(look, finalists int) int {
	n := 1
	for signedRankCritical(n, looks[look]/float64(max(finalists, 1))) == 0 {
		n++
	}
	return max(n, minLayouts)
}

// firstLook returns the number of layouts of the first look at this many finalists, chosen from all
// that was tried. It is enough for the rank test to bear an interval that holds for all of them:
// otherwise Student's would serve, which one disturbed layout widens beyond use.
func firstLook(finalists, tried int) int {
	n := max(layoutsALook, needs(0, finalists))
	for signedRankCritical(n, (1-simultaneous(finalists, tried))/2) == 0 {
		n++
	}
	return n
}

// planned is the number of layouts after the last look.
const planned = len(looks) * layoutsALook

// timeBudget holds the time that a measurement may take and has taken.
type timeBudget struct {
	total     time.Duration
	spent     time.Duration // of timing
	looked    time.Duration // of timing, up to the last look
	bestLimit time.Duration // the best candidate is measured on up to this time of timing; 0 for the budget
	layouts   int           // the number that were timed for the looks
	versions  int           // the original and those beside it, added up over these layouts
	hurried   bool          // the time ended before the plan
}

// timeForLayouts returns the time that the layouts may still take. They leave a part to the
// repetitions, but not while a candidate looks faster: without a decision nothing is repeated.
func (p *timeBudget) timeForLayouts(looksFaster bool) time.Duration {
	share := layoutShare
	if looksFaster {
		share = 1
	}
	return max(time.Duration(share*float64(p.total)), p.bestLimit) - p.spent
}

// looksFaster reports whether an open candidate is faster as far as was measured, without what its
// choice among others takes off.
func (m *confirmer) looksFaster() bool {
	return slices.ContainsFunc(m.withKnowledge(knowledgeOpen), func(t *finalist) bool { return m.lowGain(t) > 0 })
}

// extend gives the candidate that looks best the time for one more look, alone with the original,
// when the time ends before a sure answer. Several finalists share the first look's time, so that
// little of it is left, and alone it costs a fraction. All extensions together take no more than
// the budget again. The looks share out their risk in advance, so taking one more adds none.
func (p *timeBudget) extend(look int, looksFaster bool) {
	if look == len(looks)-1 || p.versions == 0 || p.timeForLayouts(looksFaster) >= 0 || !looksFaster {
		return
	}
	p.bestLimit = min(p.spent+p.version()*2*layoutsALook, 2*p.total)
}

// version returns the time that one version took in one layout.
func (p *timeBudget) version() time.Duration { return p.spent / time.Duration(p.versions) }

// overdrawn reports whether the layouts have used up their time.
func (m *confirmer) overdrawn() bool { return m.timeBudget.timeForLayouts(m.looksFaster()) < 0 }

// pace returns the share of its planned time that the next layout gets. It is less than 1 if
// those before it took longer than planned: another layout shows more than more time in fewer of
// them.
func (p *timeBudget) pace() float64 {
	if p.layouts >= planned {
		return leastPace
	}
	each := layoutShare * float64(p.total) / float64(planned)
	left := layoutShare*float64(p.total) - float64(p.spent)
	return min(max(left/float64(planned-p.layouts)/each, leastPace), 1)
}

// thin lets those candidates rest that look worst, when there is not the time for a further look at
// all of them. The one that looks best is always measured on. One that was found stays found, and
// leaves the time to those that are open: an answer comes before a sharper one.
func (m *confirmer) thin() {
	ts := m.timed()
	if len(ts) < 2 || m.timeBudget.versions == 0 {
		return
	}
	inorder.By(ts, func(a, b *finalist) int {
		// open is before found
		return cmp.Or(cmp.Compare(a.knowledge, b.knowledge), cmp.Compare(m.lowGain(b), m.lowGain(a)))
	})
	version := m.timeBudget.version()
	for n := len(ts); n > 1; n-- {
		needed := version * time.Duration((n+1)*layoutsALook) // with the original
		if needed <= m.timeBudget.timeForLayouts(m.looksFaster()) {
			break
		}
		if t := ts[n-1]; t.knowledge == knowledgeFaster {
			t.settled = true
		} else {
			t.knowledge = knowledgeRested
		}
	}
}

// lowGain returns the low end of the interval of a candidate's gain as measured so far, in
// logarithms.
func (m *confirmer) lowGain(t *finalist) float64 {
	train, s := caseFrom(t.train).Train, m.options.Score
	if train.N < 2 {
		return math.Inf(-1)
	}
	if !s.TimeAlone() && !s.Counts() {
		train = train.scored(s.Time, s.Memory(typical(t.baseline), typical(t.best)))
	}
	return math.Log(train.Ratio.Low)
}

// lacks reports whether a candidate wants a layout or two more before a look can decide: it was
// faster in all that could be compared, but these are too few for the look.
func (m *confirmer) lacks(t *finalist, look int) bool {
	logs := caseFrom(t.train).Train.logs
	return len(logs) > 0 && len(logs) < needs(look, len(m.finalists)) && slices.Min(logs) > 0
}

// longer returns the time that the whole plan would take, as the layouts went that were measured.
func (p *timeBudget) longer() time.Duration {
	const step = 10 * time.Second
	whole := float64(p.looked) / float64(max(p.layouts, 1)) * float64(planned) / layoutShare
	return (time.Duration(max(whole, float64(p.total)))/step + 1) * step
}
