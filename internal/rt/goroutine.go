package rt

import "runtime"

// GoroutineID returns the number of the goroutine that calls it.
func GoroutineID() uint64 { return goroutineID() }

// goroutineID reads "goroutine 17 [running]".
func goroutineID() (id uint64) {
	var buf [32]byte
	n := runtime.Stack(buf[:], false)
	for _, c := range buf[len("goroutine "):n] {
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + uint64(c-'0')
	}
	return id
}
