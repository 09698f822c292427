package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow/campaigns"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/flow/local"
	"github.com/beagle-go/beagle/internal/report"
	"github.com/beagle-go/beagle/internal/store"
)

var runsCommand = &command{
	name: "runs", short: "list the runs in the store",
	long: `
Lists the runs in the store, the newest first.

Examples:
  beagle runs
  beagle runs --json`,
}

var showCommand = &command{
	name: "show", args: "[RUN]",
	short: "show the result of a run",
	long: `
Shows the result of a run. The beginning of its ID is enough. Without a run it lists the
runs, as 'beagle runs' does.

Examples:
  beagle show
  beagle show 3f2a
  beagle show --json 3f2a
  beagle show --markdown 3f2a >report.md`,
}

var resumeCommand = &command{
	name: "resume", args: "RUN",
	short: "go on with a run that was stopped",
	long: `
Goes on with a run that was interrupted or killed, in the directory where it began. The
command works from any directory. What was evaluated before is not evaluated again.

Examples:
  beagle resume 3f2a`,
}

var cancelCommand = &command{
	name: "cancel", args: "RUN",
	short: "stop a run",
	long: `
Stops a run that goes on in another process, and marks it as cancelled. 'beagle resume'
takes it up again.

Examples:
  beagle cancel 3f2a
  beagle cancel --judge 3f2a`,
}

func init() {
	runsCommand.run = runRuns
	showCommand.run = runShow
	resumeCommand.run = runResume
	cancelCommand.run = runCancel
}

// runRuns lists the runs of the store.
func runRuns(_ context.Context, c *command, args []string, std stdio) (int, error) {
	f := c.flags(std)
	asJSON := f.Bool("json", false, "print a JSON array")
	if _, err := parse(f, args, 0, 0); err != nil {
		return exitUsage, err
	}
	s, err := openStore()
	if err != nil {
		return exitNo, err
	}
	return printRuns(std.out, s, *asJSON)
}

// printRuns lists the runs in the store.
func printRuns(w io.Writer, s *store.Store, asJSON bool) (int, error) {
	runs, err := s.Runs()
	if err != nil {
		return exitNo, err
	}
	// The store says "running" of a run whose process was killed.
	fleet.MarkKilled(s, runs)
	if asJSON {
		return exitOK, printJSON(w, runs)
	}
	if len(runs) == 0 {
		fmt.Fprintln(w, "There are no runs yet. Start one with 'beagle evolve ./pkg.Func'.")
		return exitOK, nil
	}
	return exitOK, listRuns(w, runs, terminalWidth(w))
}

// listRuns prints a line for each run, cut to the width of a terminal. A file, whose width is 0,
// gets whole lines. A narrow terminal shows targets without the paths of their packages, which
// would leave no room for their names.
func listRuns(w io.Writer, runs []store.Run, width int) error {
	narrow := slices.ContainsFunc(runs, func(r store.Run) bool { return width > 0 && len(r.Spec) > width/2 })
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tSTATE\tSTARTED\tTARGET\tNOTE")
	for _, r := range runs {
		note := strings.Join(strings.Fields(r.Note), " ") // a failure may quote a whole program's output
		spec := r.Spec
		if narrow {
			spec = spec[strings.LastIndex(spec, "/")+1:]
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.State, r.Created.Local().Format(time.DateTime), spec, note)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(table.String()) {
		if _, err := fmt.Fprintln(w, cut(strings.TrimRight(line, " \n"), width)); err != nil {
			return err
		}
	}
	return nil
}

// cut shortens a text to a width; 0 leaves it whole.
func cut(s string, width int) string {
	if r := []rune(s); width > 0 && len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
}

// terminalWidth returns the width of the terminal behind w, or 0 if w is no terminal.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok && isTerminal(w) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 20 {
			return width
		}
	}
	return 0
}

