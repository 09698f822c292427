package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/forecast"
	"github.com/beagle-go/beagle/internal/forecast/toto"
	"github.com/beagle-go/beagle/internal/profiles"
	"github.com/beagle-go/beagle/internal/settings"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/tail"
	"github.com/beagle-go/beagle/internal/watch"
	"github.com/beagle-go/beagle/internal/watch/windows"
)

var watchCommand = &command{
	name: "watch", args: "[SOURCE...]",
	short: "report changes in a service's profiles, and what to do about them",
	long: `
Aggregates profiles into windows, keeps a compact row for each function and window, and
reports changes: a function costs more or less, a shipped win is gone, its source,
toolchain or inputs changed, or too little is left of it. A finding has an interval, a
cause and the command that answers it, and is reported once. SOURCE is as for 'beagle
hotspots'; beagle.yaml names the sources too.

It also reports when the service passes a limit of beagle.yaml, or will by the forecast:
an SLO's error budget, the cost of a month, and the processors of an instance. --next
lists such a service before others. Only with --campaigns do findings start campaigns,
within that much money for 30 days.

Without --once it takes profiles every --every until it is stopped, and continues there
when it is started again: the windows are in the store. It changes no code and opens no
pull request. docs/watch.md has the details.

Examples:
  beagle watch --once profiles/                     # each profile once, by its time
  beagle watch --once --season 24 'pyroscope+https://host?service=intake&from=now-7d'
  beagle watch --window 10m http://localhost:6060
  beagle watch --once --all --json                  # what was found so far
  beagle watch --next                               # what to work on first
  beagle watch --campaigns 20 http://localhost:6060 # answer findings, for at most 20 USD
  beagle watch --once --toto Toto-2.0-4m profiles/  # forecast with downloaded weights

Exit status with --once: 0 nothing new; 1 there are findings; 2 bad input; 130
interrupted.`,
}

func init() { watchCommand.run = runWatch }

// A watchFlags is the flags of a watch.
type watchFlags struct {
	hotspotFlags
	as, targets, listen     string
	toto                    string
	window, every, keep     time.Duration
	season, settle, horizon int
	change                  float64
	once, all, next         bool
	campaigns               float64 // money for 30 days
	inputs                  []string
	std                     stdio
}

// flags declares the flags of beagle watch.
func (o *watchFlags) flags(f *flagSet) {
	// The subject of the watch.
	f.StringVar(&o.dir, "C", ".", "the checkout that was profiled: a `directory` in its module")
	f.StringVar(&o.own, "own", "",
		"import path `prefixes` of your own code, with commas; the checkout's module by default")
	f.StringVar(&o.config, "config", "", "`file` with services; "+settings.Name+" of the checkout by default")
	f.StringVar(&o.service, "service", "", "`name` of the service in that file; needed when it has several")
	f.StringVar(&o.as, "as", "", "`name` of this watch in the store; the service's by default")
	f.StringVar(&o.binary, "binary", "", "the `program` that was profiled: says with which toolchain it was built")
	f.StringVar(&o.targets, "targets", "",
		"`file` of JSON lines: functions with a win or a corpus, beside those of the ledger")
	f.Func("inputs", "inputs of a function, as `FUNC=CORPUS,CALLS`: the corpus of its win, and calls captured now; "+
		"may be given several times", func(s string) error { o.inputs = append(o.inputs, s); return nil })
	// How it is read, and how often.
	f.StringVar(&o.listen, "listen", "", "serve this command's own state as Prometheus metrics at this `address`")
	f.IntVar(&o.seconds, "seconds", 30, "length of a live profile, in seconds")
	f.DurationVar(&o.window, "window", time.Hour, "length of a window; shorter ones have fewer samples")
	f.DurationVar(&o.every, "every", 10*time.Minute, "without --once: time from one profile to the next")
	f.DurationVar(&o.keep, "keep", 400*24*time.Hour, "time for which windows are kept")
	// Bounds of a change.
	f.IntVar(&o.season, "season", 1, "windows after which the load repeats: 24 for days of hours; 1 for none")
	f.IntVar(&o.settle, "settle", 0, "windows that a change must last (default 6)")
	f.IntVar(&o.horizon, "horizon", 0, "windows to forecast; a season by default, 12 without one")
	f.StringVar(&o.toto, "toto", "", "forecast with Toto 2.0 too: its `file` of weights, model.safetensors, with "+
		"config.json beside it, from "+toto.Home+" (Apache 2.0); toto of "+settings.Name+" by default")
	f.Float64Var(&o.least, "least", 0.5, "least share in percent of a function that is looked at")
	f.Float64Var(&o.change, "change", 1, "least change in percent of a function's share")
	// The output, and what follows.
	f.BoolVar(&o.once, "once", false, "read the sources once and end")
	f.BoolVar(&o.all, "all", false, "print all findings so far, not only new ones")
	f.BoolVar(&o.next, "next", false, "print the services that were watched, in the order in which to work on them")
	f.Float64Var(&o.campaigns, "campaigns", 0, "start campaigns that answer findings, for this much `money` in 30 "+
		"days, in the currency of --price; 0 for none")
	f.StringVar(&o.price, "price", "", "`price` of an hour of one core: 0.04, 0.04EUR, or a family such as aws/c7g; "+
		"price of "+settings.Name+" by default")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON object for each look (docs/json.md)")
	f.BoolVar(&o.quiet, "quiet", false, "print no warnings")
}

