// Package queue is a bounded queue on disk of payloads that could not be sent yet. It survives the
// process and the machine.
//
// A payload is one file: written under another name, synced, renamed. So a file
// under its own name is whole, and what a crash left under the other is removed at
// the next start. Its blocks carry checksums (package secure).
//
// When a payload does not fit, the oldest go: after a long outage the latest figures are worth
// more. Dropped payloads are counted.
//
// # Limits
//
// One process has the directory. A payload may be handed out again after a crash
// that came between sending and removing it: delivery is at least once.
package queue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/beagle-go/beagle/metricsd/secure"
)

const (
	suffix    = ".payload"
	temporary = ".partial"
)

// Queue is a queue in a directory. It may be used by several goroutines.
type Queue struct {
	dir      string
	maxBytes int64

	mu    sync.Mutex
	items []item // the oldest first
	bytes int64
	next  uint64
	stats Stats
	added chan struct{}
}

type item struct {
	id   uint64
	size int64
}

// Stats are the counters since the queue was opened, and its fill.
type Stats struct {
	Added, Removed uint64
	Overflowed     uint64 // dropped to make room
	Damaged        uint64 // removed because a checksum did not match
	Items          int
	Bytes          int64
}

// Open opens the queue in dir, which is made if need be, with room for maxBytes.
func Open(dir string, maxBytes int64) (*Queue, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("queue: %w; choose a directory that can be written", err)
	}
	q := &Queue{dir: dir, maxBytes: maxBytes, next: 1, added: make(chan struct{}, 1)}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	for _, e := range entries {
		if err := q.adopt(e); err != nil {
			return nil, fmt.Errorf("queue: %w", err)
		}
	}
	slices.SortFunc(q.items, func(a, b item) int { return int(int64(a.id) - int64(b.id)) })
	if len(q.items) > 0 {
		q.next = q.items[len(q.items)-1].id + 1
	}
	return q, q.shrink(0)
}

// adopt takes over a file of an earlier process.
func (q *Queue) adopt(e os.DirEntry) error {
	if strings.HasSuffix(e.Name(), temporary) {
		return os.Remove(filepath.Join(q.dir, e.Name()))
	}
	number, ok := strings.CutSuffix(e.Name(), suffix)
	id, err := strconv.ParseUint(number, 10, 63)
	if !ok || err != nil {
		return nil // not ours
	}
	info, err := e.Info()
	if err != nil {
		return err
	}
	q.items = append(q.items, item{id, info.Size()})
	q.bytes += info.Size()
	return nil
}

func (q *Queue) path(id uint64) string {
	return filepath.Join(q.dir, fmt.Sprintf("%019d%s", id, suffix))
}

// ErrTooLarge says that a payload alone exceeds the queue's bound.
var ErrTooLarge = errors.New("a payload is longer than the whole queue may be")

// Put adds a payload. When it returns without an error the payload is on disk.
func (q *Queue) Put(payload []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := fileSize(len(payload))
	if size > q.maxBytes {
		q.stats.Overflowed++
		return fmt.Errorf("queue %s: %w: %d bytes do not fit into %d; raise the bound", q.dir, ErrTooLarge,
			len(payload), q.maxBytes)
	}
	if err := q.shrink(size); err != nil {
		return err
	}
	id := q.next
	if err := q.store(q.path(id), payload); err != nil {
		return fmt.Errorf("queue %s: %w; is the disk full? Make room, or move the queue", q.dir, err)
	}
	q.next++
	q.items = append(q.items, item{id, size})
	q.bytes += size
	q.stats.Added++
	select {
	case q.added <- struct{}{}:
	default:
	}
	return nil
}

// fileSize returns the size of a payload's file, with a header for each block and for the end.
func fileSize(n int) int64 {
	const header = 12
	blocks := (n + secure.MaxBlock - 1) / secure.MaxBlock
	return int64(n + header*(blocks+1))
}

// shrink drops the oldest until size more bytes fit.
func (q *Queue) shrink(size int64) error {
	for q.bytes+size > q.maxBytes && len(q.items) > 0 {
		q.stats.Overflowed++
		if err := q.drop(0); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue) drop(i int) error {
	it := q.items[i]
	q.items = slices.Delete(q.items, i, i+1)
	q.bytes -= it.size
	err := os.Remove(q.path(it.id))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// store writes a payload to a file that is whole, and on disk, once it has its name.
func (q *Queue) store(name string, payload []byte) (err error) {
	partial := name + temporary
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(partial)
		}
	}()
	w := secure.NewWriter(f)
	if _, err = w.Write(payload); err == nil {
		err = w.Close()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(partial, name); err != nil {
		return err
	}
	return syncDir(q.dir)
}

// syncDir makes a rename durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Oldest returns the oldest payload and its id for Remove; ok is false when the queue is empty. It
// removes and counts damaged payloads on the way.
func (q *Queue) Oldest() (payload []byte, id uint64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) > 0 {
		it := q.items[0]
		payload, err := q.load(it)
		if err == nil {
			return payload, it.id, true
		}
		q.stats.Damaged++
		q.drop(0) // after a restart the queue finds a file again that it cannot remove
	}
	return nil, 0, false
}

func (q *Queue) load(it item) ([]byte, error) {
	f, err := os.Open(q.path(it.id))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return secure.ReadAll(f, int(it.size))
}

// Remove removes a delivered payload, unless it is gone already.
func (q *Queue) Remove(id uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.items, func(it item) bool { return it.id == id })
	if i < 0 {
		return nil
	}
	q.stats.Removed++
	return q.drop(i)
}

// Added receives after payloads have been added.
func (q *Queue) Added() <-chan struct{} { return q.added }

// Stats returns the counters and the fill.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	s.Items, s.Bytes = len(q.items), q.bytes
	return s
}
