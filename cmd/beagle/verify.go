package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/local"
	"github.com/beagle-go/beagle/internal/tail"
)

var verifyCommand = &command{
	name: "verify", args: "PKG.Func CANDIDATE.go|DIRECTORY/ ...",
	short: "judge hand-written versions of a function",
	long: `
Gives each hand-written version of a function the full verdict that 'beagle evolve' would
give: policy, replay of recorded calls, exhaustion over short inputs, a guided search for
differences, the race detector where it matters, and the measured ratio.

A file declares the function again, with any new helpers, in the function's own package;
helpers that it uses as they are need not be copied:

  package tags

  import "strings"

  func Normalize(s string) string { ... }

A type, or a group of functions, is one target as for 'beagle evolve': a file declares
what changes of it, fields of the type included.

In a directory, each Go file except tests is one version. Recorded inputs are kept, and
serve later commands while the module and the toolchain stay the same; --anew records them
again.

Examples:
  beagle verify ./examples/tags.MergeTags faster.go
  beagle verify --json --fuzz 60s ./examples/tags.MergeTags faster.go
  beagle verify --offline ./examples/tags.MergeTags faster.go
  beagle verify ./pkg/cache.Cache ring.go
  beagle verify --no-measure ./examples/tags.MergeTags one.go two.go versions/

Exit status:
  0    accepted: equivalent as far as checked, and faster; with --no-measure, equivalent
       as far as checked
  1    wrong: it answers differently, crashes, or does not return
  2    bad input
  3    not faster, or not confirmed to be
  4    it does not compile, or does not declare the function
  5    forbidden by the policy
  6    Beagle itself failed
  130  interrupted
The worst of several versions counts: 6, then 1, 5, 4, 3, and 0 only when all are
accepted.`,
}

func init() { verifyCommand.run = runVerify }

// The exit statuses of verify besides those of all commands.
const (
	exitNotFaster = 3
	exitNoCompile = 4
	exitForbidden = 5
	exitFailed    = 6
)

// verifyExit returns the exit status that a verdict gives.
func verifyExit(v *beagle.Verdict, measured bool) int {
	switch v.Status {
	case beagle.Accepted:
		return exitOK
	case beagle.Equal:
		// Equal is all that was asked for where nobody measures.
		if !measured {
			return exitOK
		}
		return exitNotFaster
	case beagle.Invalid:
		return exitNoCompile
	case beagle.Forbidden:
		return exitForbidden
	case beagle.Failed:
		return exitFailed
	}
	return exitNo
}

// worseStatus returns the exit status of two versions together.
func worseStatus(a, b int) int {
	for _, status := range []int{exitFailed, exitNo, exitForbidden, exitNoCompile, exitNotFaster} {
		if a == status || b == status {
			return status
		}
	}
	return exitOK
}

// runVerify judges versions by hand, each as a search would judge its winner.
func runVerify(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	spec := flow.Defaults()
	// Declare the flags.
	f := c.flags(std)
	specFlags(f, &spec)
	contractFlags(f, &spec)
	guarded := f.String("guarded", "", "write the guarded form of a near miss to this `file`; for a single version")
	asJSON := f.Bool("json", false,
		"print the verdict as one JSON object; for several versions, one object a line (docs/json.md)")
	quiet := f.Bool("quiet", false, "print no progress")
	f.BoolVar(&spec.NoMeasure, "no-measure", false, "judge the behaviour alone: no version is timed")
	f.BoolVar(&spec.Anew, "anew", false, "record the inputs anew")
	f.BoolVar(&spec.Models.Offline, "offline", false,
		"nothing leaves this machine, as with evolve; no model judges a version anyway")
	rest, err := parse(f, args, 2, maxVersions)
	if err != nil {
		return exitUsage, err
	}
	// Check the flags and the target.
	if spec.NoMeasure && f.given("measure") {
		return exitUsage, &beagle.UsageError{What: "--measure and --no-measure exclude each other",
			Remedy: "leave one of them out"}
	}
	spec.Target, rest = splitTarget(rest)
	if err := spec.Validate(); err != nil {
		return exitUsage, err
	}
	if len(rest) == 0 {
		return exitUsage, &beagle.UsageError{What: spec.Target + " is a target, and no version of it is given",
			Remedy: "give a Go file that declares it again"}
	}
	// Read the versions. The recording must not depend on them.
	versions, several, err := readVersions(rest)
	if err != nil {
		return exitUsage, err
	}
	for _, v := range versions {
		if path, err := filepath.Abs(v.Name); err == nil {
			spec.Judged = append(spec.Judged, path)
		}
	}
	s, err := openStore()
	if err != nil {
		return exitFailed, err
	}
	if several && *guarded != "" {
		return exitUsage, &beagle.UsageError{
			What:   "--guarded " + *guarded + " with several versions",
			Remedy: "give one version, to write its guarded form",
		}
	}
	// Print each verdict as soon as it is known.
	show := &verdicts{
		w:        std.out,
		versions: versions,
		several:  several,
		json:     *asJSON,
		measured: !spec.NoMeasure,
		guarded:  *guarded,
	}
	p := newProgress(std.err, *quiet)
	d := &local.Driver{Store: s, Watch: p.watch}
	err = d.Verify(ctx, spec, versions, func(i int, v *beagle.Verdict) {
		p.pause() // a verdict stays on the screen
		show.tell(i, v)
	})
	p.stop()
	if err != nil {
		return exitFailed, errors.Join(err, show.err)
	}
	return show.end()
}

