package capture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// A Pulled holds the captures of one process.
type Pulled struct {
	Address string
	Status  wire.Status // the last one while the session was alive
	Events  []wire.Event
	Lost    string // why contact was lost, or ""
}

// heartbeat is the time between renewals of a lease: a quarter of the lease.
const heartbeat = 2 * time.Second

// A Hold keeps sites of several processes armed.
type Hold struct {
	Start wire.Start
	Long  time.Duration                          // ends by itself after this time
	Keep  bool                                   // take the captured calls out
	Watch func(all []Pulled)                     // called at each heartbeat; may be nil
	Begun func(ctx context.Context, i int) error // called for each process once it is armed, at once; may be nil
	Last  func(ctx context.Context)              // called once, before the sites are disarmed; may be nil
	every time.Duration
}

// Run arms the sites, renews the leases until the time is over or ctx is canceled, and disarms. It
// fails only if a process cannot be armed; then none stays armed. Pulled reports a process that is
// lost later.
func (h *Hold) Run(ctx context.Context, clients []*Client) ([]Pulled, error) {
	every := h.every
	if every == 0 {
		every = heartbeat
	}
	// Arm all processes, or none.
	leases := make([]string, len(clients))
	all := make([]Pulled, len(clients))
	defer h.stop(context.WithoutCancel(ctx), clients, leases)
	if err := Each(clients, func(i int, c *Client) error {
		r, _, err := c.Do(ctx, wire.Request{Verb: wire.VerbStart, Start: &h.Start})
		if err != nil {
			return err
		}
		leases[i], all[i] = r.Lease, Pulled{Address: c.Address, Status: *r.Status}
		if h.Begun != nil {
			return h.Begun(ctx, i)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if h.Last != nil {
		defer h.Last(context.WithoutCancel(ctx))
	}
	// Renew the leases until the end, and pull the captures.
	end := time.NewTimer(h.Long)
	defer end.Stop()
	beat := time.NewTicker(every)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			h.renewLeases(context.WithoutCancel(ctx), clients, leases, all)
			return all, nil
		case <-end.C:
			h.renewLeases(ctx, clients, leases, all)
			return all, nil
		case <-beat.C:
			if ctx.Err() != nil {
				continue
			}
			h.renewLeases(ctx, clients, leases, all)
			if h.isOver(all) {
				return all, nil
			}
		}
	}
}

// isOver reports whether nothing is left to wait for.
func (h *Hold) isOver(all []Pulled) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(p Pulled) bool { return p.Lost == "" && !h.hits(p) })
}

// hits reports whether a process captured all calls that were asked for.
func (h *Hold) hits(p Pulled) bool {
	taken := uint64(0)
	for _, s := range p.Status.Sites {
		if s.Armed && s.Counts != nil {
			taken += s.Counts.Taken
		}
	}
	return h.Start.Hits > 0 && taken >= uint64(h.Start.Hits)
}

// renewLeases renews each lease and takes what waits.
func (h *Hold) renewLeases(ctx context.Context, clients []*Client, leases []string, all []Pulled) {
	_ = Each(clients, func(i int, c *Client) error { // each process keeps its own error
		if all[i].Lost != "" {
			return nil
		}
		r, _, err := c.Do(ctx, wire.Request{Verb: wire.VerbBeat, Lease: leases[i]})
		if err == nil {
			all[i].Status = *r.Status
			if h.Keep {
				err = Drain(ctx, c, &all[i])
			}
		}
		if err != nil {
			all[i].Lost = err.Error()
		}
		return nil
	})
	if h.Watch != nil {
		h.Watch(all)
	}
}

// stop disarms the armed sites.
func (h *Hold) stop(ctx context.Context, clients []*Client, leases []string) {
	_ = Each(clients, func(i int, c *Client) error { // the sites of a lost process disarm themselves
		if leases[i] != "" {
			c.Do(ctx, wire.Request{Verb: wire.VerbStop, Lease: leases[i]})
		}
		return nil
	})
}

// maxEvents bounds the events kept of one process.
const maxEvents = 1 << 20

// Drain takes all waiting calls out of a process.
func Drain(ctx context.Context, c *Client, into *Pulled) error {
	for {
		r, payload, err := c.Do(ctx, wire.Request{Verb: wire.VerbPull})
		if err != nil {
			return err
		}
		events, err := wire.ReadEvents(payload)
		if err != nil {
			return fmt.Errorf("%s: captured calls: %w", c.Address, err)
		}
		into.Status = *r.Status
		into.Events = append(into.Events, events...)
		if len(into.Events) > maxEvents {
			return errors.New("more calls than are kept: stop earlier, or lower --rate")
		}
		if !r.More {
			return nil
		}
	}
}
