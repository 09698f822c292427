package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/beagle-go/beagle/metricsd/agent"
	"github.com/beagle-go/beagle/metricsd/config"
	"github.com/beagle-go/beagle/metricsd/datadog"
	"github.com/beagle-go/beagle/metricsd/deliver"
	"github.com/beagle-go/beagle/metricsd/queue"
	"github.com/beagle-go/beagle/metricsd/remotewrite"
)

// runAgent works until SIGINT or SIGTERM. SIGHUP reads limits and tags again.
func runAgent(args []string, s streams) error {
	run, err := begin("agent", args, s)
	if err != nil {
		return err
	}
	a, outputs, err := openAgent(run.config, run.log)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	defer run.reloadOnHangup(ctx, a.Reload)()
	return runWith(ctx, a, outputs)
}

// openAgent opens an agent and its outputs.
func openAgent(c config.Config, log *slog.Logger) (*agent.Agent, []output, error) {
	outputs, err := openOutputs(c, log)
	if err != nil {
		return nil, nil, err
	}
	sinks := make([]agent.Sink, len(outputs))
	for i, o := range outputs {
		sinks[i] = o
	}
	a, err := agent.New(c, log, sinks...)
	return a, outputs, err
}

// An output takes flushes.
type output interface {
	agent.Sink
	Run(context.Context)
	Finish(context.Context)
}

// openOutputs opens an output for each receiver that has a URL. Each has a queue on disk of its
// own, so that one receiver does not hold up the other.
func openOutputs(c config.Config, log *slog.Logger) (outputs []output, _ error) {
	if d := c.Datadog; d.URL != "" {
		// "auto" becomes another value under `metricsd all`, for its own intake. Other receivers
		// may not read sketches, and a name would get a second series there.
		if d.Sketches == "auto" {
			d.Sketches = "none"
		}
		q, err := queue.Open(d.Queue, int64(d.QueueBytes))
		if err != nil {
			return nil, err
		}
		o, err := datadog.New(datadog.Options{API: d.API, Compression: d.Compression, Sketches: d.Sketches,
			Events: d.Events, Key: d.APIKey, Deliver: deliver.Options{URL: d.URL}}, q, log)
		if err != nil {
			return nil, err
		}
		outputs = append(outputs, o)
	}
	if r := c.RemoteWrite; r.URL != "" {
		q, err := queue.Open(r.Queue, int64(r.QueueBytes))
		if err != nil {
			return nil, err
		}
		o, err := remotewrite.New(remotewrite.Options{Token: r.Token, Deliver: deliver.Options{URL: r.URL}}, q, log)
		if err != nil {
			return nil, err
		}
		outputs = append(outputs, o)
	}
	return outputs, nil
}

// lastWords bounds the delivery of the last points; the rest waits on disk.
const lastWords = 5 * time.Second

// runWith runs the agent and its outputs. The agent flushes last after the outputs have stopped, so
// they get a moment for that.
func runWith(ctx context.Context, a *agent.Agent, outputs []output) error {
	var running sync.WaitGroup
	for _, o := range outputs {
		running.Go(func() { o.Run(ctx) })
	}
	err := a.Run(ctx)
	running.Wait()
	last, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	for _, o := range outputs {
		running.Go(func() { o.Finish(last) })
	}
	running.Wait()
	return err
}
