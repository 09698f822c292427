package local

import (
	"context"

	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// Compare judges versions beside each other with the inputs of a run that was
// made before, or, where run is "", with inputs recorded for it.
func (d *Driver) Compare(
	ctx context.Context, run string, spec flow.Spec, entries []flow.HandVersion,
) ([]flow.Compared, error) {
	lock, err := d.Store.Lock("beagle suite " + spec.Target)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	acts := &flow.Activities{Store: d.Store, Watch: d.Watch}
	defer acts.Close()
	if run == "" {
		run = store.NewID()
		if _, err := acts.Prepare(ctx, run, spec); err != nil {
			return nil, err
		}
	}
	return acts.Compare(ctx, run, entries)
}