// check returns a *beagle.UsageError for a flag whose value is out of range.
func (o *watchFlags) check(f *flagSet) error {
	bad := func(flag, what, remedy string) error {
		return &beagle.UsageError{What: "--" + flag + " " + what, Remedy: remedy}
	}
	// Conditions of the form !(low <= x) refuse NaN, too.
	switch {
	case o.window < time.Second || o.window > 31*24*time.Hour:
		return bad("window", fmt.Sprintf("%s is not between a second and 31 days", o.window), "1h is common")
	case o.every < time.Second:
		return bad("every", fmt.Sprintf("%s is less than a second", o.every), "10m is common")
	case o.keep < 24*time.Hour:
		return bad("keep", fmt.Sprintf("%s is less than a day", o.keep), "4800h keeps 200 days")
	case o.season < 1 || o.season > 200:
		return bad("season", fmt.Sprintf("%d is not between 1 and 200", o.season),
			"give the windows of a day or a week")
	case o.horizon < 0 || o.horizon > 1000:
		return bad("horizon", fmt.Sprintf("%d is not between 0 and 1000", o.horizon), "give windows to forecast")
	case o.settle < 0 || o.settle > 100:
		return bad("settle", fmt.Sprintf("%d is not between 0 and 100", o.settle), "6 is common")
	case !(o.change > 0 && o.change <= 100):
		return bad("change", fmt.Sprintf("%g is not between 0 and 100 %%", o.change), "1 is common")
	case !(o.campaigns >= 0 && o.campaigns <= 1e6):
		return bad("campaigns", fmt.Sprintf("%g is not an amount of money between 0 and a million", o.campaigns),
			"start with 20")
	case o.as != "" && !plainName.MatchString(o.as):
		return bad("as", fmt.Sprintf("%q is not a name", o.as), "use letters, digits, dots and dashes")
	}
	return o.hotspotFlags.check(f)
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,80}$`)

// runWatch looks at a service once or for ever, or prints the services in the order of work.
func runWatch(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	o := watchFlags{std: std}
	f := c.flags(std)
	o.flags(f)
	sources, err := parse(f, args, 0, 1000)
	if err != nil {
		return exitUsage, err
	}
	if err := o.check(f); err != nil {
		return exitUsage, err
	}
	// Print the services in the order of work.
	if o.next {
		if len(sources) > 0 {
			return exitUsage, &beagle.UsageError{What: "--next with a SOURCE",
				Remedy: "it prints known services: leave the SOURCE out"}
		}
		return o.printNext()
	}
	if o.once && o.all && len(sources) == 0 {
		sources = []string{os.DevNull} // a finding needs no source
	}
	// Open the archive, and serve the command's own metrics.
	p := newProgress(std.err, o.quiet)
	defer p.stop()
	job, err := o.job(c.name, sources, p)
	if err != nil {
		return exitUsage, err
	}
	w, err := o.openArchive(job)
	if err != nil {
		return exitUsage, err
	}
	stop, err := w.serve()
	if err != nil {
		return exitUsage, err
	}
	defer stop()
	if !o.once {
		return w.forever(ctx)
	}
	w.job.read.Progress = showProfiling(p, "") // a person waits for the only look
	return w.look(ctx)
}

// A watcher is a watch at work.
type watcher struct {
	*watchFlags
	job     *hotspotJob
	name    string
	options windows.Options
	store   *store.Store
	archive *windows.Archive
	gauges  watchGauges
	models  []forecast.Model // that forecast beside the built-in one

	monitored *monitor
}

// openArchive opens the archive of a watch, with the settings of beagle.yaml.
func (o *watchFlags) openArchive(job *hotspotJob) (*watcher, error) {
	w := &watcher{watchFlags: o, job: job, name: job.options.Service.Name}
	if o.as != "" {
		w.name = o.as
	}
	if w.name == "" {
		w.name = "service"
	}
	if !plainName.MatchString(w.name) {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("the service's name %q cannot be the name of a directory", w.name),
			Remedy: "give one with --as",
		}
	}
	// Windows keep the Go version, so that a new compiler explains a change.
	w.options = windows.Options{Service: w.name, Length: o.window}
	if o.binary != "" {
		built, err := builtWith(o.binary)
		if err != nil {
			return nil, err
		}
		w.options.Go = built
	}
	// Targets with proven wins, forecasters, and limits of beagle.yaml.
	targets, err := readTargets(o.targets)
	if err != nil {
		return nil, err
	}
	if w.models, err = o.pretrained(job.toto); err != nil {
		return nil, err
	}
	if w.monitored, err = w.monitor(); err != nil {
		return nil, err
	}
	if o.campaigns > 0 && job.options.Service.Price == nil {
		return nil, &beagle.UsageError{What: "--campaigns without a price",
			Remedy: "say with --price what an hour of a core costs, or in " + settings.Name}
	}
	// Open the archive of windows. Long seasons need longer looks.
	if w.store, err = openStore(); err != nil {
		return nil, err
	}
	config := watch.Config{Season: o.season, Settle: o.settle, LeastShare: job.least / 100, LeastChange: o.change / 100}
	if config.Look = max(120, 4*o.season); config.Look > 400 {
		config.Keep = config.Look
	}
	if w.archive, err = windows.Open(w.store, w.name, o.window, config, targets...); err != nil {
		return nil, err
	}
	// Shipped changes are watched, too.
	l, err := readLedger(filepath.Join(w.store.Dir(), "ledger.jsonl"))
	if err != nil {
		return nil, err
	}
	w.archive.Targets(l.Changes, w.name, job.least/100)
	return w, o.addInputs(w.archive)
}

// builtWith returns the version of Go that a program was built with. It asks the go command, which
// reads programs of all systems: the package behind that would be a part of every beagle.
func builtWith(program string) (string, error) {
	bad := &beagle.UsageError{Remedy: "name the Go program that was profiled"}
	c := exec.Command("go", "version", "--", program)
	c.Env = append(os.Environ(), "GOTOOLCHAIN=local") // the module here has no say in it
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	// The go command may complain about a file that it cannot read, and still report success.
	switch version, ok := strings.CutPrefix(strings.TrimSpace(string(out)), program+": "); {
	case errors.Is(err, exec.ErrNotFound):
		bad.What = "--binary: there is no go command to read it"
		bad.Remedy = "put go in PATH, or leave --binary out"
	case err != nil || said.Len() > 0:
		bad.What = fmt.Sprintf("--binary %s: %s", program, cmp.Or(strings.TrimSpace(said.String()), fmt.Sprint(err)))
	case !ok:
		bad.What = fmt.Sprintf("--binary %s: it is not a Go program", program)
	default:
		return version, nil
	}
	return "", bad
}

// pretrained reads the weights that --toto names, or else beagle.yaml.
func (o *watchFlags) pretrained(named string) ([]forecast.Model, error) {
	file := cmp.Or(o.toto, named)
	if file == "" {
		return nil, nil
	}
	// An error names the setting from which the file comes.
	m, err := toto.Open(file)
	if err != nil {
		what := "--toto"
		if o.toto == "" {
			what = "toto of " + settings.Name
		}
		return nil, &beagle.UsageError{What: what + ": " + err.Error(),
			Remedy: "download config.json and model.safetensors of " + toto.Home + " into one directory, and name that"}
	}
	return []forecast.Model{m}, nil
}

// addInputs reads what --inputs names.
func (o *watchFlags) addInputs(a *windows.Archive) error {
	for _, text := range o.inputs {
		function, files, ok := strings.Cut(text, "=")
		corpus, calls, two := strings.Cut(files, ",")
		if !ok || !two || function == "" {
			return &beagle.UsageError{What: fmt.Sprintf("--inputs %q names no function with two files", text),
				Remedy: "write example.com/m/tags.Normalize=corpus.jsonl,calls.jsonl"}
		}
		// The first file is what the search measured with, the second what the service receives
		// now.
		want, err := os.ReadFile(corpus)
		if err == nil {
			var got []byte
			if got, err = os.ReadFile(calls); err == nil {
				err = a.Inputs(function, want, got)
			}
		}
		if err != nil {
			return &beagle.UsageError{What: "--inputs: " + tail.FileError(err),
				Remedy: "docs/corpus.md has the form of a call"}
		}
	}
	return nil
}

// readTargets reads the targets that a person wants to have watched: lines of a watch.Target.
func readTargets(file string) (out []watch.Target, err error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, &beagle.UsageError{What: "--targets: " + tail.FileError(err), Remedy: "give a file of JSON lines"}
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		// A misspelt field would leave a bound at zero, and the watch would report all or nothing.
		var t watch.Target
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&t); err != nil || t.Function == "" {
			return nil, &beagle.UsageError{What: fmt.Sprintf("%s:%d is not a target: %v", file, n, err),
				Remedy: `write {"function":"example.com/m/tags.Normalize","won":0.02,"least":0.005}`}
		}
		out = append(out, t)
	}
	return out, nil
}

// look reads the sources once and prints the news.
func (w *watcher) look(ctx context.Context) (int, error) {
	// Read new profiles, and judge the windows that they complete.
	if err := w.readProfiles(ctx); err != nil {
		return exitUsage, err
	}
	w.archive.Bad = w.monitored.badCounts(ctx)
	j, err := w.archive.Judge(time.Now(), w.options)
	if err != nil {
		return exitUsage, err
	}
	if err := w.archive.Prune(time.Now().Add(-w.keep)); err != nil {
		return exitNo, err
	}
	// Report the findings, and hold the limits against them.
	r, err := w.report(j)
	if err != nil {
		return exitNo, err
	}
	standing, err := w.limits(ctx, j, r)
	if err != nil {
		return exitNo, err
	}
	w.gauges.count(w.archive, j)
	if err := w.print(r); err != nil {
		return exitNo, err
	}
	// Start a campaign if one is allowed.
	if err := w.campaign(ctx, standing); err != nil {
		return exitNo, err
	}
	if len(r.Findings) > 0 {
		return exitNo, nil
	}
	return exitOK, nil
}

// readProfiles adds the profiles of the sources to the archive.
func (w *watcher) readProfiles(ctx context.Context) error {
	sources := w.job.sources
	if len(sources) == 1 && sources[0] == os.DevNull {
		return nil
	}
	// A directory of profiles grows: read only those that came since.
	if until, ok := w.archive.ReadUntil(); ok {
		sources = profiles.LimitToNewer(sources, until)
	}
	all, err := profiles.Read(ctx, sources, w.job.read)
	if err != nil {
		return err
	}
	if w.options.Checkout, err = profiles.Checkout(w.dir, w.job.options.Checkout.Own, all); err != nil {
		return err
	}
	n, err := w.archive.Take(all, w.options)
	if err != nil {
		return &beagle.UsageError{What: err.Error(), Remedy: "give profiles as runtime/pprof writes them"}
	}
	// Nothing new is no error, but a service that stopped writing looks the same.
	if n == 0 && !w.quiet {
		fmt.Fprintln(w.std.err, "warning: no profile is newer than those that were read before")
	}
	return nil
}

// forever looks again and again. It warns of a source that does not answer, and asks it again.
func (w *watcher) forever(ctx context.Context) (int, error) {
	t := time.NewTicker(w.every)
	defer t.Stop()
	for {
		if _, err := w.look(ctx); err != nil && ctx.Err() == nil {
			// A usage error has its remedy in a field of its own.
			w.gauges.failed()
			var bad *beagle.UsageError
			if errors.As(err, &bad) {
				err = fmt.Errorf("%s; %s", bad.What, bad.Remedy)
			}
			fmt.Fprintf(w.std.err, "warning: %s\n", clean(err.Error()))
		}
		select {
		case <-ctx.Done():
			return exitInterrupted, nil
		case <-t.C:
		}
	}
}
