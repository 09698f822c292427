package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/beagle-go/beagle/metricsd/agent"
	"github.com/beagle-go/beagle/metricsd/config"
	"github.com/beagle-go/beagle/metricsd/intake"
)

// A service is the common part of the agent, the intake, and both of them in one process.
type service struct {
	loader *config.Loader
	config config.Config
	log    *slog.Logger
}

func begin(verb string, args []string, s streams) (*service, error) {
	loader, err := config.NewLoader(verb, args, s.environ, s.out)
	if err != nil {
		return nil, err
	}
	c, err := loader.Load()
	if err != nil {
		return nil, err
	}
	return &service{loader, c, c.Log.Logger(s.err)}, nil
}

// reloadOnHangup reads and applies the configuration at each SIGHUP, until the returned function is
// called.
func (run *service) reloadOnHangup(ctx context.Context, apply func(config.Config) error) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				run.reload(apply)
			}
		}
	}()
	return func() { signal.Stop(hangup) }
}

// reload takes the settings that can change in a running service; all others need a restart. A
// broken file changes nothing.
func (run *service) reload(apply func(config.Config) error) {
	c, err := run.loader.Load()
	if err == nil {
		err = apply(c)
	}
	if err != nil {
		run.log.Error("the configuration was not read again; the old one holds", "error", err)
		return
	}
	run.log.Info("the configuration was read again; only its limits, tags and customers are taken up",
		"limits", c.Limits,
		"entities", len(c.Tagger.Entities))
}

// reload gives another configuration to an intake and its agent, if there is one. If it returns an
// error, nothing has changed.
func reload(c config.Config, in *intake.Intake, a *agent.Agent) error {
	keys, err := customersOf(c.Intake)
	if err == nil {
		err = in.CheckCustomers(keys)
	}
	if err == nil && a != nil {
		err = a.Reload(c)
	}
	if err != nil {
		return err
	}
	in.SetBounds(boundsOf(c.Intake))
	return in.SetCustomers(keys)
}

// untilSignal returns a context that is done at SIGINT or SIGTERM.
func untilSignal() (ctx context.Context, stop func()) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}
