package local

import (
	"context"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/flow"
)

// note writes a generation into the run's log and tells the watcher.
func (r *run) note(proposals []evolve.Proposal, made []flow.Proposed, judged *flow.Assessed, took time.Duration) {
	island := map[string]int{}
	for i, m := range made {
		if _, ok := island[m.Candidate]; !ok {
			island[m.Candidate] = proposals[i].Island
		}
	}
	r.log.Add(judged.Candidates, island, judged.Cost, took)
	if r.d.Watch == nil {
		return
	}
	event := &flow.EvaluatedEvent{
		Candidates: r.search.Spent, Budget: r.spec.Candidates, Generation: r.log.Generations,
		Elapsed: time.Duration(r.log.Seconds * float64(time.Second)), Islands: r.search.IslandBests(), Statuses: r.log.Statuses(), Best: r.log.Best(),
	}
	r.d.Watch(flow.Event{Evaluated: event})
}

// finish judges the finalists and assembles the result.
func (r *run) finish(ctx context.Context) (*beagle.Result, error) {
	field := flow.Field{Tried: r.search.Spent}
	for _, m := range r.search.Ranked() {
		field.Ranked = append(field.Ranked, m.ID)
	}
	judged, err := r.acts.Judge(ctx, r.entry.ID, field)
	if err != nil {
		return nil, err
	}
	result, err := r.acts.Report(ctx, r.entry.ID, judged, &r.log)
	if err != nil {
		return nil, err
	}
	result.Candidates = r.search.Spent
	result.Search = beagle.SearchSummary{
		Strategy: r.spec.Strategy, Seed: r.spec.Seed, Islands: r.search.Config.Islands, Budget: r.spec.Candidates,
		Generations: r.log.Generations, Stopped: r.stopped(),
	}
	result.WallSeconds = r.log.PrepareSeconds + r.log.Seconds + judged.Seconds
	return result, r.d.Store.Save(r.entry.ID, "result", result)
}

// stopped says what ended the search.
func (r *run) stopped() string {
	switch {
	case r.search.Spent >= r.spec.Candidates:
		return "budget"
	case r.late():
		return "time"
	}
	return "nothing left to try"
}

// Verify judges one hand-written version as a search would judge its winner.
func (d *Driver) Verify(ctx context.Context, spec flow.Spec, source, name string) (*beagle.Verdict, error) {
	lock, err := d.Store.Lock("beagle verify " + spec.Target)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	acts := &flow.Activities{Store: d.Store, Watch: d.Watch}
	defer acts.Close()
	id := newID()
	if _, err := acts.Prepare(ctx, id, spec); err != nil {
		return nil, err
	}
	return acts.JudgeSource(ctx, id, source, name)
}
