package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/companion"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/profiles"
	"github.com/beagle-go/beagle/internal/settings"
	"github.com/beagle-go/beagle/internal/tail"
)

var hotspotsCommand = &command{
	name: "hotspots", args: "SOURCE...",
	short: "rank the functions of a service by their cost a year",
	long: `
Reads profiles and ranks the functions of your own code by money. A SOURCE is a file, a
directory of profiles (each directory in it is one instance), the address of a running
service with net/http/pprof, or a profile store. Profiles are added up, weighted by the
instances that they stand for: 40@cpu.pprof stands for 40.

  flat   time in the function's own instructions
  cum    time in it and all that it calls
  net    time in it and in callees without an entry of their own, with the garbage
         collection that it causes. No time counts twice, so all net shares add up to
         100 % at most.

A live profile is spread over five minutes, in many short slices: the load of a service
drifts, and one piece knows one moment of it. The service is profiled for one or two
minutes of that. Ctrl-C ranks what was taken until then. --seconds alone takes one piece.

beagle.yaml in the checkout says how a service scales and what it costs
(docs/hotspots.md).

Examples:
  beagle hotspots cpu.pprof
  beagle hotspots --price aws/c7g 40@eu/ 12@us/
  beagle hotspots --save profiles/ http://localhost:6060
  beagle hotspots --seconds 30 http://localhost:6060
  beagle hotspots --over 20m http://localhost:6060
  beagle hotspots 'pyroscope+https://pyroscope.example?service=intake&from=now-24h'
  beagle hotspots --heads --across cpu.pprof
  beagle hotspots --why tags.Normalize cpu.pprof
  beagle hotspots --diff before.pprof after.pprof
  beagle hotspots --html flame.html cpu.pprof

Exit status:
  0    ranked
  2    bad input; --why: the function is in none of the profiles
  130  interrupted before there was a profile`,
}

func init() { hotspotsCommand.run = runHotspots }

// hotspotFlags holds the command line.
type hotspotFlags struct {
	dir, own, kind, config, service string
	price, why, diff, calls, binary string
	html, save                      string
	flame                           string // path of the program that draws html
	seconds, limit                  int
	over                            time.Duration
	instances, cores, least         float64
	asJSON, quiet                   bool
	leastSet, overSet               bool
	heads, across                   bool
}

// add declares the flags of beagle hotspots.
func (h *hotspotFlags) add(f *flagSet) {
	// The service: its code, its profile, and its price.
	f.StringVar(&h.dir, "C", ".", "the checkout that was profiled: a `directory` in its module")
	f.StringVar(&h.own, "own", "",
		"import path `prefixes` of your own code, with commas; the checkout's module by default")
	f.StringVar(&h.kind, "kind", "", "rank by this `kind`: cpu, alloc, block or mutex; cpu when there is a CPU profile")
	f.StringVar(&h.config, "config", "", "`file` with services; "+settings.Name+" of the checkout by default")
	f.StringVar(&h.service, "service", "", "`name` of the service in that file; needed when it has several")
	f.StringVar(&h.price, "price", "", "`price` of an hour of one core: 0.04, 0.04EUR, or a family such as aws/c7g")
	// The question. Without one, the answer is the list.
	f.StringVar(&h.why, "why", "", "say why `FUNC` is or is not among the hot spots")
	f.StringVar(&h.diff, "diff", "", "list what changed since the profile or directory `OLD`")
	f.StringVar(&h.calls, "calls", "",
		"`file` with calls a second of the whole service: lines of TARGET NUMBER, or the output of capture status "+
			"--json; 40@FILE: each process in it stands for 40")
	f.StringVar(&h.binary, "binary", "",
		"the `program` built from the checkout, to compare its build ID with the profiles'")
	f.StringVar(&h.save, "save", "", "write the profiles that were read into this `directory`, a SOURCE for later")
	f.StringVar(&h.html, "html", "", "write a flame graph to this `file`")
	// The length of the profile, and of the list.
	h.addLive(f)
	f.IntVar(&h.limit, "limit", 20, "hot spots to list, and as many dropped functions; 0 for all")
	f.Float64Var(&h.instances, "instances", 0, "instances that each SOURCE stands for, unless it names them")
	f.Float64Var(&h.cores, "cores", 0, "cores that the whole service keeps busy; by default taken from the profiles")
	f.Float64Var(&h.least, "least", 0.5, "least net share in percent; smaller functions count for their callers")
	f.BoolVar(&h.heads, "heads", false, "also list the functions without an entry that campaign --heads takes up")
	f.BoolVar(&h.across, "across", false,
		"with --heads: a search changes functions of other packages of the module, too")
	f.BoolVar(&h.asJSON, "json", false, "print one JSON object (docs/json.md)")
	f.BoolVar(&h.quiet, "quiet", false, "print no warnings")
}

