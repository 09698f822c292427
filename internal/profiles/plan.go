package profiles

import (
	"math"
	"time"

	"github.com/beagle-go/beagle/internal/hotspots"
)

// A Plan says in which slices a live profile is taken. The load of a service drifts, and a profile
// in one piece knows one moment of it. Slices that are spread over a longer time know more: the
// more of them, and the shorter, the nearer their shares are to those of the whole time.
type Plan struct {
	Slices  int
	Seconds int           // of a slice
	Over    time.Duration // time that the slices are spread over; 0 is one piece

	enough bool // after the first slice, slices become long enough for enough samples
}

const (
	// DefaultOver is the time over which a live profile is spread when the user asks for nothing
	// else: as long as a person waits.
	DefaultOver = 5 * time.Minute

	// onePieceSeconds is the length of a profile in one piece.
	onePieceSeconds = 30

	// mostSlices bounds the slices. More would tell little, and each costs the service a profile to
	// write.
	mostSlices = 60

	// leastStretch is the least part of the time that each slice has for itself.
	leastStretch = 5 * time.Second

	// EnoughSamples tell a share of 50 % to 1.4 points, at 95 %.
	EnoughSamples = 5_000
)

// NewPlan plans a profile of some seconds, spread over a time. Without seconds, slices are as long
// as enough samples need, up to half of the time. With seconds alone it is one piece. Without both
// it is spread over [DefaultOver]. A slice lasts a whole number of seconds, since net/http/pprof
// knows no other.
func NewPlan(seconds int, over time.Duration) Plan {
	switch {
	case over <= time.Duration(seconds)*time.Second && seconds > 0:
		return Plan{Slices: 1, Seconds: seconds}
	case seconds > 0:
		length := (seconds + mostSlices - 1) / mostSlices
		return Plan{Slices: (seconds + length - 1) / length, Seconds: length, Over: over}
	case over == 0:
		over = DefaultOver
	}
	return Plan{Slices: min(max(int(over/leastStretch), 2), mostSlices), Seconds: 1, Over: over, enough: true}
}

// adapt returns the plan as it goes on after its first slice.
func (p Plan) adapt(first *hotspots.Profile) Plan {
	if p.enough && first.Seconds > 0 {
		p = p.Enough(float64(first.Samples()) / first.Seconds)
	}
	return p
}

// Enough returns the plan with slices that are long enough at a rate of samples a second.
func (p Plan) Enough(rate float64) Plan {
	need := math.Ceil(EnoughSamples / max(rate, 1) / float64(p.Slices))
	p.Seconds = max(1, min(int(need), int((p.stretch()/2).Seconds())))
	return p
}

// Moment returns the time from the beginning to a slice. Each slice has its part of the time, and
// stands at a random place there: at equal distances, slices might all meet what a service does
// every ten seconds, or never.
func (p Plan) Moment(slice int, random float64) time.Duration {
	free := max(0, p.stretch()-time.Duration(p.Seconds)*time.Second)
	return time.Duration(slice)*p.stretch() + time.Duration(random*float64(free))
}

// stretch returns the part of the time that belongs to one slice.
func (p Plan) stretch() time.Duration { return p.Over / time.Duration(p.Slices) }

// length returns the time from the beginning of the first slice to the end of the last.
func (p Plan) length() time.Duration {
	return max(p.Over, time.Duration(p.Slices*p.Seconds)*time.Second)
}
