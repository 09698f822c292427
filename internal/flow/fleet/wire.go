package fleet

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
)

// protocol is the version of the lines that are exchanged. Change it with their
// form.
const protocol = 2

// The requests.
const (
	start  = "start"
	resume = "resume"
	cancel = "cancel"
	work   = "work"

	campaign      = "campaign"
	rollout       = "rollout"
	rolloutStatus = "rollout-status"
	stopRollout   = "stop-rollout"
)

// A request is a request of beagle.
type request struct {
	Protocol int        `json:"protocol"`
	Verb     string     `json:"verb"`
	Home     string     `json:"home"` // directory of the store
	Server   Server     `json:"server"`
	Run      string     `json:"run,omitempty"` // or the campaign or rollout
	Spec     *flow.Spec `json:"spec,omitempty"`
	Enough   bool       `json:"enough,omitempty"`
	Kinds    []string   `json:"kinds,omitempty"`
	Process  int        `json:"process,omitempty"` // of the asking process
}

// A message is a message of beagle-temporal. One field is set. An end is the last.
type message struct {
	Event *flow.Event `json:"event,omitempty"`
	End   *end        `json:"end,omitempty"`
}

// An end is the outcome of a request: a result, an error, or neither.
type end struct {
	Result   *beagle.Result     `json:"result,omitempty"`
	Rollout  *RolloutStatus     `json:"rollout,omitempty"`
	Usage    *beagle.UsageError `json:"usage,omitempty"`
	Detached string             `json:"detached,omitempty"` // the run that goes on
	Canceled string             `json:"canceled,omitempty"` // the run that was stopped
	Failed   string             `json:"failed,omitempty"`
	DiskFull bool               `json:"disk_full,omitempty"`
}

// endOf puts an outcome into an end.
func endOf(answer any, err error) *end {
	out := new(end)
	if err == nil {
		switch a := answer.(type) {
		case *beagle.Result:
			out.Result = a
		case RolloutStatus:
			out.Rollout = &a
		}
		return out
	}
	var away *Detached
	var stopped *Canceled
	switch {
	case errors.As(err, &out.Usage):
	case errors.As(err, &away):
		out.Detached = away.Run
	case errors.As(err, &stopped):
		out.Canceled = stopped.Run
	default:
		out.Failed, out.DiskFull = err.Error(), errors.Is(err, syscall.ENOSPC)
	}
	return out
}

// outcome takes the error out again.
func (e *end) outcome() error {
	switch {
	case e.Usage != nil:
		return e.Usage
	case e.Detached != "":
		return &Detached{e.Detached}
	case e.Canceled != "":
		return &Canceled{e.Canceled}
	case e.DiskFull:
		return &full{e.Failed}
	case e.Failed != "":
		return errors.New(e.Failed)
	}
	return nil
}

// A full is an error that a full disk caused in the other process.
type full struct{ text string }

func (f *full) Error() string { return f.text }
func (f *full) Unwrap() error { return syscall.ENOSPC }

// mismatch says that the two programs do not belong together.
func mismatch(theirs int) error {
	return &beagle.UsageError{
		What: fmt.Sprintf("beagle and beagle-temporal are of different versions (protocols %d and %d)",
			theirs, protocol),
		Remedy: "install both from the same version of Beagle (docs/fleet.md)",
	}
}
