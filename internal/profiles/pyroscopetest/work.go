// Package pyroscopetest checks internal/profiles against the real Pyroscope
// client and the real messages. It is a module of its own, so that nothing
// else links them.
package pyroscopetest

// Work spends processor time.
//
//go:noinline
func Work(n int) (s int) {
	for i := range n {
		s = s*31 ^ i
	}
	return s
}

// Allocate makes garbage.
//
//go:noinline
func Allocate(n int) (out [][]byte) {
	for range n {
		out = append(out, make([]byte, 1024))
	}
	return out
}
