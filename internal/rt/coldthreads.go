package rt

import (
	"reflect"
	"sync"
)

// coldThreads has several goroutines call the candidate before anything else
// does, and compares what they got with the original's answers.
func (p *replayer[A, R]) coldThreads() {
	// The first calls of all goroutines come at once, before anything has been made.
	got := make([][]uint64, p.q.Threads)
	var wg sync.WaitGroup
	for t := range got {
		wg.Add(1)
		go func() {
			defer wg.Done()
			got[t] = p.coldThread()
		}()
	}
	wg.Wait()
	// The original answers afterwards, one call at a time.
	c := newChecker(startWatchdog(p.h), p.q.Variant, p.q.Panics)
	p.check = c
	for n, i := range p.picks {
		src := &p.records[i]
		c.input.Store(src)
		c.limit.Store(int64(10 * originalLimit)) // the race detector slows everything
		c.run(0, i, src)
		// Let the original's answer stand as the candidate's, so that outcome digests the same
		// fields.
		c.r[1], c.a[1], c.p[1] = c.r[0], c.a[0], c.p[0]
		want := p.outcome()
		// 0 is the digest of an answer that has none. An original that differs from itself proves
		// nothing.
		for _, list := range got {
			if n >= len(list) || list[n] == 0 || want == 0 || list[n] == want || c.selfDiffers(i, src) {
				continue
			}
			p.out.Diff = p.afterThreads(i, src)
			return
		}
		p.out.Cases++
	}
}

// afterThreads words a wrong answer that a goroutine got: as a plain one when
// a call alone gives it too.
func (p *replayer[A, R]) afterThreads(i int, src *A) *Diff {
	c := p.check
	if d := c.compare(i, src); d != nil {
		return d
	}
	d := c.diff(i, src, "race", CheckCold)
	d.Got = "answers differently"
	return d
}

// coldThread calls the candidate on all records, again and again, and returns the digests of its
// outcomes: twoAnswers for a record that had several.
func (p *replayer[A, R]) coldThread() []uint64 {
	c := newChecker(&guard[A, R]{h: p.h}, p.q.Variant, p.q.Panics)
	mine := &replayer[A, R]{h: p.h, q: p.q, records: p.records, check: c}
	var out []uint64
	for k := 0; len(p.picks) > 0 && k < max(len(p.picks), coldCalls); k++ {
		if k > 4 && p.late() {
			break
		}
		n := k % len(p.picks)
		c.r[1] = *new(R)
		c.copyTo(&c.a[1], &p.records[p.picks[n]])
		c.p[1] = mine.callUnguarded(&c.a[1], &c.r[1])
		switch h := mine.outcome(); {
		case n == len(out):
			out = append(out, h)
		case out[n] != 0 && h != out[n]:
			out[n] = twoAnswers
		}
		// the caller has them back: a goroutine that goes on may not read them
		overwriteAll(reflect.ValueOf(&c.a[1]).Elem(), false)
	}
	return out
}

const (
	coldCalls  = 2048 // of a goroutine at least, if there is time
	twoAnswers = 2    // no outcome is even
)

// outcome returns hash, but the same for panics that need not agree.
func (p *replayer[A, R]) outcome() uint64 {
	if t := p.check.p[1]; t != nil && (p.q.Panics == PanicsAny || p.q.Panics == PanicsKind && t.kind == "runtime") {
		return 1
	}
	return p.hash()
}

// manyCalls is more than a counter of 16 bits counts.
const manyCalls = 1<<16 + 1<<12

// countCalls makes the cheapest of the calls again and again.
func (p *replayer[A, R]) countCalls() {
	// Find the cheapest of the first records. A first call warms up, and a second one is timed.
	c, best := p.check, -1
	var least int64
	for n, i := range p.picks[:min(len(p.picks), 32)] {
		c.input.Store(&p.records[i])
		c.limit.Store(int64(originalLimit))
		c.run(1, i, &p.records[i])
		start := threadClock()
		c.run(1, i, &p.records[i])
		if cost := threadClock() - start; best < 0 || cost < least {
			best, least = n, cost
		}
	}
	if best < 0 {
		return
	}
	i := p.picks[best]
	src := &p.records[i]
	// The outcome must be right now, so that a later difference is one that the number of calls
	// made.
	if p.out.Diff = c.compare(i, src); p.out.Diff != nil {
		return
	}
	first := p.hash()
	// Call again and again with the same input, and compare only digests. The clock is asked
	// rarely, for it costs more than a call.
	for n := range manyCalls {
		if n&255 == 0 && p.late() {
			return
		}
		c.run(1, i, src)
		p.out.Cases++
		// Another digest may come from a wavering original: ask it once more before the candidate
		// is blamed.
		if first != 0 && p.hash() != first {
			r, a, t := c.r[1], c.a[1], c.p[1]
			c.run(0, i, src)
			c.r[1], c.a[1], c.p[1] = r, a, t
			if c.differ() != "" && !c.selfDiffers(i, src) {
				p.out.Diff = c.diff(i, src, "state", checkCount)
				return
			}
		}
	}
}
