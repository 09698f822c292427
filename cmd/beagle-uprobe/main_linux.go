package main

import (
	"os"
	"strings"

	"github.com/beagle-go/beagle/internal/uprobe"
)

// attach finds the functions, measures what a hit costs here, and serves controllers.
func attach(o options) (end func(), err error) {
	token, err := os.ReadFile(o.token)
	if err != nil {
		return nil, err
	}
	b, err := uprobe.Open(o.pid, o.symbols)
	if err != nil {
		return nil, err
	}
	var all []*uprobe.Function
	for _, name := range o.names {
		found, err := b.Find(name)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if err := f.Whole(); err != nil && o.records {
				return nil, err
			}
		}
		all = append(all, found...)
	}
	cost, err := uprobe.Measure()
	if err != nil {
		return nil, err
	}
	server, err := uprobe.NewServer(b, all, cost)
	if err != nil {
		return nil, err
	}
	door, err := server.Listen(o.socket, strings.TrimSpace(string(token)))
	if err != nil {
		return nil, err
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		server.Run(done)
	}()
	return func() {
		close(done)
		<-stopped
		door.Close()
		os.Remove(o.token)
	}, nil
}
