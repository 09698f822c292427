package local

import (
	"context"
	"fmt"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
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

// A SourceFile is the text of a version, with the name of its file.
type SourceFile struct{ Name, Source string }

// Verify judges hand-written versions as a search would judge its winner, and
// tells each verdict as soon as it is made. The inputs are recorded once, and only
// if a version passes what needs none.
func (d *Driver) Verify(
	ctx context.Context, spec flow.Spec, versions []SourceFile, tell func(i int, v *beagle.Verdict),
) error {
	lock, err := d.Store.Lock("beagle verify " + spec.Target)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	acts := &flow.Activities{Store: d.Store, Watch: d.Watch}
	defer acts.Close()
	id := store.NewID()
	// Static checks need no inputs.
	var left []int
	for i, w := range versions {
		v, err := acts.ReadSource(ctx, id, spec, w.Source, w.Name)
		if err != nil {
			return err
		}
		if v.OK() {
			left = append(left, i)
			continue
		}
		tell(i, v)
	}
	if len(left) == 0 {
		return nil
	}
	// Record the inputs, once for all versions that are left.
	if _, err := acts.Prepare(ctx, id, spec); err != nil {
		return err
	}
	for n, i := range left {
		if len(versions) > 1 {
			d.Watch.Stage("version", fmt.Sprintf("%d of %d: %s", n+1, len(left), versions[i].Name))
		}
		v, err := acts.JudgeSource(ctx, id, versions[i].Source, versions[i].Name)
		if err != nil {
			return err
		}
		tell(i, v)
	}
	return nil
}
