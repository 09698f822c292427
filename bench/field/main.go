// Command field measures Beagle on code of other projects.
//
//	field recall [-dir DIR] [-per N] [-rule NAME]   how often rewrites find a place
//	field sample [-half sealed] [-n N]              functions that benchmarks exercise
//	field why -dir DIR [-n N] [-run REGEXP]         what rules make of these, and what not
//	field lift [-files N] [-fresh N] [-seed N]      which pieces of code the library has
//	field commits [-half sealed] [-perfect]         its gain beside that of real commits
//
// The code is downloaded by module version when the command runs. None of it is
// kept here.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/beagle-go/beagle/internal/command"
	"github.com/beagle-go/beagle/internal/sandbox"
)

const usage = `field measures Beagle on code of other projects.

  field recall [-dir DIR] [-per N] [-rule NAME]   how often rewrites find a place
  field sample [-half sealed] [-n N]              functions that benchmarks exercise
  field why -dir DIR [-n N] [-run REGEXP]         what rules make of these, and what not
  field lift [-files N] [-fresh N] [-seed N]      which pieces of code the library has
  field commits [-half sealed] [-perfect]         its gain beside that of real commits

field VERB -h lists the flags of a verb. Example, resumed by the same command:

  field sample -half development -n 4 -seed 16 -dir ~/field
`

func main() {
	sandbox.Main()
	command.Main("field", func(ctx context.Context) error { return run(ctx, os.Args[1:]) })
}

// run chooses the verb, reads its flags and carries it out.
func run(ctx context.Context, args []string) error {
	// Choose the verb.
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	f := flag.NewFlagSet(verb, flag.ContinueOnError)
	o, r := &options{}, &recall{}
	var do func() error
	switch verb {
	case "recall":
		r.flags(f)
		do = func() error { return r.run(ctx) }
	case "sample":
		o.sampleFlags(f)
		do = func() error { return sample(ctx, o, os.Stdout, os.Stderr) }
	case "commits":
		o.flags(f)
		f.IntVar(&o.n, "n", 1000, "entries to take at most")
		f.BoolVar(&o.perfect, "perfect", false, "a scripted model hands in the maintainers' version")
		do = func() error { return commits(ctx, o, os.Stdout, os.Stderr) }
	case "lift":
		l := &liftSample{}
		l.flags(f)
		do = func() error { return l.run(ctx) }
	case "why":
		w := &reasonCounts{}
		w.flags(f)
		do = func() error { return w.look(ctx, os.Stdout, os.Stderr) }
	case "", "help", "-h", "-help", "--help":
		fmt.Print(usage)
		return nil
	default:
		return fmt.Errorf("no verb %q: name recall, sample, why, commits or lift", verb)
	}
	// Read its flags, and run it.
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil // Parse has printed the flags
	} else if err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%s takes flags only, not %q", verb, f.Arg(0))
	}
	return do()
}
