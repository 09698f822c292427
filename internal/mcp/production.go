package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/llm"
)

// Commands carries out a verb of the command line, such as "capture", with its arguments. It
// returns the verb's output and exit status, and passes its progress to tell.
type Commands func(ctx context.Context, tell Progress, verb string, args ...string) (out string, status int, err error)

// Production lists the tools for production: they are the command line's own verbs.
type Production struct {
	Run     Commands // nil: nothing
	Capture bool     // processes with probes are known
	PIDs    []int    // processes without a probe, which the kernel may look into
	Sources bool     // so are profiles of production, which a tool takes when no file is named
	Keep    string   // directory for captured calls
	Veiled  bool     // captured values are not shown
}

// Printed is the output of a verb of the command line.
type Printed struct {
	Status int    `json:"status" jsonschema:"exit status: 0 done, 1 a process refused or was lost, or the benchmark is not alike enough"`
	Output any    `json:"output,omitempty" jsonschema:"the object that the same command prints with --json (docs/json.md), without recorded calls"`
	File   string `json:"file,omitempty" jsonschema:"where the server keeps the captured calls, which 'beagle evolve --corpus' takes, or the benchmark"`
	Text   string `json:"text,omitempty" jsonschema:"what the command prints without --json; the benchmark, where captured values may be shown"`
}

const (
	maxCapture   = 300 // seconds that a tool keeps sites armed
	usualCapture = 10
)

type captureStartIn struct {
	Target  string `json:"target" jsonschema:"the function whose calls are captured: ./pkg.Func or ./pkg.Type.Method; it has a probe if capture_status lists it"`
	Seconds int    `json:"seconds,omitempty" jsonschema:"length in seconds; 10 when left out, 300 at most"`
	Samples int    `json:"samples,omitempty" jsonschema:"end after this number of calls of each process"`
	Rate    int    `json:"rate,omitempty" jsonschema:"calls a second of each process; 10 when left out, 1000 at most"`
	PID     int    `json:"pid,omitempty" jsonschema:"capture in this process without a probe, by uprobes: one of those that the description names"`
}

type captureAskIn struct {
	Target    string `json:"target" jsonschema:"the function: ./pkg.Func or ./pkg.Type.Method, as capture_status lists it"`
	Condition string `json:"condition" jsonschema:"a Go expression over parameters and results by name, such as len(tag) > 200 || !utf8.ValidString(tag)"`
	Seconds   int    `json:"seconds,omitempty" jsonschema:"length in seconds; 10 when left out, 300 at most"`
	Samples   int    `json:"samples,omitempty" jsonschema:"end after this number of calls"`
}

type capturePullIn struct {
	Target string `json:"target" jsonschema:"the function whose waiting calls are taken from another controller's capture"`
	PID    int    `json:"pid,omitempty" jsonschema:"in this process without a probe"`
}

type captureIn struct {
	PID int `json:"pid,omitempty" jsonschema:"the capture by uprobes in this process without a probe; when left out, the processes with probes"`
}

type benchIn struct {
	Target  string `json:"target" jsonschema:"./pkg.Func or ./pkg.Type.Method"`
	Inputs  string `json:"inputs,omitempty" jsonschema:"file that capture_start or capture_pull returned; when left out, the server's own inputs, or those of the tests"`
	Profile string `json:"profile,omitempty" jsonschema:"CPU profile of production to compare with, relative to the module's directory"`
	Compare bool   `json:"compare,omitempty" jsonschema:"compare with the server's own profiles of production"`
}

type moneyIn struct {
	Profile string  `json:"profile,omitempty" jsonschema:"CPU profile, relative to the module's directory; when left out, the server's own sources"`
	Limit   int     `json:"limit,omitempty" jsonschema:"number of functions; 10 when left out, 50 at most"`
	Least   float64 `json:"least_percent,omitempty" jsonschema:"least net share in percent; 0.5 when left out"`
}

