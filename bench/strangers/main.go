// Command strangers measures the judge on functions of other projects.
//
// The functions are drawn by a seed from the standard library and from the
// modules of modules.txt. They are used in place: each module is downloaded by
// its version into a scratch directory, and none of its text is kept here.
//
//	strangers draw -seed 14 -n 96               draw functions anew; prints functions.txt
//	strangers mutants [-per 25] [-set M]        wrong versions made by operators
//	strangers versions [-set A] [-beagle PATH]  what people wrote: cheats, slips, honest versions
//	strangers show FUNCTION                     the original as a candidate file, and its place
//	strangers check [-set A] [-policy]          whether versions are versions, and pass the policy
//
// A function is named by its line in functions.txt: "A1", "B3", "M17".
package main

import (
	"context"
	"errors"
	"flag"
	"os"

	"github.com/beagle-go/beagle/internal/command"
	"github.com/beagle-go/beagle/internal/sandbox"
)

var verbs = map[string]func(ctx context.Context, l *lab, f *flag.FlagSet, args []string) error{
	"draw": draw, "mutants": judgeMutants, "versions": versions, "show": show, "check": check,
}

func main() {
	sandbox.Main() // does not return in the processes that hold a sandbox
	command.Main("strangers", func(ctx context.Context) error { return run(ctx, os.Args[1:]) })
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || verbs[args[0]] == nil {
		return errors.New("name a verb: draw, mutants, versions, show or check")
	}
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	l := &lab{}
	f.StringVar(&l.dir, "dir", "", "keep the modules' copies here; the default is a scratch directory")
	f.StringVar(&l.root, "root", ".", "root of Beagle's repository")
	defer func() { l.close() }()
	return verbs[args[0]](ctx, l, f, args[1:])
}
