package flow

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/lift"
)

// A lifter looks for pieces of the original that do the same as a function of the standard library,
// or of a module that the target's package may import.
// It looks once for each run. Its matches are part of the state that the search starts from, and
// steps like those of the rules.
type lifter struct {
	setting
	inputs *inputs
	early  func() (first, error) // the program of all regions, once begun
	pause  *sync.RWMutex         // held while the search for terms pauses
	wait   func()                // waits for the end of find, once begun
	ended  atomic.Bool           // find has an answer
}

// A first holds a program of regions that was built before their inputs were known.
type first struct {
	text    string
	program *harness.Program
}

// begin builds the program of all regions. The program depends on the original alone, so the inputs
// may be recorded meanwhile.
func (l *lifter) begin(ctx context.Context, p *mutate.Pass) (first, error) {
	s := lift.NewStudy(p, lift.Options{Seed: l.spec.Seed, Inputs: 1})
	if len(s.Regions()) == 0 {
		return first{}, nil
	}
	text := s.Program(l.lab.unit.Package.BuildName())
	program, err := l.lab.builder.Program(ctx, liftProgram(0), text, lift.Entry)
	return first{text, program}, err
}

// liftProgram names an attempt to build the regions.
func liftProgram(attempt int) string { return "lift" + strconv.Itoa(attempt) }

// build builds the regions of a study.
func (l *lifter) build(ctx context.Context, attempt int, text string) (*harness.Program, error) {
	if attempt == 0 && l.early != nil {
		if begun, err := l.early(); err != nil || begun.text == text {
			return begun.program, err
		}
	}
	return l.lab.builder.Program(ctx, liftProgram(attempt), text, lift.Entry)
}

// lifts reports whether a spec asks for the look-up: by its name, or by a set that includes it. A
// search to which no rules are named does.
func (s *Spec) lifts() bool {
	named := len(s.Rules) == 0 || slices.ContainsFunc(s.Rules, func(name string) bool {
		return name == lift.Name || name == "default" || name == "all"
	})
	return named && !s.NoLift && !s.Models.NoRules
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

// terms bounds the terms that a study tries for one search and for all regions; 0 stands for the
// defaults of package lift.
func (l *lifter) terms() (each, total int) {
	if l.lab.brief {
		return 25_000, 250_000
	}
	return 0, 0
}

// find studies the original. A failure ends the study, but not the search.
func (l *lifter) find(ctx context.Context, p *mutate.Pass) []lift.Match {
	each, total := l.terms()
	s := lift.NewStudy(p, lift.Options{
		Seed: l.spec.Seed, Terms: each, Total: total, Time: liftSearch,
		Recorded: l.recorded(p), Sorted: l.sortedParams(), Packages: l.modules(),
		GoOn: func() bool {
			l.pause.RLock()
			defer l.pause.RUnlock()
			return ctx.Err() == nil
		},
	})
	if len(s.Regions()) == 0 {
		return nil
	}
	key, err := l.run(ctx, s, p)
	if err != nil {
		if ctx.Err() == nil {
			l.watch.Warn(fmt.Sprintf("no piece of the function is looked up in the library: %v", err))
		}
		return nil
	}
	report := l.search(ctx, s, key)
	if len(report.Matches) > 0 {
		l.watch.Note("lift", report.Summary())
	}
	return report.Matches
}

// search takes the report of an earlier run whose regions did the same with the same inputs, or
// searches. It does not keep a search that a busy machine may have cut short.
func (l *lifter) search(ctx context.Context, s *lift.Study, key store.Key) lift.Report {
	var known lift.Report
	if !l.spec.Anew && l.inputs.works.store.Cached(key, &known) {
		return known
	}
	start := time.Now()
	report := s.Find()
	if time.Since(start) < liftSearch && ctx.Err() == nil {
		if err := l.inputs.works.store.Cache(key, report); err != nil {
			l.watch.Warn(fmt.Sprintf("the matches of the library are not kept: %v", err))
		}
	}
	return report
}

// run builds the regions, runs them and hands the study their outputs. The key identifies regions,
// inputs and outputs.
func (l *lifter) run(ctx context.Context, s *lift.Study, p *mutate.Pass) (store.Key, error) {
	// The compiler may refuse some regions. Drop these and build again.
	for i := range liftBuilds {
		text := s.Program(l.lab.unit.Package.BuildName())
		built, err := l.build(ctx, i, text)
		if err != nil {
			return store.Key{}, err
		}
		if built.Path == "" {
			if s.Drop(built.Lines) {
				continue
			}
			return store.Key{}, fmt.Errorf("its pieces do not build alone: %s", built.Output)
		}
		// Run the regions on the drawn inputs.
		request := s.Request()
		r, err := built.Run(ctx, l.lab.box, request,
			sandbox.Limits{CPU: liftRun, Wall: 10 * liftRun, Output: liftOutput, File: liftOutput})
		s.Read(r.Stdout)
		return store.Key{
			Kind: "lifted", Candidate: l.inputs.works.root.ID, Toolchain: l.inputs.works.machine.Go,
			Corpus: beagle.HashOf("lifted inputs", request, r.Stdout),
			Extra: beagle.HashOf("lifted", programVersion(), string(p.Src), text, l.sortedParams(), l.spec.Seed,
				l.modules()),
		}, err
	}
	return store.Key{}, fmt.Errorf("its pieces did not build alone in %d attempts", liftBuilds)
}

// modules returns the packages of modules whose functions the target's package may call.
func (l *lifter) modules() []string {
	return slices.DeleteFunc(lift.ModulePackages(), func(path string) bool {
		return !l.lab.unit.Package.MayImport(path)
	})
}

// sortedParams returns the parameters that are nearly always in order.
func (l *lifter) sortedParams() (names []string) {
	for _, f := range l.inputs.facets().Params {
		if f.Sorted >= inOrderShare {
			names = append(names, f.Name)
		}
	}
	return names
}

// recorded returns calls to search with, if all arguments have types that a study knows.
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
