package hotspots

import (
	"cmp"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

const (
	// headGain is the factor by which a head reaches more of the service than any entry below it. A
	// wrapper that adds nothing is no head.
	headGain = 1.1
	// headShare is the least share of a head's time that the head reaches. A search of a function
	// that mostly waits for code out of reach measures that code.
	headShare = 0.5
)

// Heads returns functions without an entry that call entries of their package and reach clearly
// more than each of these. Their own work is too little for an entry, but one search and one switch
// at such a function carry the gains in all that it calls. From then on they count as entries for
// [Table.EntriesBelow].
func (t *Table) Heads(across bool) (out []beagle.Hotspot) {
	t.heads = nil
	for _, c := range t.ranking.inward() { // of a chain of wrappers the innermost is the head
		if c.entry || c.fn.class != own || c.fn.target == "" || c.into != nil || t.Kind != CPU {
			continue
		}
		if reach := t.ranking.reach(c, across); reach >= headShare*c.cum && t.leads(c, reach, across) {
			h := t.hotspot(c)
			h.Reach = tidy(reach / t.ranking.m.total)
			t.heads = append(t.heads, h.Target)
			out = append(out, h)
		}
	}
	return out
}

// LeadWithHeads puts the heads in front of the hot spots.
func (t *Table) LeadWithHeads(across bool) {
	t.Hotspots.Hotspots = slices.Concat(t.Heads(across), t.Hotspots.Hotspots)
}

// inward sorts functions by time, so that callees come before callers. Between equals the one
// nearer to the leaves comes first.
func (r *ranking) inward() []*cost {
	height := func(c *cost) (sum float64) {
		for _, i := range c.stacks {
			sum += float64(outermost(r.m.stacks[i].frames, c.fn)) * r.m.stacks[i].weight
		}
		return sum
	}
	out := slices.Clone(r.order)
	inorder.By(out, func(a, b *cost) int {
		return cmp.Or(cmp.Compare(a.cum, b.cum), cmp.Compare(height(a), height(b)))
	})
	return out
}

// leads reports whether a function has entries of its package below it, and reaches clearly more
// than each, and than each head below it.
func (t *Table) leads(c *cost, reach float64, across bool) bool {
	below := t.EntriesBelow(c.fn.target, false)
	for _, e := range t.ranking.order {
		if slices.Contains(below, e.fn.target) && reach < headGain*t.ranking.reach(e, across) {
			return false
		}
	}
	return len(below) > 0
}

// isMethod reports whether a target is a method, of which a search across packages makes no copy.
func isMethod(target string) bool {
	return strings.Contains(strings.TrimPrefix(target, packageOf(target)+"."), ".")
}
