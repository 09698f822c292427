package intake

import (
	"github.com/beagle-go/beagle/metricsd/intake/index"
	"github.com/beagle-go/beagle/metricsd/intake/wire"
)

// maxRepeats bounds the remembered parcels, which are not counted again when they repeat: for a
// hundred agents, a day. They take about 50 MB.
const maxRepeats = 1 << 20

// repeats remembers the IDs of counted parcels. They are written together with the counts, so that
// after a crash it has exactly the parcels whose points are counted. It is for one goroutine.
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

// isRepeat reports whether a parcel was counted before, and remembers it.
func (r *repeats) isRepeat(id wire.ID) bool {
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

// isFull reports whether it is time to write: unwritten IDs cannot be forgotten.
func (r *repeats) isFull() bool { return len(r.fresh) >= max(1, r.most/4) }

// group returns the IDs to write, and the number of the first group to keep. The caller must write
// them before it takes the next group.
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

// noteWritten notes that the group has been written.
func (r *repeats) noteWritten(g index.Group, before uint64) {
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
