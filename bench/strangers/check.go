package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/beagle-go/beagle/internal/source"
)

// check reads versions and says which are no versions of their function. The
// judge is not asked.
func check(ctx context.Context, l *lab, f *flag.FlagSet, args []string) error {
	set := f.String("set", "A", "a set of functions.txt (A, B), a function (A3) or a version (A3/name)")
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
	bad, counts := 0, map[bool]int{}
	units := map[string]*source.Unit{}
	for _, v := range list {
		counts[v.honest]++
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
			units[v.fn.name] = u
		}
		text, err := expand(v.text, u.Target.Source, u.Target.Name)
		if err == nil {
			if _, problem := u.Parse(text); problem != nil {
				err = fmt.Errorf("%s, line %d: %s", problem.Stage, problem.Line, problem.Message)
			}
		}
		if err != nil {
			bad++
			fmt.Printf("%s: %v\n", v.name, err)
		}
	}
	fmt.Printf("%d wrong and %d honest versions of %d functions\n", counts[false], counts[true], len(units))
	if bad > 0 {
		return errors.New("some are no versions of their function")
	}
	return nil
}
