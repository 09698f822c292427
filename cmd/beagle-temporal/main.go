// Beagle-temporal runs searches of beagle on a Temporal server, and works for
// them. 'beagle' starts it: see docs/fleet.md.
package main

import (
	"os"

	"github.com/beagle-go/beagle/internal/flow/temporal"
	"github.com/beagle-go/beagle/internal/sandbox"
)

func main() {
	sandbox.Main()
	os.Exit(temporal.Main())
}
