package intake

import (
	"github.com/beagle-go/beagle/metricsd/intake/index"
	"github.com/beagle-go/beagle/metricsd/intake/wire"
)

// maxRepeats bounds the parcels that are remembered, so that a repeated one is not counted again:
// for a hundred agents, a day. They take about 50 MB.
const maxRepeats = 1 << 20

// repeats remembers the IDs of parcels that were counted. It is written together with the
// counts, so that after a crash it has those parcels whose points are counted, and no others. It
// is for one goroutine.
type repeats struct {
	most   int
	known  map[wire.ID]struct{}
	groups []index.Group // written, the oldest first
	fresh  []wire.ID     // since then
}

func newRepeats(most int, written []index.Group) *repeats {
	r := &repeats{most: most, known: map[wire.ID]struct{}{}, groups: written}
	for _, g := range written {
		for _, id := range g.IDs {
			r.known[id] = struct{}{}
		}
	}
	return r
}

// again says whether a parcel was counted before, and remembers that it is now.
func (r *repeats) again(id wire.ID) bool {
	if id == (wire.ID{}) {
		return false
	}
	if _, known := r.known[id]; known {
		return true
	}
	r.known[id] = struct{}{}
	r.fresh = append(r.fresh, id)
	return false
}

// full reports whether it is time to write: unwritten IDs cannot be forgotten.
func (r *repeats) full() bool { return len(r.fresh) >= max(1, r.most/4) }

// group takes out what has to be written, and says before which groups may be forgotten. It
// is to be written before the next is taken.
func (r *repeats) group() (g index.Group, before uint64) {
	known, kept := len(r.known), r.groups
	for known > r.most && len(kept) > 0 {
		known -= len(kept[0].IDs)
		kept = kept[1:]
	}
	g = index.Group{IDs: r.fresh}
	if n := len(r.groups); n > 0 {
		g.Number = r.groups[n-1].Number + 1
	}
	if before = g.Number; len(kept) > 0 {
		before = kept[0].Number
	}
	r.fresh = nil
	return g, before
}

// written notes that the group was.
func (r *repeats) written(g index.Group, before uint64) {
	for len(r.groups) > 0 && r.groups[0].Number < before {
		for _, id := range r.groups[0].IDs {
			delete(r.known, id)
		}
		r.groups = r.groups[1:]
	}
	if len(g.IDs) > 0 {
		r.groups = append(r.groups, g)
	}
}
