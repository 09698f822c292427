package pilot

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/probe/wire"
)

// A Pilot is the engine that carries a rollout out in this process.
type Pilot struct {
	Crew
	Flight *Flight
	Limits wire.RolloutOrders     // slice, guard, turns and limits; the rest is filled in
	Save   func(*Flight) error    // called after every round
	Told   func(rollout.Decision) // called when a decision changes something; may be nil

	mu  sync.Mutex
	ctx context.Context
}

// Run carries the rollout out until it is over or ctx ends. In each case it orders the processes to
// run the original. It returns the last decision.
func (p *Pilot) Run(ctx context.Context) (rollout.Decision, error) {
	p.ctx = ctx
	p.Flight.ForgetLeases()
	at, err := Fly(p, p.Flight.Leg())
	return at.Decision, err
}

// Begin starts the processes; see [Engine].
func (p *Pilot) Begin() (*News, error) { return p.Crew.Begin(p.ctx, p.Flight.Orders(p.Limits)) }

// Listen returns one beat; see [Engine].
func (p *Pilot) Listen() (*News, error) {
	return p.Crew.Listen(p.ctx, p.Flight.Orders(p.Limits), p.Flight.Log.Seats, p.Flight.State.Held, 0)
}

// Enter decides and keeps the state; see [Engine].
func (p *Pilot) Enter(n *News) (Leg, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.Flight.Enter(n, time.Now()) {
		if p.Told != nil {
			p.Told(d)
		}
	}
	if err := p.Save(p.Flight); err != nil {
		return p.Flight.Leg(), fmt.Errorf("the state cannot be kept, so the rollout ends: %w", err)
	}
	return p.Flight.Leg(), nil
}

// Rest is for engines that end before the rollout does.
func (p *Pilot) Rest() bool { return false }

// Release has every process run the original; see [Engine].
func (p *Pilot) Release() { p.Crew.Release(context.WithoutCancel(p.ctx), p.Flight.Log.Seats) }

// Standing lets f look at the experiment and the last decision, while Run is at work.
func (p *Pilot) Standing(f func(*rollout.Experiment, rollout.Decision)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.Flight.Experiment, p.Flight.Log.Last)
}