// addLive declares the flags of a live profile.
func (h *hotspotFlags) addLive(f *flagSet) {
	f.IntVar(&h.seconds, "seconds", 0, "`seconds` of a live profile: alone in one piece, with --over in slices")
	f.DurationVar(&h.over, "over", 0, "spread a live profile over this `time`, in many short slices (default 5m)")
}

// leastOver is the least time that a live profile is spread over.
const leastOver = 10 * time.Second

// check returns a *beagle.UsageError for a flag whose value is out of range, and finds the program
// for --html.
func (h *hotspotFlags) check(f *flagSet) error {
	bad := func(flag, what, remedy string) error {
		return &beagle.UsageError{What: "--" + flag + " " + what, Remedy: remedy}
	}
	switch {
	case f.given("seconds") && (h.seconds < 1 || h.seconds > 3600):
		return bad("seconds", fmt.Sprintf("%d is not between 1 and 3600", h.seconds), "30 is common")
	case f.given("over") && h.over < time.Duration(h.seconds)*time.Second:
		return bad("over", fmt.Sprintf("%v is less than the %d s of the profile", h.over, h.seconds),
			"ten times the profile is common: --seconds 60 --over 10m")
	case f.given("over") && (h.over < leastOver || h.over > 24*time.Hour):
		return bad("over", fmt.Sprintf("%v is not between %v and 24h", h.over, leastOver),
			"give --over 20m, or --seconds 30 alone for one piece")
	case !(h.least >= 0 && h.least <= 50):
		return bad("least", fmt.Sprintf("%g is not between 0 and 50 %%", h.least), "0.5 is common")
	case h.limit < 0:
		return bad("limit", fmt.Sprintf("%d is negative", h.limit), "give 0 for all")
	case !(h.instances >= 0 && h.instances <= 1e7):
		return bad("instances", fmt.Sprintf("%g is not a number of instances", h.instances),
			"give the number of instances that run")
	case !(h.cores >= 0 && h.cores <= 1e8):
		return bad("cores", fmt.Sprintf("%g is not a number of cores", h.cores),
			"give the number of cores that the service keeps busy")
	case h.across && !h.heads:
		return bad("across", "says nothing without --heads", "give both, or neither")
	case f.given("kind") && h.kind != hotspots.CPU && h.kind != hotspots.Alloc && h.kind != hotspots.Block &&
		h.kind != hotspots.Mutex:
		return bad("kind", h.kind+" is not known", "give cpu, alloc, block or mutex")
	}
	h.leastSet, h.overSet = f.given("least"), f.given("over")
	if h.html == "" {
		return nil
	}
	var err error // known before a profile is taken, not after it
	h.flame, err = companion.Find("beagle-flame", "BEAGLE_FLAME", "--html")
	return err
}

