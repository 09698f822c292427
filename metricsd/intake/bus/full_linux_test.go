package bus

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/metricsd/disk"
	"github.com/beagle-go/beagle/metricsd/disk/disktest"
)

// TestAFullDisk fills the disk under the embedded queue: with a reserve it takes
// messages again when there is room, and what it took before is there.
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

// TestADiskThatFillsInTheMidstOfAWrite has no reserve: the reader is told that only a
// restart helps, and after it all that was acknowledged is there.
func TestADiskThatFillsInTheMidstOfAWrite(t *testing.T) {
	dir := disktest.Mount(t, "64m")
	o := NATSOptions{Dir: dir, Bytes: 32 << 20}
	b := opened(t)(OpenNATS(t.Context(), o))
	publish(t, b, 0, 10)
	ended := make(chan error, 1)
	go func() { ended <- b.Read(t.Context(), nil, func(Message) error { return nil }) }()
	room := disktest.Fill(t, dir)
	var err error
	for i := 0; err == nil && i < 1000; i++ {
		err = b.Publish(t.Context(), bytes.Repeat([]byte("x"), 100_000))
	}
	if err == nil || errors.Is(err, ErrFull) {
		t.Fatalf("on a full disk: %v", err)
	}
	if err := <-ended; !errors.Is(err, errBroken) {
		t.Errorf("the reader is told %v", err)
	}
	b.Close()
	room()
	again := opened(t)(OpenNATS(t.Context(), o))
	defer again.Close()
	publish(t, again, 10, 20)
	if all, _ := readAll(t, again, nil, 20); !slices.Equal(all, texts(0, 20)) {
		t.Errorf("read %q", all)
	}
}
