package llm

import (
	"context"
	"sync"
	"time"
)

// Caps are the most that a run may use; zero has no limit.
type Caps struct {
	Money  Micros        `json:"micros,omitempty"`
	Tokens int64         `json:"tokens,omitempty"` // prompts and replies together
	Calls  int64         `json:"calls,omitempty"`  // attempts that were sent
	Time   time.Duration `json:"time,omitempty"`   // of all attempts together
}

// Spent is what a run has used.
type Spent struct {
	Money  Micros        `json:"micros"`
	Tokens int64         `json:"tokens"`
	Calls  int64         `json:"calls"`
	Time   time.Duration `json:"time"`
}

// A Budget keeps what is used within its caps: a call is only made when its
// worst case still fits beside all that is under way.
type Budget struct {
	mu       sync.Mutex
	caps     Caps
	spent    Spent
	reserved Spent
}

// NewBudget has those caps, and starts from what was spent before.
func NewBudget(caps Caps, before Spent) *Budget { return &Budget{caps: caps, spent: before} }

// A Limiter bounds how many calls are under way at once.
type Limiter struct{ slots chan struct{} }

// NewLimiter lets n calls run at once, at least one.
func NewLimiter(n int) *Limiter { return &Limiter{slots: make(chan struct{}, max(n, 1))} }

// Take waits for a free slot; the caller gives it back with release.
func (l *Limiter) Take(ctx context.Context) (release func(), err error) {
	select {
	case l.slots <- struct{}{}:
		return func() { <-l.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
