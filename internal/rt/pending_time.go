package rt

import "errors"

// Time is the request of the time mode.
type Time struct{}

func (h *Harness[A, R]) time(*Time) (any, error) { return nil, errors.New("time is not built in") }
