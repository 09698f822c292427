package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
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

	"github.com/google/pprof/profile"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/profiles"
	"github.com/beagle-go/beagle/internal/special"
)

// maxOff is the goal: how far the share of any hot spot in a short profile
// may be from its share in one that is ten times as long, in points.
const maxOff = 2.0

// leastCompared is the least cumulative share, in percent, of a function that is compared.
const leastCompared = 0.5

// times says how many times as long as a short profile the long one is: all that was recorded
// beside it.
const times = 10

// choices is how many short profiles of each form are compared.
const choices = 11

// A recording is the profile of a service in windows, one after the other, as long as the slices of
// the plan by which beagle profiles it by default.
type recording struct {
	plan    profiles.Plan
	windows []string // directories
}

// A form says which windows a short profile has.
type form struct {
	name   string
	whole  bool // the windows become one profile, as the service gives it for the whole time
	choose func(r *rand.Rand, of recording) []int
}

var forms = []form{
	{"in one piece (`--seconds`)", true, func(r *rand.Rand, of recording) (chosen []int) {
		first := r.IntN(len(of.windows) - of.plan.Slices + 1)
		for i := range of.plan.Slices {
			chosen = append(chosen, first+i)
		}
		return chosen
	}},
	{"by default", false, func(r *rand.Rand, of recording) []int {
		return spread(r, of.plan, r.IntN(len(of.windows)-of.places(of.plan.Over)+1))
	}},
	{"spread over the whole time (`--over`)", false, func(r *rand.Rand, of recording) []int {
		of.plan.Over = time.Duration(len(of.windows)*of.plan.Seconds) * time.Second
		return spread(r, of.plan, 0)
	}},
}

// places returns how many windows a time has.
func (r recording) places(length time.Duration) int {
	return int(length / (time.Duration(r.plan.Seconds) * time.Second))
}

// spread returns the windows at the moments of a plan that begins with the first.
func spread(r *rand.Rand, plan profiles.Plan, first int) (chosen []int) {
	for i := range plan.Slices {
		chosen = append(chosen, first+recording{plan: plan}.places(plan.Moment(i, r.Float64())))
	}
	return chosen
}

