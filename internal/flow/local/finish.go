package local

import (
	"context"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
)

// finish judges the finalists and assembles the result.
func (r *run) finish(ctx context.Context) (*beagle.Result, error) {
	judged, err := r.acts.Judge(ctx, r.entry.ID, r.course.Field())
	if err != nil {
		return nil, err
	}
	result, err := r.acts.Report(ctx, r.entry.ID, judged, &r.course.Log)
	if err != nil {
		return nil, err
	}
	r.course.Sum(&r.spec, result, judged.Seconds)
	return result, r.d.Store.Save(r.entry.ID, "result", result)
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
	if v, err := acts.ReadSource(ctx, id, spec, source, name); err != nil || !v.OK() {
		return v, err
	}
	if _, err := acts.Prepare(ctx, id, spec); err != nil {
		return nil, err
	}
	return acts.JudgeSource(ctx, id, source, name)
}
