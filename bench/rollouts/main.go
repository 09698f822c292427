//go:build unix

// Command rollouts rolls versions of metricsd's functions out in running services under load, and
// prints how each rollout ended.
//
//	go run ./bench/rollouts -n 20 -out DIR   # gains, versions without a change, and losses
//	go run ./bench/rollouts -proof -out DIR  # what a benchmark predicts, beside the proof
//	go run ./bench/rollouts -list -n 20      # what would be rolled out
//
// Everything is drawn by -seed. DIR keeps the results of a run: the same command goes on, also
// after it was killed. -for ends it early: it begins nothing new after that time.
//
// The services are copies of metricsd that tell of their requests, as docs/rollout.md asks of any
// service that does not speak HTTP to its callers. They are built with the commands that a user
// has.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// A lab makes the rollouts.
type lab struct {
	root, out string
	ends      time.Time // nothing begins afterwards; zero for no end
	one       bool      // end after one step
	only      string    // part of the name of the functions that are proven
	say       func(format string, args ...any)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "rollouts: stopped; the same command goes on")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "rollouts:", err)
		os.Exit(1)
	}
}

// run reads the flags, and makes or lists the rollouts.
func run(ctx context.Context, args []string) error {
	// Read the flags.
	f := flag.NewFlagSet("rollouts", flag.ContinueOnError)
	n := f.Int("n", 20, "`number` of rollouts")
	seed := f.Uint64("seed", 1, "draws what is rolled out")
	out := f.String("out", "", "`directory` of what the run keeps")
	root := f.String("root", ".", "`directory` of the repository")
	most := f.Duration("for", 0, "begin nothing new after this `time`")
	list := f.Bool("list", false, "print what would be rolled out")
	proof := f.Bool("proof", false, "compare predictions with proofs")
	one := f.Bool("one", false, "-proof: end after one step, of about a minute")
	only := f.String("only", "", "-proof: functions with this `text` in their name")
	blocks := f.Int("blocks", 600, "-proof: `number` of blocks of a rollout")
	if err := f.Parse(args); err != nil {
		return err
	}
	// List the rollouts, or make them.
	if *list {
		for _, c := range draw(*n, *seed) {
			fmt.Println(c)
		}
		return nil
	}
	l := &lab{one: *one, only: *only}
	l.say = func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	if *most > 0 {
		l.ends = time.Now().Add(*most)
	}
	if err := l.place(*root, *out); err != nil {
		return err
	}
	if *proof {
		return l.proofs(ctx, *blocks)
	}
	return l.rollouts(ctx, draw(*n, *seed))
}

// place finds the directories, and makes those for the results.
func (l *lab) place(root, out string) (err error) {
	if out == "" {
		return errors.New("no directory is given: name one with -out")
	}
	if l.root, err = filepath.Abs(root); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(l.root, "metricsd", "go.mod")); err != nil {
		return fmt.Errorf("%s is not the root of the repository: name it with -root", l.root)
	}
	if l.out, err = filepath.Abs(out); err != nil {
		return err
	}
	for _, dir := range []string{"bin", "home", "versions", "logs"} {
		if err := os.MkdirAll(filepath.Join(l.out, dir), 0o755); err != nil {
			return err
		}
	}
	token := l.file("token")
	if _, err := os.Stat(token); err == nil {
		return nil
	}
	return os.WriteFile(token, []byte("a token for processes of this machine alone"), 0o600)
}

func (l *lab) file(names ...string) string {
	return filepath.Join(append([]string{l.out}, names...)...)
}

// over reports whether nothing new may begin.
func (l *lab) over() bool { return !l.ends.IsZero() && time.Now().After(l.ends) }

// stepped ends the run after a step, if a flag says so.
func (l *lab) stepped() {
	if l.one {
		l.ends = time.Now()
	}
}
