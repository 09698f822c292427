package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/mutants"
	"github.com/beagle-go/beagle/internal/verify"
)

// judgeMutants makes wrong versions of the drawn functions with operators, has the judge verify
// them, and prints every survivor.
func judgeMutants(ctx context.Context, l *lab, f *flag.FlagSet, args []string) error {
	// Read the flags and the functions.
	set := f.String("set", "M", "a set of functions.txt, or one function")
	per := f.Int("per", 28, "mutants of each function that compile, drawn by the seed")
	seed := f.Uint64("seed", 14, "seed of the choice")
	limit := f.Duration("for", 0, "begin no function after this time; 0 is no limit")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := l.open(); err != nil {
		return err
	}
	list, err := load(l.root, *set)
	if err != nil {
		return err
	}
	// Judge the mutants of each function.
	begin := time.Now()
	total := map[mutants.Status]int{}
	functions := 0
	for _, fn := range list {
		if *limit > 0 && time.Since(begin) > *limit || ctx.Err() != nil {
			break
		}
		got, err := mutate(ctx, l, fn, *per, *seed)
		if err != nil {
			fmt.Printf("%s: not judged: %v\n", &fn, err)
			continue
		}
		functions++
		for k, n := range got {
			total[k] += n
		}
		fmt.Fprintf(os.Stderr, "%s: %v\n", &fn, got)
	}
	// Report.
	differ := total[mutants.Rejected] + total[mutants.Survived]
	fmt.Printf("\n%d functions, %d mutants: %d the same machine code or read and equivalent, %d rejected, %d let "+
		"through: %s of those that may differ are rejected\n",
		functions, differ+total[mutants.SameCode], total[mutants.SameCode],
		total[mutants.Rejected], total[mutants.Survived], percent(total[mutants.Rejected], differ))
	return ctx.Err()
}

// mutate judges mutants of a function until per of them compile, and counts them by status.
func mutate(ctx context.Context, l *lab, fn function, per int, seed uint64) (map[mutants.Status]int, error) {
	dir, err := l.module(ctx, fn.module, fn.version)
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp(l.dir, "mutants")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	os.Setenv("GOWORK", "off")
	f, err := mutants.Open(ctx, dir, fn.spec, filepath.Join(scratch, fn.name), time.Minute)
	if err != nil {
		return nil, err
	}
	made, err := mutants.Make(f.Source())
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, uint64(len(made))))
	rng.Shuffle(len(made), func(i, j int) { made[i], made[j] = made[j], made[i] })
	got := map[mutants.Status]int{}
	for want := per; want > 0 && len(made) > 0; { // a text that does not compile is no mutant
		some := made[:min(want, len(made))]
		made = made[len(some):]
		if err := try(ctx, &fn, f, some, got); err != nil {
			return nil, err
		}
		want = per - (got[mutants.SameCode] + got[mutants.Rejected] + got[mutants.Survived])
	}
	return got, nil
}

// try has mutants judged, counts their outcomes and prints those that pass.
func try(
	ctx context.Context, fn *function, f *mutants.Function, made []mutants.Mutant, got map[mutants.Status]int,
) error {
	texts := make([]string, len(made))
	for i := range made {
		texts[i] = made[i].Source
	}
	trials, err := f.Try(ctx, f.Source(), texts, verify.Budget{Race: -1})
	if err != nil {
		return err
	}
	for i, t := range trials {
		fate := t.Status
		if why, ok := mutants.Reviewed(t.ID); ok && fate == mutants.Survived {
			fmt.Printf("%s %s: equivalent: %s\n", fn, &made[i], why)
			fate = mutants.SameCode
		} else if fate == mutants.Survived {
			assurance := ""
			if a := t.Verdict.Assurance; a != nil {
				assurance = " (" + a.String() + ")"
			}
			fmt.Printf("let through: %s %s: %s%s\n", t.ID, fn,
				strings.ReplaceAll(made[i].String(), "\n", " "), assurance)
		}
		got[fate]++
	}
	return nil
}
