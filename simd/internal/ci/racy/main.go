// Racy writes a buffer while a kernel reads it. Built with -race it must exit
// with the race detector's status, 66.
package main

import (
	"sync"

	"github.com/beagle-go/beagle/simd"
)

func main() {
	b := make([]byte, 4096)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range b {
			b[i] = 'x'
		}
	})
	wg.Go(func() { simd.ASCII(b) })
	wg.Wait()
}
