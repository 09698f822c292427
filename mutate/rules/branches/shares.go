package branches

import (
	"github.com/beagle-go/beagle/mutate"
)

// byteShares returns the byte frequencies of the corpus, if one parameter has them.
func byteShares(p *mutate.Pass) []float64 {
	var found []float64
	for _, f := range p.Facets.Params {
		if len(f.Bytes) == 256 {
			if found != nil {
				return nil
			}
			found = f.Bytes
		}
	}
	return found
}
