package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/beagle-go/beagle/metricsd/agent"
	"github.com/beagle-go/beagle/metricsd/config"
	"github.com/beagle-go/beagle/metricsd/datadog"
	"github.com/beagle-go/beagle/metricsd/queue"
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
	sinks, deliver, err := outputs(c, log)
	if err != nil {
		return err
	}
	a, err := agent.New(c, log, sinks...)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go reloadOnHangup(ctx, loader, a, log)
	delivered := make(chan struct{})
	go func() { defer close(delivered); deliver.run(ctx) }()
	err = a.Run(ctx)
	<-delivered
	deliver.finish()
	return err
}

// delivery is what runs beside the agent, and what is left to do at the end.
type delivery struct {
	run    func(context.Context)
	finish func()
}

// lastWords is how long the last points may take to be delivered; what is not
// waits on disk.
const lastWords = 5 * time.Second

func outputs(c config.Config, log *slog.Logger) ([]agent.Sink, delivery, error) {
	d := c.Datadog
	if d.URL == "" {
		return nil, delivery{func(context.Context) {}, func() {}}, nil
	}
	q, err := queue.Open(d.Queue, int64(d.QueueBytes))
	if err != nil {
		return nil, delivery{}, err
	}
	o, err := datadog.New(datadog.Options{URL: d.URL, APIKey: d.APIKey, API: d.API, Compression: d.Compression}, q, log)
	if err != nil {
		return nil, delivery{}, err
	}
	finish := func() {
		ctx, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		o.Finish(ctx)
	}
	return []agent.Sink{o}, delivery{o.Run, finish}, nil
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
