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

// affords reports whether the original is likely to return in time on a
// sequence of n elements.
func (x *exhauster) affords(n int) bool {
	g := &x.pace
	switch {
	case x.q.Case != nil: // its number counts what was left out
		return true
	case n > x.capLen:
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
