package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/audit"
	"github.com/beagle-go/beagle/internal/companion"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/tail"
)

var auditCommand = &command{
	name: "audit", args: "[PACKAGE... | PKG.Func]",
	short: "find mistakes in Go benchmarks",
	long: `
Reads the benchmarks of packages and the machine code that the compiler makes of them. It
says which benchmarks measure something else than they seem to, with the line, the reason
and what to do. It runs nothing. docs/audit.md has the rules.

With --corpus it runs the benchmarks that --bench names, records what they pass to a
function, and compares that with the recorded calls: a single value, few inputs, inputs of
other kinds, inputs that stay in the nearest cache.

Examples:
  beagle audit                               # the package in this directory
  beagle audit ./...
  beagle audit --json ./internal/codec
  beagle audit --sarif audit.sarif ./...     # for code hosts; '-' prints it
  beagle audit --corpus calls.jsonl --bench BenchmarkNormalize ./tags.Normalize

Exit status: 0 when nothing was found, 1 when something was, 2 for bad input.`,
}

func init() { auditCommand.run = runAudit }

// runAudit audits benchmarks, and exits with status 1 if there are findings.
func runAudit(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	var o audit.Options
	// Read the command line.
	f := c.flags(std)
	f.StringVar(&o.Dir, "C", ".", "`directory` to work in")
	f.Var(listFlag{&o.Tags}, "tags", "build `tags`, separated by commas")
	asJSON := f.Bool("json", false, "print one JSON object (docs/json.md)")
	sarif := f.String("sarif", "", "write the findings in SARIF to this `file`; '-' prints them")
	calls := f.String("corpus", "", "compare inputs with the recorded calls in this `file` (docs/corpus.md)")
	var benchmarks []string
	f.Var(listFlag{&benchmarks}, "bench", "with --corpus: `benchmarks` of the function's package, separated by commas")
	var err error
	if o.Patterns, err = parse(f, args, 0, 1<<10); err != nil {
		return exitUsage, err
	}
	// Audit the benchmarks by their text and code, or beside recorded calls.
	run := func() (*audit.Report, error) { return audit.Run(ctx, o) }
	if *calls != "" || len(benchmarks) > 0 {
		if *calls == "" || len(benchmarks) == 0 || len(o.Patterns) != 1 {
			return exitUsage, &beagle.UsageError{What: "--corpus and --bench go together, with one function",
				Remedy: "as in 'beagle audit --corpus calls.jsonl --bench BenchmarkNormalize ./tags.Normalize'"}
		}
		spec := flow.Defaults()
		spec.Dir, spec.Tags, spec.CorpusFile, spec.Target = o.Dir, o.Tags, *calls, o.Patterns[0]
		run = func() (*audit.Report, error) { return flow.AuditInputs(ctx, spec, benchmarks) }
	}
	r, err := run()
	if err != nil {
		return exitNo, err
	}
	// Print the report, for a person, a program or a code host.
	switch {
	case *sarif == "-":
		err = r.SARIF(std.out, companion.Version())
	case *asJSON:
		err = printJSON(std.out, r)
	default:
		printAudit(std.out, r)
	}
	if *sarif != "" && *sarif != "-" {
		err = errors.Join(err, writeSARIF(*sarif, r))
	}
	// Findings end with status 1, so that CI fails.
	if err == nil && len(r.Findings) > 0 {
		return exitNo, nil
	}
	return exitOK, err
}

// writeSARIF writes a report to a file, whole or not at all.
func writeSARIF(name string, r *audit.Report) error {
	var b bytes.Buffer
	if err := r.SARIF(&b, companion.Version()); err != nil {
		return err
	}
	err := scratch.Replace(name, b.Bytes(), 0o644)
	if failed := (*os.PathError)(nil); errors.As(err, &failed) {
		return fmt.Errorf("--sarif %s: cannot write there: %w; name a file in a directory that is there and that "+
			"you may write to", name, failed.Err)
	}
	return err
}

// printAudit prints findings as compilers do, each with its remedy below.
func printAudit(w io.Writer, r *audit.Report) {
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s:%d:%d: %s: %s [%s]\n\t%s\n", f.File, f.Line, f.Column, f.Benchmark, f.Reason,
			f.Rule, f.Remedy)
	}
	switch {
	case r.Benchmarks == 0:
		fmt.Fprintln(w, "There is no benchmark in these packages: name others, as in 'beagle audit ./...'.")
	default:
		fmt.Fprintf(w, "%s in %s.\n", tail.Plural(len(r.Findings), "finding"), tail.Plural(r.Benchmarks, "benchmark"))
	}
}
