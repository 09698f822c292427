package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A lane is a service with a load of its own.
type lane struct {
	arm     string
	service *service
	load    *exec.Cmd
	said    bytes.Buffer  // by the load, of about the messages that it sent
	before  time.Duration // processor time of the service when the load began
	ended   bool
}

// lane begins a load of the given length.
func (s *service) lane(ctx context.Context, binary string, d time.Duration) (*lane, error) {
	l := &lane{service: s, load: exec.CommandContext(ctx, binary, s.loadArgs(d)...)}
	l.load.Stdout = &l.said
	gently(l.load)
	var err error
	if l.before, err = s.processor(); err != nil {
		return nil, err
	}
	return l, l.load.Start()
}

// signal reaches the service and its load, each in a process group of its own: SIGSTOP takes the
// processors from them, SIGCONT gives them back.
func (l *lane) signal(sig syscall.Signal) {
	for _, c := range []*exec.Cmd{l.load, l.service.cmd} {
		_ = syscall.Kill(-c.Process.Pid, sig) // one that has ended needs none
	}
}

// end waits for the end of the load. It returns the service's processor time since the load began,
// and the messages.
func (l *lane) end(ctx context.Context) (seconds, messages float64, err error) {
	l.ended = true
	err = l.load.Wait()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return 0, 0, fmt.Errorf("metricsd load: %w", err)
	}
	if err := pause(ctx, 20*time.Millisecond); err != nil { // the last datagrams
		return 0, 0, err
	}
	after, err := l.service.processor()
	for line := range strings.Lines(l.said.String()) {
		if n, ok := strings.CutPrefix(line, "messages "); ok {
			messages, _ = strconv.ParseFloat(strings.TrimSpace(n), 64)
		}
	}
	if messages == 0 {
		return 0, 0, fmt.Errorf("metricsd load reports no messages: %q", l.said.String())
	}
	return (after - l.before).Seconds(), messages, err
}

// drop continues a stopped service, and ends a load that nobody waited for. A stopped process would
// ignore an interrupt.
func (l *lane) drop() {
	l.signal(syscall.SIGCONT)
	if !l.ended {
		_ = l.load.Process.Kill()
		_ = l.load.Wait()
	}
}
