// Command field measures Beagle on code that nobody here has written.
//
//	field recall [-dir DIR] [-per N] [-write]   how often each rewrite finds a place
//	field lift [-files N] [-fresh N] [-seed N]   which pieces of code the library has
//
// The code is downloaded by module version when the command runs. None of it is
// kept here.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/beagle-go/beagle/internal/sandbox"
)

func main() {
	sandbox.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "field:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "lift" {
		return runLift(ctx, args[1:])
	}
	if len(args) == 0 || args[0] != "recall" {
		return fmt.Errorf("name a verb: recall or lift")
	}
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	r := &recall{}
	f.StringVar(&r.root, "root", ".", "root of Beagle's repository")
	f.StringVar(&r.dir, "dir", "", "keep downloads' go.mod files here; the default is a scratch directory")
	f.IntVar(&r.per, "per", 8, "packages of a module, drawn by a seed")
	f.BoolVar(&r.write, "write", false, "write mutate/rules/recall.txt, which 'beagle explain' shows")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	return r.run(ctx)
}

func runLift(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("lift", flag.ContinueOnError)
	l := &lifting{}
	f.StringVar(&l.root, "root", ".", "root of Beagle's repository")
	f.StringVar(&l.dir, "dir", "", "keep downloads' go.mod files here; the default is a scratch directory")
	f.IntVar(&l.per, "per", 3, "packages of a module, drawn by the seed; of each one file is drawn")
	f.IntVar(&l.files, "files", 200, "files to study")
	f.IntVar(&l.fresh, "fresh", 20000, "inputs on which proposals are checked")
	f.Uint64Var(&l.seed, "seed", 16, "seed of the draw")
	if err := f.Parse(args); err != nil {
		return err
	}
	return l.run(ctx)
}
