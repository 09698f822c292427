package pilot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/probe/wire"
)

// A Crew talks to the processes of a rollout, and to its outside guardrails. It decides nothing.
type Crew struct {
	Clients   []*capture.Client
	Watch     func(context.Context) (hold, end string) // asks the outside guardrails in each beat; may be nil
	Stop      func() bool                              // whether a person wants it to end; may be nil
	CheckSole func() error                             // why it must start no process any more; may be nil
	Beat      time.Duration                            // between heartbeats; default a second
	Warn      func(string)                             // warns a person at once; may be nil
}

// News are a crew's findings. They have a JSON form.
type News struct {
	Round    rollout.Round `json:"round"`
	Seats    []Seat        `json:"seats"`
	Warnings []string      `json:"warnings,omitempty"`
}

// causeStopped is the cause when a person ends a rollout.
const causeStopped = "a person stopped it"

// StopNews returns the news that a person wants the rollout to end.
func StopNews() *News { return &News{Round: rollout.Round{Stop: causeStopped}} }

// Begin starts all processes, or none. A killed controller may leave a lease; Begin waits for its
// end.
func (c *Crew) Begin(ctx context.Context, o *wire.RolloutOrders) (*News, error) {
	if c.Stop != nil && c.Stop() {
		return StopNews(), nil
	}
	n := &News{Seats: make([]Seat, len(c.Clients))}
	for i, at := range c.Clients {
		for tries := 0; ; tries++ {
			err := c.start(ctx, at, o, &n.Seats[i])
			if err == nil {
				break
			}
			var refused *capture.Refusal
			if !errors.As(err, &refused) || !strings.Contains(refused.Why, "another controller") || tries > 15 {
				c.Release(context.WithoutCancel(ctx), n.Seats)
				return nil, fmt.Errorf("nothing was started: %w", err)
			}
			if tries == 0 {
				c.warn(n, err.Error())
			}
			if err := Pause(ctx, time.Second); err != nil {
				c.Release(context.WithoutCancel(ctx), n.Seats)
				return nil, err
			}
		}
	}
	return n, nil
}

// warn notes a warning for a person.
func (c *Crew) warn(n *News, texts ...string) {
	for _, text := range texts {
		n.Warnings = append(n.Warnings, text)
		if c.Warn != nil {
			c.Warn(text)
		}
	}
}

// Pause waits, and returns early with the error of a context that ends.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// start starts a process, if the rollout is still this crew's. One that was paused may wake after
// another has rolled back, so it looks again once the process runs.
func (c *Crew) start(ctx context.Context, at *capture.Client, o *wire.RolloutOrders, s *Seat) error {
	if err := c.checkSole(); err != nil {
		return err
	}
	if err := start(ctx, at, o, s); err != nil {
		return err
	}
	err := c.checkSole()
	if err != nil {
		only := Crew{Clients: []*capture.Client{at}, Warn: c.Warn}
		only.Release(context.WithoutCancel(ctx), []Seat{*s})
		*s = Seat{}
	}
	return err
}

// A lostRollout is an error of a crew whose rollout another controller drives or has ended.
type lostRollout struct{ error }

func (c *Crew) checkSole() error {
	if c.CheckSole == nil {
		return nil
	}
	if err := c.CheckSole(); err != nil {
		return lostRollout{err}
	}
	return nil
}

func start(ctx context.Context, at *capture.Client, o *wire.RolloutOrders, s *Seat) error {
	r, _, err := at.Do(ctx, wire.Request{Verb: wire.VerbRolloutStart, Rollout: o})
	if err != nil {
		return err
	}
	*s = Seat{Lease: r.Rollout.Lease}
	return nil
}

// Listen asks all processes in each beat, until there is something to tell or the time is over.
// held is why the experiment is held so far.
func (c *Crew) Listen(
	ctx context.Context, o *wire.RolloutOrders, seats []Seat, held string, most time.Duration,
) (*News, error) {
	if len(seats) != len(c.Clients) {
		return nil, fmt.Errorf("%d processes have a lease, and %d are named", len(seats), len(c.Clients))
	}
	beat := c.Beat
	if beat == 0 {
		beat = time.Second
	}
	n := &News{Seats: slices.Clone(seats)}
	for start := time.Now(); ; {
		if err := Pause(ctx, beat); err != nil {
			return nil, err
		}
		if c.Stop != nil && c.Stop() {
			n.Round.Stop = causeStopped
			return n, nil
		}
		said, err := c.beat(ctx, o, n)
		if ctx.Err() != nil {
			return nil, ctx.Err() // a canceled request says nothing of the processes
		}
		if err != nil {
			return nil, err
		}
		c.warn(n, said...)
		if n.tells(seats, held) || time.Since(start) >= most {
			return n, nil
		}
	}
}

// beatWithin bounds a beat: a process that hangs must not cost the others their leases.
const beatWithin = 5 * time.Second

