// Command beagle-uprobe captures calls of a running Go process by uprobes. 'beagle capture --pid'
// starts it; it is no command for people. It alone links what speaks to the kernel, and it alone
// needs privileges: CAP_BPF and CAP_PERFMON.
//
// It prints one line of JSON when it serves, or what is wrong. It ends, and takes its uprobes away,
// when its standard input closes.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/companion"
)

type options struct {
	pid                    int
	socket, token, symbols string
	records                bool
	names                  []string
}

func main() {
	var o options
	flag.IntVar(&o.pid, "pid", 0, "`number` of the process")
	flag.StringVar(&o.socket, "socket", "", "`path` of the socket to serve")
	flag.StringVar(&o.token, "token", "", "`file` with the token of controllers")
	flag.StringVar(&o.symbols, "symbols", "", "unstripped `file` of the same program")
	flag.BoolVar(&o.records, "records", false, "refuse functions of whose calls no record can be made")
	flag.Parse()
	o.names = flag.Args()
	end, err := attach(o)
	var said companion.Ready
	var usage *beagle.UsageError
	switch {
	case errors.As(err, &usage):
		said = companion.Ready{What: usage.What, Remedy: usage.Remedy}
	case err != nil:
		said.What = err.Error()
	}
	if json.NewEncoder(os.Stdout).Encode(said) != nil || err != nil {
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	end()
}