// addProduction adds the tools that ask production.
func addProduction(s *sdk.Server, t tools) {
	p := t.production
	add(s, "hotspots", "Rank functions by money",
		"Rank the functions of production's profiles by their cost a year, as 'beagle hotspots --json' prints it: "+
			"shares, price, the machines that a saving frees, and the reason for each function left "+
			"out.", true, t.money)
	add(s, "bench", "Write a benchmark shaped like production",
		"Make a Go benchmark of recorded calls, as 'beagle bench' does. With a profile of production it reports how "+
			"alike the two are, and which parts stay unlike. Nothing is written to the checkout: the server keeps "+
			"the file.",
		true, t.bench)
	if !p.Capture && len(p.PIDs) == 0 {
		return
	}
	outside := ""
	if len(p.PIDs) > 0 {
		outside = fmt.Sprintf(" Processes without a probe: %s.", strings.Trim(fmt.Sprint(p.PIDs), "[]"))
	}
	add(s, "capture_status", "List probes",
		"List the functions with probes in the running processes, what their probes cannot see, and what is armed."+
			outside,
		true,
		t.captureStatus)
	add(s, "capture_start", "Capture calls",
		"Record calls of one function in the running processes for some seconds, and make a corpus of them. Text is "+
			"recorded as lengths and classes of characters. Reports progress; to cancel it disarms the probes."+outside,
		false,
		t.captureStart)
	if p.Capture { // a uprobe answers no questions
		add(s, "capture_ask", "Ask production",
			"Count in the running processes how often a condition on the arguments and results of a function holds. "+
				"The answer is a share with its 95 % interval; no value leaves a process.", true, t.captureAsk)
	}
	add(s, "capture_pull", "Take waiting calls",
		"Collect the recorded calls that wait in the processes, when another capture runs.", false, t.capturePull)
	add(s, "capture_stop", "Disarm probes", "Disarm all probes of the processes, also those that others armed.", false,
		t.captureStop)
}

func (t tools) captureStatus(ctx context.Context, q *sdk.CallToolRequest, in captureIn) (string, *Printed, error) {
	return t.captureVerb(ctx, q, in.PID, "--json", "status")
}

func (t tools) captureStop(ctx context.Context, q *sdk.CallToolRequest, in captureIn) (string, *Printed, error) {
	return t.captureVerb(ctx, q, in.PID, "stop")
}

// captureVerb calls a verb of beagle capture for the processes that a request means.
func (t tools) captureVerb(
	ctx context.Context, q *sdk.CallToolRequest, pid int, verb ...string,
) (string, *Printed, error) {
	at, err := t.process(pid)
	if err != nil {
		return "", nil, err
	}
	return t.printed(ctx, q, "", "capture", append(at, verb...)...)
}

// process returns the arguments that name a process without a probe, if the request names one or if
// there are no others.
func (t tools) process(pid int) ([]string, error) {
	known := t.production.PIDs
	switch {
	case pid == 0 && (t.production.Capture || len(known) == 0):
		return nil, nil
	case pid == 0 && len(known) == 1:
		pid = known[0]
	case !slices.Contains(known, pid):
		return nil, &beagle.UsageError{What: fmt.Sprintf("pid %d is not a process that the server may look into", pid),
			Remedy: fmt.Sprintf("give one of %v; 'beagle mcp --pid' names them", known)}
	}
	return []string{"--pid", strconv.Itoa(pid)}, nil
}

func (t tools) captureStart(
	ctx context.Context, q *sdk.CallToolRequest, in captureStartIn,
) (string, *Printed, error) {
	args := []string{"--json", "--for", seconds(in.Seconds)}
	if in.Samples > 0 {
		args = append(args, "--samples", strconv.Itoa(in.Samples))
	}
	if in.Rate > 0 {
		args = append(args, "--rate", strconv.Itoa(in.Rate))
	}
	return t.captured(ctx, q, in.Target, in.PID, append(args, "start")...)
}

func (t tools) capturePull(ctx context.Context, q *sdk.CallToolRequest, in capturePullIn) (string, *Printed, error) {
	return t.captured(ctx, q, in.Target, in.PID, "--json", "pull")
}

// captured runs a verb that keeps captured calls.
func (t tools) captured(
	ctx context.Context, q *sdk.CallToolRequest, target string, pid int, args ...string,
) (string, *Printed, error) {
	at, err := t.process(pid)
	if err := errors.Join(err, word("target", target)); err != nil {
		return "", nil, err
	}
	args = append(at, args...)
	file := filepath.Join(t.production.Keep, name(target)+".jsonl")
	return t.printed(ctx, q, file, "capture", append(append([]string{"--out", file}, args...), target)...)
}

func (t tools) captureAsk(ctx context.Context, q *sdk.CallToolRequest, in captureAskIn) (string, *Printed, error) {
	if err := errors.Join(word("target", in.Target), word("condition", in.Condition)); err != nil {
		return "", nil, err
	}
	args := []string{"--json", "--for", seconds(in.Seconds)}
	if in.Samples > 0 {
		args = append(args, "--samples", strconv.Itoa(in.Samples))
	}
	return t.printed(ctx, q, "", "capture", append(args, "ask", in.Target, in.Condition)...)
}

func (t tools) money(ctx context.Context, q *sdk.CallToolRequest, in moneyIn) (string, *Printed, error) {
	args := []string{"--json", "--quiet", "--seconds", "30"} // clients wait for no longer profile
	if in.Least > 0 {
		args = append(args, "--least", strconv.FormatFloat(in.Least, 'g', -1, 64))
	}
	limit := in.Limit
	if limit <= 0 {
		limit = 10
	}
	args = append(args, "--limit", strconv.Itoa(min(limit, 50)))
	profile, err := t.source(ctx, in.Profile, true)
	if err != nil {
		return "", nil, err
	}
	return t.printed(ctx, q, "", "hotspots", append(args, profile...)...)
}

