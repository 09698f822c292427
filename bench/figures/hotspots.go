package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/special"
)

// maxOff is the goal: how far the share of any hot spot in a short profile
// may be from its share in one that is ten times as long, in points.
const maxOff = 2.0

// leastCompared is the least cumulative share, in percent, of a function that is compared.
const leastCompared = 0.5

// enoughSamples determine a share of 50 % to 1.4 points, at 95 %. The goal is for the largest of
// some 30 differences.
const enoughSamples = 5_000

// leastSeconds and mostSeconds bound the short profile.
const leastSeconds, mostSeconds = 60, 180

// hotspotProfiles takes a short profile of metricsd under load, and one ten
// times as long, and compares the shares of all hot spots.
func hotspotProfiles(ctx context.Context, l *lab) (*section, error) {
	svc, err := l.startService(ctx)
	if err != nil {
		return nil, err
	}
	defer svc.stop()
	seconds := 10
	if !l.quick {
		trial, err := l.hotspots(ctx, svc.address, seconds)
		if err != nil {
			return nil, err
		}
		long := enoughSamples / max(trial.Effective, 1) * float64(seconds)
		seconds = int(min(max(math.Ceil(long), leastSeconds), mostSeconds))
	}
	short, err := l.hotspots(ctx, svc.address, seconds)
	if err != nil {
		return nil, err
	}
	long, err := l.hotspots(ctx, svc.address, 10*seconds)
	if err != nil {
		return nil, err
	}
	return compareProfiles(short, long, seconds), nil
}

// hotspots ranks the service as a user would, with an entry for each function
// that has a sample.
func (l *lab) hotspots(ctx context.Context, address string, seconds int) (*beagle.Hotspots, error) {
	var h beagle.Hotspots
	err := l.call(ctx, l.home("hotspots"), &h, "hotspots", "--json", "-C", filepath.Join(l.root, "metricsd"),
		"--limit", "0", "--least", "0",
		"--seconds", strconv.Itoa(seconds), "http://"+address+"/debug/pprof/profile")
	return &h, err
}

// compareProfiles compares the flat and cumulative shares of functions.
func compareProfiles(short, long *beagle.Hotspots, seconds int) *section {
	type shares struct{ flat, cum float64 }
	of := func(h *beagle.Hotspots) map[string]shares {
		out := map[string]shares{}
		for _, x := range h.Hotspots {
			out[x.Target] = shares{100 * x.Flat, 100 * x.Cum}
		}
		return out
	}
	a, b := of(short), of(long)
	s := &section{}
	var text strings.Builder
	fmt.Fprintf(&text, "%d samples in %d s and %d in %d s.\n\n| hot spot | flat, short | flat, long | cum, "+
		"short | cum, long | off by, points |\n|---|---|---|---|---|---|\n",
		short.Samples, seconds, long.Samples, 10*seconds)
	worst, worstAt := 0.0, ""
	names := slices.SortedFunc(maps.Keys(b), func(x, y string) int {
		if b[x].cum != b[y].cum {
			return int(math.Copysign(1, b[y].cum-b[x].cum))
		}
		return strings.Compare(x, y)
	})
	rows := 0
	for _, name := range names {
		if b[name].cum < leastCompared {
			continue
		}
		off := max(math.Abs(a[name].flat-b[name].flat), math.Abs(a[name].cum-b[name].cum))
		if off > worst {
			worst, worstAt = off, name
		}
		if rows++; rows <= 12 {
			fmt.Fprintf(&text, "| `%s` | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.2f |\n",
				strings.TrimPrefix(name, "github.com/beagle-go/beagle/metricsd/"),
				a[name].flat, b[name].flat, a[name].cum, b[name].cum, off)
		}
	}
	// Compute the counting error of a share of 50 %, the largest of all shares.
	chance := 100 * special.Normal95 * math.Sqrt(0.25/max(short.Effective, 1)+0.25/max(long.Effective, 1))
	fmt.Fprintf(&text, "\nThe largest difference of %d hot spots is %.2f points (`%s`). Counting alone allows "+
		"%.1f points at a share of 50 %%.\n",
		rows, worst, worstAt, chance)
	s.text = text.String()
	switch {
	case short.Effective < enoughSamples:
		s.miss("the short profile has %.0f samples, and not %d, which tell shares to 1.4 points: the machine is busy",
			short.Effective, enoughSamples)
	case worst > maxOff:
		s.miss("a share is off by %.2f points, the goal is %g", worst, maxOff)
	}
	return s
}

// A service is metricsd with traffic.
type service struct {
	address string // of its pages
	stop    func()
}

// startService builds metricsd, starts its agent, and floods it from its own load generator through
// a Unix socket. The number of samples decides how well shares are known, so the service must be
// busy.
func (l *lab) startService(ctx context.Context) (*service, error) {
	// Build metricsd.
	program := filepath.Join(l.dir, "metricsd")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Dir, build.Stderr = filepath.Join(l.root, "metricsd"), os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("build metricsd: %w", err)
	}
	// Choose a free port for its pages.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	listener.Close()
	socket := filepath.Join(l.dir, "metricsd.sock")
	// Start the agent.
	ctx, cancel := context.WithCancel(ctx)
	agent := exec.CommandContext(ctx, program, "agent", "-http", address, "-listen.udp=", "-listen.unixgram", socket)
	agent.Dir, agent.Stderr = l.dir, os.Stderr
	agent.Cancel = func() error { return agent.Process.Signal(syscall.SIGTERM) }
	agent.WaitDelay = 10 * time.Second
	if err := agent.Start(); err != nil {
		cancel()
		return nil, err
	}
	s := &service{address: address, stop: func() { cancel(); agent.Wait() }}
	if err := answers(ctx, "http://"+address+"/healthz"); err != nil {
		s.stop()
		return nil, err
	}
	// Send traffic to it.
	traffic := exec.CommandContext(ctx, program, "load", "-shape", "narrow", "-network", "unixgram", "-address",
		socket, "-for", "1h")
	traffic.Stderr = os.Stderr
	if err := traffic.Start(); err != nil {
		s.stop()
		return nil, err
	}
	s.stop = func() { cancel(); traffic.Wait(); agent.Wait() }
	return s, nil
}

// answers waits until an address answers.
func answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			answer.Body.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
