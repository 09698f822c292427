package pilot

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/probe/wire"
)

// TestPaused: a controller that was paused past its lease does not start the candidate again, when
// another one has rolled back meanwhile or goes on. A person's stop comes before any start.
func TestPaused(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e, err := rollout.New(rollout.Plan{Function: "m/p.Work", Build: "b1", Ramp: []float64{0.3}})
	if err != nil {
		t.Fatal(err)
	}
	b, f := Base{Store: s, ID: "x"}, &Flight{Experiment: *e}
	if err := b.Save(f); err != nil {
		t.Fatal(err)
	}
	o := f.Orders(wire.RolloutOrders{Slice: 4, Turns: 3, Lease: 3})
	crew := &Crew{Clients: []*capture.Client{service(t, same)}, Beat: 50 * time.Millisecond, Stop: b.Stopped,
		CheckSole: b.SoleController(func() int { return 0 })}
	look := func() *wire.RolloutSwitch {
		held, err := Look(t.Context(), crew.Clients, "p.Work")
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	running := func() bool { return look().Running }
	news, err := crew.Begin(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for running() { // paused until the lease ends
		time.Sleep(50 * time.Millisecond)
	}
	if g := look(); !strings.Contains(g.Ended, "no heartbeat") {
		t.Fatalf("it began, and was paused: %+v", g)
	}
	was := news.Seats[0].Lease
	if news, err = crew.Listen(t.Context(), o, news.Seats, "", 0); err != nil || news.Seats[0].Lease == was {
		t.Fatalf("alone it goes on: %v", err)
	}
	crew.Release(t.Context(), news.Seats)
	for _, other := range []func(){
		func() { f.Log.Round = 1 },
		func() { f.Log.Round = 0; f.Enter(StopNews(), time.Now()) },
	} {
		other()
		if err := b.Save(f); err != nil {
			t.Fatal(err)
		}
		news := &News{Seats: []Seat{{Lease: "gone"}}}
		_, err := crew.Listen(t.Context(), o, news.Seats, "", 0)
		if err == nil || !strings.Contains(err.Error(), "x is ") {
			t.Errorf("with another controller: %v", err)
		}
		if _, err := crew.Begin(t.Context(), o); err == nil || running() {
			t.Errorf("it begins beside another controller: %v", err)
		}
	}
	if err := b.Write("stop", nil); err != nil {
		t.Fatal(err)
	}
	if n, err := crew.Begin(t.Context(), o); err != nil || n.Round.Stop == "" || running() {
		t.Errorf("with a stop: %+v, %v", n, err)
	}
}

// TestLock: one process drives a rollout, and another one drives another rollout.
func TestLock(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := Base{Store: s, ID: "x"}
	first, err := b.Lock("first")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Lock("second"); err == nil || !strings.Contains(err.Error(), "rollout x is in use by process") {
		t.Errorf("a second one: %v", err)
	}
	if other, err := (Base{Store: s, ID: "y"}).Lock("other"); err != nil {
		t.Error(err)
	} else if err := other.Unlock(); err != nil {
		t.Error(err)
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	if again, err := b.Lock("third"); err != nil {
		t.Error(err)
	} else {
		again.Unlock()
	}
}

func TestPause(t *testing.T) {
	if err := Pause(t.Context(), time.Millisecond); err != nil {
		t.Errorf("Pause returned %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Pause(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("Pause returned %v, want the context's error", err)
	}
}
