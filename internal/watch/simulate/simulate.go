// Package simulate replays days of profiles with planted changes, and counts the true and the false
// findings of package watch.
package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/beagle-go/beagle/internal/watch"
)

// An Event is a change planted into the profiles.
type Event string

// The events.
const (
	Quiet     Event = "nothing"
	SlowDown  Event = "a function of 10 % gets 5 % slower"
	Doubled   Event = "a function of 2 % gets twice as slow"
	Shift     Event = "cost moves between two functions of a package"
	Spike     Event = "a function is 30 % slower for three windows"
	Deploys   Event = "deploys that change nothing"
	SpeedUp   Event = "a function of 10 % gets 10 % faster"
	halfDaily       = 0.2 // how far the load moves the packages' shares over a day
)

// Events are all of them, with whether each should be found.
var Events = []struct {
	Event Event
	Found bool
}{{Quiet, false}, {Deploys, false}, {Spike, false}, {Shift, false}, {SlowDown, true}, {Doubled, true}, {SpeedUp, true}}

const (
	packages, functionsEach = 6, 7
	samples                 = 20_000 // in a window
	noise                   = 0.02   // of each function's cost from window to window
	// Windows are those of one replay, and At is where its event begins.
	Windows, EventAt = 192, 132
)

// An Outcome counts the findings of one replay.
type Outcome struct {
	Found bool // the event, in the right direction, in the function that it is in
	After int  // windows from the event until it was found
	False int  // findings on anything else
}

// service is a program in numbers.
type service struct {
	rng   *rand.Rand
	cost  [packages][functionsEach]float64 // of a function, before the load
	now   time.Time
	event Event
}

func name(p, f int) string { return fmt.Sprintf("example.com/p%d.F%d", p, f) }

// Profiles returns the windows of one service over eight days.
func Profiles(event Event, seed uint64) (all []watch.Window) {
	s := newService(event, seed)
	for i := range Windows {
		all = append(all, s.window(i))
	}
	return all
}

func newService(event Event, seed uint64) *service {
	s := &service{rng: rand.New(rand.NewPCG(seed, 5)), now: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), event: event}
	for p := range packages {
		for f := range functionsEach {
			s.cost[p][f] = 0.2 + s.rng.ExpFloat64()
		}
	}
	s.fix(1, 1, 0.10)
	s.fix(2, 1, 0.02)
	return s
}

// Replay watches one service for eight days of hourly windows.
func Replay(event Event, seed uint64) (Outcome, error) {
	w := watch.New(watch.Config{Season: 24})
	var out Outcome
	for i, next := range Profiles(event, seed) {
		found, err := w.Add(next)
		if err != nil {
			return out, err
		}
		for _, f := range found {
			if wanted(event, f) && !out.Found && i >= EventAt {
				out.Found, out.After = true, i-EventAt
			} else {
				out.False++
			}
		}
	}
	return out, nil
}

// ChangedFunction returns the function in which an event is, or "" where nothing should be found.
func ChangedFunction(event Event) string {
	switch event {
	case SlowDown, SpeedUp:
		return name(1, 1)
	case Doubled:
		return name(2, 1)
	}
	return ""
}

// wanted reports whether a finding is the event's.
func wanted(event Event, f watch.Finding) bool {
	switch event {
	case SlowDown:
		return f.Function == name(1, 1) && f.Kind == watch.Regression
	case Doubled:
		return f.Function == name(2, 1) && f.Kind == watch.Regression
	case SpeedUp:
		return f.Function == name(1, 1) && f.Kind == watch.Improvement
	}
	return false
}

// fix gives a function a share of the whole.
func (s *service) fix(p, f int, share float64) {
	rest := 0.0
	for i := range packages {
		for j := range functionsEach {
			if i != p || j != f {
				rest += s.cost[i][j]
			}
		}
	}
	s.cost[p][f] = rest * share / (1 - share)
}

// factor returns the event's effect on a function in a window.
func (s *service) factor(p, f, i int) float64 {
	switch {
	case s.event == SlowDown && p == 1 && f == 1 && i >= EventAt:
		return 1.05
	case s.event == SpeedUp && p == 1 && f == 1 && i >= EventAt:
		return 0.9
	case s.event == Doubled && p == 2 && f == 1 && i >= EventAt:
		return 2
	case s.event == Spike && p == 1 && f == 1 && i >= EventAt && i < EventAt+3:
		return 1.3
	case s.event == Shift && p == 1 && f == 1 && i >= EventAt:
		return 0.8
	case s.event == Shift && p == 1 && f == 2 && i >= EventAt:
		return 1 + 0.2*s.cost[1][1]/s.cost[1][2]
	}
	return 1
}

// window draws the profile of one hour.
func (s *service) window(i int) watch.Window {
	w := watch.Window{Service: "simulated", Build: "b0", Start: s.now, End: s.now.Add(time.Hour)}
	s.now = w.End
	if s.event == Deploys {
		w.Build = fmt.Sprintf("b%d", i/24)
	}
	var cost [packages][functionsEach]float64
	total := 0.0
	for p := range packages {
		load := 1 + halfDaily*math.Sin(2*math.Pi*(float64(i)/24+float64(p)/packages))
		for f := range functionsEach {
			cost[p][f] = s.cost[p][f] * load * s.factor(p, f, i) * math.Exp(noise*s.rng.NormFloat64())
			total += cost[p][f]
		}
	}
	for p := range packages {
		handler := watch.Row{Function: fmt.Sprintf("example.com/server.Handle%d", p), Caller: "main.main"}
		for f := range functionsEach {
			mean := samples * cost[p][f] / total
			n := int64(max(0, math.Round(mean+math.Sqrt(mean)*s.rng.NormFloat64())))
			w.Rows = append(w.Rows, watch.Row{Function: name(p, f), Flat: n, Cumulative: n, Caller: handler.Function})
			handler.Cumulative += n
			w.Samples += n
		}
		w.Rows = append(w.Rows, handler)
	}
	return w
}
