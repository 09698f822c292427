package flow

import (
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/verify"
)

// Brief makes this process judge versions briefly, see [verify.Brief] and [bench.Brief], and look
// up pieces of the original with a tenth of the terms; all of them take up to five seconds of
// processor time. It is for tests of whole searches.
func Brief() {
	liftTerms, liftTotal = 25_000, 250_000
	verify.Brief()
	bench.Brief()
}
