package rt

import (
	"runtime"
	"time"
	"unsafe"
)

var processBegan = time.Now()

// A ballastNode is a typical small heap object: 64 bytes, a quarter of them
// pointers.
type ballastNode struct {
	next, other *ballastNode
	_           [6]uint64
}

// collectionCost returns the cost of a collection for each live byte. With GOGC at its default of
// 100 one byte is marked for each byte allocated, so it is also the cost of a byte that a call
// allocates: garbage itself is never marked, it only brings the next collection nearer. The live
// heap of the user's service is unknown; a ballast of small linked objects stands for it.
func collectionCost() float64 {
	const nodes = 1 << 18 // 16 MB
	runtime.GC()
	bare := collect(3)
	// Nodes that lead back and forth keep the collector from reading memory in order, as real heaps
	// do.
	ballast := make([]*ballastNode, nodes)
	for i := range ballast {
		ballast[i] = &ballastNode{other: ballast[i*7/8]}
		if i > 0 {
			ballast[i].next = ballast[i-1]
		}
	}
	runtime.GC()
	full := collect(3)
	// Until here the ballast must be alive, or the second collection has nothing to mark.
	runtime.KeepAlive(ballast)
	size := nodes * (unsafe.Sizeof(ballastNode{}) + unsafe.Sizeof(ballast[0]))
	return max(float64(full-bare), 0) / float64(size)
}

// collect returns the processor time of the cheapest of n collections.
func collect(n int) time.Duration {
	best := time.Duration(1 << 62)
	for range n {
		before := ProcessCPU()
		runtime.GC()
		best = min(best, ProcessCPU()-before)
	}
	return best
}
