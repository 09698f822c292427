package pilot

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/probe/wire"
)

// A Flight is a rollout with all that another controller needs to go on with it.
type Flight struct {
	rollout.Experiment
	Log Log `json:"flight"`
}

// A Log holds a controller's notes beside the experiment.
type Log struct {
	Round    int              `json:"round"`
	News     string           `json:"news,omitempty"` // name of the news of this round, where they have one
	Seats    []Seat           `json:"seats,omitempty"`
	Last     rollout.Decision `json:"last"`
	Told     []ToldDecision   `json:"told,omitempty"`     // the decisions that changed something
	Warned   int              `json:"warned,omitempty"`   // warnings so far
	Warnings []string         `json:"warnings,omitempty"` // the last of them
}

// A ToldDecision is a decision that changed something.
type ToldDecision struct {
	At time.Time `json:"at"`
	rollout.Decision
}

// A Seat is a controller's record of a process.
type Seat struct {
	Lease string    `json:"lease"`
	Lost  time.Time `json:"lost,omitzero"`    // since when it does not answer
	NoArm string    `json:"no_arm,omitempty"` // why requests got no arm
}

// maxWarnings bounds the warnings in a state.
const maxWarnings = 50

// Enter takes news into a flight: the experiment decides on them. It returns the decisions that
// change something.
func (f *Flight) Enter(n *News, at time.Time) []rollout.Decision {
	f.Log.Round++
	if n.Seats != nil {
		f.Log.Seats = n.Seats
	}
	f.Warn(n.Warnings...)
	var told []rollout.Decision
	for _, d := range f.Take(n.Round) {
		f.Log.Last = d
		if d.Action != rollout.Hold {
			told = append(told, d)
			f.Log.Told = append(f.Log.Told, ToldDecision{at, d})
		}
	}
	return told
}

// Warn notes a warning for a person.
func (f *Flight) Warn(texts ...string) {
	f.Log.Warned += len(texts)
	f.Log.Warnings = append(f.Log.Warnings, texts...)
	f.Log.Warnings = f.Log.Warnings[max(0, len(f.Log.Warnings)-maxWarnings):]
}

// NewWarnings returns those that follow the first few, as far as they are kept.
func (l *Log) NewWarnings(seen int) []string {
	return l.Warnings[max(0, len(l.Warnings)-max(0, l.Warned-seen)):]
}

// CheckRound refuses a state that is not at the round of the controller named by its rollout:
// another one has gone on with it.
func (f *Flight) CheckRound(round int, id string) error {
	if f.Log.Round == round {
		return nil
	}
	return fmt.Errorf("rollout %s is at round %d in the store, and at %d here: another controller drives it", id,
		f.Log.Round, round)
}

// Leg returns how far the flight has come.
func (f *Flight) Leg() Leg {
	return Leg{Round: f.Log.Round, Begun: f.Log.Seats != nil, Over: f.Over(), Phase: f.State.Phase,
		Decision: f.Log.Last}
}

// ForgetLeases forgets the leases: a controller begins that did not hold them.
func (f *Flight) ForgetLeases() {
	f.Log.Seats = nil
	f.Log.Last = rollout.Decision{Action: rollout.Hold, Cause: "it has just begun", Share: f.Share()}
}

// Orders returns the present orders for the processes, within the limits that a person gave.
func (f *Flight) Orders(limits wire.RolloutOrders) *wire.RolloutOrders {
	o := limits
	o.Function, o.Build, o.Share = f.Plan.Function, f.Plan.Build, f.Share()
	o.Slow = f.Plan.SlowMillis
	if f.Plan.Unit == rollout.Requests {
		o.Unit = wire.UnitRequest
	}
	o.Arms = nil
	for _, kind := range f.Arms() {
		var names []string
		for _, arm := range kind {
			names = append(names, string(arm))
		}
		o.Arms = append(o.Arms, names)
	}
	if f.State.Phase == rollout.Holdout {
		o.Base = wire.Candidate
	}
	return &o
}

// Load reads a state. One that is broken must not count as none: a rollout that was ended would
// begin anew. The remedy tells a person what to do then.
func Load(file, remedy string) (*Flight, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	f := new(Flight)
	if err := json.Unmarshal(data, f); err != nil {
		return nil, &beagle.UsageError{What: fmt.Sprintf("%s is not an experiment: %v", file, err), Remedy: remedy}
	}
	if err := f.Check(); err != nil {
		return nil, &beagle.UsageError{What: file + ": " + err.Error(), Remedy: remedy}
	}
	return f, nil
}
