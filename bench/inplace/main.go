// Inplace measures evidence in place on functions of public modules: the share of them that can be
// taken with a corpus and without one, and how many of the wrong versions that operators make are
// rejected inside the modules' own tests. It prints a JSON object for each function.
//
//	go run ./bench/inplace -modules DIR -list FILE -n 40 -mutants 12
//
// A line of the list begins with module@version and the function, as "beagle evolve -C DIR" takes
// it. DIR holds copies of the modules, each named as its module@version with _ in place of /.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/command"
	"github.com/beagle-go/beagle/internal/inplace"
	"github.com/beagle-go/beagle/internal/mutants"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/verify"
)

func main() {
	sandbox.Main()
	command.Main("inplace", run)
}

type options struct {
	modules, list string
	n, mutants    int
	seed          uint64
	each, all     time.Duration
}

// A row is the outcome of one function.
type row struct {
	Module   string          `json:"module"`
	Function string          `json:"function"`
	Corpus   string          `json:"corpus,omitempty"`  // why no record can hold its arguments; "" when one can
	Refused  string          `json:"refused,omitempty"` // why it cannot be taken in place either
	Evidence *beagle.InPlace `json:"evidence,omitempty"`
	Mutants  int             `json:"mutants"` // that compile
	Rejected int             `json:"rejected"`
	By       map[string]int  `json:"by,omitempty"` // rejected, by the check
	Survived []string        `json:"survived,omitempty"`
	Seconds  float64         `json:"seconds"`
}

// run compares functions of the list in place, and prints a row of JSON for each.
func run(ctx context.Context) error {
	// Read the flags and the list.
	var o options
	flag.StringVar(&o.modules, "modules", "", "`directory` with the copies of the modules")
	flag.StringVar(&o.list, "list", "", "`file` with the functions")
	flag.IntVar(&o.n, "n", 40, "functions, drawn by the seed")
	flag.IntVar(&o.mutants, "mutants", 0, "wrong versions of each function, drawn by the seed")
	flag.Uint64Var(&o.seed, "seed", 16, "seed of both draws")
	flag.DurationVar(&o.each, "each", 4*time.Minute, "give up on a function after this time")
	flag.DurationVar(&o.all, "for", time.Hour, "begin no function after this time")
	flag.Parse()
	list, err := read(o.list)
	if err != nil {
		return err
	}
	// Draw functions, and take one after another.
	rng := rand.New(rand.NewPCG(o.seed, 1))
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	out := json.NewEncoder(os.Stdout)
	begun := time.Now()
	for _, f := range list[:min(o.n, len(list))] {
		if ctx.Err() != nil || time.Since(begun) > o.all {
			return ctx.Err()
		}
		r, err := compareOne(ctx, &o, f[0], f[1])
		if err != nil {
			return err
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// read reads module@version and function of each line.
func read(path string) (list [][2]string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		if words := strings.Fields(s.Text()); len(words) >= 2 && !strings.HasPrefix(words[0], "#") {
			list = append(list, [2]string{words[0], words[1]})
		}
	}
	return list, s.Err()
}

// compareOne takes one function. The row holds faults that the user could mend; an error means that
// the machinery failed.
func compareOne(ctx context.Context, o *options, module, function string) (*row, error) {
	start := time.Now()
	r := &row{Module: module, Function: function, By: map[string]int{}}
	defer func() { r.Seconds = time.Since(start).Seconds() }()
	within, stop := context.WithTimeout(ctx, o.each)
	defer stop()
	err := r.take(within, o, filepath.Join(o.modules, strings.ReplaceAll(module, "/", "_")), function)
	var usage *beagle.UsageError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &usage):
		r.Refused = usage.What
	case within.Err() != nil && r.Evidence == nil:
		r.Refused = fmt.Sprintf("not surveyed in %v", o.each)
	case err != nil && r.Evidence == nil:
		r.Refused = "the machinery failed: " + err.Error()
	case err != nil && within.Err() == nil:
		fmt.Fprintf(os.Stderr, "%s %s: %v\n", module, function, err)
	}
	return r, nil
}

// take fills the row: it surveys the function's tests, chooses a
// comparison, and judges wrong versions if they are wanted.
func (r *row) take(ctx context.Context, o *options, dir, function string) error {
	// Load the function, and say whether a corpus can hold its calls.
	u, err := source.Load(ctx, source.Options{Dir: dir, Spec: function, InPlace: true})
	if err != nil {
		return err
	}
	if u.Unrecordable != nil {
		r.Corpus = u.Unrecordable.Error()
	}
	// Prepare a sandbox and a directory.
	box, err := sandbox.New(sandbox.Options{})
	if err != nil {
		return err
	}
	files, err := scratch.New("inplace")
	if err != nil {
		return err
	}
	defer files.Remove()
	// Survey the tests, and choose a comparison.
	p, err := inplace.New(ctx, u, box, filepath.Join(files.Path, "place"), nil)
	if err != nil {
		return err
	}
	e, err := p.Survey(ctx, u.Target.Source)
	if err != nil {
		return err
	}
	if err := p.Choose(ctx, sandbox.LastCPU()); err != nil {
		return err
	}
	// Judge wrong versions, if wanted.
	if r.Evidence = e; o.mutants == 0 {
		return nil
	}
	env := &verify.Env{Unit: u, Box: box, Dir: files.Path, InPlace: true}
	return r.mutate(ctx, o, u, p, env)
}

// mutate judges wrong versions, all in one program.
func (r *row) mutate(ctx context.Context, o *options, u *source.Unit, p *inplace.Place, env *verify.Env) error {
	// Make mutants, and shuffle them by the seed.
	made, err := mutants.Make(u.Target.Source)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(o.seed, uint64(len(made))))
	rng.Shuffle(len(made), func(i, j int) { made[i], made[j] = made[j], made[i] })
	// Choose those that the policy allows. Those that it refuses are rejected.
	vs := []inplace.Version{{ID: "original", Source: u.Target.Source}}
	var cs []beagle.Candidate
	var what []string
	for _, m := range made {
		text, err := u.Reader.Normalize(m.Source)
		if err != nil || len(cs) == o.mutants {
			continue
		}
		c := beagle.NewCandidate(text, nil, nil)
		v, err := verify.Static(ctx, env, c, nil)
		if err != nil {
			return err
		}
		switch {
		case v.OK():
			what = append(what, m.String())
			cs, vs = append(cs, c), append(vs, inplace.Version{ID: c.ID, Source: c.Source})
		case v.Status == beagle.Forbidden:
			r.Mutants++
			r.Rejected++
			r.By["policy"]++
		}
	}
	// Build all in one program.
	g, err := p.BuildStarting(ctx, vs)
	if err != nil {
		return err
	}
	defer g.Remove()
	// Judge each.
	for i, c := range cs {
		if why := g.Failed[i+1]; why != "" {
			continue
		}
		v, err := p.Behaves(ctx, g, i+1, c)
		if err != nil {
			return err
		}
		r.Mutants++
		if v.OK() {
			r.Survived = append(r.Survived, what[i])
			continue
		}
		r.Rejected++
		r.By[v.Stage]++
	}
	return nil
}
