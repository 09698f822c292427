package capture

import (
	"errors"
	"sync"
)

// Each calls do for all clients at once, and joins the errors in the order of the clients. So a
// dead process neither hides the others nor keeps them waiting until their leases are over.
func Each(clients []*Client, do func(i int, c *Client) error) error {
	errs := make([]error, len(clients))
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() { errs[i] = do(i, c) })
	}
	all.Wait()
	return errors.Join(errs...)
}
