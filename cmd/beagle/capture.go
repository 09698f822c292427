package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/internal/tail"
	"github.com/beagle-go/beagle/probe/wire"
)

var captureCommand = &command{
	name: "capture", args: "status|start|ask|pull|stop [arguments]",
	short: "record calls of a running service, or ask it questions",
	long: `
Talks to probes in running processes: programs that 'beagle build' made, or that import
the probe. With --pid it captures a process that has no probe and was built by plain 'go
build', by uprobes, on Linux. docs/capture.md has the details.

  beagle capture status                  sites, what they show, and what is armed
  beagle capture start SITE...           arm sites, for --for, while this command runs
  beagle capture start --out FILE PKG.F  the same, and write one function's corpus
  beagle capture ask SITE 'CONDITION'    count how often a condition on a call holds
  beagle capture pull --out FILE PKG.F   take waiting calls of another process's capture
  beagle capture stop                    disarm

Nothing is recorded unless a capture is armed. It ends with this command: a process whose
controller is silent for 8 seconds disarms by itself. Text is recorded as lengths and
classes of characters. With --raw it is recorded as it is, except for what looks
secret, if the process allows that (BEAGLE_PROBE_RAW=1).

Examples:
  beagle capture status --at /run/service.sock --token token
  beagle capture start --at a.sock,b.sock --for 60s --out calls.jsonl ./tags.Normalize
  beagle capture ask --for 10s tags.Normalize 'len(tag) > 200 || !utf8.ValidString(tag)'
  beagle capture start --pid 4711 --for 60s --out calls.jsonl ./tags.Normalize
  beagle evolve --corpus calls.jsonl ./tags.Normalize
  # a receiver that no record holds: beagle bench --give makes it
  beagle capture start --at a.sock --leave w --out lines.jsonl ./agent.Worker.Line

Exit status: 0 done; 1 a process refused, or was lost; 2 bad usage.`,
}

func init() { captureCommand.run = runCapture }

// A captureFlags holds the flags of all verbs.
type captureFlags struct {
	verb    string
	at      []string
	pids    []int
	symbols string
	token   string
	json    bool
	out     string
	leave   []string
	long    time.Duration
	samples int
	dir     string
	tags    []string
	start   wire.Start
	std     stdio
	rest    []string
	unit    *source.Unit // of a start that writes a corpus
	file    *callFile    // for its calls; nil without --out
}

// captureVerbs are the verbs with their arguments and the numbers of these.
var captureVerbs = map[string]struct {
	takes       string
	least, most int
	run         func(ctx context.Context, o *captureFlags, clients []*capture.Client) (int, error)
}{
	"status": {"no arguments", 0, 0, captureStatus},
	"start":  {"SITE...", 1, 64, captureStart},
	"ask":    {"SITE 'CONDITION'", 2, 2, captureAsk},
	"pull":   {"PKG.F", 1, 1, capturePull},
	"stop":   {"no arguments", 0, 0, captureStop},
}

// runCapture checks the verb and its arguments, reaches the processes and runs the verb.
func runCapture(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	// Read the flags and the verb.
	o := &captureFlags{std: std}
	f := c.flags(std)
	o.flags(f)
	rest, err := parse(f, args, 1, 65)
	if err != nil {
		return exitUsage, err
	}
	verb, ok := captureVerbs[rest[0]]
	if !ok {
		return exitUsage, &beagle.UsageError{What: fmt.Sprintf("there is no verb %q", rest[0]),
			Remedy: "give status, start, ask, pull or stop; 'beagle capture --help' shows examples"}
	}
	o.verb, o.rest = rest[0], rest[1:]
	// Check the number of sites.
	if n := len(o.rest); n < verb.least || n > verb.most {
		return exitUsage, &beagle.UsageError{
			What:   fmt.Sprintf("%s: %s given: it takes %s", o.verb, countOf(o.rest), verb.takes),
			Remedy: "'beagle capture --help' shows examples",
		}
	}
	if o.out != "" && len(o.rest) != 1 {
		return exitUsage, &beagle.UsageError{What: fmt.Sprintf("--out with %d sites", len(o.rest)),
			Remedy: "a corpus is of one function: name that one"}
	}
	// Reach the processes, and run the verb.
	defer func() { o.file.discard() }()
	clients, end, err := o.reach(ctx)
	if err != nil {
		var usage *beagle.UsageError
		if errors.As(err, &usage) {
			return exitUsage, err
		}
		return exitNo, err
	}
	defer end()
	return verb.run(ctx, o, clients)
}

