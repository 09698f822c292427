package main

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/beagle-go/beagle/internal/inorder"
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

// parts are what the whole time is cut into. Each part is once the short profile, and the others
// together are the long one, which is ten times as long. A part has several windows.
const parts, windowsOfPart = 11, 4

// A partition says which windows a part has.
type partition struct {
	name string
	has  func(part, window int) bool
}

var partitions = []partition{
	{"in one piece", func(part, window int) bool { return window/windowsOfPart == part }},
	{"spread over the whole time", func(part, window int) bool { return window%parts == part }},
}

// hotspotProfiles profiles metricsd under load in windows, one after the other, and compares the
// shares of all hot spots in a short profile with those in one that is ten times as long.
func hotspotProfiles(ctx context.Context, l *lab) (*section, error) {
	svc, err := l.startService(ctx)
	if err != nil {
		return nil, err
	}
	defer svc.stop()
	// Choose the length of a window.
	page, seconds := "http://"+svc.address+"/debug/pprof/profile", 2
	if !l.quick {
		const trialSeconds = 10
		trial, err := l.hotspots(ctx, "--seconds", strconv.Itoa(trialSeconds), page)
		if err != nil {
			return nil, err
		}
		short := enoughSamples / max(trial.Effective, 1) * trialSeconds
		seconds = int(math.Ceil(min(max(short, leastSeconds), mostSeconds) / windowsOfPart))
	}
	// Take the windows, each into a directory of its own.
	windows := make([]string, parts*windowsOfPart)
	for w := range windows {
		windows[w] = filepath.Join(l.dir, "windows", strconv.Itoa(w))
		if _, err := l.hotspots(ctx, "--seconds", strconv.Itoa(seconds), "--save", windows[w], page); err != nil {
			return nil, err
		}
	}
	// Compare each part with the others.
	var all []comparison
	for _, by := range partitions {
		for part := range parts {
			c, err := l.comparePart(ctx, by, part, windows)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	return comparedProfiles(all, seconds), nil
}

// hotspots ranks the service as a user would, with an entry for each function
// that has a sample.
func (l *lab) hotspots(ctx context.Context, args ...string) (*beagle.Hotspots, error) {
	var h beagle.Hotspots
	all := []string{"hotspots", "--json", "-C", filepath.Join(l.root, "metricsd"), "--limit", "0", "--least", "0"}
	err := l.call(ctx, l.home("hotspots"), &h, append(all, args...)...)
	return &h, err
}

// A comparison is that of a short profile with a long one.
type comparison struct {
	by          partition
	short, long float64 // effective samples
	functions   int     // that are compared
	largestOff  float64 // largest difference of a share, in points
	largestAt   string  // the function that it is of
	insideCount int     // functions whose long net share is in the short profile's interval
}

// comparePart ranks a part of the windows, and all others, and compares the two.
func (l *lab) comparePart(ctx context.Context, by partition, part int, windows []string) (comparison, error) {
	var of [2]*beagle.Hotspots
	for i, short := range []bool{true, false} {
		dir, err := os.MkdirTemp(l.dir, "part")
		if err != nil {
			return comparison{}, err
		}
		for w, window := range windows {
			if by.has(part, w) != short {
				continue
			}
			if err := gather(window, dir, w); err != nil {
				return comparison{}, err
			}
		}
		if of[i], err = l.hotspots(ctx, dir); err != nil {
			return comparison{}, err
		}
	}
	c := compareProfiles(of[0], of[1])
	c.by = by
	return c, nil
}

// gather links the profiles of a window into a directory: all are of one instance.
func gather(window, dir string, number int) error {
	files, err := filepath.Glob(filepath.Join(window, "*", "*.pprof"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no profile in %s", window)
	}
	for _, file := range files {
		err = errors.Join(err, os.Link(file, filepath.Join(dir, fmt.Sprintf("%d-%s", number, filepath.Base(file)))))
	}
	return err
}

// compareProfiles compares the flat and cumulative shares of functions.
func compareProfiles(short, long *beagle.Hotspots) comparison {
	c := comparison{short: short.Effective, long: long.Effective}
	of := map[string]beagle.Hotspot{}
	for _, x := range short.Hotspots {
		of[x.Target] = x
	}
	for _, x := range long.Hotspots {
		if 100*x.Cum < leastCompared {
			continue
		}
		c.functions++
		s := of[x.Target]
		if off := 100 * max(math.Abs(s.Flat-x.Flat), math.Abs(s.Cum-x.Cum)); off > c.largestOff {
			c.largestOff, c.largestAt = off, x.Target
		}
		if s.NetLow <= x.Net && x.Net <= s.NetHigh {
			c.insideCount++
		}
	}
	return c
}

// comparedProfiles writes the comparisons as a table. The goal is for a profile in one piece, as it
// is taken by default.
func comparedProfiles(all []comparison, seconds int) *section {
	s := &section{}
	var text strings.Builder
	fmt.Fprintf(&text, "%d windows of %d s, one after the other; each part of %d is once the short profile, "+
		"of %d s.\n\n| short profile | samples, short | samples, long | functions | largest difference, points "+
		"| function | long shares inside the short profile's 95 %% intervals |\n|---|---|---|---|---|---|---|\n",
		parts*windowsOfPart, seconds, windowsOfPart, windowsOfPart*seconds)
	fewest := math.Inf(1)
	off := map[string][]float64{}
	for i, c := range all {
		fmt.Fprintf(&text, "| %s, %d | %.0f | %.0f | %d | %.2f | `%s` | %d of %d |\n",
			c.by.name, i%parts+1, c.short, c.long, c.functions, c.largestOff,
			strings.TrimPrefix(c.largestAt, "github.com/beagle-go/beagle/metricsd/"), c.insideCount, c.functions)
		fewest = min(fewest, c.short)
		off[c.by.name] = append(off[c.by.name], c.largestOff)
	}
	text.WriteString("\n")
	for _, by := range partitions {
		inorder.Sort(off[by.name])
		within, _ := slices.BinarySearch(off[by.name], math.Nextafter(maxOff, math.Inf(1)))
		fmt.Fprintf(&text, "Profiles %s: the largest difference is %.2f points at most, %.2f in the median, and "+
			"within %g points in %d of %d.\n",
			by.name, off[by.name][parts-1], off[by.name][parts/2], maxOff, within, parts)
	}
	// Compute the counting error of a share of 50 %, the largest of all shares.
	fmt.Fprintf(&text, "Counting alone allows %.1f points at a share of 50 %%.\n",
		100*special.Normal95*math.Sqrt(0.25/max(fewest, 1)*1.1))
	s.text = text.String()
	worst := off[partitions[0].name][parts-1]
	switch {
	case fewest < enoughSamples*0.9:
		s.miss("a short profile has %.0f samples, and not %d, which tell shares to 1.4 points: the machine is busy",
			fewest, enoughSamples)
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