// maxVersions bounds a slip such as verify ./p.F /usr/**.
const maxVersions = 10_000

// readVersions reads the files, and all Go files of the directories. several
// says that there may be more than one.
func readVersions(args []string) (out []local.SourceFile, several bool, err error) {
	for _, arg := range args {
		paths := []string{arg}
		// A directory stands for all its Go files. A missing file fails below, where it is read.
		if info, err := os.Stat(arg); err == nil && info.IsDir() {
			several = true
			if paths, err = goFiles(arg); err != nil {
				return nil, false, err
			}
		}
		for _, path := range paths {
			src, err := os.ReadFile(path)
			if err != nil {
				return nil, false, &beagle.UsageError{
					What:   tail.FileError(err),
					Remedy: "give a Go file that declares the function again",
				}
			}
			out = append(out, local.SourceFile{Name: path, Source: string(src)})
		}
	}
	return out, several || len(args) > 1, nil
}

// goFiles lists the Go files of a directory, tests aside.
func goFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if name := e.Name(); e.Type()&fs.ModeDir == 0 && strings.HasSuffix(name, ".go") &&
			!strings.HasSuffix(name, "_test.go") {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	if len(paths) == 0 {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("%s holds no Go file", dir),
			Remedy: "give a directory in which each Go file is a version, or the files themselves",
		}
	}
	return paths, nil
}

// verdicts shows versions as they are judged.
type verdicts struct {
	w        io.Writer
	versions []local.SourceFile
	several  bool
	json     bool
	measured bool
	guarded  string            // file for the guarded form of a near miss; "" for none
	told     []*beagle.Verdict // by version; nil for one that was not judged
	status   int
	err      error
}

// tell shows the verdict on version i.
func (s *verdicts) tell(i int, v *beagle.Verdict) {
	if s.told == nil {
		s.told = make([]*beagle.Verdict, len(s.versions))
	}
	s.told[i] = v
	s.status = worseStatus(s.status, verifyExit(v, s.measured))
	// One version prints its verdict alone. Several print a line of JSON each, or a headed text.
	switch {
	case s.json && s.several:
		s.err = errors.Join(s.err, json.NewEncoder(s.w).Encode(beagle.Judgement{File: s.versions[i].Name, Verdict: *v}))
	case s.json:
		s.err = errors.Join(s.err, printJSON(s.w, v))
	default:
		name := ""
		if s.several {
			name = s.versions[i].Name
		}
		printVerdict(s.w, name, v)
	}
	s.err = errors.Join(s.err, writeGuarded(s.guarded, v))
}

// end shows the table of several versions.
func (s *verdicts) end() (int, error) {
	if s.several && !s.json {
		printSummary(s.w, s.versions, s.told)
	}
	if s.err != nil {
		return exitFailed, s.err
	}
	return s.status, nil
}