// bench answers the tool that writes a benchmark from captured calls.
func (t tools) bench(ctx context.Context, q *sdk.CallToolRequest, in benchIn) (string, *Printed, error) {
	if err := word("target", in.Target); err != nil {
		return "", nil, err
	}
	args := []string{"--json"}
	if in.Inputs != "" {
		if filepath.Dir(in.Inputs) != t.production.Keep {
			return "", nil, &beagle.UsageError{What: fmt.Sprintf("inputs %.200q are not captured calls", in.Inputs),
				Remedy: "give the file that capture_start or capture_pull returned, or leave it out"}
		}
		args = append(args, "--corpus", in.Inputs)
	}
	profile, err := t.source(ctx, in.Profile, in.Compare)
	if err != nil {
		return "", nil, err
	}
	for _, p := range profile {
		args = append(args, "--profile", p)
	}
	file := filepath.Join(t.production.Keep, name(in.Target)+"_test.go")
	text, p, err := t.printed(ctx, q, file, "bench", append(args, "-o", file, in.Target)...)
	if err != nil || t.production.Veiled {
		return text, p, err
	}
	made, err := os.ReadFile(file)
	p.Text = string(made)
	return text + "\n" + p.Text, p, err
}

// name returns a file's name for a target.
func name(target string) string { return "f" + beagle.HashOf("captured", target)[:12] }

// ServerSources stands for the profiles of production that the server was started with.
const ServerSources = "server:"

// source returns the file of a profile below the module. Without a name it returns the server's
// own source, if wanted.
func (t tools) source(ctx context.Context, name string, wanted bool) ([]string, error) {
	switch {
	case name != "":
	case wanted && t.production.Sources:
		return []string{ServerSources}, nil
	case wanted:
		return nil, &beagle.UsageError{What: "no profile is named",
			Remedy: "name a CPU profile below the module, or start the server with --source"}
	default:
		return nil, nil
	}
	f, err := t.b.Profile(name) // refuses what lies elsewhere
	if err != nil {
		return nil, err
	}
	m, err := t.b.Module(ctx)
	return []string{filepath.Join(m.Dir, filepath.FromSlash(name))}, errors.Join(err, f.Close())
}

// printed runs a verb and parses its output.
func (t tools) printed(
	ctx context.Context, q *sdk.CallToolRequest, file, verb string, args ...string,
) (string, *Printed, error) {
	out, status, err := t.production.Run(ctx, progress(ctx, q), verb, args...)
	if err != nil {
		return "", nil, err
	}
	p := &Printed{Status: status, File: file}
	objects, rest := objectsOf(out)
	for _, o := range objects {
		t.veil(o)
	}
	switch {
	case len(objects) == 1:
		p.Output = objects[0]
	case len(objects) > 1:
		p.Output = objects
	}
	p.Text = llm.Clean(rest)
	text, err := json.Marshal(p.Output)
	if p.Output == nil {
		text = nil
	}
	return strings.TrimSpace(string(text) + "\n" + p.Text), p, err
}

// objectsOf returns the JSON objects that a text begins with, and what comes after them.
func objectsOf(text string) (objects []any, rest string) {
	d := json.NewDecoder(strings.NewReader(text))
	for {
		at := d.InputOffset()
		var v map[string]any
		if err := d.Decode(&v); err != nil {
			if errors.Is(err, io.EOF) {
				return objects, ""
			}
			return objects, strings.TrimSpace(text[at:])
		}
		objects = append(objects, v)
	}
}

// veil takes recorded calls out of an object, and captured values where they are not shown.
func (t tools) veil(object any) {
	switch v := object.(type) {
	case map[string]any:
		for _, name := range []string{"train", "holdout", "generated"} {
			if list, ok := v[name].([]any); ok {
				v[name] = len(list)
			}
		}
		if t.production.Veiled {
			for _, name := range []string{"top", "bytes", "min", "max"} {
				if _, facet := v["distinct"]; facet {
					delete(v, name)
				}
			}
		}
		for _, inner := range v {
			t.veil(inner)
		}
	case []any:
		for _, inner := range v {
			t.veil(inner)
		}
	}
}

// word refuses text that the command line would read as a flag.
func word(name, value string) error {
	if err := bounded(name, value, maxName, true); err != nil {
		return err
	}
	if strings.HasPrefix(value, "-") {
		return &beagle.UsageError{What: fmt.Sprintf("%s %.100q begins with a dash", name, value),
			Remedy: "put a condition into parentheses; no function is named so"}
	}
	return nil
}

func seconds(n int) string {
	if n <= 0 {
		n = usualCapture
	}
	return strconv.Itoa(min(n, maxCapture)) + "s"
}
