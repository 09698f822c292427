package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/beagle-go/beagle/metricsd/freeport"
)

// A service is a running metricsd and its load.
type service struct {
	cmd    *exec.Cmd
	dir    string // of its sockets, whose paths must be short
	http   string
	socket string
	probe  string
	load   *exec.Cmd
}

// serve starts an agent. It is built without a profile for the compiler, like all programs of the
// demo.
func (w *work) serve(ctx context.Context, binary, name string) (_ *service, err error) {
	s := &service{}
	if s.dir, err = os.MkdirTemp("", "demo"); err != nil {
		return nil, err
	}
	// From here on there may be a directory and a process to remove.
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	// The socket's path must be shorter than the results' directory may be, so it lies in a
	// directory of its own.
	s.socket, s.probe = filepath.Join(s.dir, "load.sock"), filepath.Join(s.dir, "probe.sock")
	if s.http, err = freeport.Address("tcp"); err != nil {
		return nil, err
	}
	log, err := os.Create(w.file(name + ".service.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	// Only the load's socket is open: with UDP, two services of a layout would want the same port.
	s.cmd = exec.CommandContext(ctx, binary, "agent", "-listen.udp=", "-listen.unixgram="+s.socket, "-http="+s.http,
		fmt.Sprintf("-listen.cache=%d", w.set.Cache))
	s.cmd.Env = append(w.env(), "BEAGLE_PROBE_SOCKET="+s.probe, "BEAGLE_PROBE_RAW=1")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	gently(s.cmd)
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return nil, err
	}
	return s, s.healthy(ctx)
}

// healthy waits until the service takes messages.
func (s *service) healthy(ctx context.Context) error {
	for range 100 {
		r, err := http.Get("http://" + s.http + "/healthz")
		if err == nil {
			r.Body.Close()
			// The page may be up before the socket.
			if _, err := os.Stat(s.socket); r.StatusCode == http.StatusOK && err == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return errors.New("metricsd does not get healthy within ten seconds; see its log")
}

// loadArgs returns the shape of all load: 3,000 contexts in datagrams of 8 KB, at the service's own
// speed. The sender waits for the service, so no message is lost.
func (s *service) loadArgs(d time.Duration) []string {
	return []string{"load", "-shape", "steady", "-rate", "0", "-network", "unixgram", "-address", s.socket,
		"-for", d.String()}
}

// keepBusy keeps the service busy until it is stopped.
func (s *service) keepBusy(ctx context.Context, binary string) error {
	s.load = exec.CommandContext(ctx, binary, s.loadArgs(time.Hour)...)
	gently(s.load)
	return s.load.Start()
}

// stop ends the load and the service.
func (s *service) stop() {
	for _, c := range []*exec.Cmd{s.load, s.cmd} {
		if c != nil && c.Process != nil {
			_ = c.Process.Signal(os.Interrupt) // it may have ended already
			_ = c.Wait()
		}
	}
	os.RemoveAll(s.dir)
}

// processor returns the processor time of a process so far, user and system.
func (s *service) processor() (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name in parentheses may hold spaces; user and system time are the 12th and 13th after
	// it.
	words := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(words) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has no times", s.cmd.Process.Pid)
	}
	user, err1 := strconv.ParseInt(words[11], 10, 64)
	system, err2 := strconv.ParseInt(words[12], 10, 64)
	const tick = 10 * time.Millisecond // of every Linux that Go runs on
	return time.Duration(user+system) * tick, errors.Join(err1, err2)
}
