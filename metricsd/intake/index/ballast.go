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
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/beagle-go/beagle/metricsd/disk"
)

// A ballast is a file to be removed. Changes are refused before the disk is full, but other
// programs write to it too, so a write may meet the disk's end. Pebble survives that in a table: it
// drops the new one and tries again. In its log and its manifest it does not, and ends the process.
// So when a write to these meets the end, the ballast is removed and the write is repeated at its
// place. From then on the index is read only, until there is room for a new ballast. If the ballast
// is gone already, or another program took its room, the write waits for room; readers are still
// served.
type ballast struct {
	dir     string
	size    int64 // of the file; 0 for none
	opened  atomic.Bool
	waiting atomic.Int32  // writes under way that wait for room
	met     atomic.Uint64 // times that a write met the disk's end
	drops   atomic.Uint64 // times that the ballast was removed

	mu    sync.Mutex
	there bool
}

// writeRoom is the room that a write waits for; no write of the log or the manifest is longer.
const writeRoom = 4 << 20

func newBallast(dir string, size int64) *ballast {
	b := &ballast{dir: dir, size: size}
	info, err := os.Stat(b.file())
	b.there = err == nil && info.Size() == size // of an earlier process
	return b
}

func (b *ballast) file() string { return filepath.Join(b.dir, "ballast") }

// withBallast returns a file system with the ballast under its log and manifest.
func (b *ballast) withBallast(fs vfs.FS) vfs.FS { return ballasted{fs, b} }

// try makes a write, and repeats it while it meets the disk's end.
func (b *ballast) try(write func() error) error {
	for {
		drops := b.drops.Load()
		err := write()
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
		b.met.Add(1)
		if !b.drop() && drops == b.drops.Load() && !b.wait() {
			return err
		}
	}
}

// wait waits for room. It returns false while the store is being opened, so that opening it returns
// an error instead of waiting.
func (b *ballast) wait() bool {
	if !b.opened.Load() {
		return false
	}
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	for {
		time.Sleep(50 * time.Millisecond)
		if disk.Room(b.dir, writeRoom) == nil {
			return true
		}
	}
}

// drop removes the ballast, if there still is one.
func (b *ballast) drop() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	dropped := b.there && os.Remove(b.file()) == nil
	if b.there = false; dropped {
		b.drops.Add(1)
	}
	return dropped
}

// checkRoom returns an error while a write waits for room.
func (b *ballast) checkRoom() error {
	if b.waiting.Load() > 0 {
		return fmt.Errorf("%w: a write to %s waits for room; make some there, or move the directory",
			disk.ErrFull, b.dir)
	}
	return nil
}

// restore makes the ballast if there is none, and room for it beside the reserve.
func (b *ballast) restore(reserve int64) error {
	if err := b.checkRoom(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.there {
		return nil
	}
	os.Remove(b.file()) // of another reserve, or incomplete: its room counts
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

// make writes bytes that no file system can compress.
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
	if b.waiting.Load() > 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.there && b.size > 0
}

// ballasted is a file system with a ballast under all files except those that can be written anew,
// and those whose removal makes room.
type ballasted struct {
	vfs.FS
	b *ballast
}

// Unwrap implements [vfs.FS].
func (f ballasted) Unwrap() vfs.FS { return f.FS }

// Create implements [vfs.FS]. A table that does not fit must not use up the ballast.
func (f ballasted) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	switch category {
	case "pebble-compaction", "pebble-memtable-flush", "pebble-blob-file-rewrite":
		return f.FS.Create(name, category)
	}
	return f.file(func() (vfs.File, error) { return f.FS.Create(name, category) })
}

// ReuseForWrite implements [vfs.FS].
func (f ballasted) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return f.file(func() (vfs.File, error) { return f.FS.ReuseForWrite(from, to, category) })
}

// OpenReadWrite implements [vfs.FS].
func (f ballasted) OpenReadWrite(name string, category vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return f.file(func() (vfs.File, error) { return f.FS.OpenReadWrite(name, category, o...) })
}

func (f ballasted) file(open func() (vfs.File, error)) (is vfs.File, err error) {
	err = f.b.try(func() error { is, err = open(); return err })
	if err != nil {
		return nil, err
	}
	return ballastedFile{is, f.b}, nil
}

// Link implements [vfs.FS].
func (f ballasted) Link(from, to string) error {
	return f.b.try(func() error { return f.FS.Link(from, to) })
}

// Rename implements [vfs.FS].
func (f ballasted) Rename(from, to string) error {
	return f.b.try(func() error { return f.FS.Rename(from, to) })
}

// MkdirAll implements [vfs.FS].
func (f ballasted) MkdirAll(dir string, perm os.FileMode) error {
	return f.b.try(func() error { return f.FS.MkdirAll(dir, perm) })
}

// ballastedFile continues a write where it met the disk's end. It never repeats a sync that met the
// end: the second would report success, and the data would be lost. On file systems that notice so
// late Pebble ends the process.
type ballastedFile struct {
	vfs.File
	b *ballast
}

// Write implements [vfs.File].
func (f ballastedFile) Write(p []byte) (written int, err error) {
	err = f.b.try(func() error {
		n, err := f.File.Write(p[written:])
		written += n
		return err
	})
	return written, err
}

// WriteAt implements [vfs.File].
func (f ballastedFile) WriteAt(p []byte, at int64) (written int, err error) {
	err = f.b.try(func() error {
		n, err := f.File.WriteAt(p[written:], at+int64(written))
		written += n
		return err
	})
	return written, err
}