// flags declares the flags of all verbs.
func (o *captureFlags) flags(f *flagSet) {
	// The processes, and the way to them.
	f.Var(listFlag{&o.at}, "at",
		"`addresses` of processes: paths of Unix sockets, or URLs of handlers, separated by commas")
	f.Var(pidFlag{&o.pids}, "pid", "`numbers` of running Go processes without a probe: they are captured by uprobes")
	f.StringVar(&o.symbols, "symbols", "", "with --pid: unstripped `file` of the same program, for types")
	f.BoolVar(&o.start.Results, "results", false, "with --pid: read results too, at a second trap for each return")
	f.StringVar(&o.token, "token", "", "`file` with the token (default: the one that BEAGLE_PROBE_TOKEN names)")
	f.BoolVar(&o.json, "json", false, "print JSON (docs/json.md)")
	f.StringVar(&o.out, "out", "", "start, pull: write the calls to this `file` of JSON lines (docs/corpus.md)")
	f.Var(listFlag{&o.leave}, "leave", "`names` of parameters that calls in --out leave out, the receiver too: those "+
		"that no record can hold, and bench --give makes")
	// Bounds of a capture. A zero stands for the probe's own default.
	f.DurationVar(&o.long, "for", 30*time.Second, "start, ask: length of the capture")
	f.IntVar(&o.samples, "samples", 0, "start, ask: stop after `n` calls of each process; 0 means when --for ends")
	f.IntVar(&o.start.Rate, "rate", 0, "calls a second of each site and process, at most 1000 (default 10; ask: 1000)")
	f.IntVar(&o.start.Bytes, "bytes", 0, "most bytes a second of each process (default 262144)")
	f.IntVar(&o.start.Text, "text", 0, "most bytes recorded of a text (default 256)")
	f.IntVar(&o.start.Elements, "elements", 0, "most elements recorded of a list (default 64)")
	f.IntVar(&o.start.Depth, "depth", 0, "most levels of references recorded (default 3)")
	f.IntVar(&o.start.Event, "call-bytes", 0, "most bytes recorded of a call (default 2048)")
	// How far to read, and what to hide.
	f.BoolVar(&o.start.Raw, "raw", false, "record text as it is")
	f.BoolVar(&o.start.Follow, "follow", false, "follow pointers, whose memory other goroutines may write")
	f.BoolVar(&o.start.Maps, "maps", false, "read maps: the Go runtime ends the process if a call writes one meanwhile")
	f.Var(listFlag{&o.start.Names}, "secret-names", "further `names` of parameters, fields and keys that are secret")
	f.Var(listFlag{&o.start.Types}, "secret-types", "`types` that are secret, as import/path.Name")
	f.Func("secret-pattern", "a further regular `expression` of secret text; may be given several times",
		func(s string) error { o.start.Patterns = append(o.start.Patterns, s); return nil })
	f.StringVar(&o.dir, "C", "", "`directory` of the module, for --out")
	f.Var(listFlag{&o.tags}, "tags", "build `tags`, separated by commas")
}

// sites returns the names of sites: as the process has them, or their ends.
func (o *captureFlags) sites(names []string) (sites []string) {
	for _, n := range names {
		n, _ = syntax.CutTypeArgs(strings.TrimPrefix(n, "./"))
		sites = append(sites, strings.NewReplacer("(", "", ")", "", "*.", ".").Replace(n))
	}
	return sites
}

// captureStatus prints the sites of the processes that answer.
func captureStatus(ctx context.Context, o *captureFlags, clients []*capture.Client) (int, error) {
	all, err := askStatus(ctx, clients)
	for i, st := range all {
		switch {
		case st == nil:
		case o.json:
			err = errors.Join(err, printJSON(o.std.out, st))
		default:
			printStatus(o.std.out, clients[i].Address, st)
		}
	}
	return statusOf(err), err
}

// askStatus asks all processes for their status: nil for one that does not answer, which the error
// names.
func askStatus(ctx context.Context, clients []*capture.Client) ([]*wire.Status, error) {
	all := make([]*wire.Status, len(clients))
	err := capture.Each(clients, func(i int, c *capture.Client) error {
		r, _, err := c.Do(ctx, wire.Request{Verb: wire.VerbStatus})
		if err == nil {
			all[i] = r.Status
		}
		return err
	})
	return all, err
}

// captureStop disarms the sites of all processes that answer.
func captureStop(ctx context.Context, o *captureFlags, clients []*capture.Client) (int, error) {
	done := make([]bool, len(clients))
	err := capture.Each(clients, func(i int, c *capture.Client) error {
		_, _, err := c.Do(ctx, wire.Request{Verb: wire.VerbStop})
		done[i] = err == nil
		return err
	})
	for i, c := range clients {
		if done[i] {
			fmt.Fprintf(o.std.out, "%s: disarmed\n", c.Address)
		}
	}
	return statusOf(err), err
}

// statusOf is the exit status of a verb that went over all processes.
func statusOf(err error) int {
	if err != nil {
		return exitNo
	}
	return exitOK
}

