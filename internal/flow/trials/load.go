package trials

import (
	"runtime"
	"sync"
)

// load keeps all processors busy until stop is called: two threads for each,
// one that computes and one that allocates and so empties the caches.
func load() (stop func()) {
	n := runtime.NumCPU()
	before := runtime.GOMAXPROCS(2*n + 1)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { compute(done) })
		wg.Go(func() { allocate(done) })
	}
	return func() {
		close(done)
		wg.Wait()
		runtime.GOMAXPROCS(before)
	}
}

var sink [2]any // so that no work is left out

func compute(done <-chan struct{}) {
	x := uint64(1)
	for !isClosed(done) {
		for range 1 << 16 {
			x ^= x << 13
			x ^= x >> 7
		}
	}
	keep(0, x)
}

func allocate(done <-chan struct{}) {
	lists := make([][]byte, 64)
	for i := 0; !isClosed(done); i++ {
		list := make([]byte, 1<<18)
		for j := 0; j < len(list); j += 64 {
			list[j] = byte(i)
		}
		lists[i%len(lists)] = list
	}
	keep(1, lists)
}

var sinkLock sync.Mutex

func keep(at int, v any) {
	sinkLock.Lock()
	defer sinkLock.Unlock()
	sink[at] = v
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
