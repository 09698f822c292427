package uprobe

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/companion"
)

// options are beagle's orders to beagle-uprobe.
type options struct {
	pid                    int
	socket, token, symbols string
	records                bool
	names                  []string
}

// Main runs the command beagle-uprobe. It prints one line of JSON when it serves, or the fault. It
// ends, and takes its uprobes away, when its standard input closes.
func Main(args []string) (status int) {
	var o options
	f := flag.NewFlagSet("beagle-uprobe", flag.ContinueOnError)
	f.IntVar(&o.pid, "pid", 0, "`number` of the process")
	f.StringVar(&o.socket, "socket", "", "`path` of the socket to serve")
	f.StringVar(&o.token, "token", "", "`file` with the token of controllers")
	f.StringVar(&o.symbols, "symbols", "", "unstripped `file` of the same program")
	f.BoolVar(&o.records, "records", false, "refuse functions of whose calls no record can be made")
	if f.Parse(args) != nil {
		return 2
	}
	o.names = f.Args()
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
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	end()
	return 0
}
