package bus

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/disk"
	"github.com/beagle-go/beagle/metricsd/disk/disktest"
)

// TestAFullDisk fills the disk under the embedded queue. With a reserve the queue takes messages
// again when there is room, and still has the earlier ones.
func TestAFullDisk(t *testing.T) {
	dir := disktest.Mount(t, "64m")
	b := opened(t)(OpenNATS(t.Context(), NATSOptions{Dir: dir, Bytes: 32 << 20, Reserve: 8 << 20}))
	defer b.Close()
	publish(t, b, 0, 10)
	_, places := readAll(t, b, nil, 10)
	room := disktest.Fill(t, dir)
	for _, err := range []error{b.Publish(t.Context(), []byte("no")), b.Done(t.Context(), places)} {
		if !errors.Is(err, disk.ErrFull) || !strings.Contains(err.Error(), "make room") {
			t.Errorf("on a full disk: %v", err)
		}
	}
	room()
	publish(t, b, 10, 20)
	if all, _ := readAll(t, b, nil, 20); !slices.Equal(all, texts(0, 20)) {
		t.Errorf("read %q", all)
	}
}

// TestADiskThatFillsInTheMidstOfAWrite has no reserve, so that writes repeatedly meet the disk's
// end. Each time the queue closes, says why, and reopens when there is room. Its reader notices
// nothing, and reads everything that was acknowledged.
func TestADiskThatFillsInTheMidstOfAWrite(t *testing.T) {
	dir := disktest.Mount(t, "64m")
	b := opened(t)(OpenNATS(t.Context(), NATSOptions{Dir: dir, Bytes: 48 << 20})).(*natsBus)
	defer b.Close()
	got := make(chan string, 10_000)
	go b.Read(t.Context(), nil, func(m Message) error { got <- string(m.Data[:10]); return nil })
	sent := 0
	text := func(bytes int) []byte { return append(fmt.Appendf(nil, "%010d", sent), make([]byte, bytes)...) }
	var acknowledged []string
	for round := range 3 {
		room := disktest.FillBut(t, dir, 1<<20)
		var err error
		for ; err == nil; sent++ {
			if err = b.Publish(t.Context(), text(30_000)); err == nil {
				acknowledged = append(acknowledged, string(text(0)))
			}
		}
		if errors.Is(err, ErrFull) {
			t.Fatalf("the disk is full, and not the queue: %v", err)
		}
		inTime(t, "the write meets the disk's end, and senders are told", func() bool {
			err := b.Publish(t.Context(), text(0))
			return errors.Is(err, disk.ErrFull) && strings.Contains(err.Error(), "make room")
		})
		if _, err := b.Fill(t.Context()); err == nil {
			t.Error("a queue that is closed tells its fill")
		}
		room()
		inTime(t, "it is open again", func() bool { return b.Publish(t.Context(), text(0)) == nil })
		acknowledged = append(acknowledged, string(text(0)))
		sent++
		if n := b.Reopened(); n != uint64(round+1) {
			t.Errorf("round %d: opened again %d times", round, n)
		}
	}
	t.Logf("%d messages acknowledged, opened again %d times", len(acknowledged), b.Reopened())
	awaits(t, got, acknowledged)
}

// TestAFullQueueIsClosed closes a queue that waits for room.
func TestAFullQueueIsClosed(t *testing.T) {
	dir := disktest.Mount(t, "64m")
	o := NATSOptions{Dir: dir, Bytes: 48 << 20}
	b := opened(t)(OpenNATS(t.Context(), o)).(*natsBus)
	publish(t, b, 0, 10)
	room := disktest.Fill(t, dir)
	inTime(t, "the write meets the disk's end", func() bool {
		return errors.Is(b.Publish(t.Context(), bytes.Repeat([]byte("x"), 100_000)), disk.ErrFull)
	})
	ended := make(chan error, 1)
	go func() { ended <- b.Read(t.Context(), nil, func(Message) error { return nil }) }()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, errClosed) {
		t.Errorf("the reader is told %v", err)
	}
	room()
	again := opened(t)(OpenNATS(t.Context(), o))
	defer again.Close()
	publish(t, again, 10, 20)
	if all, _ := readAll(t, again, nil, 20); !slices.Equal(all, texts(0, 20)) {
		t.Errorf("read %q", all)
	}
}

func inTime(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
