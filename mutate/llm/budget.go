package llm

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Caps bound a run; zero means no limit.
type Caps struct {
	Money  Micros        `json:"micros,omitempty"`
	Tokens int64         `json:"tokens,omitempty"` // prompts and replies together
	Calls  int64         `json:"calls,omitempty"`  // attempts, including those that failed
	Time   time.Duration `json:"time,omitempty"`   // by the clock, since the budget was made
}

// Spent is the use of a run, or a bound for a part of it.
type Spent struct {
	Money  Micros        `json:"micros"`
	Tokens int64         `json:"tokens"`
	Calls  int64         `json:"calls"`
	Time   time.Duration `json:"time"` // by the clock; 0 for a reservation
}

// Add returns the sum of two. A sum that does not fit stays at the largest value.
func (s Spent) Add(t Spent) Spent {
	return Spent{saturatingSum(s.Money, t.Money), saturatingSum(s.Tokens, t.Tokens),
		saturatingSum(s.Calls, t.Calls), saturatingSum(s.Time, t.Time)}
}

func (s Spent) sub(t Spent) Spent {
	return Spent{s.Money - t.Money, s.Tokens - t.Tokens, s.Calls - t.Calls, s.Time - t.Time}
}

// A Budget keeps the use of a run within its caps. It grants a call if the call's worst case fits
// beside the use so far and beside the worst cases of all running calls. So the caps hold exactly,
// however many calls run at once. It ends a call that still runs when the time is over.
type Budget struct {
	mu       sync.Mutex
	caps     Caps
	started  time.Time
	spent    Spent
	reserved Spent
	freed    chan struct{} // closed when a reservation is settled
}

// NewBudget returns a budget with those caps. before is the use of earlier parts of the run.
func NewBudget(caps Caps, before Spent) *Budget {
	return &Budget{caps: caps, started: time.Now(), spent: before, freed: make(chan struct{})}
}

// A Reservation sets aside the worst case of one attempt, until Settle.
type Reservation struct {
	budget *Budget
	worst  Spent
	done   bool
}

// Reserve sets the worst case aside. It waits for running calls if their reserves would be enough.
// An [*Error] of kind [OverBudget] says that the worst case can never fit. An error of the context
// says that it did not fit in time.
func (b *Budget) Reserve(ctx context.Context, worst Spent) (*Reservation, error) {
	for {
		r, freed, err := b.try(worst)
		if r != nil || err != nil {
			return r, err
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (b *Budget) try(worst Spent) (r *Reservation, freed <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.total()
	if over := b.exceededCaps(now.Add(worst)); over != "" {
		return nil, nil, &Error{Kind: OverBudget, Message: "the budget does not cover another call: " + over,
			Remedy: "raise the budget, or take a cheaper model, a shorter prompt or a shorter reply"}
	}
	if b.exceededCaps(now.Add(b.reserved).Add(worst)) != "" {
		return nil, b.freed, nil
	}
	worst.Time = 0
	b.reserved = b.reserved.Add(worst)
	return &Reservation{budget: b, worst: worst}, nil, nil
}

// exceededCaps names the caps that s would exceed.
func (b *Budget) exceededCaps(s Spent) string {
	var out []string
	if b.caps.Money > 0 && (s.Money > b.caps.Money || s.Money < 0) {
		out = append(out, fmt.Sprintf("%v of %v with it", s.Money, b.caps.Money))
	}
	if b.caps.Tokens > 0 && s.Tokens > b.caps.Tokens {
		out = append(out, fmt.Sprintf("%d of %d tokens with it", s.Tokens, b.caps.Tokens))
	}
	if b.caps.Calls > 0 && s.Calls > b.caps.Calls {
		out = append(out, fmt.Sprintf("all %d calls are used up", b.caps.Calls))
	}
	if b.caps.Time > 0 && s.Time >= b.caps.Time {
		out = append(out, fmt.Sprintf("%v of %v have passed", s.Time.Round(time.Millisecond), b.caps.Time))
	}
	return strings.Join(out, ", ")
}

// Settle books the attempt's use and frees the rest. Only the first Settle counts.
func (r *Reservation) Settle(used Spent) {
	b := r.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.done {
		return
	}
	r.done = true
	used.Time = 0
	b.reserved = b.reserved.sub(r.worst)
	b.spent = b.spent.Add(used)
	close(b.freed)
	b.freed = make(chan struct{})
}

// Spent returns what settled attempts used, and the time that has passed.
func (b *Budget) Spent() Spent {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total()
}

func (b *Budget) total() Spent { return b.spent.Add(Spent{Time: time.Since(b.started)}) }

// Reserved returns the worst case of the running calls.
func (b *Budget) Reserved() Spent {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reserved
}

// timeLeft returns how long a call may still take, and false if there is no cap.
func (b *Budget) timeLeft() (time.Duration, bool) {
	return b.caps.Time - b.Spent().Time, b.caps.Time > 0
}

// A Limiter bounds how many calls run at once.
type Limiter struct{ slots chan struct{} }

// NewLimiter lets n calls run at once, at least one.
func NewLimiter(n int) *Limiter { return &Limiter{slots: make(chan struct{}, max(n, 1))} }

// Take waits for a free slot. The caller calls release, once, to give it back.
func (l *Limiter) Take(ctx context.Context) (release func(), err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	select {
	case l.slots <- struct{}{}:
		return sync.OnceFunc(func() { <-l.slots }), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Busy returns how many slots are taken.
func (l *Limiter) Busy() int { return len(l.slots) }
