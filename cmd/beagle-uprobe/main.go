// Command beagle-uprobe captures calls of a running Go process by uprobes. 'beagle capture --pid'
// starts it; it is no command for people. It alone links what speaks to the kernel, and it alone
// needs privileges: CAP_BPF and CAP_PERFMON.
package main

import (
	"os"

	"github.com/beagle-go/beagle/internal/uprobe"
)

func main() { os.Exit(uprobe.Main(os.Args[1:])) }
