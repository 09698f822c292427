package hotspots

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// falseMoves is the expected part of the moves that chance made.
const falseMoves = 0.05

// Compare finds which functions' shares moved since the profiles of old. Both tables give each
// sample to the innermost function that has an entry in one of them, so that a function that fell
// under the least share still compares.
func (t *Table) Compare(old *Table) *beagle.HotspotDiff {
	// Take the functions that are entries in either ranking.
	entries := map[string]bool{}
	for _, r := range []*ranking{t.ranking, old.ranking} {
		for _, c := range r.order {
			if c.entry {
				entries[c.fn.key] = true
			}
		}
	}
	now, before := t.ranking.shares(entries), old.ranking.shares(entries)
	out := &beagle.HotspotDiff{Samples: t.Samples, OldSamples: old.Samples, Old: old.Profiles,
		Moves: []beagle.HotspotMove{}}
	// Compare their shares.
	var all []beagle.HotspotMove
	for key := range entries {
		a, b := before.part(key), now.part(key)
		m := beagle.HotspotMove{Target: key, Old: a.net, New: b.net, Change: b.net - a.net, OldCum: a.cum,
			NewCum: b.cum}
		m.Low, m.High = newcombe(a.net, a.n, b.net, b.n)
		m.P = twoShares(a.net, a.n, b.net, b.n)
		all = append(all, m)
	}
	// List those that surely moved, the largest change first.
	discover(all)
	for _, m := range all {
		if !m.Moved {
			out.Unclear++
			continue
		}
		m.Note = shifted(m, now.part(m.Target).caller, before, now)
		out.Moves = append(out.Moves, m)
	}
	inorder.By(out.Moves, func(a, b beagle.HotspotMove) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Change), math.Abs(a.Change)), cmp.Compare(a.Target, b.Target))
	})
	return out
}

// A part is one function's part of a profile.
type part struct {
	net, cum float64
	n        float64 // samples that would tell net as well
	caller   string  // the entry above it that contains most of it
}

type parts struct {
	by map[string]*part
	n  float64 // effective samples
}

func (p *parts) part(key string) part {
	if x := p.by[key]; x != nil {
		return *x
	}
	return part{n: p.n}
}

// shares returns the net shares when just these functions have entries, without the collector's
// bill: it has another uncertainty than a count of samples.
func (r *ranking) shares(entries map[string]bool) *parts {
	out := &parts{by: map[string]*part{}, n: r.m.effective()}
	callers := map[string]map[string]float64{}
	paid := map[string][]*stack{}
	for _, s := range r.m.stacks {
		// List the entries on the stack, from the leaf up.
		var on []string
		for _, f := range s.frames {
			if key := f.fn.key; entries[key] && !slices.Contains(on, key) {
				on = append(on, key)
			}
		}
		// Add the sample to each.
		for i, key := range on {
			p := out.by[key]
			if p == nil {
				p = &part{}
				out.by[key], callers[key] = p, map[string]float64{}
			}
			p.cum += s.weight / r.m.total
			if i == 0 {
				p.net += s.weight / r.m.total
				paid[key] = append(paid[key], s)
			}
			if i+1 < len(on) {
				callers[key][on[i+1]] += s.weight
			}
		}
	}
	for key, p := range out.by {
		p.n = r.m.effectiveOf(p.net, r.m.weights(paid[key], 0))
	}
	// Find the main caller of each.
	for key, by := range callers {
		most := 0.0
		for caller, v := range by {
			if v > most || v == most && caller < out.by[key].caller {
				out.by[key].caller, most = caller, v
			}
		}
	}
	return out
}

// newcombe returns the 95 % interval of the difference of two shares.
func newcombe(a, na, b, nb float64) (low, high float64) {
	la, ha := wilson(a, na)
	lb, hb := wilson(b, nb)
	d := b - a
	return d - math.Hypot(b-lb, ha-a), d + math.Hypot(hb-b, a-la)
}

// twoShares returns the probability that two equal shares differ this much by chance.
func twoShares(a, na, b, nb float64) float64 {
	if na <= 0 || nb <= 0 {
		return 1
	}
	pooled := (a*na + b*nb) / (na + nb)
	sd := math.Sqrt(pooled * (1 - pooled) * (1/na + 1/nb))
	if sd == 0 {
		return 1
	}
	return math.Erfc(math.Abs(b-a) / sd / math.Sqrt2)
}

// discover marks the moves that are more than chance, by Benjamini and
// Hochberg: of many functions, some differ by chance.
func discover(all []beagle.HotspotMove) {
	inorder.By(all, func(a, b beagle.HotspotMove) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.Target, b.Target))
	})
	last := -1
	for i, m := range all {
		if m.P <= falseMoves*float64(i+1)/float64(len(all)) {
			last = i
		}
	}
	for i := range all[:last+1] {
		all[i].Moved = true
	}
}

// shifted notes a move of time from one function to another: the caller of both costs the same as
// before.
func shifted(m beagle.HotspotMove, caller string, before, now *parts) string {
	if caller == "" {
		return ""
	}
	a, b := before.part(caller).cum, now.part(caller).cum
	if a == 0 || twoShares(a, before.n, b, now.n) < 0.05 || math.Abs(b-a) > math.Abs(m.Change)/2 {
		return ""
	}
	return fmt.Sprintf("%s, which calls it, costs the same in all: the cost moved between functions", caller)
}