// beat asks all processes and outside guardrails at the same time. It returns warnings for a
// person. Its error says that another controller has the rollout.
func (c *Crew) beat(ctx context.Context, o *wire.RolloutOrders, n *News) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, beatWithin)
	defer cancel()
	n.Round.Heard = make([]rollout.ProcessNews, len(c.Clients))
	said, gone := make([][]string, len(c.Clients)), make([]error, len(c.Clients))
	var all sync.WaitGroup
	if c.Watch != nil {
		all.Go(func() { n.Round.Hold, n.Round.End = c.Watch(ctx) })
	}
	for i, at := range c.Clients {
		all.Go(func() {
			a := &processBeat{crew: c, at: at, orders: o, seat: &n.Seats[i],
				heard: rollout.ProcessNews{Process: at.Address}}
			a.ask(ctx)
			n.Round.Heard[i], said[i], gone[i] = a.heard, a.warnings, a.gone
		})
	}
	all.Wait()
	return slices.Concat(said...), errors.Join(gone...)
}

// tells reports whether there is something that must be entered.
func (n *News) tells(seats []Seat, held string) bool {
	if n.Round.Hold != held || n.Round.End != "" || len(n.Warnings) > 0 || !slices.Equal(n.Seats, seats) {
		return true
	}
	return slices.ContainsFunc(n.Round.Heard, func(h rollout.ProcessNews) bool {
		return len(h.Blocks) > 0 || h.Silent > rollout.Patience || h.Tripped != "" || h.Ended != ""
	})
}

// A processBeat is one beat of one process.
type processBeat struct {
	crew     *Crew
	at       *capture.Client
	orders   *wire.RolloutOrders
	seat     *Seat
	heard    rollout.ProcessNews
	warnings []string
	gone     error // the rollout is not the crew's any more
}

func (a *processBeat) warn(format string, args ...any) {
	a.warnings = append(a.warnings, fmt.Sprintf(format, args...))
}

// ask renews the lease of a process and takes its blocks.
func (a *processBeat) ask(ctx context.Context) {
	r, _, err := a.at.Do(ctx, wire.Request{Verb: wire.VerbRolloutBeat, Lease: a.seat.Lease, Rollout: a.orders})
	var refused *capture.Refusal
	if errors.As(err, &refused) {
		err = a.crew.start(ctx, a.at, a.orders, a.seat) // it was started again
	}
	if err != nil {
		a.silent(err)
		return
	}
	a.seat.Lost = time.Time{}
	if r == nil || r.Rollout == nil {
		return
	}
	if n := r.Rollout.Dropped; n > 0 {
		a.warn("%s: %d blocks were dropped, since no controller fetched them in time", a.at.Address, n)
	}
	if why := r.Rollout.NoArmWhy; r.Rollout.NoArm > 0 && why != a.seat.NoArm {
		a.seat.NoArm = why
		a.warn("%s: %d requests got no arm and ran the original: %s", a.at.Address, r.Rollout.NoArm, why)
	}
	a.take(r.Rollout.Blocks)
	a.explainOriginal(ctx, r.Rollout)
}

func (a *processBeat) silent(err error) {
	if errors.As(err, new(lostRollout)) {
		a.gone = err
		return
	}
	if a.seat.Lost.IsZero() {
		a.seat.Lost = time.Now().UTC().Round(0)
		a.warn("lost %v", err)
	}
	a.heard.Silent, a.heard.Fault = time.Since(a.seat.Lost).Seconds(), err.Error()
}

// take brings blocks into the form of the experiment.
func (a *processBeat) take(blocks []wire.RolloutBlock) {
	for _, w := range blocks {
		var b rollout.Block
		text, err := json.Marshal(w)
		if err == nil {
			err = json.Unmarshal(text, &b)
		}
		if err != nil {
			a.warn("a block has no form in JSON: %v", err)
			continue
		}
		b.Received = time.Now()
		a.heard.Blocks = append(a.heard.Blocks, b)
	}
}

// explainOriginal finds out why a process runs the original by itself. A process that heard of no
// controller for a while gets the order to go on.
func (a *processBeat) explainOriginal(ctx context.Context, r *wire.RolloutReply) {
	for _, s := range r.Switches {
		if !wire.Matches(a.orders.Function, s.Function) || s.Running {
			continue
		}
		switch {
		case s.Tripped != "":
			a.heard.Tripped = s.Tripped
		case strings.Contains(s.Ended, "heartbeat"):
			if err := a.crew.start(ctx, a.at, a.orders, a.seat); err != nil {
				a.silent(err)
			}
		default:
			a.heard.Ended = s.Ended
		}
	}
}

// Release has every process run the original.
func (c *Crew) Release(ctx context.Context, seats []Seat) {
	for i, at := range c.Clients {
		if i >= len(seats) || seats[i].Lease == "" || !seats[i].Lost.IsZero() {
			continue
		}
		if _, _, err := at.Do(ctx, wire.Request{Verb: wire.VerbRolloutStop, Lease: seats[i].Lease}); err != nil &&
			c.Warn != nil {
			c.Warn(fmt.Sprintf("%s runs the original when its lease ends, in ten seconds: %v", at.Address, err))
		}
	}
}
