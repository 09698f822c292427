package verify

import (
	"fmt"
	"slices"

	"github.com/beagle-go/beagle"
)

// assurance is the verdict's account of how far the evidence reaches.
func (j *Job) assurance() *beagle.Assurance {
	if j.verdict.Assurance == nil {
		j.verdict.Assurance = new(beagle.Assurance)
	}
	return j.verdict.Assurance
}

// unchecked enters what no check looked at.
func (j *Job) unchecked(format string, args ...any) {
	a, text := j.assurance(), fmt.Sprintf(format, args...)
	if !slices.Contains(a.NotChecked, text) {
		a.NotChecked = append(a.NotChecked, text)
	}
}