// reach returns clients of the processes, and what ends them. A start at processes without a probe
// begins the program that attaches uprobes.
func (o *captureFlags) reach(ctx context.Context) ([]*capture.Client, func(), error) {
	none := func() {}
	if err := o.check(); err != nil {
		return nil, none, err
	}
	if o.verb == "start" {
		if err := o.prepare(ctx); err != nil {
			return nil, none, err
		}
	}
	// Connect to probes in processes.
	var all []*capture.Client
	if len(o.at) > 0 || len(o.pids) == 0 {
		clients, err := capture.New(o.at, o.token)
		if err != nil {
			return nil, none, err
		}
		all = clients
	}
	// Connect to uprobe servers of an earlier start, or start one.
	switch {
	case len(o.pids) == 0:
		return all, none, nil
	case o.verb != "start":
		clients, err := capture.Attached(ctx, o.pids)
		return append(all, clients...), none, err
	}
	outside, err := capture.Attach(ctx, capture.Wish{PIDs: o.pids, Symbols: o.symbols, Names: o.start.Sites,
		Records: o.unit != nil})
	if err != nil {
		return nil, none, err
	}
	return append(all, outside.Clients...), outside.Close, nil
}

// check refuses flags that contradict each other.
func (o *captureFlags) check() error {
	switch {
	case len(o.pids) == 0 && (o.symbols != "" || o.start.Results):
		return &beagle.UsageError{What: "--symbols and --results are for uprobes", Remedy: "give --pid, or neither"}
	case len(o.leave) > 0 && o.out == "" && !o.json:
		return &beagle.UsageError{What: "--leave without --out: no calls are kept",
			Remedy: "name the file for the calls with --out"}
	case len(o.pids) > 0 && o.verb == "ask":
		return &beagle.UsageError{What: "a uprobe answers no questions",
			Remedy: "build the service with beagle build --probe, or capture with --out and look at the calls"}
	case len(o.pids) > 0 && o.start.Maps:
		return &beagle.UsageError{What: "a uprobe reads no maps, only how many entries they have",
			Remedy: "leave --maps out, or build the service with beagle build --probe"}
	}
	return nil
}

// prepare loads the target, if a corpus is wanted, opens the file for it, and names the sites.
func (o *captureFlags) prepare(ctx context.Context) (err error) {
	if o.unit, err = o.target(ctx); err != nil {
		return err
	}
	if err := o.openFile(o.unit); err != nil {
		return err
	}
	o.start.Sites = o.sites(o.rest)
	if o.unit != nil {
		o.start.Sites = []string{o.unit.Target.Spec()}
	}
	return nil
}

// captureStart holds a capture until the time is over, and writes the calls on request.
func captureStart(ctx context.Context, o *captureFlags, clients []*capture.Client) (int, error) {
	// A probe stops a minute after the capture's end by itself, in case that this process is gone.
	target := o.unit
	o.start.Hits, o.start.TTL = o.samples, min(o.long.Seconds()+60, 86400)
	// Print the cost once, early: the user can still stop a capture that costs too much. Later
	// looks show how far the capture is.
	p, ends, told := newProgress(o.std.err, o.json), time.Now().Add(o.long), 0
	h := &capture.Hold{Start: o.start, Long: o.long, Keep: o.out != "", Watch: func(all []capture.Pulled) {
		if told++; told == 1 && !o.json {
			printCost(p, all)
		}
		p.passing(fmt.Sprintf("%s capture  %s recorded, %v left", p.clock(), tail.Plural(recorded(all), "call"),
			max(0, time.Until(ends)).Round(time.Second)))
	}}
	if err := o.announce(ctx, clients); err != nil {
		return exitNo, err
	}
	all, err := h.Run(ctx, clients)
	p.stop()
	if err != nil {
		return exitNo, err
	}
	// Without a corpus to write, the counts are the result.
	status := tellLost(o.std, all)
	if target == nil {
		for _, p := range all {
			printCounts(o.std.out, p)
		}
		return status, nil
	}
	return o.deliver(target, all, status)
}

// announce refuses processes with another version of the function, and prints what the sites cannot
// show, before any site is armed.
func (o *captureFlags) announce(ctx context.Context, clients []*capture.Client) error {
	all, err := askStatus(ctx, clients)
	if err != nil {
		return err
	}
	// A corpus is of one version of the function, that of the checkout.
	for i, st := range all {
		if o.unit != nil {
			if err := capture.Fits(o.unit, st.Sites, clients[i].Address); err != nil {
				return err
			}
		}
		for _, s := range st.Sites {
			if o.json {
				break
			}
			if slices.ContainsFunc(o.start.Sites, func(n string) bool { return wire.Matches(n, s.Name) }) {
				printBlind(o.std.err, clients[i].Address, s, o.start, st.Process.Way != "")
			}
		}
	}
	return nil
}

// tellLost reports processes that were lost, and returns the status.
func tellLost(std stdio, all []capture.Pulled) int {
	status := exitOK
	for _, p := range all {
		if p.Lost != "" {
			fmt.Fprintf(std.err, "lost %s: %s\n", p.Address, p.Lost)
			status = exitNo
		}
	}
	return status
}

// pidFlag reads numbers of processes, separated by commas.
type pidFlag struct{ all *[]int }

func (p pidFlag) String() string { return "" }

func (p pidFlag) Set(text string) error {
	for _, s := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n <= 0 {
			return fmt.Errorf("%q is not the number of a process", s)
		}
		*p.all = append(*p.all, n)
	}
	return nil
}
