package index

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/beagle-go/beagle/metricsd/disk"
)

// A ballast is a file that is there to be removed. Changes are refused before the disk is
// full, but others write to it too, so its end may be met in the midst of a write. In its tables
// Pebble outlives that: it drops the new one and tries again. In its log and its manifest it does
// not, and ends the process. So when these meet the end the ballast goes and the write is made again
// where it was; the index is read only from then on, until there is room for a new ballast. When
// the ballast is gone too, the write waits for room: whoever asks the index is still answered.
type ballast struct {
	dir     string
	size    int64 // of the file; 0 for none
	opened  atomic.Bool
	waiting atomic.Bool   // for room, with a write under way
	met     atomic.Uint64 // times that the disk's end was met

	mu    sync.Mutex
	there bool
}

// enough is the room that a write waits for; none of the log and the manifest is longer.
const enough = 4 << 20

func newBallast(dir string, size int64) *ballast {
	b := &ballast{dir: dir, size: size}
	info, err := os.Stat(b.file())
	b.there = err == nil && info.Size() == size // of an earlier process
	return b
}

func (b *ballast) file() string { return filepath.Join(b.dir, "ballast") }

// under returns a file system whose log and manifest the ballast is under.
func (b *ballast) under(fs vfs.FS) vfs.FS { return ballasted{vfs.OnDiskFull(fs, b.onFull), fs} }

// onFull is called when a write has met the disk's end, and returns when it is to be made
// again. All others wait meanwhile.
func (b *ballast) onFull() {
	b.met.Add(1)
	if b.drop() || !b.opened.Load() { // who opens a store is better told than left waiting
		return
	}
	b.waiting.Store(true)
	defer b.waiting.Store(false)
	for disk.Room(b.dir, enough) != nil {
		time.Sleep(50 * time.Millisecond)
	}
}

// drop makes room, if there is still something to drop.
func (b *ballast) drop() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	dropped := b.there && os.Remove(b.file()) == nil
	b.there = false
	return dropped
}

// full is an error while a write waits for room.
func (b *ballast) full() error {
	if b.waiting.Load() {
		return fmt.Errorf("%w: a write to %s waits for room; make some there, or move the directory", disk.ErrFull, b.dir)
	}
	return nil
}

// restore makes the ballast if there is none, and room for it beside the reserve.
func (b *ballast) restore(reserve int64) error {
	if err := b.full(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.there {
		return nil
	}
	os.Remove(b.file()) // one for another reserve, or half made: its room counts
	if b.size == 0 {
		return nil
	}
	if err := disk.Room(b.dir, reserve+b.size); err != nil {
		return err
	}
	if err := b.make(); err != nil {
		os.Remove(b.file())
		return fmt.Errorf("%w: the ballast in %s was not made: %w; make room there", disk.ErrFull, b.dir, err)
	}
	b.there = true
	return nil
}

// make writes bytes that no file system can make fewer of.
func (b *ballast) make() error {
	f, err := os.OpenFile(b.file(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, rand.NewChaCha8([32]byte{}), b.size)
	return errors.Join(err, f.Sync(), f.Close())
}

// readOnly says that changes are refused until there is room.
func (b *ballast) readOnly() bool {
	if b.waiting.Load() {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.there && b.size > 0
}

// ballasted is a file system with a ballast under all but what can be done again.
type ballasted struct {
	vfs.FS
	bare vfs.FS
}

// Create implements [vfs.FS]. A table that does not fit must not eat up the ballast.
func (f ballasted) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	switch category {
	case "pebble-compaction", "pebble-memtable-flush", "pebble-blob-file-rewrite":
		return f.bare.Create(name, category)
	}
	return f.FS.Create(name, category)
}

// Remove implements [vfs.FS]. What makes room does not wait for it.
func (f ballasted) Remove(name string) error { return f.bare.Remove(name) }

// Unwrap implements [vfs.FS].
func (f ballasted) Unwrap() vfs.FS { return f.bare }
