package rt

import "errors"

// Replay is the request of the replay mode.
type Replay struct{}

func (h *Harness[A, R]) replay(*Replay) (any, error) { return nil, errors.New("replay is not built in") }
