package rt

import (
	"math"
	"time"
)

// A pace holds the original's times on sequences of two lengths. It foresees calls that are too
// expensive: a call that takes a second ends the process, and the phase with it.
type pace struct {
	short, long time.Duration // added up over the ways to fill
	swept       int           // the length up to which every length was tried
}

// The two lengths.
const (
	shortSweep = maxSweep / 4
	longSweep  = maxSweep
)

// note adds a case of a length.
func (g *pace) note(n int, took time.Duration) {
	g.swept = max(g.swept, n)
	switch n {
	case shortSweep:
		g.short += took
	case longSweep:
		g.long += took
	}
}

// affordable bounds the foreseen time of a length by a part of largeCase, since the estimate
// extrapolates far.
const affordable = largeCase / 2

// The limits of a phase bound what its cases may cost.
type limits struct {
	off      bool          // one case is made again: its number counts cases that were left out
	patience time.Duration // bounds the original's time on a case before the phase ends
	// processor time of the process at which the phase ends: a loaded machine makes the phase
	// slower, not blinder
	deadline time.Duration
	cap      int64 // numbers above it are left out: the original is too slow for them
	capLen   int   // the same for lengths
	pace     pace
	cut      bool // the phase ended before its end, or left out what is too expensive
}

// late reports whether the phase's time is over. Phases whose cases are expensive ask before they
// make one.
func (l *limits) late() bool { return ProcessCPU() > l.deadline }

// affords reports whether the original is likely to return in time on a
// sequence of n elements.
func (l *limits) affords(n int) bool {
	g := &l.pace
	switch {
	case l.off:
		return true
	case n > l.capLen:
		return false
	case n <= max(g.swept, maxSweep/4):
		return true
	case g.long == 0 || g.short == 0:
		return n <= briefLength // the sweep did not get there
	}
	const ways = distinct + 1
	// The time grows with a power of the length, which two measured lengths show. It is held
	// between linear and cubic: two measurements are little to go by.
	power := math.Log(float64(g.long)/float64(g.short)) / math.Log(float64(longSweep)/shortSweep)
	each := float64(g.long) / ways
	return each*math.Pow(float64(n)/longSweep, min(max(power, 1), 3)) < float64(affordable)
}
