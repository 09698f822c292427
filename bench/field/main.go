// Command field measures Beagle on code that nobody here has written.
//
//	field recall [-dir DIR] [-per N] [-write] [-rule NAME]   how often each rewrite finds a place
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "field:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "recall" {
		return fmt.Errorf("name a verb: recall")
	}
	f := flag.NewFlagSet(args[0], flag.ContinueOnError)
	r := &recall{}
	f.StringVar(&r.root, "root", ".", "root of Beagle's repository")
	f.StringVar(&r.dir, "dir", "", "keep downloads' go.mod files here; the default is a scratch directory")
	f.IntVar(&r.per, "per", 8, "packages of a module, drawn by a seed")
	f.BoolVar(&r.write, "write", false, "write mutate/rules/recall.txt, which 'beagle explain' shows")
	f.StringVar(&r.names, "rule", "", "count only these `rules`, with commas between, and print their places in "+
		"the modules for development")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	return r.run(ctx)
}
