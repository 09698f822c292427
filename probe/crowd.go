package probe

import (
	"sync/atomic"

	"github.com/beagle-go/beagle/probe/wire"
)

// A crowd follows calls to their ends, at the beginning of a window, to see how many are under way
// at once. Each call costs as much as a captured one, less the reading of its arguments: so it
// follows few.
type crowd struct {
	from   int64 // in the form of elapsed
	settle int64 // after this time hardly any earlier call is still under way
	under  atomic.Int64
	// inner is the number of followed calls whose function was not yet called the second time. The
	// gate lets as many calls pass without following them. One of these may be another goroutine's:
	// the numbers stay right, since the call whose place it takes is followed twice.
	inner atomic.Int64
	begun atomic.Int64
	told  atomic.Int64 // those that were counted by the others under way
}

// Bounds of a crowd.
const (
	maxTold  = 256  // calls that are counted by the others under way
	maxBegun = 4096 // calls that are followed
)

// newCrowd returns nil where no end of a call is seen, or where calls longer than the window count.
// How long they take is known from those that were captured.
func (a *arming) newCrowd() *crowd {
	if !a.site.about.returns || a.s.start.Count {
		return nil
	}
	settle := max(a.lasted.quantile(0.99), a.lasted.settle(a.rate()))
	if settle == 0 || settle > int64(windowLong)/2 {
		return nil
	}
	return &crowd{from: elapsed(), settle: settle}
}

// count counts a call in a window, and reports whether it is followed.
func (a *arming) count(v uint32) bool {
	c := a.crowd.Load()
	if v&following == 0 || c == nil {
		a.window.Add(1)
		return false
	}
	if c.passes() {
		return false // it was counted before
	}
	a.window.Add(1)
	if c.told.Load() < maxTold && c.begun.Add(1) <= maxBegun {
		return true
	}
	a.disperse()
	return false
}

// passes reports whether a call is the second one of a call that is followed.
func (c *crowd) passes() bool {
	for n := c.inner.Load(); n > 0; n = c.inner.Load() {
		if c.inner.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

// follow begins a call.
func (a *arming) follow(c *crowd) Call {
	others := c.under.Add(1) - 1
	c.inner.Add(1)
	if elapsed()-c.from >= c.settle && c.told.Add(1) <= maxTold {
		a.beside.add(others)
	}
	return Call{a: a, crowd: c}
}

func (c *crowd) leave() { c.under.Add(-1) }

// disperse stops following; the window goes on.
func (a *arming) disperse() {
	a.crowd.Store(nil)
	a.site.word.CompareAndSwap(counting|following, counting)
}

// An overlapCounts counts calls by the others that were under way when they began.
type overlapCounts struct{ none, one, few, many atomic.Uint64 }

func (b *overlapCounts) add(others int64) {
	switch {
	case others <= 0:
		b.none.Add(1)
	case others == 1:
		b.one.Add(1)
	case others < 4:
		b.few.Add(1)
	default:
		b.many.Add(1)
	}
}

// counts are nil until a call is followed.
func (b *overlapCounts) counts() *wire.Beside {
	w := wire.Beside{None: b.none.Load(), One: b.one.Load(), Few: b.few.Load(), Many: b.many.Load()}
	if w == (wire.Beside{}) {
		return nil
	}
	return &w
}
