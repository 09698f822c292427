package bus

import (
	"bytes"
	"context"
	"errors"
	"runtime/pprof"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/beagle-go/beagle/metricsd/disk"
)

// lockedOut are the functions on the stacks of a stuck server. Its store locks itself out when a
// purge meets the disk's end, as of nats-server 2.15.2: compactLocked holds the store's lock and
// calls flushPendingMsgs, which after half a write calls rebuildState, which waits for that lock.
// From then on nothing that asks the stream is answered, nothing is logged, and a shutdown never
// ends.
var lockedOut = [][]byte{[]byte("server.(*fileStore).rebuildState("), []byte("server.(*fileStore).compactLocked(")}

// abandonedServers are the goroutines of abandoned servers: they stay.
var abandonedServers = struct {
	sync.Mutex
	up map[string]bool
}{up: map[string]bool{}}

// stuck reports whether a server of this process has locked itself out. The stacks prove it, which
// silence would not. A server that is only slow must not be abandoned, since it would go on writing
// to the files of the next one.
func stuck() bool { return len(stuckOnes()) > 0 }

// giveUp is stuck, but reports each case once. The goroutines that stay write no more: all writing
// needs the lock. They keep a store's memory until the process ends.
func giveUp() bool {
	found := stuckOnes()
	abandonedServers.Lock()
	defer abandonedServers.Unlock()
	for _, goroutine := range found {
		if !abandonedServers.up[goroutine] {
			abandonedServers.up[goroutine] = true
			return true
		}
	}
	return false
}

// stuckOnes returns the goroutines that wait for themselves, without abandoned ones.
func stuckOnes() (found []string) {
	var stacks bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 2); err != nil {
		return nil
	}
	abandonedServers.Lock()
	defer abandonedServers.Unlock()
	for stack := range bytes.SplitSeq(stacks.Bytes(), []byte("\n\n")) {
		if !bytes.Contains(stack, lockedOut[0]) || !bytes.Contains(stack, lockedOut[1]) {
			continue
		}
		goroutine, _, _ := bytes.Cut(stack, []byte(" ["))
		if !abandonedServers.up[string(goroutine)] {
			found = append(found, string(goroutine))
		}
	}
	return found
}

// broke reports whether a server must be reopened after an answer. No answer while the disk is full
// counts as a failed write, too.
func (b *natsBus) broke(ctx context.Context, s *natsServer, err error) bool {
	silent := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
	if silent && (stuck() || ctx.Err() == nil && disk.Room(b.options.Dir, roomToOpen) != nil) {
		s.fail()
	}
	return s.failed()
}
