package probe

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// began is the process's start, by the monotonic clock.
var began = time.Now()

// elapsed returns the time since then, in nanoseconds.
func elapsed() int64 { return int64(time.Since(began)) }

// perOctave parts of a factor of two have a count each: a quantile is right to 9 %.
const perOctave = 4

// A lasting counts how long captured calls took, by their order of magnitude. A call that is not
// captured costs nothing here.
type lasting struct {
	calls atomic.Uint64
	nanos atomic.Int64 // of all together
	most  atomic.Int64
	by    [64 * perOctave]atomic.Uint32
}

// add enters a call that began at a time of elapsed, or 0 for a call whose beginning was not noted.
func (l *lasting) add(from int64) {
	if from == 0 {
		return
	}
	l.enter(max(1, elapsed()-from))
}

// enter enters a call that took d nanoseconds.
func (l *lasting) enter(d int64) {
	l.calls.Add(1)
	l.nanos.Add(d)
	for most := l.most.Load(); d > most && !l.most.CompareAndSwap(most, d); most = l.most.Load() {
	}
	l.by[part(uint64(d))].Add(1)
}

// part returns the count of a duration.
func part(d uint64) int {
	octave := bits.Len64(d) - 1
	return octave*perOctave + int((d<<(63-octave))>>61&(perOctave-1))
}

// middle returns the middle of the durations of a part.
func middle(part int) float64 {
	octave, within := part/perOctave, part%perOctave
	return math.Ldexp(1+(float64(within)+0.5)/perOctave, octave)
}

// quantile returns a duration that a share of the captured calls did not exceed; 0 when none was
// seen.
func (l *lasting) quantile(share float64) int64 {
	n, seen := float64(l.calls.Load()), 0.0
	for i := range l.by {
		if seen += float64(l.by[i].Load()); n > 0 && seen >= share*n {
			return int64(middle(i))
		}
	}
	return 0
}

// maxUnseen is how many calls that began before a window, and are not followed, may be under way in
// the mean when others are counted.
const maxUnseen = 0.001

// settle returns the time after which the calls that began before are as few, at a rate of calls a
// second; 0 when no call was seen. A quantile of the durations will not do: one call in a thousand
// that waits for a processor is under way for longer than all others together.
func (l *lasting) settle(rate float64) int64 {
	n := float64(l.calls.Load())
	if n == 0 {
		return 0
	}
	// Go from the longest calls to shorter ones. Before a part, those above it are longer by above
	// in all.
	above, count := 0.0, 0.0
	last := middle(len(l.by) - 1)
	for i := len(l.by) - 1; i >= 0; i-- {
		d := middle(i)
		above += count * (last - d)
		if rate*above/n/1e9 > maxUnseen {
			return int64(last)
		}
		count, last = count+float64(l.by[i].Load()), d
	}
	return int64(last)
}

// inFlight counts how many other calls are under way while one is, at a rate of calls a second. In
// the mean that is the rate times the duration (Little's law), for any calls. A quantile is that of
// the durations: at an even rate, this many calls begin during a call of that length.
func (l *lasting) inFlight(rate float64) *wire.InFlight {
	n := l.calls.Load()
	if n == 0 || rate <= 0 {
		return nil
	}
	out := &wire.InFlight{Calls: n, Mean: rate * float64(l.nanos.Load()) / float64(n) / 1e9,
		Most: rate * float64(l.most.Load()) / 1e9}
	quantiles := []struct {
		share float64
		into  *float64
	}{{0.5, &out.Median}, {0.95, &out.P95}, {0.99, &out.P99}}
	seen := 0.0
	for i := range l.by {
		seen += float64(l.by[i].Load())
		for len(quantiles) > 0 && seen >= quantiles[0].share*float64(n) {
			*quantiles[0].into = min(out.Most, rate*middle(i)/1e9)
			quantiles = quantiles[1:]
		}
	}
	return out
}
