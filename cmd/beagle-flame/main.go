// Command beagle-flame draws a flame graph. 'beagle hotspots --html' starts it; it is no command
// for people. It alone links pprof's own interface, so that few users build that.
package main

import (
	"os"

	"github.com/beagle-go/beagle/internal/hotspots/flame"
)

func main() { os.Exit(flame.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
