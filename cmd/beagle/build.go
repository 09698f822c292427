package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inject"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/source"
)

var buildCommand = &command{
	name: "build", args: "[go build flags] [packages]",
	short: "build a service so that its calls can be captured, or with two versions of a function",
	long: `
Builds as 'go build' does, and lets 'beagle capture' record calls of the functions that
--probe names. The source tree and go.mod stay as they are: the build sees changed copies
of the files, by -overlay. All other flags and arguments go to the go command.

The program does nothing more than before until it finds BEAGLE_PROBE_SOCKET (a path for a
Unix socket) and BEAGLE_PROBE_TOKEN (a file with a token) in its environment, and a
controller arms it. BEAGLE_PROBE_RAW=1 allows controllers to record text as it is; without
it they get lengths and classes of characters.

Each named function costs a load and a branch per call, and can no longer be inlined. The
command says what a capture will not show. docs/capture.md has the details.

With --rollout the program holds two versions of one function, and the original once more.
It runs the original until 'beagle rollout start' lets the versions take turns.
docs/rollout.md has the details.

Flags:
  --probe PKG.Func[,PKG.Type.Method...]  functions to probe; may be repeated
  --skip-refused                         leave out what cannot have a probe, and say why
  --rollout CANDIDATE.go PKG.Func        a function and its other version

Examples:
  beagle build --probe ./tags.Normalize -o service ./cmd/service
  beagle build --rollout faster.go ./tags.Normalize -o service ./cmd/service
  beagle build -race --probe ./tags.Set.Merge,./parse.Line ./...`,
}

func init() { buildCommand.run = runBuild }

// probeFlags takes --probe out of the go command's arguments.
func probeFlags(args []string) (specs, rest []string, err error) {
	// Take the functions out of the arguments, and refuse flags that the build sets itself.
	for i := 0; i < len(args); i++ {
		name, value, ok := strings.Cut(args[i], "=")
		switch {
		case args[i] == "--":
			return specs, append(rest, args[i:]...), nil
		case name == "-probe" || name == "--probe":
			if !ok {
				if i++; i == len(args) {
					return nil, nil, &beagle.UsageError{
						What:   "--probe names no function",
						Remedy: "give --probe ./pkg.Func",
					}
				}
				value = args[i]
			}
			specs = append(specs, splitSpecs(value)...)
		case name == "-overlay" || name == "--overlay":
			return nil, nil, &beagle.UsageError{What: "-overlay cannot be given: the build needs one of its own",
				Remedy: "put the changed files into the tree"}
		case name == "-C":
			return nil, nil, &beagle.UsageError{
				What:   "-C cannot be given",
				Remedy: "run the command in that directory",
			}
		default:
			rest = append(rest, args[i])
		}
	}
	return specs, rest, nil
}

// splitSpecs splits names of functions at commas and spaces, except those among type arguments.
func splitSpecs(value string) []string {
	depth := 0
	return strings.FieldsFunc(value, func(r rune) bool {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		}
		return depth <= 0 && (r == ',' || r == ' ')
	})
}

// listFlags are the flags of go build that decide which files make a package.
var listFlags = []string{"-tags", "-mod", "-modfile"}

// loadFlags returns those of the go command's arguments that decide which files make a package.
func loadFlags(args []string) (flags []string) {
	for i, a := range args {
		a = strings.Replace(a, "--", "-", 1)
		name, _, joined := strings.Cut(a, "=")
		switch {
		case a == "-race" || a == "-msan" || a == "-asan":
			flags = append(flags, a)
		case slices.Contains(listFlags, name) && joined:
			flags = append(flags, a)
		case slices.Contains(listFlags, name) && i+1 < len(args):
			flags = append(flags, name+"="+args[i+1])
		}
	}
	return flags
}

// runBuild runs go build with an overlay that adds probes, or both versions of a rollout.
func runBuild(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	if slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "-help" || a == "--help" }) {
		_, err := parse(c.flags(std), []string{"--help"}, 0, 0)
		return exitOK, err
	}
	// Split our own flags from those of the go command.
	candidate, rolled, rest, err := rolloutFlag(args)
	if err != nil {
		return exitUsage, err
	}
	specs, rest, err := probeFlags(rest)
	if err != nil {
		return exitUsage, err
	}
	if len(specs) == 0 && rolled == "" {
		return exitUsage, &beagle.UsageError{What: "no function is named with --probe",
			Remedy: "give --probe ./pkg.Func, or use go build"}
	}
	skip := func(a string) bool { return a == "-skip-refused" || a == "--skip-refused" }
	options := inject.Options{Specs: specs, Skip: slices.ContainsFunc(rest, skip)}
	rest = slices.DeleteFunc(rest, skip)
	options.Flags = loadFlags(rest)
	options.TypeArgs = func(ctx context.Context, spec string) ([]string, error) {
		u, err := source.Load(ctx, source.Options{Spec: spec, Tags: tagsOf(options.Flags), InPlace: true})
		if err != nil {
			return nil, err
		}
		return u.Target.TypeArgs, nil
	}
	// A rollout needs the original, the candidate and a placebo.
	if rolled != "" {
		if options.Versions, err = versions(ctx, "", candidate, rolled, tagsOf(options.Flags)); err != nil {
			return exitUsage, err
		}
		rest = aligned(rest)
	}
	// Write the instrumented files beside the checkout, and build with an overlay.
	dir, err := scratch.New("build")
	if err != nil {
		return exitNo, err
	}
	defer dir.Remove()
	o, err := inject.Write(ctx, options, dir.Path)
	if err != nil {
		return exitNo, err
	}
	tellSites(std, o)
	if v := options.Versions; v != nil {
		fmt.Fprintf(std.err, "rollout %s: original, candidate and placebo are build %s\n", v.Spec, v.Build)
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-overlay=" + o.Path}, rest...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, std.out, std.err
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return max(exit.ExitCode(), exitNo), nil // the go command said why
	}
	return exitOK, err
}

// tellSites lists the sites that the build captures, and those that it cannot.
func tellSites(std stdio, o *inject.Overlay) {
	for _, l := range o.Left {
		fmt.Fprintf(std.err, "left out %s: %s\n", l.Spec, l.Why)
	}
	for _, s := range o.Sites {
		// Say what each capture lacks: a user may choose another site for it.
		what := "arguments, results and panics"
		if !s.Results {
			what = "arguments only: " + s.Note
		}
		fmt.Fprintf(std.err, "probe %s: %s\n", s.Name, what)
		for _, b := range s.Blind {
			fmt.Fprintf(std.err, "  not seen  %s\n", b)
		}
		if s.Warning != "" {
			fmt.Fprintf(std.err, "  warning   %s\n", s.Warning)
		}
	}
}