// runHotspots ranks the functions of the sources.
func runHotspots(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	var h hotspotFlags
	f := c.flags(std)
	h.add(f)
	sources, err := parse(f, args, 0, 1000)
	if err != nil {
		return exitUsage, err
	}
	if err := h.check(f); err != nil {
		return exitUsage, err
	}
	watch := newProgress(std.err, h.quiet)
	defer watch.stop()
	job, err := h.job(c.name, sources, watch)
	if err != nil {
		return exitUsage, err
	}
	// Rank, and compare with older profiles. An interrupt ends the profile, and not its ranking.
	job.read.Early = true
	job.read.Progress = showProfiling(watch, "Ctrl-C ranks what was taken until then; --seconds 30 takes one piece.")
	t, err := job.table(ctx)
	if err != nil {
		return exitUsage, err
	}
	watch.stop()
	if ctx.Err() != nil { // that interrupt ended the profile; another one ends the rest
		var stop func()
		ctx, stop = signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
		defer stop()
	}
	if h.diff != "" {
		if err := job.compare(ctx, t); err != nil {
			return exitUsage, err
		}
	}
	if h.heads {
		t.LeadWithHeads(h.across)
	}
	if h.html != "" {
		if err := h.writeFlame(ctx, t); err != nil {
			return exitNo, err
		}
	}
	// Print one function, or the ranking.
	switch {
	case h.why != "":
		return printWhy(std.out, t, h.why, h.asJSON)
	case h.asJSON:
		return exitOK, printJSON(std.out, &t.Hotspots)
	}
	printHotspots(std.out, t)
	return exitOK, nil
}

// A hotspotJob joins the flags with the settings of beagle.yaml.
type hotspotJob struct {
	hotspotFlags
	sources []string
	options hotspots.Options
	read    profiles.Options
	all     []*hotspots.Profile
	module  string // of the checkout, once the profiles are ranked
	toto    string // the file of weights that beagle.yaml names

	settings *settings.Service // of beagle.yaml; nil if it has none
	file     string            // beagle.yaml
}

// job combines the command line with beagle.yaml. Errors show an example of the command.
func (h *hotspotFlags) job(command string, sources []string, watch *progress) (*hotspotJob, error) {
	// Settings of beagle.yaml count where the command line gives none.
	j := &hotspotJob{hotspotFlags: *h, sources: sources}
	own := strings.FieldsFunc(h.own, func(r rune) bool { return r == ',' })
	file := h.config
	if file == "" {
		file = filepath.Join(h.dir, settings.Name)
	}
	s, name, err := settings.Read(file, h.service, h.config != "" || h.service != "")
	if err != nil {
		return nil, err
	}
	j.settings, j.file = s, file
	if s != nil {
		if j.options.Service, err = s.Money(name); err != nil {
			return nil, err
		}
		if len(j.sources) == 0 {
			j.sources = s.Sources
		}
		if len(own) == 0 {
			own = s.Own
		}
		if j.toto = s.Toto; j.toto != "" && !filepath.IsAbs(j.toto) {
			j.toto = filepath.Join(filepath.Dir(file), j.toto)
		}
		if !h.leastSet && s.LeastPercent > 0 {
			j.least = s.LeastPercent
		}
	}
	// Flags go before the file.
	if h.price != "" {
		if j.options.Service.Price, err = hotspots.ParsePrice(h.price); err != nil {
			return nil, err
		}
	}
	if h.cores > 0 {
		j.options.Service.Cores = h.cores
	}
	if len(j.sources) == 0 {
		return nil, &beagle.UsageError{
			What:   "no SOURCE is given, and " + file + " names none",
			Remedy: "name a profile, a directory, or an address: beagle " + command + " http://localhost:6060",
		}
	}
	if err := j.checkOver(); err != nil {
		return nil, err
	}
	if j.options.Calls, err = readCalls(h.calls); err != nil {
		return nil, err
	}
	// How to rank, and how to read the sources.
	j.options.Kind, j.options.Least, j.options.Limit = h.kind, j.least/100, h.limit
	j.options.Checkout = &hotspots.Checkout{Own: own}
	j.read = profiles.Options{
		Seconds: h.seconds, Over: h.over, Instances: h.instances, Token: os.Getenv("BEAGLE_PROFILES_TOKEN"),
	}
	j.read.Warn = func(text string) { watch.watch(flow.Event{Warning: clean(text)}) }
	return j, nil
}

