// Random is the naive way: it applies rewrites at random, runs the package's
// tests and one short benchmark, and keeps what passed and looked faster. It
// knows nothing of inputs, equivalence or noise. As another optimiser under
// `beagle suite` it shows what these are worth:
//
//	go build -o /tmp/random ./suite/baselines/random
//	beagle suite --against /tmp/random
package main

import (
	"context"
	"errors"
	"fmt"
	"go/format"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "random:", err)
		os.Exit(1)
	}
}

// A climber holds the best version so far.
type climber struct {
	file, target string
	rng          *rand.Rand
	best         string
	nanos        float64
}

// run climbs by random edits within nine tenths of the time, and writes the best version.
func run() error {
	seed, err := strconv.ParseUint(os.Getenv("BEAGLE_SUITE_SEED"), 10, 64)
	if err != nil {
		return errors.New("it is run by beagle suite --against, which sets BEAGLE_SUITE_SEED and others")
	}
	tries, err := strconv.Atoi(os.Getenv("BEAGLE_SUITE_CANDIDATES"))
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseFloat(os.Getenv("BEAGLE_SUITE_SECONDS"), 64)
	if err != nil {
		return err
	}
	const share = 0.9 // of the time; the best version by then must still be written
	ctx, stop := context.WithTimeout(context.Background(), time.Duration(seconds*share*float64(time.Second)))
	defer stop()
	c := &climber{
		file:   os.Getenv("BEAGLE_SUITE_FILE"),
		target: os.Getenv("BEAGLE_SUITE_FUNC"),
		rng:    rand.New(rand.NewPCG(seed, 0)),
	}
	text, err := os.ReadFile(c.file)
	if err != nil {
		return err
	}
	c.best = string(text)
	if c.nanos, err = c.try(ctx, c.best); err != nil {
		return fmt.Errorf("the original: %w", err)
	}
	for range tries {
		if ctx.Err() != nil {
			break
		}
		c.step(ctx)
	}
	text, err = format.Source([]byte(c.best))
	if err != nil {
		return err
	}
	return os.WriteFile(c.file, text, 0o644)
}

// most bounds the rewrites that are stacked before a version is tried.
const most = 4

// step tries one version that is a few random rewrites away from the best.
func (c *climber) step(ctx context.Context) {
	src := c.best
	for range 1 + c.rng.IntN(most) {
		pass, err := mutate.Check(src, c.target, nil)
		if err != nil {
			break
		}
		moves := mutate.Moves(pass, rules.Default)
		if len(moves) == 0 {
			break
		}
		m := moves[c.rng.IntN(len(moves))]
		if next, _, err := mutate.Take(pass, rules.Named(m.Mutator), m.Site, m.Param); err == nil {
			src = next.Src
		}
	}
	if src == c.best {
		return
	}
	if nanos, err := c.try(ctx, src); err == nil && nanos < c.nanos {
		c.best, c.nanos = src, nanos
	}
}

var figure = regexp.MustCompile(`([0-9.]+) ns/op`)

// try runs tests and benchmarks of a version, and returns the sum of their times.
func (c *climber) try(ctx context.Context, src string) (float64, error) {
	if err := os.WriteFile(c.file, []byte(src), 0o644); err != nil {
		return 0, err
	}
	out, err := exec.CommandContext(ctx, "go", "test", "-bench", ".", "-benchtime", "100ms").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	sum := 0.0
	for _, m := range figure.FindAllSubmatch(out, -1) {
		n, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	if sum == 0 {
		return 0, errors.New("there is no benchmark")
	}
	return sum, nil
}
