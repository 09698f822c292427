package verify

import "github.com/beagle-go/beagle"

// assurance returns the verdict's report of its evidence, which the checks fill in.
func (n *notes) assurance() *beagle.Assurance {
	if n.verdict.Assurance == nil {
		n.verdict.Assurance = new(beagle.Assurance)
	}
	return n.verdict.Assurance
}
