package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/beagle-go/beagle/metricsd/config"
)

// service is what agent, intake and both of them in one process have in common.
type service struct {
	loader *config.Loader
	config config.Config
	log    *slog.Logger
}

func begin(verb string, args []string, s streams) (*service, error) {
	loader, err := config.NewLoader(verb, args, s.environ, s.err)
	if err != nil {
		return nil, err
	}
	c, err := loader.Load()
	if err != nil {
		return nil, err
	}
	return &service{loader, c, c.Log.Logger(s.err)}, nil
}

// untilSignal is done at SIGINT or SIGTERM.
func untilSignal() (ctx context.Context, stop func()) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}
