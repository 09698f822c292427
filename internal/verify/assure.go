package verify

import "github.com/beagle-go/beagle"

// assurance is the verdict's account of how far its evidence reaches; it is
// made when it is first asked for.
func (j *Job) assurance() *beagle.Assurance {
	if j.verdict.Assurance == nil {
		j.verdict.Assurance = new(beagle.Assurance)
	}
	return j.verdict.Assurance
}
