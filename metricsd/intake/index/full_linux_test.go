package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/beagle-go/beagle/metricsd/disk"
	"github.com/beagle-go/beagle/metricsd/disk/disktest"
)

// TestCompactionsOnAFullDisk writes names to a small disk until the reserve is met. Meanwhile the
// store rewrites all of its files repeatedly, which needs twice their room, and which no reserve
// prevents. The store must survive the disk's end, refuse changes that do not fit, lose nothing,
// and continue when there is room.
func TestCompactionsOnAFullDisk(t *testing.T) {
	dir := disktest.Mount(t, "64m")
	o := PebbleOptions{Dir: dir + "/index", Reserve: 16 << 20}
	x, err := OpenPebble(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { x.Close() }()
	rng := rand.New(rand.NewPCG(1, 2))
	var written []Entry
	write := func() error {
		var c Change
		for range 1 + rng.IntN(20_000) {
			c.Entries = append(c.Entries,
				Entry{Kind: Metric, Name: fmt.Sprintf("%016x.%016x.%016x", rng.Uint64(), rng.Uint64(), rng.Uint64()),
					First: 1, Last: 2, Points: 3})
		}
		c.Read = map[int32]int64{0: int64(len(written) + len(c.Entries))}
		err := x.Apply(t.Context(), c)
		if err == nil {
			written = append(written, c.Entries...)
		}
		return err
	}
	met, stop := compacting(t, x)
	defer stop()
	for refused := 0; refused < 100 || met.Load() == 0; {
		if err := write(); errors.Is(err, disk.ErrFull) {
			refused++
			time.Sleep(5 * time.Millisecond)
		} else if err != nil {
			t.Fatalf("after %d names: %v", len(written), err)
		}
		// a machine may be slow, the mount must not stay
		if end, ok := t.Deadline(); ok && time.Until(end) < 20*time.Second {
			t.Fatalf("the store does not meet the disk's end: the test shows nothing (%d names, %d refusals)",
				len(written), refused)
		}
	}
	stop()
	t.Logf("%d names, the disk's end met %d times", len(written), met.Load())
	check := func(when string) {
		t.Helper()
		for i := range 1000 {
			want(t, x, written[i*len(written)/1000])
		}
		if read, err := x.Read(t.Context()); err != nil || read[0] != int64(len(written)) {
			t.Errorf("%s: read up to %v of %d, %v", when, read, len(written), err)
		}
	}
	check("on the full disk")
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=640m"); err != nil {
		t.Fatal(err)
	}
	if err := write(); err != nil {
		t.Fatalf("with room again: %v", err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x, err = OpenPebble(o); err != nil {
		t.Fatal(err)
	}
	check("opened again")
}

// compacting rewrites all files of the store, again and again, until stop is called. It counts how
// often the disk had no room for that.
func compacting(t *testing.T, x Index) (met *atomic.Int64, stop func()) {
	met = new(atomic.Int64)
	ended := make(chan struct{})
	var one sync.WaitGroup
	one.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(10 * time.Millisecond):
			}
			if err := x.(*pebbleIndex).db.Compact(t.Context(), []byte{0}, []byte{255}, false); errors.Is(err,
				syscall.ENOSPC) {
				met.Add(1)
			} else if err != nil {
				t.Error(err)
			}
		}
	})
	return met, sync.OnceFunc(func() {
		close(ended)
		one.Wait()
	})
}
