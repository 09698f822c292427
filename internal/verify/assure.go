package verify

import "github.com/beagle-go/beagle"

// assurance is what the verdict says of its evidence; checks fill it in.
func (j *Job) assurance() *beagle.Assurance {
	if j.verdict.Assurance == nil {
		j.verdict.Assurance = new(beagle.Assurance)
	}
	return j.verdict.Assurance
}
