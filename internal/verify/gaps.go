package verify

import (
	"fmt"
	"slices"

	"github.com/beagle-go/beagle"
)

// addGap records in the assurance that the running check left something out. The text must make
// sense alone: "race detection: ...". A search's quick check gives no assurance.
func (n *notes) addGap(format string, args ...any) {
	if n.quick {
		return
	}
	a, text := n.assurance(), fmt.Sprintf(format, args...)
	if !slices.Contains(a.NotChecked, text) {
		a.NotChecked = append(a.NotChecked, text)
	}
}

// assured completes the assurance after the last check of a ladder.
func (j *Job) assured(v *beagle.Verdict) {
	a := j.assurance()
	a.Inputs, a.Steps = 0, len(j.Candidate.Steps)
	if slices.Contains(j.Env.Unit.Target.Contract.Ignore, beagle.IgnoreIO) {
		j.addGap("input and output: the contract ignores them")
	}
	for _, c := range v.Checks {
		a.Inputs += c.Cases
	}
}
