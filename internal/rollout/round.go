package rollout

import "fmt"

// A Round is what a controller learned from all processes since the round before.
type Round struct {
	Stop string `json:"stop,omitempty"` // why a person ends the experiment
	// Hold and End are what others watch: why the step is held, and why the experiment is to end.
	Hold  string  `json:"hold,omitempty"`
	End   string  `json:"end,omitempty"`
	Heard []Heard `json:"heard,omitempty"`
}

// A Heard is what one process told.
type Heard struct {
	Process string  `json:"process"` // its address
	Blocks  []Block `json:"blocks,omitempty"`
	Silent  float64 `json:"silent,omitempty"`  // seconds for which it has not answered
	Fault   string  `json:"fault,omitempty"`   // what came instead of an answer
	Tripped string  `json:"tripped,omitempty"` // why it runs the original for good
	Ended   string  `json:"ended,omitempty"`   // why it runs the original now
}

// Patience is how many seconds a process may stay silent. Its own lease ends before.
const Patience = 30

// Take enters a round, and returns what was decided, in order. Nothing is decided after an end.
func (e *Experiment) Take(r Round) (all []Decision) {
	if r.Stop != "" {
		return []Decision{e.Stop(r.Stop)}
	}
	if e.Hold(r.Hold); r.End != "" {
		return []Decision{e.Stop(r.End)}
	}
	for _, h := range r.Heard {
		for _, b := range h.Blocks {
			if e.done() {
				return all
			}
			all = append(all, e.Next(b))
		}
		if why := h.ends(); why != "" && !e.done() {
			all = append(all, e.Stop(why))
		}
	}
	return all
}

// ends says why what a process told ends the experiment. Of a process that stays silent nobody can
// say what its candidate does.
func (h Heard) ends() string {
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