// hotspotProfiles profiles metricsd under load in windows, one after the other, and compares the
// shares of all hot spots in a short profile with those in one that is ten times as long.
func hotspotProfiles(ctx context.Context, l *lab) (*section, error) {
	svc, err := l.startService(ctx)
	if err != nil {
		return nil, err
	}
	defer svc.stop()
	// Plan as beagle does by default, by the rate of samples.
	page := "http://" + svc.address + "/debug/pprof/profile"
	of := recording{plan: profiles.NewPlan(4, 20*time.Second)}
	if !l.quick {
		const trialSeconds = 10
		trial, err := l.hotspots(ctx, "--seconds", strconv.Itoa(trialSeconds), page)
		if err != nil {
			return nil, err
		}
		of.plan = profiles.NewPlan(0, 0).Enough(float64(trial.Samples) / trialSeconds)
	}
	if err := of.record(ctx, filepath.Join(l.dir, "windows"), page); err != nil {
		return nil, err
	}
	// Compare short profiles of each form with all the rest.
	var all []comparison
	for number, f := range forms {
		r := rand.New(rand.NewPCG(l.seed, uint64(number)))
		for range choices {
			c, err := l.compareForm(ctx, f, f.choose(r, of), of)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	return comparedProfiles(all, of.plan, l.seed), nil
}

// record takes the windows, each into a directory of its own. A window without a sample is empty.
func (r *recording) record(ctx context.Context, dir, page string) error {
	r.windows = make([]string, (times+1)*r.plan.Slices)
	missing := 0
	for w := range r.windows {
		r.windows[w] = filepath.Join(dir, strconv.Itoa(w))
		all, err := profiles.Read(ctx, []string{page}, profiles.Options{Seconds: r.plan.Seconds})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			err = profiles.Save(r.windows[w], all)
		default:
			if missing++; missing <= len(r.windows)/10 {
				err = nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
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
	by          form
	short, long float64 // effective samples
	functions   int     // that are compared
	largestOff  float64 // largest difference of a share, in points
	largestAt   string  // the function that it is of
	insideCount int     // functions whose long net share is in the short profile's interval
}

// compareForm ranks the chosen windows, and all others, and compares the two.
func (l *lab) compareForm(ctx context.Context, f form, chosen []int, of recording) (comparison, error) {
	var ranked [2]*beagle.Hotspots
	for i, short := range []bool{true, false} {
		dir, err := os.MkdirTemp(l.dir, "part")
		if err != nil {
			return comparison{}, err
		}
		for w, window := range of.windows {
			if slices.Contains(chosen, w) == short {
				err = errors.Join(err, gather(window, dir, w))
			}
		}
		if short && f.whole {
			err = errors.Join(err, join(dir))
		}
		if err != nil {
			return comparison{}, err
		}
		if ranked[i], err = l.hotspots(ctx, dir); err != nil {
			return comparison{}, err
		}
		os.RemoveAll(dir)
	}
	c := compareProfiles(ranked[0], ranked[1])
	c.by = f
	return c, nil
}

// gather links the profiles of a window into a directory: all are of one instance.
func gather(window, dir string, number int) error {
	files, err := filepath.Glob(filepath.Join(window, "*", "*.pprof"))
	for _, file := range files {
		err = errors.Join(err, os.Link(file, filepath.Join(dir, fmt.Sprintf("%d-%s", number, filepath.Base(file)))))
	}
	return err
}

// join makes one profile of all in a directory.
func join(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.pprof"))
	if err != nil {
		return err
	}
	var all []*profile.Profile
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		p, err := profile.ParseData(data)
		if err != nil {
			return err
		}
		all = append(all, p)
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	whole, err := profile.Merge(all)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := whole.Write(&b); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "whole.pprof"), b.Bytes(), 0o666)
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
		s, seen := of[x.Target]
		if !seen { // no sample is compatible with a small share
			_, s.NetHigh = special.Wilson(0, short.Effective)
		}
		if off := 100 * max(math.Abs(s.Flat-x.Flat), math.Abs(s.Cum-x.Cum)); off > c.largestOff {
			c.largestOff, c.largestAt = off, x.Target
		}
		if s.NetLow <= x.Net && x.Net <= s.NetHigh {
			c.insideCount++
		}
	}
	return c
}

// comparedProfiles writes the comparisons as tables. The goal is for profiles as they are taken by
// default.
func comparedProfiles(all []comparison, plan profiles.Plan, seed uint64) *section {
	s := &section{}
	// List all short profiles.
	fewest := math.Inf(1)
	by := map[string][]comparison{}
	var rows [][]string
	for _, c := range all {
		by[c.by.name] = append(by[c.by.name], c)
		fewest = min(fewest, c.short)
		rows = append(rows, []string{fmt.Sprintf("%s, %d", c.by.name, len(by[c.by.name])),
			fmt.Sprintf("%.0f", c.short), fmt.Sprintf("%.0f", c.long), strconv.Itoa(c.functions),
			fmt.Sprintf("%.2f", c.largestOff),
			"`" + strings.TrimPrefix(c.largestAt, "github.com/beagle-go/beagle/metricsd/") + "`",
			fmt.Sprintf("%d of %d", c.insideCount, c.functions)})
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d windows of %d s, one after the other. A short profile has %d of them, drawn with the seed "+
		"%d; by default they lie within %v. The other windows are the long one, %d times as long.\n\n",
		(times+1)*plan.Slices, plan.Seconds, plan.Slices, seed, plan.Over, times)
	text.WriteString(table([]string{"short profile", "samples, short", "samples, long", "functions",
		"largest difference, points", "function", "long shares inside the short profile's 95 % intervals"}, rows))
	text.WriteString("\n")
	// Sum up each form.
	rows = nil
	for _, f := range forms {
		var off []float64
		inside, functions := 0, 0
		for _, c := range by[f.name] {
			off = append(off, c.largestOff)
			inside, functions = inside+c.insideCount, functions+c.functions
		}
		inorder.Sort(off)
		within, _ := slices.BinarySearch(off, math.Nextafter(maxOff, math.Inf(1)))
		rows = append(rows, []string{f.name, fmt.Sprintf("%.2f points", off[len(off)-1]),
			fmt.Sprintf("%.2f", off[len(off)/2]), fmt.Sprintf("%d of %d", within, len(off)),
			fmt.Sprintf("%d of %d (%.0f %%)", inside, functions, 100*float64(inside)/float64(max(functions, 1)))})
		if f.name == forms[1].name && within < len(off) {
			s.miss("by default a share is off by %.2f points, the goal is %g: %d of %d profiles reach it",
				off[len(off)-1], maxOff, within, len(off))
		}
	}
	text.WriteString(table([]string{fmt.Sprintf("%d profiles", choices), "largest difference, at most", "in the median",
		fmt.Sprintf("within %g points", maxOff), "long net shares inside the 95 % intervals"}, rows))
	// Compute the counting error of a share of 50 %, the largest of all shares.
	fmt.Fprintf(&text, "\nCounting alone allows %.1f points at a share of 50 %%.\n",
		100*special.Normal95*math.Sqrt(0.25/max(fewest, 1)*(1+1.0/times)))
	if fewest < profiles.EnoughSamples*0.9 {
		s.miss("a short profile has %.0f samples, and not %d, which tell shares to 1.4 points: the machine is busy",
			fewest, profiles.EnoughSamples)
	}
	s.text = text.String()
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