// checkOver refuses --over without a source that it could spread.
func (j *hotspotJob) checkOver() error {
	if !j.overSet || slices.ContainsFunc(j.sources, profiles.Live) {
		return nil
	}
	source := j.sources[0]
	bad := &beagle.UsageError{
		What: fmt.Sprintf("--over %v with %s, which is no running service", j.over, profiles.Redacted(source)),
		Remedy: "a profile that was taken before has its time: leave --over out, or name the service, as in " +
			"http://localhost:6060",
	}
	if profiles.Store(source) {
		bad.Remedy = "leave --over out, and name the time in the address, as in from=now-24h"
	}
	return bad
}

// table reads and ranks the sources.
func (j *hotspotJob) table(ctx context.Context) (*hotspots.Table, error) {
	all, err := profiles.Read(ctx, j.sources, j.read)
	if err != nil {
		return nil, err
	}
	if j.save != "" {
		if err := profiles.Save(j.save, all); err != nil {
			return nil, err
		}
	}
	j.all = all
	return j.rank(all)
}

// rank ranks profiles against the checkout.
func (j *hotspotJob) rank(all []*hotspots.Profile) (*hotspots.Table, error) {
	checkout, err := profiles.Checkout(j.dir, j.options.Checkout.Own, all)
	if err != nil {
		return nil, err
	}
	if j.binary != "" {
		if checkout.Build, err = profiles.BuildID(j.binary); err != nil {
			return nil, err
		}
	}
	j.module = checkout.Module
	o := j.options
	o.Checkout = checkout
	return hotspots.Rank(all, o)
}

// compare ranks the old profiles in the same way, and lists the moves.
func (j *hotspotJob) compare(ctx context.Context, t *hotspots.Table) error {
	// A live profile to compare with takes no longer than the first did, unless flags say so.
	read := j.read
	if long := spanOf(j.all); read.Seconds == 0 && read.Over == 0 && long < profiles.DefaultOver {
		read.Seconds = max(1, int(long.Seconds()))
	}
	all, err := profiles.Read(ctx, []string{j.diff}, read)
	if err != nil {
		return err
	}
	j.options.Kind = t.Kind
	old, err := j.rank(all)
	if err != nil {
		return err
	}
	t.Diff = t.Compare(old)
	return nil
}

// spanOf returns the time from the beginning of the first profile to the end of the last. Profiles
// that hold no beginning count by their length.
func spanOf(all []*hotspots.Profile) time.Duration {
	var longest, span time.Duration
	var first time.Time
	for _, p := range all {
		longest = max(longest, time.Duration(p.Seconds*float64(time.Second)))
		if !p.Start.IsZero() && (first.IsZero() || p.Start.Before(first)) {
			first = p.Start
		}
	}
	for _, p := range all {
		if !p.Start.IsZero() {
			span = max(span, p.Start.Sub(first)+time.Duration(p.Seconds*float64(time.Second)))
		}
	}
	return max(longest, span)
}

// writeFlame writes the flame graph of the ranking.
func (h *hotspotFlags) writeFlame(ctx context.Context, t *hotspots.Table) error {
	p, unit, scale := t.Costs()
	title := "hot spots"
	if t.Service != "" {
		title += " of " + t.Service
	}
	// A program of its own draws it. The page is written only when it is whole.
	var in, page, said bytes.Buffer
	if err := p.Write(&in); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, h.flame, title, unit, strconv.FormatFloat(scale, 'g', -1, 64))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &page, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %s: %w", h.flame, strings.TrimSpace(said.String()), err)
	}
	if err := os.WriteFile(h.html, page.Bytes(), 0o666); err != nil {
		return &beagle.UsageError{
			What:   "--html: " + tail.FileError(err),
			Remedy: "name a file in a directory that can be written",
		}
	}
	return nil
}
