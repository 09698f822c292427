package main

import (
	"context"
	"log/slog"
	"os/signal"
	"syscall"

	"os"

	"github.com/beagle-go/beagle/metricsd/agent"
	"github.com/beagle-go/beagle/metricsd/config"
)

// runAgent works until SIGINT or SIGTERM. SIGHUP reads the limits again.
func runAgent(args []string, s streams) error {
	loader, err := config.NewLoader("agent", args, s.environ, s.err)
	if err != nil {
		return err
	}
	c, err := loader.Load()
	if err != nil {
		return err
	}
	log := c.Log.Logger(s.err)
	a, err := agent.New(c, log)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go reloadOnHangup(ctx, loader, a, log)
	return a.Run(ctx)
}

// reloadOnHangup takes new limits; everything else needs a restart. A file that
// is broken now changes nothing.
func reloadOnHangup(ctx context.Context, loader *config.Loader, a *agent.Agent, log *slog.Logger) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			c, err := loader.Load()
			if err != nil {
				log.Error("the configuration was not read again; the old limits hold", "error", err)
				continue
			}
			a.SetLimits(c.Limits)
			log.Info("new limits", "limits", c.Limits)
		}
	}
}
