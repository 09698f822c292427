package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/beagle-go/beagle/metricsd/config"
)

// runAll runs an agent that sends to an intake in the same process. It embeds the parts that the
// configuration does not name.
func runAll(args []string, s streams) error {
	run, err := begin("all", args, s)
	if err != nil {
		return err
	}
	// The intake has to outlive the agent, whose last flush it takes.
	rest, stopIntake := context.WithCancel(context.Background())
	defer stopIntake()
	in, err := openIntake(rest, run.config.Intake, run.log)
	if err != nil {
		return err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- in.Run(rest) }()

	a, outputs, err := openAgent(guardLike(sendTo(run.config, in.Address())), run.log)
	if err != nil {
		stopIntake()
		return errors.Join(err, <-stopped)
	}
	ctx, stop := untilSignal()
	defer stop()
	ctx, failed := context.WithCancel(ctx)
	defer failed()
	ended := make(chan error, 1)
	go func() { // a failed intake stops the agent: half a service looks like a whole one
		ended <- <-stopped
		failed()
	}()
	defer run.reloadOnHangup(ctx, func(c config.Config) error {
		return reload(c, in, a)
	})()
	fmt.Fprintf(s.out, "send to %s, look at http://%s/\n", run.config.Listen.UDP, in.Address())
	err = runWith(ctx, a, outputs)
	stopIntake()
	return errors.Join(err, <-ended)
}

// guardLike protects the agent's pages by the intake's token, unless they have one of their own:
// they show what the intake's pages show, and values besides.
func guardLike(c config.Config) config.Config {
	if c.HTTPToken == "" {
		c.HTTPToken = c.Intake.Token
	}
	return c
}

// sendTo points the agent's Datadog output at an intake, unless it has a target of
// its own.
func sendTo(c config.Config, address string) config.Config {
	if c.Datadog.URL == "" {
		c.Datadog.URL, c.Datadog.APIKey, c.Datadog.Compression = "http://"+address, c.Intake.Token, "zstd"
		if c.Datadog.Sketches == "auto" { // this receiver knows sketches, and each name stays one name
			c.Datadog.Sketches = "distributions"
		}
	}
	if c.Datadog.Queue == "" {
		c.Datadog.Queue = filepath.Join(filepath.Dir(filepath.Clean(c.Intake.Queue.Dir)), "outbox")
	}
	return c
}
