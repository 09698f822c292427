package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/store"
)

var workerCommand = &command{
	name:  "worker",
	short: "work for runs on a Temporal server",
	long: `
Takes work of runs that were started with 'beagle evolve --temporal', until a signal stops
it. Workers share the store: BEAGLE_HOME must be the same directory for all of them and
for 'beagle evolve' (docs/fleet.md).

Kinds of work: llm (make candidates), build (record inputs, write reports), verify (the
full verification), and bench (all that is timed: one thing at a time, and one worker of a
machine). Give bench a machine of its own: nothing disturbs its measurements there.

The work is done by the program beagle-temporal, which lies beside beagle or on the PATH,
or which BEAGLE_TEMPORAL names.

Examples:
  beagle worker --temporal temporal.internal:7233
  beagle worker --temporal temporal.internal:7233 --queues bench
  beagle worker --temporal temporal.internal:7233 --queues llm,build,verify

Exit status: 0 when a signal stopped it (interrupt or SIGTERM), 1 when something failed, 2
for bad input.`,
}

func init() { workerCommand.run = runWorker }

// serverFlags declares the flags that name a Temporal server.
func serverFlags(f *flagSet, s *fleet.Server) {
	f.StringVar(&s.Address, "temporal", "", "`host:port` of a Temporal server (docs/fleet.md)")
	f.StringVar(&s.Namespace, "namespace", "default", "namespace on the Temporal server")
}

// runWorker takes work from a Temporal server until a signal stops it.
func runWorker(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	var server fleet.Server
	kinds := fleet.Kinds
	f := c.flags(std)
	serverFlags(f, &server)
	f.Var(listFlag{&kinds}, "queues", "`kinds` of work to take, separated by commas")
	if _, err := parse(f, args, 0, 0); err != nil {
		return exitUsage, err
	}
	// Other commands can do without a server; a worker has no other source of work.
	if server.Address == "" {
		return exitUsage, &beagle.UsageError{
			What:   "no server is named",
			Remedy: "give --temporal host:port (docs/fleet.md)",
		}
	}
	s, err := openStore()
	if err != nil {
		return exitNo, err
	}
	d := &fleet.Driver{Store: s, Server: server, Log: std.err}
	if err := d.Work(ctx, kinds); err != nil {
		return exitNo, err
	}
	return exitOK, nil
}

// fleetOptions say that a run goes to a fleet, and under which name.
type fleetOptions struct {
	server fleet.Server
	id     string
}

// flags declares the flags of a run on a fleet.
func (o *fleetOptions) flags(f *flagSet) {
	serverFlags(f, &o.server)
	f.StringVar(&o.id, "run-id", "", "with --temporal: `name` of the run; a second start of a name follows the first")
}

// onServer reports whether the run goes to a fleet, and refuses what only makes
// sense if it does.
func (o *fleetOptions) onServer() (bool, error) {
	if o.server.Address == "" && o.id != "" {
		return false, &beagle.UsageError{
			What:   "--run-id is for runs on a Temporal server",
			Remedy: "give --temporal host:port too, or leave --run-id out",
		}
	}
	return o.server.Address != "", nil
}

// withFleet follows a run on a server, and shows and keeps its result.
func withFleet(
	std stdio, o evolveOptions, server fleet.Server, run func(*fleet.Driver) (*beagle.Result, error),
) (int, error) {
	s, err := openStore()
	if err != nil {
		return exitNo, err
	}
	p := newProgress(std.err, o.quiet)
	result, err := run(&fleet.Driver{Store: s, Server: server, Watch: p.watch, Log: p})
	p.stop()
	// The server carries the run on when this command ends: only its own word stops it.
	var away *fleet.Detached
	var stopped *fleet.Canceled
	switch {
	case errors.As(err, &away):
		fmt.Fprintf(std.err,
			"\nThe run goes on without you. Follow it again, or stop it, with:\n  beagle resume %s\n"+
				"  beagle cancel %[1]s\n", away.Run)
		return exitInterrupted, nil
	case errors.As(err, &stopped):
		fmt.Fprintf(std.err, "\nStopped; nothing is lost. Go on with:\n  beagle resume %s\n", stopped.Run)
		return exitInterrupted, nil
	case err != nil:
		return exitNo, err
	}
	return deliver(std, s, result, o)
}

// findServer finds the server of a run, if it is on one.
func findServer(id string) (*fleet.Driver, store.Run, bool, error) {
	s, err := openStore()
	if err != nil {
		return nil, store.Run{}, false, err
	}
	entry, err := s.Run(id)
	if err != nil {
		return nil, entry, false, err
	}
	at, ok, err := fleet.ServerOf(s, entry.ID)
	return &fleet.Driver{Store: s, Server: at}, entry, ok, err
}
