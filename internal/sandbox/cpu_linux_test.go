package sandbox

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLastCPU checks that the last processor is one that may be used, also when others may not.
func TestLastCPU(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	if cpu := LastCPU(); cpu < 0 || !all.IsSet(cpu) {
		t.Errorf("the last processor is %d", cpu)
	}
	first := 0
	for !all.IsSet(first) {
		first++
	}
	one.Set(first)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &all)
	if cpu := LastCPU(); cpu != first {
		t.Errorf("the last processor is %d, where %d is the only one", cpu, first)
	}
}
