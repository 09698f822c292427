package uprobe

import (
	"os"
	"strings"
)

// Available returns why this program can't attach uprobes, or nil.
func Available() error {
	k, err := loadKernel(nil, nil)
	if err == nil {
		k.close()
	}
	return err
}

// attach finds the functions, measures the cost of a hit here, and serves controllers.
func attach(o options) (end func(), err error) {
	// Find the functions, and check that their records can be whole.
	token, err := os.ReadFile(o.token)
	if err != nil {
		return nil, err
	}
	b, err := Open(o.pid, o.symbols)
	if err != nil {
		return nil, err
	}
	var all []*Function
	for _, name := range o.names {
		found, err := b.Find(name)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if err := f.CheckVisible(); err != nil && o.records {
				return nil, err
			}
		}
		all = append(all, found...)
	}
	// Measure the cost of a hit, and offer the functions at the socket.
	cost, err := Measure()
	if err != nil {
		return nil, err
	}
	server, err := NewServer(b, all, cost)
	if err != nil {
		return nil, err
	}
	door, err := server.Listen(o.socket, strings.TrimSpace(string(token)))
	if err != nil {
		server.Close()
		return nil, err
	}
	// Serve until the caller ends it.
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
