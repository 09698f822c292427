package parallel

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
)

func TestDo(t *testing.T) {
	const n = 200
	var running, most, done atomic.Int64
	err := Do(n, func(i int) error {
		now := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		done.Add(1)
		if i == 7 || i == 150 {
			return fmt.Errorf("number %d", i)
		}
		return nil
	})
	if err == nil || err.Error() != "number 7\nnumber 150" {
		t.Errorf("Do returned %q, want both errors in their order", err)
	}
	if done.Load() != n || most.Load() > int64(runtime.NumCPU()) {
		t.Errorf("%d calls, %d at once, want %d, and at most %d at once", done.Load(), most.Load(), n, runtime.NumCPU())
	}
	if err := Do(0, nil); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
}
