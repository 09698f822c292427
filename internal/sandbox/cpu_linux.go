package sandbox

import "golang.org/x/sys/unix"

// LastCPU returns the number of the last processor that this process may run on, -1 when the system
// does not tell. In a container or under taskset it is not one less than their count.
func LastCPU() int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return -1
	}
	last := -1
	for cpu := range 64 * len(set) {
		if set.IsSet(cpu) {
			last = cpu
		}
	}
	return last
}
