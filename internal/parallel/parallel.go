// Package parallel does independent things at once.
package parallel

import (
	"errors"
	"runtime"
	"sync"
)

// Do calls do with 0 to n-1, as many at once as there are processors, and begins the calls in their
// order. It returns their errors, joined in that order, when all have ended.
func Do(n int, do func(i int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, n)
	slots := make(chan struct{}, runtime.NumCPU())
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(i)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
