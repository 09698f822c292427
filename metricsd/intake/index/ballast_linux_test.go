package index

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/beagle-go/beagle/metricsd/disk"
	"github.com/beagle-go/beagle/metricsd/disk/disktest"
)

// write writes a change without asking for room, as if another program took the rest between asking
// and writing.
func (x *pebbleIndex) write(t *testing.T, c Change) error {
	if err := x.begin(t.Context()); err != nil {
		return err
	}
	b := x.db.NewBatch()
	return errors.Join(fill(b, c), x.commit(t.Context(), b))
}

func openSmall(t *testing.T, dir string) *pebbleIndex {
	t.Helper()
	x, err := OpenPebble(PebbleOptions{Dir: dir + "/index", Reserve: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return x.(*pebbleIndex)
}

func one(name string, place int64) Change {
	return Change{Entries: []Entry{{Kind: Metric, Name: name, First: 1, Last: 2, Points: 1}}, Read: map[int32]int64{
		0: place,
	}}
}

// TestTheLogMeetsTheDisksEnd fills the disk to the last byte without the index's knowledge, and
// writes. The write succeeds, and the index is read only until there is room. All of it is there
// when the index is opened again: on the full disk, and later.
func TestTheLogMeetsTheDisksEnd(t *testing.T) {
	dir := disktest.Mount(t, "64m")
	x := openSmall(t, dir)
	if err := x.Apply(t.Context(), one("before", 1)); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a name that fills blocks of the log ", 3000)
	room := disktest.Fill(t, dir)
	if err := x.write(t, one(long, 2)); err != nil {
		t.Fatalf("a write that met the disk's end: %v", err)
	}
	if met, readOnly := x.DiskFull(); met == 0 || !readOnly {
		t.Fatalf("the disk's end was met %d times, read only: %v; the test shows nothing", met, readOnly)
	}
	refused := func(when string) {
		t.Helper()
		if err := x.Apply(t.Context(), one("refused", 3)); !errors.Is(err, disk.ErrFull) ||
			!strings.Contains(err.Error(), "make room") {
			t.Errorf("%s: %v", when, err)
		}
		if _, err := x.Forget(t.Context(), 10); !errors.Is(err, disk.ErrFull) {
			t.Errorf("%s, removing what is old: %v", when, err)
		}
	}
	has := func(when string, names ...string) {
		t.Helper()
		for _, name := range names {
			if e, ok, err := x.Get(t.Context(), "", Metric, name); !ok || err != nil || e.Points != 1 {
				t.Errorf("%s: %.20q is %+v, %v", when, name, e, err)
			}
		}
	}
	refused("on the full disk")
	has("on the full disk", "before", long)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = openSmall(t, dir)
	refused("opened on the full disk")
	has("opened on the full disk", "before", long)
	room()
	if err := x.Apply(t.Context(), one("after", 3)); err != nil {
		t.Fatalf("with room again: %v", err)
	}
	if _, readOnly := x.DiskFull(); readOnly {
		t.Error("it is read only with room again")
	}
	if info, err := os.Stat(x.ballast.file()); err != nil || info.Size() != 4<<20 {
		t.Errorf("there is no new ballast: %v", err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = openSmall(t, dir)
	defer x.Close()
	has("opened again", "before", long, "after")
}

// readUpToTwo opens the index anew, which must have the second write.
func readUpToTwo(t *testing.T, x *pebbleIndex, dir string) {
	t.Helper()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = openSmall(t, dir)
	defer x.Close()
	if read, err := x.Read(t.Context()); err != nil || read[0] != 2 {
		t.Errorf("read up to %v, %v", read, err)
	}
}

// withoutRoom returns an index with a write in progress, on a disk that is full and has no ballast.
// The caller calls room to free the disk.
func withoutRoom(t *testing.T) (x *pebbleIndex, dir string, room func()) {
	t.Helper()
	dir = disktest.Mount(t, "64m")
	x = openSmall(t, dir)
	if err := x.Apply(t.Context(), one("before", 1)); err != nil {
		t.Fatal(err)
	}
	x.ballast.drop()
	return x, dir, disktest.Fill(t, dir)
}

// TestAWriteWaitsForRoom also takes the room that the ballast has freed. The write under way waits,
// and all others are refused. Readers are served, the index can be closed, and with room the write
// is made.
func TestAWriteWaitsForRoom(t *testing.T) {
	x, dir, room := withoutRoom(t)
	written := make(chan error, 1)
	go func() { written <- x.write(t, one(strings.Repeat("waits ", 20_000), 2)) }()
	waits(t, x)
	if err := x.Apply(t.Context(), one("refused", 3)); !errors.Is(err, disk.ErrFull) {
		t.Errorf("beside a write that waits: %v", err)
	}
	if _, ok, err := x.Get(t.Context(), "", Metric, "before"); !ok || err != nil {
		t.Errorf("what is asked is not answered: %v", err)
	}
	if err := x.Close(); err != nil { // it continues; without the ballast the process would end here
		t.Error(err)
	}
	select {
	case err := <-written:
		t.Fatalf("without room the write is done: %v", err)
	default:
	}
	room()
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	readUpToTwo(t, x, dir)
}

// patience bounds a wait for work of a machine that may be busy.
const patience = 5 * time.Minute

func waits(t *testing.T, x *pebbleIndex) {
	t.Helper()
	for deadline := time.Now().Add(patience); x.ballast.waiting.Load() == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the write does not wait")
		}
	}
}

// TestTheBallastsRoomIsTaken lets a quicker writer take the room that the ballast frees. The write
// meets the disk's end again, waits for room and is made.
func TestTheBallastsRoomIsTaken(t *testing.T) {
	dir := disktest.Mount(t, "64m")
	x := openSmall(t, dir)
	held := dir + "/held"
	if err := os.Link(x.ballast.file(), held); err != nil {
		t.Fatal(err)
	}
	room := disktest.Fill(t, dir)
	written := make(chan error, 1)
	go func() { written <- x.write(t, one(strings.Repeat("waits ", 20_000), 2)) }()
	waits(t, x)
	if drops, met := x.ballast.drops.Load(), x.ballast.met.Load(); drops != 1 || met < 2 {
		t.Errorf("the ballast went %d times, the disk's end was met %d times", drops, met)
	}
	room()
	if err := errors.Join(<-written, os.Remove(held)); err != nil {
		t.Fatal(err)
	}
	readUpToTwo(t, x, dir)
}

// TestTheLogMeetsTheDisksEndWhenItIsClosed closes an index whose log still has to write bytes that
// do not fit. Closing must end, and acknowledged changes must be there.
func TestTheLogMeetsTheDisksEndWhenItIsClosed(t *testing.T) {
	x, dir, room := withoutRoom(t)
	// less than a block of the log, which waits in memory
	if err := x.db.Set([]byte("x"), make([]byte, 31_000), pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- x.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatalf("it is not closed within %v", patience)
	}
	if x.ballast.waiting.Load() == 0 {
		t.Error("the log did not meet the disk's end: the test shows nothing")
	}
	room()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		again, err := OpenPebble(PebbleOptions{Dir: dir + "/index", Reserve: 8 << 20})
		if err != nil && time.Now().Before(deadline) {
			continue // the other index has the lock, until its log is written
		}
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if _, ok, err := again.Get(t.Context(), "", Metric, "before"); !ok || err != nil {
			t.Errorf("what was acknowledged is gone: %v", err)
		}
		return
	}
}

// TestTheDiskIsFullAtEveryWrite fills the disk before each of many writes and makes room again when
// the write is made, or waits for room. There are enough writes to need new logs, tables and
// manifest entries, with a ballast and without. The index survives, and has everything that it
// accepted.
func TestTheDiskIsFullAtEveryWrite(t *testing.T) {
	dir := disktest.Mount(t, "64m")
	x := openSmall(t, dir)
	_, stop := compacting(t, x)
	defer stop()
	changes := 40
	if testing.Short() {
		changes = 15
	}
	const each = 2000
	name := func(change, i int) string { return fmt.Sprintf("%04d.%04d.%s", change, i, strings.Repeat("x", 50)) }
	waited := 0
	for c := range changes {
		change := Change{Read: map[int32]int64{0: int64(c)}}
		for i := range each {
			change.Entries = append(change.Entries, Entry{Kind: Metric, Name: name(c, i), First: 1, Last: 2, Points: 1})
		}
		if c%5 == 0 {
			x.ballast.restore(x.reserve)
		}
		room := disktest.Fill(t, dir)
		written := make(chan error, 1)
		go func() { written <- x.write(t, change) }()
		select {
		case err := <-written:
			if err != nil {
				t.Fatal(err)
			}
			room()
		case <-time.After(rand.N(100 * time.Millisecond)):
			waited++
			room()
			if err := <-written; err != nil {
				t.Fatal(err)
			}
		}
	}
	stop()
	met, _ := x.DiskFull()
	t.Logf("%d writes on a full disk, %d waited for room; the log or the manifest met the disk's end %d times",
		changes, waited, met)
	if met == 0 {
		t.Error("the disk's end was not met: the test shows nothing")
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x = openSmall(t, dir)
	defer x.Close()
	names, err := Names(t.Context(), x, "", Metric)
	if err != nil || len(names) != changes*each || names[0] != name(0, 0) ||
		names[len(names)-1] != name(changes-1, each-1) {
		t.Errorf("%d names of %d, %v", len(names), changes*each, err)
	}
}

// TestTheBallastFollowsTheReserve opens an index with one reserve after another. There is a ballast
// at once, and none that another reserve has left.
func TestTheBallastFollowsTheReserve(t *testing.T) {
	dir := t.TempDir()
	for _, reserve := range []int64{2 << 20, 1 << 20, 0, 2 << 20} {
		x, err := OpenPebble(PebbleOptions{Dir: dir, Reserve: reserve})
		if err != nil {
			t.Fatal(err)
		}
		if _, readOnly := x.(*pebbleIndex).DiskFull(); readOnly {
			t.Errorf("reserve %d: read only from the start", reserve)
		}
		size := int64(0)
		if info, err := os.Stat(x.(*pebbleIndex).ballast.file()); err == nil {
			size = info.Size()
		}
		if size != reserve/2 {
			t.Errorf("reserve %d: a ballast of %d bytes", reserve, size)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
