package bus

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/metricsd/disk"
	"github.com/beagle-go/beagle/metricsd/disk/disktest"
)

// stick lets the removal of read messages meet the disk's end. The server stops in the middle of
// it, and answers nothing.
func stick(t *testing.T) (b *natsBus, places map[int32]int64, o NATSOptions, room func()) {
	o = NATSOptions{Dir: disktest.Mount(t, "64m"), Bytes: 48 << 20}
	b = opened(t)(OpenNATS(t.Context(), o)).(*natsBus)
	publish(t, b, 0, 500)
	_, places = readAll(t, b, nil, 400) // removing them, the server writes more than a page
	room = disktest.Fill(t, o.Dir)
	if err := b.Done(t.Context(), places); err == nil {
		t.Error("what was read was removed: the disk is not full, and the test shows nothing")
	}
	return b, places, o, room
}

// TestARemovalThatMeetsTheDisksEnd does that without a reserve. Senders are asked to make room.
// When there is some, the queue reopens and holds the messages that were not read.
func TestARemovalThatMeetsTheDisksEnd(t *testing.T) {
	b, places, _, room := stick(t)
	defer b.Close()
	inTime(t, "senders are told", func() bool {
		err := b.Publish(t.Context(), []byte("no"))
		return errors.Is(err, disk.ErrFull) && strings.Contains(err.Error(), "make room")
	})
	room()
	inTime(t, "it is open again", func() bool { return b.Publish(t.Context(), []byte(texts(500, 501)[0])) == nil })
	if rest, _ := readAll(t, b, places, 101); !slices.Equal(rest, texts(400, 501)) {
		t.Errorf("read %q", rest)
	}
	if n := b.Reopened(); n != 1 {
		t.Errorf("opened again %d times", n)
	}
	if err := b.Done(t.Context(), places); err != nil {
		t.Error(err)
	}
}

// TestAStuckQueueIsClosed closes a stuck queue and reopens it with room.
func TestAStuckQueueIsClosed(t *testing.T) {
	b, places, o, room := stick(t)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	room()
	again := opened(t)(OpenNATS(t.Context(), o))
	defer again.Close()
	if rest, _ := readAll(t, again, places, 100); !slices.Equal(rest, texts(400, 500)) {
		t.Errorf("read %q", rest)
	}
}
