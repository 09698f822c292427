package lift

import (
	"slices"

	"github.com/beagle-go/beagle/internal/inorder"
)

// A pool holds inputs of a region with its outputs.
type pool struct {
	leaves []leaf
	cols   []any // by leaf, as long as the pool; nil for constants
	outs   []outputVector
	terms  []*Component // that a search may use
	n      int
	first  int // the number of recorded calls, which come first
}

// An outputVector holds the values of one output of a region.
type outputVector struct {
	typ  *Type
	col  any
	mask []bool // where the value counts
}

// examples are places in the pool, balanced: no outcome takes more than a third.
func (p *pool) examples(n int) []int {
	groups := map[uint64]int{}
	var at, spare []int
	recorded := 0
	// Group the examples by all of their outputs together. A place where no output counts says
	// nothing.
	for i := range p.n {
		if len(at) >= n {
			break
		}
		h, counts := uint64(17), false
		for _, o := range p.outs {
			if o.mask[i] {
				h, counts = mix(h, o.typ.key(o.col, i)), true
			}
		}
		if !counts {
			continue
		}
		// At most a third are recorded ones: the calls of one service are often alike.
		if i < p.first {
			if recorded >= n/3 {
				continue
			}
			recorded++
		}
		// Surplus inputs fill the end if there are too few.
		if groups[h]++; groups[h] > n/3 {
			spare = append(spare, i)
			continue
		}
		at = append(at, i)
	}
	return append(at, spare[:min(len(spare), n-len(at))]...)
}

// goals returns the outputs at some places, with their preimages under functions that have an
// inverse.
func (p *pool) goals(at []int) []*goal {
	// Each output is a goal by itself.
	var out []*goal
	for _, o := range p.outs {
		g := &goal{typ: o.typ, col: o.typ.pick(o.col, at)}
		for i, k := range at {
			if o.mask[k] {
				g.mask |= 1 << i
			}
		}
		out = append(out, g)
	}
	// An output under an inverse function is another goal: a term for -x gives one for x. The
	// inverse must be defined everywhere.
	for _, g := range out[:len(out):len(out)] {
		for _, inv := range inverses {
			if inv.to.Result != g.typ {
				continue
			}
			col := inv.back.Result.make(len(at))
			if inv.back.eval(col, []any{g.col}, g.mask) == g.mask {
				out = append(out, &goal{typ: inv.back.Result, col: col, mask: g.mask, via: inv.to, of: g})
			}
		}
	}
	return out
}

// An inverse is a pair of functions: to undoes back.
type inverse struct{ to, back *Component }

var inverses []inverse

// init registers the functions with an inverse, each pair in a list of its own: what registers a
// function puts it into all.
func init() {
	kept := all
	// A function is registered to be taken out at once: it is no component, only a way to undo one.
	pair := func(register func()) {
		all = nil
		register()
		inverses = append(inverses, inverse{all[0], all[1]})
	}
	pair(func() {
		f1("!$1", func(b bool) bool { return !b }, glue)
		f1("!$1", func(b bool) bool { return !b }, glue)
	})
	pair(func() {
		f1("$1 + 1", func(n int) int { return n + 1 }, glue)
		f1("$1 - 1", func(n int) int { return n - 1 }, glue)
	})
	pair(func() {
		f1("$1 - 1", func(n int) int { return n - 1 }, glue)
		f1("$1 + 1", func(n int) int { return n + 1 }, glue)
	})
	pair(func() {
		f1("-$1", func(n int) int { return -n }, glue)
		f1("-$1", func(n int) int { return -n }, glue)
	})
	pair(func() {
		f1("[]byte($1)", func(s string) []byte { return []byte(s) }, glue)
		f1("string($1)", func(s []byte) string { return string(s) }, glue)
	})
	pair(func() {
		f1("string($1)", func(s []byte) string { return string(s) }, glue)
		f1("[]byte($1)", func(s string) []byte { return []byte(s) }, glue)
	})
	all = kept
}

// at returns the leaves' columns at some places.
func (p *pool) at(places []int) []any {
	out := make([]any, len(p.leaves))
	for i, l := range p.leaves {
		// An input's column is picked from; a constant has the same value everywhere.
		if l.input >= 0 {
			out[i] = l.typ.pick(p.cols[i], places)
			continue
		}
		col := l.typ.make(len(places))
		for k := range places {
			l.typ.set(col, k, l.value)
		}
		out[i] = col
	}
	return out
}

// refute returns the first place in the pool at which a term is not output o; -1
// for none.
func (p *pool) refute(t *term, o outputVector) int {
	places := make([]int, 0, 64)
	// Evaluate on 64 places at a time, as many as a mask has bits.
	for from := 0; from < p.n; from += 64 {
		places = places[:0]
		mask := uint64(0)
		for i := from; i < min(p.n, from+64); i++ {
			if o.mask[i] {
				mask |= 1 << len(places)
			}
			places = append(places, i)
		}
		if mask == 0 {
			continue
		}
		col, defined := t.eval(p.leaves, p.at(places), len(places), mask)
		// A term that is defined nowhere here disagrees at the first place.
		if defined == 0 {
			return places[firstOf(mask)]
		}
		agree := o.typ.equal(col, o.typ.pick(o.col, places), defined&mask)
		if wrong := mask &^ agree; wrong != 0 {
			return places[firstOf(wrong)]
		}
	}
	return -1
}

func firstOf(mask uint64) int {
	i := 0
	for mask>>i&1 == 0 {
		i++
	}
	return i
}

// Limits of the answers to one region.
const (
	startExamples = 28
	rounds        = 16
)

// explain looks for terms that are the outputs, wherever the pool shows them.
func (p *pool) explain(l *limits) ([][]*term, string) {
	if len(p.outs) == 0 {
		return nil, "no output"
	}
	// A few examples first: they tell most terms apart, and columns are short.
	at := p.examples(startExamples)
	if len(at) < 4 {
		return nil, "too few examples"
	}
	right := make([][]*term, len(p.outs))
	// A term that holds on the examples but not in the pool adds the place where it fails to the
	// examples.
	for range rounds {
		goals := p.goals(at)
		l.spent += search(len(at), p.terms, p.leaves, p.at(at), goals, l.perSearch, l.late)
		wrong := p.sort(goals, right)
		missing := slices.ContainsFunc(right, func(ts []*term) bool { return len(ts) == 0 })
		if !missing {
			return right, ""
		}
		if len(wrong) == 0 || l.over() {
			return nil, noTerm
		}
		l.restarts++
		at = addPlaces(at, wrong)
	}
	return nil, noneHeld
}

// sort puts the terms that hold on the whole pool into right, and returns the
// places that refute others.
func (p *pool) sort(goals []*goal, right [][]*term) (wrong []int) {
	// A term is judged on all values, not only on those that led the search to it.
	for k, o := range p.outs {
		right[k] = nil
		for _, t := range goals[k].done {
			// The place that refutes it becomes one more example for the next round.
			if i := p.refute(t, o); i >= 0 {
				wrong = append(wrong, i)
			} else {
				right[k] = append(right[k], t)
			}
		}
	}
	inorder.Sort(wrong)
	return slices.Compact(wrong)
}

// addPlaces adds places to examples. When there is no room, the oldest make place.
func addPlaces(at, more []int) []int {
	for _, i := range more[:min(len(more), 8)] {
		if slices.Contains(at, i) {
			continue
		}
		if len(at) == maxExamples {
			at = slices.Delete(slices.Clone(at), 4, 5)
		}
		at = append(at, i)
	}
	return at
}
