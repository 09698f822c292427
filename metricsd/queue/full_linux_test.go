package queue

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/metricsd/disk/disktest"
)

// TestAFullDiskCostsNothingThatWasTaken fills the disk under the queue twice. Earlier payloads come
// out afterwards, and a restart on the full disk finds them too.
func TestAFullDiskCostsNothingThatWasTaken(t *testing.T) {
	dir := disktest.Mount(t, "1m")
	q := open(t, dir, 1<<30)
	var taken []string
	payload := func(i int) string { return fmt.Sprint(i, ":", string(bytes.Repeat([]byte("x"), 3000))) }
	i := 0
	for range 2 {
		for range 20 {
			put(t, q, payload(i))
			taken = append(taken, payload(i))
			i++
		}
		room := disktest.Fill(t, dir)
		for range 5 {
			err := q.Put([]byte(payload(i)))
			if err == nil || !strings.Contains(err.Error(), "is the disk full?") ||
				!strings.Contains(err.Error(), dir) {
				t.Fatalf("on a full disk: %v", err)
			}
			i++
		}
		if again := open(t, dir, 1<<30); again.Stats().Items != len(taken) {
			t.Errorf("a start on the full disk finds %d payloads of %d", again.Stats().Items, len(taken))
		}
		room()
	}
	put(t, q, "last")
	if got, want := take(t, q), strings.Join(append(taken, "last"), ","); got != want {
		t.Errorf("%d bytes came out, %d went in", len(got), len(want))
	}
	if s := q.Stats(); s.Damaged != 0 || s.Bytes != 0 {
		t.Errorf("%+v", s)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("files are left: %v", left)
	}
}
