package verify

import "github.com/beagle-go/beagle"

// assurance returns the verdict's report of its evidence, which the checks fill in.
func (j *Job) assurance() *beagle.Assurance {
	if j.verdict.Assurance == nil {
		j.verdict.Assurance = new(beagle.Assurance)
	}
	return j.verdict.Assurance
}
