package rollout

import "fmt"

// A Round holds a controller's news of all processes since the last round.
type Round struct {
	Stop string `json:"stop,omitempty"` // why a person ends the experiment
	// Hold and End come from outside guardrails: why the step is held, and why the experiment is
	// to end.
	Hold  string        `json:"hold,omitempty"`
	End   string        `json:"end,omitempty"`
	Heard []ProcessNews `json:"heard,omitempty"`
}

// A ProcessNews is the news of one process.
type ProcessNews struct {
	Process string  `json:"process"` // its address
	Blocks  []Block `json:"blocks,omitempty"`
	Silent  float64 `json:"silent,omitempty"`  // seconds without an answer
	Fault   string  `json:"fault,omitempty"`   // the error in place of an answer
	Tripped string  `json:"tripped,omitempty"` // why it runs the original for good
	Ended   string  `json:"ended,omitempty"`   // why it runs the original now
}

// Patience is the number of seconds that a process may stay silent. Its own lease ends before.
const Patience = 30

// Take enters a round, and returns the decisions, in order. After an end there are no further
// decisions.
func (e *Experiment) Take(r Round) (all []Decision) {
	if r.Stop != "" {
		return []Decision{e.Stop(r.Stop)}
	}
	if e.Hold(r.Hold); r.End != "" {
		return []Decision{e.Stop(r.End)}
	}
	for _, h := range r.Heard {
		for _, b := range h.Blocks {
			if e.Over() {
				return all
			}
			all = append(all, e.Next(b))
		}
		if why := h.ends(); why != "" && !e.Over() {
			all = append(all, e.Stop(why))
		}
	}
	return all
}

// ends returns why a process's news ends the experiment. A silent process ends it, too: the state
// of its candidate is unknown.
func (h ProcessNews) ends() string {
	switch {
	case h.Tripped != "":
		return h.Process + " switched to the original by itself: " + h.Tripped
	case h.Ended != "":
		return h.Process + ": " + h.Ended
	case h.Silent > Patience:
		return fmt.Sprintf("%s does not answer for %d s: %s", h.Process, Patience, h.Fault)
	}
	return ""
}
