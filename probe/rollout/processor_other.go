//go:build !unix

package rollout

// processorNanos is unknown here: without processor time nothing can ship.
func processorNanos() float64 { return 0 }
