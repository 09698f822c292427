package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/local"
	"github.com/beagle-go/beagle/internal/report"
)

var verifyCommand = &command{
	name: "verify", args: "PKG.Func CANDIDATE.go",
	short: "judge a hand-written version of a function",
	long: `
Gives a hand-written version of a function the full verdict that 'beagle evolve' would give: policy, replay of recorded
calls, exhaustion over short inputs, a guided search for differences, the race detector where it matters, and the
measured ratio.

The file declares the function again, with any new helpers, in the function's own package; helpers that it uses as they
are need not be copied:

  package tags

  import "strings"

  func Normalize(s string) string { ... }

Examples:
  beagle verify ./examples/tags.MergeTags faster.go
  beagle verify --json --fuzz 60s ./examples/tags.MergeTags faster.go

Exit status: 0 only when the version is accepted as equivalent and faster, 1 when it is not, 2 for bad input.`,
}

func init() { verifyCommand.run = runVerify }

func runVerify(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	spec := flow.Defaults()
	f := c.flags(std)
	specFlags(f, &spec)
	asJSON := f.Bool("json", false, "print the verdict as one JSON object (docs/json.md)")
	quiet := f.Bool("quiet", false, "no progress")
	rest, err := parse(f, args, 2, 2)
	if err != nil {
		return exitUsage, err
	}
	spec.Target = rest[0]
	if err := spec.Validate(); err != nil {
		return exitUsage, err
	}
	src, err := os.ReadFile(rest[1])
	if err != nil {
		return exitUsage, &beagle.UsageError{What: err.Error(), Remedy: "give a Go file that declares the function again"}
	}
	s, err := openStore()
	if err != nil {
		return exitNo, err
	}
	d := &local.Driver{Store: s, Watch: newProgress(std.err, *quiet).watch}
	verdict, err := d.Verify(ctx, spec, string(src), rest[1])
	if err != nil {
		return exitNo, err
	}
	if *asJSON {
		err = printJSON(std.out, verdict)
	} else {
		printVerdict(std.out, verdict)
	}
	if verdict.Status == beagle.Accepted {
		return exitOK, err
	}
	return exitNo, err
}

func printVerdict(w io.Writer, v *beagle.Verdict) {
	fmt.Fprintf(w, "\n%s", v.Status)
	if !v.OK() {
		fmt.Fprintf(w, " by %s", v.Stage)
	}
	if v.Reason != "" {
		fmt.Fprintf(w, ": %s", v.Reason)
	}
	fmt.Fprintln(w)
	for _, k := range v.Checks {
		mark := "ok"
		if !k.Passed {
			mark = "FAILED"
		}
		fmt.Fprintf(w, "  %-12s %-6s %8d inputs %8.0f ms  %s\n", k.Name, mark, k.Cases, k.Millis, k.Note)
	}
	if x := v.Counterexample; x != nil {
		fmt.Fprintf(w, "\n  %s\n    original:  %s\n    candidate: %s\n\n%s\n", x.Go, x.Want, x.Got, x.Test)
	}
	if m := v.Final; m != nil {
		fmt.Fprintf(w, "  faster by    %s\n", report.Ratio(m.Corrected))
		if m.Holdout != nil {
			fmt.Fprintf(w, "  on held-out  %s\n", report.Ratio(*m.Holdout))
		}
		fmt.Fprintf(w, "  allocations  %s -> %s a call, mean of a sample\n", report.Count(m.Baseline.Allocs), report.Count(m.Best.Allocs))
	}
	for _, warning := range v.Warnings {
		fmt.Fprintf(w, "  warning: %s\n", warning)
	}
}
