package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/companion"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// A Driver has beagle-temporal start runs on a server, follow them and work for
// them. It implements [Backend].
type Driver struct {
	Store  *store.Store
	Server Server
	Watch  flow.Watcher
	Log    io.Writer // for a worker's messages
}

var _ Backend = (*Driver)(nil)

// Start begins a run and follows it to its result; see [Backend].
func (d *Driver) Start(ctx context.Context, id string, spec flow.Spec) (*beagle.Result, error) {
	return d.result(ctx, request{Verb: start, Run: id, Spec: &spec})
}

// Resume goes on with a run; see [Backend].
func (d *Driver) Resume(ctx context.Context, id string) (*beagle.Result, error) {
	return d.result(ctx, request{Verb: resume, Run: id})
}

// Cancel stops a run; see [Backend].
func (d *Driver) Cancel(ctx context.Context, id string, enough bool) error {
	_, err := d.ask(ctx, request{Verb: cancel, Run: id, Enough: enough})
	return err
}

// Campaign carries a campaign out until it is over; see [Backend].
func (d *Driver) Campaign(ctx context.Context, id string) error {
	_, err := d.ask(ctx, request{Verb: campaign, Run: id})
	return err
}

// Rollout drives a rollout until it is over; see [Backend].
func (d *Driver) Rollout(ctx context.Context, id string) error {
	_, err := d.ask(ctx, request{Verb: rollout, Run: id})
	return err
}

// RolloutStatus returns how the workflow of a rollout stands; see [Backend].
func (d *Driver) RolloutStatus(ctx context.Context, id string) (RolloutStatus, error) {
	last, err := d.ask(ctx, request{Verb: rolloutStatus, Run: id})
	if err == nil && last.Rollout == nil {
		err = errors.New("beagle-temporal says nothing of the rollout")
	}
	if err != nil {
		return RolloutStatus{}, err
	}
	return *last.Rollout, nil
}

// StopRollout has the workflow of a rollout roll back; see [Backend].
func (d *Driver) StopRollout(ctx context.Context, id string) error {
	_, err := d.ask(ctx, request{Verb: stopRollout, Run: id})
	return err
}

func (d *Driver) result(ctx context.Context, r request) (*beagle.Result, error) {
	last, err := d.ask(ctx, r)
	if err != nil {
		return nil, err
	}
	return last.Result, nil
}

// Work takes work of these kinds until ctx ends.
func (d *Driver) Work(ctx context.Context, kinds []string) error {
	_, err := d.ask(ctx, request{Verb: work, Kinds: kinds})
	return err
}

// patience bounds beagle-temporal's time to stop. A worker gives its work back.
const patience = 40 * time.Second

// ask starts beagle-temporal with a request, passes its events on and returns
// how it ended.
func (d *Driver) ask(ctx context.Context, r request) (*end, error) {
	if err := d.Server.Check(); err != nil {
		return nil, err
	}
	program, err := find()
	if err != nil {
		return nil, err
	}
	r.Protocol, r.Home, r.Server, r.Process = protocol, d.Store.Dir(), d.Server, os.Getpid()
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	c := exec.Command(program)
	if d.Log != nil {
		c.Stderr = d.Log
	}
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	// A failed write means that the program has ended; hear reports that.
	_, _ = in.Write(append(line, '\n'))
	defer context.AfterFunc(ctx, func() {
		in.Close()
		time.AfterFunc(patience, func() { _ = c.Process.Kill() })
	})()
	last, err := d.hear(out)
	in.Close()
	ended := c.Wait()
	if last == nil {
		return nil, errors.Join(fmt.Errorf("%s ended without an answer", program), err, ended)
	}
	return last, last.outcome()
}

// hear passes on beagle-temporal's messages until its end.
func (d *Driver) hear(out io.Reader) (*end, error) {
	lines := json.NewDecoder(bufio.NewReader(out))
	for {
		var r message
		switch err := lines.Decode(&r); {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		case r.End != nil:
			return r.End, nil
		case r.Event != nil && d.Watch != nil:
			d.Watch(*r.Event)
		}
	}
}

// programVariable names the program in the environment.
const programVariable = "BEAGLE_TEMPORAL"

// find returns the path of beagle-temporal.
func find() (string, error) { return companion.Find("beagle-temporal", programVariable, "--temporal") }
