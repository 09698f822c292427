package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/beagle-go/beagle/metricsd/config"
	"github.com/beagle-go/beagle/metricsd/intake"
	"github.com/beagle-go/beagle/metricsd/intake/bus"
	"github.com/beagle-go/beagle/metricsd/intake/customer"
	"github.com/beagle-go/beagle/metricsd/intake/index"
	"github.com/beagle-go/beagle/metricsd/intake/wire"
)

// runIntake works until SIGINT or SIGTERM. SIGHUP reads its bounds again.
func runIntake(args []string, s streams) error {
	run, err := begin("intake", args, s)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	in, err := openIntake(ctx, run.config.Intake, run.log)
	if err != nil {
		return err
	}
	defer run.reloadOnHangup(ctx, func(c config.Config) error {
		return reload(c, in, nil)
	})()
	return in.Run(ctx)
}

// customersOf reads the key file; nil without one.
func customersOf(c config.Intake) (*customer.Keys, error) {
	if c.Customers == "" {
		return nil, nil
	}
	return customer.Load(c.Customers)
}

// boundsOf returns the settings that can change while the intake runs.
func boundsOf(c config.Intake) intake.Bounds {
	limits := wire.DefaultLimits()
	limits.Body, limits.Opened = int64(c.Body), int64(c.Opened)
	return intake.Bounds{Limits: limits, Requests: c.Requests, Pending: c.Pending}
}

// openIntake opens queue, index and door as the configuration says.
func openIntake(ctx context.Context, c config.Intake, log *slog.Logger) (*intake.Intake, error) {
	keys, err := customersOf(c)
	if err != nil {
		return nil, err
	}
	b, err := openBus(ctx, c, log)
	if err != nil {
		return nil, err
	}
	x, err := openIndex(ctx, c)
	if err != nil {
		b.Close()
		return nil, err
	}
	in, err := intake.New(c.HTTP, intake.Options{
		Token: c.Token, Bounds: boundsOf(c), Customers: keys, Names: c.Names, CustomerNames: c.CustomerNames,
		Verbatim: c.Verbatim,
		Flush:    time.Duration(c.Flush) * time.Second, Remember: time.Duration(c.Remember) * time.Hour,
		Retention: time.Duration(c.Retention) * 24 * time.Hour,
	}, b, x, log)
	if err != nil {
		b.Close()
		x.Close()
	}
	return in, err
}

func openBus(ctx context.Context, c config.Intake, log *slog.Logger) (bus.Bus, error) {
	q := c.Queue
	if q.Kafka != "" {
		return bus.OpenKafka(ctx, bus.KafkaOptions{
			Brokers: strings.Split(q.Kafka, ","), Topic: q.Topic, Partitions: int32(q.Partitions),
			Replicas: int16(q.Replicas), Log: log,
		})
	}
	if err := os.MkdirAll(q.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("intake.queue.dir: %w; choose a directory that can be written", err)
	}
	return bus.OpenNATS(ctx,
		bus.NATSOptions{Dir: q.Dir, Bytes: int64(q.Bytes), Sync: q.Sync, Reserve: int64(c.Reserve), Log: log})
}

// openIndex opens the index. It may use more of the reserve than the queue, so that acknowledged
// points are still counted when the queue refuses messages.
func openIndex(ctx context.Context, c config.Intake) (index.Index, error) {
	i := c.Index
	if i.Postgres != "" {
		return index.OpenPostgres(ctx, i.Postgres)
	}
	if err := os.MkdirAll(i.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("intake.index.dir: %w; choose a directory that can be written", err)
	}
	return index.OpenPebble(index.PebbleOptions{Dir: i.Dir, Reserve: int64(c.Reserve) / 2})
}
