package harness

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
)

// A Startup is the runtime's account of a program's start with the target's package. No
// measurement of calls sees that cost.
type Startup struct {
	Clock time.Duration // wall time
	Bytes int64         // allocated on the heap
}

// Limits for a start before it counts as one that never ends.
const (
	startWall = 20 * time.Second
	startCPU  = 2 * time.Second
)

// Start starts the program and ends it again at once. The Exit says how the initialisation of its
// packages failed; an error means that the machinery did.
func (bin *Binary) Start(ctx context.Context, box *sandbox.Sandbox, pkg string) (Startup, *Exit, error) {
	nonce := rand.Text()
	stdin, err := json.Marshal(&rt.Request{Nonce: nonce})
	if err != nil {
		return Startup{}, nil, err
	}
	machine, path, args, read := bin.emulated(bin.Path)
	r, err := box.Run(ctx, sandbox.Command{
		Profile: sandbox.Run, Machine: machine, Path: path, Args: args, Read: read, Stdin: stdin,
		Env:    []string{"GODEBUG=inittrace=1"},
		Limits: sandbox.Limits{Wall: startWall, CPU: startCPU},
	})
	if err != nil {
		return Startup{}, nil, err
	}
	if r.Ended == sandbox.Canceled {
		return Startup{}, nil, context.Cause(ctx)
	}
	// Any reply means that main was reached.
	if exit := endOf(&r, findReply(r.Stdout, nonce)); exit != nil {
		exit.Variant, exit.Record = -1, -1
		return Startup{}, exit, nil
	}
	return traced(string(r.Stderr), pkg), nil, nil
}

var traceLine = regexp.MustCompile(`^init (\S+) @\S+ ms, (\S+) ms clock, (\d+) bytes, \d+ allocs`)

// traced reads a package's line of GODEBUG=inittrace=1. A package that has
// nothing to initialise has none.
func traced(stderr, pkg string) (s Startup) {
	for line := range strings.Lines(stderr) {
		m := traceLine.FindStringSubmatch(line)
		if m == nil || m[1] != pkg {
			continue
		}
		if ms, err := strconv.ParseFloat(m[2], 64); err == nil {
			s.Clock += time.Duration(ms * float64(time.Millisecond))
		}
		if n, err := strconv.ParseInt(m[3], 10, 64); err == nil {
			s.Bytes += n
		}
	}
	return s
}
