package flow

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/lift"
)

// A lifter looks for pieces of the original that do what the standard library
// does. It asks once for each run: what it found is part of what the search
// starts from, and a step like those of the rules.
type lifter struct {
	spec   *Spec
	watch  Watcher
	lab    *lab
	inputs *inputs
}

// lifts reports whether a spec asks for it.
func (s *Spec) lifts() bool {
	return !s.NoLift && !s.Models.NoRules && (len(s.Rules) == 0 || slices.Contains(s.Rules, lift.Name))
}

// Limits of one study.
const (
	liftBuilds   = 4 // of programs of regions: the compiler may refuse some
	liftRun      = 2 * time.Second
	liftSearch   = time.Minute // by the clock, on a machine that is busy; terms are bounded too
	liftRecorded = 256         // recorded calls that it looks at
	liftOutput   = 64 << 20    // bytes of outputs
	inOrderShare = 0.98        // of the recorded calls, for a parameter that counts as sorted
)

// find studies the original. What goes wrong ends the study and no search.
func (l *lifter) find(ctx context.Context, p *mutate.Pass) []lift.Match {
	s := lift.NewStudy(p, lift.Options{
		Seed: l.spec.Seed, Time: liftSearch, Recorded: l.recorded(p), Sorted: l.sorted(),
	})
	if len(s.Regions()) == 0 {
		return nil
	}
	reply, err := l.run(ctx, s)
	if err != nil {
		if ctx.Err() == nil {
			l.watch.Warn(fmt.Sprintf("no piece of the function is looked up in the library: %v", err))
		}
		return nil
	}
	s.Read(reply)
	report := s.Find()
	if len(report.Matches) > 0 {
		l.watch.Stage("lift", report.Summary())
	}
	return report.Matches
}

// run builds the regions and runs them.
func (l *lifter) run(ctx context.Context, s *lift.Study) ([]byte, error) {
	for i := range liftBuilds {
		name := "lift" + strconv.Itoa(i)
		program, err := l.lab.builder.Program(ctx, name, s.Program(l.lab.unit.BuildName()), lift.Entry)
		if err != nil {
			return nil, err
		}
		if program.Path == "" {
			if s.Drop(program.Lines) {
				continue
			}
			return nil, fmt.Errorf("its pieces do not build alone: %s", program.Output)
		}
		request, err := s.Request()
		if err != nil {
			return nil, err
		}
		r, err := program.Run(ctx, l.lab.box, request,
			sandbox.Limits{CPU: liftRun, Wall: 10 * liftRun, Output: liftOutput, File: liftOutput})
		return r.Stdout, err
	}
	return nil, fmt.Errorf("its pieces did not build alone in %d attempts", liftBuilds)
}

// sorted are the parameters that are nearly always in order.
func (l *lifter) sorted() (names []string) {
	for _, f := range l.inputs.facets().Params {
		if f.Sorted >= inOrderShare {
			names = append(names, f.Name)
		}
	}
	return names
}

// recorded are calls to search with, where all arguments have types that a study
// knows.
func (l *lifter) recorded(p *mutate.Pass) []map[string]any {
	names, ts, ok := lift.Params(p)
	if !ok {
		return nil
	}
	fields := make([]reflect.StructField, len(ts))
	for i, t := range ts {
		fields[i] = reflect.StructField{Name: "A" + strconv.Itoa(i), Type: t}
	}
	args := reflect.StructOf(fields)
	var out []map[string]any
	for _, r := range beagle.Spread(l.inputs.corpus().Train, liftRecorded) {
		v := reflect.New(args)
		if rt.DecodeValue(r.Args, v.Interface(), nil) != nil {
			return nil
		}
		row := map[string]any{}
		for i, name := range names {
			row[name] = v.Elem().Field(i).Interface()
		}
		out = append(out, row)
	}
	return out
}
