package sandbox

import (
	"bytes"
	"context"
	"errors"
	"sync"
)

var (
	errWall   = errors.New("wall time used up")
	errOutput = errors.New("too much output")
	errDisk   = errors.New("too much written")
	errTasks  = errors.New("too many threads and processes")
)

// capped collects output up to a limit and then ends the program.
type capped struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	limit int64
	stop  context.CancelCauseFunc
}

// Write never fails: the program's own complaint about a closed pipe would
// hide why it was stopped.
func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	if c.limit >= 0 {
		if room := c.limit - int64(c.buf.Len()); int64(n) > room {
			p = p[:max(room, 0)]
			c.stop(errOutput)
		}
	}
	c.buf.Write(p)
	return n, nil
}

func (c *capped) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.buf.Bytes())
}
