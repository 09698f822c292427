package flow

import (
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/verify"
)

// Brief has the process judge versions briefly, see [verify.Brief] and [bench.Brief]. It is for
// tests of whole searches.
func Brief() {
	verify.Brief()
	bench.Brief()
}
