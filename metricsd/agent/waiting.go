package agent

import (
	"sync"
	"sync/atomic"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// Bounds of the items that wait for a flush, in number and in bytes.
const (
	maxWaiting      = 10_000
	maxWaitingBytes = 16 << 20
)

// pendingItems holds the events and service checks since the last flush. It drops and counts items
// for which there is no room.
type pendingItems struct {
	dropped atomic.Uint64

	mu     sync.Mutex
	events []dogstatsd.Event
	checks []dogstatsd.Check
	bytes  int
}

// room takes the bytes if there is room; the lock is held.
func (w *pendingItems) room(bytes int) bool {
	if len(w.events)+len(w.checks) >= maxWaiting || w.bytes+bytes > maxWaitingBytes {
		w.dropped.Add(1)
		return false
	}
	w.bytes += bytes
	return true
}

// weight returns the bytes of an item besides its place in the list: its line, which its texts
// share, the headers of its tags, and the added host and tags.
func weight(line int, tags []string, host string) int {
	const header = 16
	n := line + len(host) + header*len(tags)
	for _, tag := range tags {
		n += len(tag)
	}
	return n
}

// event takes an event whose line had the given number of bytes.
func (w *pendingItems) event(e dogstatsd.Event, line int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.room(weight(line, e.Tags, e.Source.Host)) {
		w.events = append(w.events, e)
	}
}

func (w *pendingItems) check(c dogstatsd.Check, line int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.room(weight(line, c.Tags, c.Source.Host)) {
		w.checks = append(w.checks, c)
	}
}

// take returns all waiting items and forgets them.
func (w *pendingItems) take() (events []dogstatsd.Event, checks []dogstatsd.Check) {
	w.mu.Lock()
	defer w.mu.Unlock()
	events, checks = w.events, w.checks
	w.events, w.checks, w.bytes = nil, nil, 0
	return events, checks
}