// runShow prints the result of a run, or lists the runs.
func runShow(_ context.Context, c *command, args []string, std stdio) (int, error) {
	f := c.flags(std)
	asJSON := f.Bool("json", false, "print the result as one JSON object (docs/json.md)")
	markdown := f.Bool("markdown", false, "print the report as Markdown")
	rest, err := parse(f, args, 0, 1)
	if err != nil {
		return exitUsage, err
	}
	s, err := openStore()
	if err != nil {
		return exitNo, err
	}
	// Without a run, list all.
	if len(rest) == 0 {
		if *markdown {
			return exitUsage, &beagle.UsageError{
				What:   "--markdown needs a run",
				Remedy: "name one: beagle show --markdown RUN; 'beagle runs' lists them",
			}
		}
		return printRuns(std.out, s, *asJSON)
	}
	// Print the result of the run.
	run, err := s.Run(rest[0])
	if err != nil {
		return exitUsage, err
	}
	result, err := local.Result(s, run.ID)
	if err != nil {
		return exitNo, err
	}
	switch {
	case *asJSON:
		return exitOK, printJSON(std.out, result)
	case *markdown:
		return exitOK, report.Markdown(std.out, result)
	}
	printResult(std.out, result, s.RunDir(run.ID), false)
	return exitOK, nil
}

// runResume goes on with a run, where it stopped or on its server.
func runResume(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	var o evolveOptions
	f := c.flags(std)
	o.flags(f)
	rest, err := parse(f, args, 1, 1)
	if err != nil {
		return exitUsage, err
	}
	if err := o.check(); err != nil {
		return exitUsage, err
	}
	// A run that a workflow carries can be resumed by its server only.
	at, entry, away, err := findServer(rest[0])
	if err != nil {
		return exitNo, err
	}
	if away {
		return withFleet(std, o, at.Server, func(d *fleet.Driver) (*beagle.Result, error) {
			return d.Resume(ctx, entry.ID)
		})
	}
	return withDriver(std, o, func(d *local.Driver) (*beagle.Result, error) { return d.Resume(ctx, rest[0]) })
}

// runCancel stops a run, here or on its server.
func runCancel(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	f := c.flags(std)
	judge := f.Bool("judge", false, "end the search only, and judge what it has found (for runs on a Temporal server)")
	rest, err := parse(f, args, 1, 1)
	if err != nil {
		return exitUsage, err
	}
	s, err := openStore()
	if err != nil {
		return exitNo, err
	}
	// The ID may name a campaign on a Temporal server.
	b := campaigns.Base{Store: s, ID: rest[0]}
	if at, away, err := b.Server(); plainName.MatchString(b.ID) && (err != nil || away) {
		if err == nil {
			d := &fleet.Driver{Store: s, Server: at, Log: std.err}
			err = d.Cancel(ctx, fleet.CampaignRun(b.ID), false)
		}
		if err != nil {
			return exitNo, err
		}
		fmt.Fprintf(std.out, "Campaign %s on %s was asked to stop. 'beagle campaign --resume %[1]s --temporal %[2]s' "+
			"takes it up again.\n", b.ID, at.Address)
		return exitOK, nil
	}
	// Otherwise it names a run: on a server, or of a process on this machine.
	run, err := s.Run(rest[0])
	if err != nil {
		return exitUsage, err
	}
	if run.State == store.Done {
		return exitUsage, &beagle.UsageError{
			What:   fmt.Sprintf("run %s is done", run.ID),
			Remedy: "'beagle show " + run.ID + "' shows its result",
		}
	}
	// A server passes the request on; a process of this machine finds it in the store.
	if d, _, away, err := findServer(run.ID); err != nil || away {
		if err == nil {
			err = d.Cancel(ctx, run.ID, *judge)
		}
		if err != nil {
			return exitNo, err
		}
		fmt.Fprintf(std.out,
			"Run %s on %s was asked to stop. 'beagle resume %[1]s' follows it to its end, or takes it up again.\n",
			run.ID, d.Server.Address)
		return exitOK, nil
	}
	if *judge {
		return exitUsage, &beagle.UsageError{
			What:   "--judge is for runs on a Temporal server",
			Remedy: "stop the run with 'beagle cancel', then 'beagle resume' it",
		}
	}
	if !s.Works(run) {
		return exitUsage, &beagle.UsageError{
			What:   fmt.Sprintf("no process works on run %s", run.ID),
			Remedy: "'beagle resume " + run.ID + "' takes it up again",
		}
	}
	if err := s.RequestCancel(run.ID); err != nil {
		return exitNo, err
	}
	fmt.Fprintf(std.out, "Run %s stops at its next step. 'beagle resume %[1]s' takes it up again.\n", run.ID)
	return exitOK, nil
}

// printJSON prints a value as indented JSON.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// openStore opens the user's store.
func openStore() (*store.Store, error) {
	home, err := store.Home()
	if err != nil {
		return nil, err
	}
	return store.Open(home)
}
