package hotspots

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/beagle-go/beagle/internal/inorder"
)

// A Tally sums up one declaration in one profile, in samples.
type Tally struct {
	Function   string // as a target for own code, else the linker name
	Own        bool
	Flat       int64
	Cumulative int64
	Caller     string // the caller of most of its samples, "" at the root
	Text       string // hash of its text in the checkout, when that is of the same build
}

// A teller adds up the tallies of one profile.
type teller struct {
	tallies map[*function]*Tally
	callers map[*function]map[*function]int64
}

// Tallies adds up a profile's samples by declaration, the largest first.
func Tallies(p *Profile, c *Checkout) []Tally {
	n := newNamer(c)
	t := &teller{map[*function]*Tally{}, map[*function]map[*function]int64{}}
	for _, s := range p.Pprof.Sample {
		t.stack(functionsOf(n, s), p.samplesOf(s))
	}
	out := make([]Tally, 0, len(t.tallies))
	for fn, sum := range t.tallies {
		sum.Function, sum.Own, sum.Caller = fn.key, fn.class == own, t.caller(fn)
		if fn.decl != nil && (fn.said == 0 || fn.said == int64(fn.decl.Start)) {
			sum.Text = fn.decl.Text
		}
		out = append(out, *sum)
	}
	inorder.By(out, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(b.Cumulative, a.Cumulative), strings.Compare(a.Function, b.Function))
	})
	return out
}

// functionsOf returns a stack from its leaf, inlined calls included.
func functionsOf(n *namer, s *profile.Sample) (all []*function) {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil {
				all = append(all, n.function(line.Function))
			}
		}
	}
	return all
}

// stack counts a function once, however often it recurs.
func (t *teller) stack(all []*function, samples int64) {
	for i, fn := range all {
		sum := t.tallies[fn]
		if sum == nil {
			sum = new(Tally)
			t.tallies[fn], t.callers[fn] = sum, map[*function]int64{}
		}
		if i == 0 {
			sum.Flat += samples
		}
		if !slices.Contains(all[:i], fn) {
			sum.Cumulative += samples
		}
		if i+1 < len(all) && all[i+1] != fn {
			t.callers[fn][all[i+1]] += samples
		}
	}
}

func (t *teller) caller(fn *function) string {
	name, most := "", int64(0)
	for caller, samples := range t.callers[fn] {
		if samples > most || samples == most && caller.key < name {
			name, most = caller.key, samples
		}
	}
	return name
}
