package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/verify"
)

// check reads versions and reports those that are no versions of their function. With -policy the
// judge's policy reads each of them too. Nothing runs.
func check(ctx context.Context, l *lab, f *flag.FlagSet, args []string) error {
	// Read the flags and the versions.
	set := f.String("set", "A", "a set of functions.txt (A, B), a function (A3) or a version (A3/name)")
	policy := f.Bool("policy", false, "also count the versions that the judge's static policy refuses")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := l.open(); err != nil {
		return err
	}
	list, err := readVersions(l.root, *set, "")
	if err != nil {
		return err
	}
	bad, counts, refused := 0, map[bool]int{}, map[bool]int{}
	units, judges := map[string]*source.Unit{}, map[string]*verify.Env{}
	for _, v := range list {
		counts[v.honest]++
		// Load the function, once for all of its versions.
		u := units[v.fn.name]
		if u == nil {
			dir, err := l.module(ctx, v.fn.module, v.fn.version)
			if err != nil {
				return err
			}
			if u, err = source.Load(ctx,
				source.Options{Dir: dir, Spec: v.fn.spec, Env: []string{"GOWORK=off"}}); err != nil {
				return err
			}
			units[v.fn.name], judges[v.fn.name] = u, &verify.Env{Unit: u, Dir: l.dir}
		}
		// Read the version.
		text, err := expand(v.text, u.Target.Source, u.Target.Name)
		if err == nil {
			if _, problem := u.Reader.Parse(text); problem != nil {
				err = fmt.Errorf("%s, line %d: %s", problem.Stage, problem.Line, problem.Message)
			}
		}
		// Ask the policy about it.
		if err == nil && *policy {
			verdict, err := verify.Static(ctx, judges[v.fn.name], beagle.NewCandidate(text, nil, nil), nil)
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			if !verdict.OK() {
				refused[v.honest]++
				fmt.Printf("%s (honest: %v) refused by %s: %s\n", v.name, v.honest, verdict.Stage, verdict.Reason)
			}
		}
		if err != nil {
			bad++
			fmt.Printf("%s: %v\n", v.name, err)
		}
	}
	// Report.
	fmt.Printf("%d wrong and %d honest versions of %d functions\n", counts[false], counts[true], len(units))
	if *policy {
		fmt.Printf("the static policy refuses %d wrong and %d honest ones\n", refused[false], refused[true])
	}
	if bad > 0 {
		return errors.New("some are no versions of their function")
	}
	return nil
}
