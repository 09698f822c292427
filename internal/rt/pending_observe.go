package rt

import "errors"

// Observe is the request of the observe mode.
type Observe struct{}

func (h *Harness[A, R]) observe(*Observe) (any, error) { return nil, errors.New("observe is not built in") }
