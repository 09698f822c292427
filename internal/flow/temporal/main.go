package temporal

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/fleet"
)

// Main runs the program beagle-temporal: it does what beagle asks for on its standard input, and
// returns its exit status.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	// The terminal sends an interrupt to both programs. Beagle heeds it, and ends
	// this one by closing its input.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	return fleet.Serve(ctx, os.Stdin, os.Stdout, func(s fleet.Session) fleet.Backend {
		return &workingDriver{Driver: Driver{Store: s.Store, Server: s.Server, Watch: s.Watch}, process: s.Process}
	})
}

// A workingDriver is a driver that works as well.
type workingDriver struct {
	Driver
	process int
}

// Work runs a worker until it must stop.
func (e *workingDriver) Work(ctx context.Context, kinds []string) error {
	c, err := Dial(ctx, e.Server)
	if err != nil {
		return err
	}
	defer c.Close()
	kind := flow.MachineKind(flow.ThisMachine(""))
	fmt.Fprintf(os.Stderr, "beagle worker: process %d, store %s, machine class %s\n", e.process, e.Store.Dir(), kind)
	w := &Worker{
		Store: e.Store,
		Kinds: kinds,
		Says:  func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	}
	return w.Serve(ctx, c)
}
