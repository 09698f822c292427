package pilot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/ledger"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/probe/wire"
)

// An Order holds a person's orders at the start of a rollout.
type Order struct {
	Service   string             `json:"service,omitempty"` // in the ledger
	Cores     float64            `json:"cores,omitempty"`
	Predicted ledger.Saving      `json:"predicted"` // the benchmark's promise
	At        []string           `json:"at"`        // addresses of the processes
	Token     string             `json:"token"`     // file of their token; empty: the environment names it
	Limits    wire.RolloutOrders `json:"limits"`
	Guards    *Guards            `json:"guards,omitempty"` // guardrails outside of the processes
}

// PrometheusToken names the token of the Prometheus server in the environment.
const PrometheusToken = "BEAGLE_PROMETHEUS_TOKEN"

// A Base is a rollout's place in the store.
type Base struct {
	Store *store.Store
	ID    string
}

// Path returns a file of the rollout.
func (b Base) Path(name string) string { return filepath.Join(b.Store.Dir(), "rollouts", b.ID, name) }

// Load reads how the rollout stands.
func (b Base) Load() (*Flight, error) {
	return Load(b.Path("state.json"), "give another --id, or remove the file to begin anew")
}

// Begin stores a new flight. It removes the stop, the orders and the server of an earlier one of
// the same name, which was about other processes.
func (b Base) Begin(f *Flight) error {
	for _, name := range []string{"stop", "order.json", Placed} {
		if err := os.Remove(b.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return b.Save(f)
}

// Placed is the file that names the server whose workflow drives a rollout. The fleet writes it.
const Placed = "temporal.json"

// Save keeps how the rollout stands.
func (b Base) Save(f *Flight) error {
	return b.Store.WriteJSON(b.Path("state.json"), f)
}

// Write writes a file of the rollout whole or not at all.
func (b Base) Write(name string, data []byte) error {
	return b.Store.WriteFile(b.Path(name), data)
}

// Lock takes the rollout for this process: a second driver would undo the decisions of the first.
func (b Base) Lock(what string) (*store.Lock, error) {
	return b.Store.LockPart(b.Path(""), what, "rollout "+b.ID, "wait for it, end it with `beagle rollout stop "+
		b.ID+"`, or give another --id")
}

// SoleController returns a check that no other controller drives the rollout. The caller is at the
// round.
func (b Base) SoleController(round func() int) func() error {
	return func() error {
		f, err := b.Load()
		switch {
		case err != nil:
			return err
		case f.Over():
			return fmt.Errorf("rollout %s is over: %s", b.ID, f.State.Cause)
		}
		return f.CheckRound(round(), b.ID)
	}
}

// Stopped reports whether a person wants the rollout to end.
func (b Base) Stopped() bool {
	_, err := os.Stat(b.Path("stop"))
	return err == nil
}

// Order reads the order of the rollout.
func (b Base) Order() (o Order, err error) {
	err = store.ReadJSON(b.Path("order.json"), &o)
	return o, err
}

// Keep writes the order of the rollout.
func (b Base) Keep(o Order) error {
	return b.Store.WriteJSON(b.Path("order.json"), o)
}

// Crew returns the crew for the processes of an order.
func (b Base) Crew(o *Order) (*Crew, error) {
	clients, err := capture.New(o.At, o.Token)
	if err != nil {
		return nil, err
	}
	c := &Crew{Clients: clients, Stop: b.Stopped}
	if o.Guards != nil {
		o.Guards.Token = os.Getenv(PrometheusToken)
		c.Watch = o.Guards.Ask
	}
	return c, nil
}

// Enter writes a decision that shipped or took back into the ledger. To enter it twice changes
// nothing: the last line of a change counts.
func (b Base) Enter(o *Order, f *Flight, d rollout.Decision, at time.Time) error {
	switch {
	case d.Action == rollout.Ship:
		return b.enter(b.change(o, f, at))
	case d.Action == rollout.RollBack && f.State.Proven != nil:
		c := b.change(o, f, at)
		c.Reverted, c.Why = c.Shipped, d.Cause
		return b.enter(c)
	case d.Action == rollout.RollBack:
		return b.revert(d, at)
	}
	return nil
}

// revert takes back a ship that the ledger has and the state lacks: its controller died between.
func (b Base) revert(d rollout.Decision, at time.Time) error {
	text, err := os.ReadFile(filepath.Join(b.Store.Dir(), "ledger.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	all, err := ledger.Read(bytes.NewReader(text))
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.ID == b.ID && c.Reverted == "" {
			c.Reverted, c.Why = at.UTC().Format(time.DateOnly), d.Cause
			return b.enter(c)
		}
	}
	return nil
}

// change returns the rollout's line of the ledger, with the promised and the proven saving.
func (b Base) change(o *Order, f *Flight, at time.Time) ledger.Change {
	service := o.Service
	if service == "" {
		service = "service"
	}
	c := ledger.Change{ID: b.ID, Service: service, Function: f.Plan.Function, Cores: o.Cores,
		Shipped: at.UTC().Format(time.DateOnly), Predicted: o.Predicted}
	if i, ok := f.State.Proven[rollout.ServiceCPU]; ok && i.N > 1 {
		c.Proven = &ledger.Saving{Estimate: -i.Estimate, Low: max(-10, -i.High), High: min(1, -i.Low)}
	}
	return c
}

func (b Base) enter(c ledger.Change) error {
	line, err := json.Marshal(c)
	if err == nil {
		_, err = ledger.Read(bytes.NewReader(line))
	}
	if err != nil {
		return err
	}
	return store.AppendLine(filepath.Join(b.Store.Dir(), "ledger.jsonl"), c)
}
