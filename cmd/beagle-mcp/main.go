// Command beagle-mcp serves Beagle's tools over the Model Context Protocol. 'beagle mcp' and
// searches that ask an agent start it; it is no command for people. It alone links the protocol's
// library, so that few users build that.
package main

import (
	"os"

	"github.com/beagle-go/beagle/internal/flow/tools"
	"github.com/beagle-go/beagle/internal/sandbox"
)

func main() {
	sandbox.Main()
	status := tools.Main(os.Args[1:])
	sandbox.Leave()
	os.Exit(status)
}
