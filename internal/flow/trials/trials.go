package trials

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// Options say what to try. Measure and MinGain are as in flow.Spec.
type Options struct {
	Trials  map[Truth]int // wanted, those of earlier calls included
	For     time.Duration // start no trial after this time; 0 is no limit
	Measure time.Duration
	MinGain float64
	Log     func(Done) // of each trial as it ends; may be nil
}

// A Done trial is a line of the journal.
type Done struct {
	Task
	Machine beagle.Machine      `json:"machine"`
	Rule    string              `json:"rule"`
	Measure time.Duration       `json:"measure"`
	Wall    float64             `json:"wall"` // seconds, builds included
	Result  *beagle.Measurement `json:"result"`
}

// journalRun and journalName say where in the store the journal of trials is.
const journalRun, journalName = "rates", "trials"

// Run makes the trials that are missing and returns all that count.
func Run(ctx context.Context, s *store.Store, o Options) ([]Done, error) {
	r := &runner{o: o, store: s, acts: &flow.Activities{
		Store: s,
	}, machine: flow.ThisMachine(""), start: time.Now(), opened: map[string]string{}}
	defer r.acts.Close()
	done, err := r.countedTrials()
	if err != nil {
		return nil, err
	}
	if r.dir, err = os.MkdirTemp("", "beagle-trials-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(r.dir)
	if err := writeModule(r.dir); err != nil {
		return nil, err
	}
	return r.fill(ctx, done)
}

// A runner makes trials.
type runner struct {
	o       Options
	store   *store.Store
	acts    *flow.Activities
	machine beagle.Machine
	dir     string
	start   time.Time
	opened  map[string]string // function -> run
}

// countedTrials returns the trials of the journal that count, in the plan's order.
func (r *runner) countedTrials() ([]Done, error) {
	all, err := store.ReadJournal[Done](r.store, journalRun, journalName)
	if err != nil {
		return nil, err
	}
	made := map[Task]Done{}
	for _, d := range all {
		if d.Machine == r.machine && d.Rule == bench.Rule && d.Measure == r.o.Measure &&
			d.Result.MinGain == r.o.MinGain {
			made[d.Task] = d
		}
	}
	var out []Done
	for _, t := range Truths {
		for i := range all {
			if d, ok := made[plan(t, i)]; ok {
				out = append(out, d)
			}
		}
	}
	return out, nil
}

// firstMissing returns the first trial of a truth that is not made.
func firstMissing(t Truth, done []Done) Task {
	for i := 0; ; i++ {
		task := plan(t, i)
		if !slices.ContainsFunc(done, func(d Done) bool { return d.Task == task }) {
			return task
		}
	}
}

func countOf(list []Done, t Truth) int {
	n := 0
	for _, d := range list {
		if d.Truth == t {
			n++
		}
	}
	return n
}

// fill makes the missing trials, the truths in turns.
func (r *runner) fill(ctx context.Context, done []Done) ([]Done, error) {
	j, err := r.store.Journal(journalRun, journalName)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	for {
		t, ok := r.next(done)
		if !ok {
			return done, nil
		}
		d, err := r.try(ctx, firstMissing(t, done))
		if ctx.Err() != nil {
			return done, nil
		}
		if err != nil {
			return nil, err
		}
		if err := j.Append(d); err != nil {
			return nil, err
		}
		done = append(done, *d)
		if r.o.Log != nil {
			r.o.Log(*d)
		}
	}
}

// next returns the truth of which the smallest part is done.
func (r *runner) next(done []Done) (Truth, bool) {
	var next Truth
	least := 1.0
	for _, t := range Truths {
		if want := r.o.Trials[t]; want > 0 {
			if part := float64(countOf(done, t)) / float64(want); part < least {
				next, least = t, part
			}
		}
	}
	late := r.o.For > 0 && time.Since(r.start) > r.o.For
	return next, next != "" && !late
}

func (r *runner) try(ctx context.Context, t Task) (*Done, error) {
	run, err := r.prepare(ctx, t.Function)
	if err != nil {
		return nil, fmt.Errorf("trial of %s: %w", t.Function, err)
	}
	if t.Loaded {
		defer load()()
	}
	start := time.Now()
	m, err := r.acts.Trial(ctx, run, edit(t.Truth), t.Seed)
	if err != nil {
		return nil, fmt.Errorf("trial of %s: %w", t.Function, err)
	}
	return &Done{Task: t, Machine: r.machine, Rule: bench.Rule, Measure: r.o.Measure, Wall: time.Since(start).Seconds(),
		Result: m}, nil
}

// prepare records the function's inputs, or finds them in the store.
func (r *runner) prepare(ctx context.Context, function string) (string, error) {
	if run := r.opened[function]; run != "" {
		return run, nil
	}
	spec := flow.Defaults()
	spec.Dir, spec.Target, spec.Measure, spec.MinGain = r.dir, function, r.o.Measure, r.o.MinGain
	spec.Force = true
	run := "trials-" + beagle.HashOf("trials", string(functions), function, spec.Measure, spec.MinGain, r.machine)[:12]
	if _, err := r.acts.Prepare(ctx, run, spec); err != nil {
		return "", err
	}
	r.opened[function] = run
	return run, nil
}

// Rates sums up trials; nil if there are none.
func Rates(done []Done) *beagle.ErrorRates {
	if len(done) == 0 {
		return nil
	}
	d := done[0]
	r := &beagle.ErrorRates{
		Machine: d.Machine,
		Rule:    bench.Rule,
		Seconds: d.Measure.Seconds(),
		MinGain: d.Result.MinGain,
	}
	hits, all := map[Truth]int{}, map[Truth]int{}
	for _, d := range done {
		all[d.Truth]++
		if d.Result.Faster {
			hits[d.Truth]++
		}
		if d.Loaded {
			r.Loaded++
		}
	}
	rate := func(t Truth) beagle.Rate { return bench.RateOf(hits[t], all[t]) }
	r.FalseWins, r.FoundTwo, r.FoundFive = rate(SameCode), rate(TwoPercent), rate(FivePercent)
	return r
}
