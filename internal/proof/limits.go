package proof

import (
	"github.com/beagle-go/beagle/internal/proof/exec"
	"github.com/beagle-go/beagle/internal/proof/term"
)

// withinLimits runs a piece of work, and returns the limit that ended it, or "". Running out of
// time, states or terms ends the work and not the proof: what it found before still counts. Any
// other panic is a fault of ours.
func withinLimits(work func()) (limit string) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exec.LimitReached:
			limit = r.Why
		case term.Limit:
			limit = r.Error()
		default:
			panic(r)
		}
	}()
	work()
	return ""
}
