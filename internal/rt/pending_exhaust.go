package rt

import "errors"

// Exhaust is the request of the exhaust mode.
type Exhaust struct{}

func (h *Harness[A, R]) exhaust(*Exhaust) (any, error) { return nil, errors.New("exhaust is not built in") }
