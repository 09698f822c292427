package pilot

import (
	"time"

	"github.com/beagle-go/beagle/internal/rollout"
)

// A Report sums up an experiment.
type Report struct {
	Function  string              `json:"function"`
	Build     string              `json:"build,omitempty"`
	Phase     rollout.Phase       `json:"phase"`
	Action    rollout.Action      `json:"action"` // of the last decision
	Cause     string              `json:"cause"`  // of it
	Share     float64             `json:"share"`  // of traffic on the candidate
	Blocks    int                 `json:"blocks"`
	Refused   int                 `json:"refused"` // blocks that could not be used
	Exposure  rollout.Exposure    `json:"exposure"`
	Standings []rollout.MetricRow `json:"standings"`
	// Controller is the workflow that drives it, and how that stands. Empty: a command did or does.
	Controller string       `json:"controller,omitempty"`
	Stopping   bool         `json:"stopping,omitempty"` // a person stopped it, and no controller has seen that yet
	Late       rollout.Late `json:"late,omitzero"`      // calls whose time was capped
}

// A Rehearsal is the outcome of a rollout under load, before the service saw live traffic.
type Rehearsal struct {
	Build    string    `json:"build"`
	At       time.Time `json:"at"`
	Seconds  float64   `json:"seconds"`
	Requests float64   `json:"requests"`       // that the candidate answered
	Harm     string    `json:"harm,omitempty"` // why it was rolled back
}

// A Shadow is the outcome of replaying captured calls with both versions.
type Shadow struct {
	Function string  `json:"function"`
	Build    string  `json:"build"`             // of the versions, as 'beagle build --rollout' names it
	Calls    float64 `json:"calls"`             // captured calls that were replayed
	Distinct int     `json:"distinct"`          // different ones among them
	Bound    float64 `json:"bound"`             // no more than this share of such calls differs, at 95 %
	MadeUp   bool    `json:"made_up"`           // the capture had no text, so that values were made up
	Taken    string  `json:"taken"`             // when
	Differs  string  `json:"differs,omitempty"` // the minimised call on which the versions differ
}
