package hotspots

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// A Subtree is the time of one function with its callees, in all profiles of a table.
type Subtree struct {
	Target    string
	Share     float64            // of the whole: its cum
	Known     float64            // samples of equal weight that would tell Share as well as the profiles do
	Samples   int64              // behind it
	Effective float64            // of equal weight
	Callees   map[string]float64 // where the time is spent: [SelfCallee] or a function below
	Lines     map[string]float64 // of the target's own text, callees included
	Inlined   map[string]float64 // of Callees: what is inlined into its caller
	Symbols   []string           // its names in the profiles
	Callers   []Caller           // own functions in whose calls its time is spent, the nearest first
}

// A Caller is a function that calls another, or calls its callers.
type Caller struct {
	Target string
	Share  float64 // of the time below the other that is below this one, too
}

// SelfCallee stands for the target's own instructions among callees.
const SelfCallee = "(itself)"

// Collector stands for the work for the garbage collector that an allocation has to do.
const Collector = "(garbage collection)"

// Subtree returns where the time below a function goes. name is in the form of [Table.Why].
//
// The time counts for the innermost function that is not Go's runtime. Below the runtime the
// outermost function counts, since its inner ways change with the state of the process: an
// allocation is runtime.mallocgc, whichever list it finds its memory in.
//
// A profile whose functions begin at other lines than in the checkout is refused, as is one that
// never saw the function: both are a [beagle.UsageError].
func (t *Table) Subtree(name string) (*Subtree, error) {
	at, err := t.find(name)
	if err != nil {
		return nil, err
	}
	return t.subtree(at, func(k *stack) int64 { return k.count }), nil
}

// Halves returns what [Table.Subtree] does of two parts of the samples: each sample is in one of
// them, by chance. A benchmark that is fitted to one part can be compared with the other.
func (t *Table) Halves(name string) (out [2]*Subtree, err error) {
	at, err := t.find(name)
	if err != nil {
		return out, err
	}
	r := rand.New(rand.NewPCG(3, 4))
	first := map[*stack]int64{}
	out[0] = t.subtree(at, func(k *stack) int64 {
		for range k.count {
			first[k] += int64(r.IntN(2))
		}
		return first[k]
	})
	out[1] = t.subtree(at, func(k *stack) int64 { return k.count - first[k] })
	return out, nil
}

// find returns the function of own code with this name.
func (t *Table) find(name string) (*cost, error) {
	var at *cost
	for _, c := range byCost(t.ranking.order) {
		if c.matches(name) && c.fn.class == own && (at == nil || c.fn.target == name) {
			at = c
		}
	}
	if at == nil {
		_, _, err := t.Why(name)
		if err == nil {
			err = &beagle.UsageError{What: name + " is in the profile, but not as code of this checkout",
				Remedy: "give the checkout that was profiled with -C"}
		}
		return nil, err
	}
	if d := at.fn.decl; d != nil && at.fn.said > 0 && int64(d.Start) != at.fn.said {
		return nil, &beagle.UsageError{
			What: fmt.Sprintf("the profile is of another build than the checkout: %s begins at %s:%d in the profile "+
				"and at line %d in the checkout", at.fn.key, at.fn.file, at.fn.said, d.Start),
			Remedy: "check the version out that was profiled, or profile this one: lines cannot be compared",
		}
	}
	return at, nil
}

// subtree adds up the stacks below a function. samples returns how many of a stack's samples count.
func (t *Table) subtree(at *cost, samples func(*stack) int64) *Subtree {
	s := &Subtree{
		Target: cmp.Or(at.fn.target, at.fn.key), Share: at.cum / t.ranking.m.total,
		Callees: map[string]float64{}, Lines: map[string]float64{}, Inlined: map[string]float64{},
		Symbols: at.fn.symbols,
	}
	sum, squares := 0.0, 0.0
	above := callers{}
	below := make([]*stack, 0, len(at.stacks))
	for _, i := range at.stacks {
		k := t.ranking.m.stacks[i]
		below = append(below, k)
		count := samples(k)
		part := float64(count) / float64(max(k.count, 1))
		weight := part * k.weight
		if weight == 0 {
			continue
		}
		top := outermost(k.frames, at.fn)
		callee := spender(k.frames[:top+1], at.fn)
		s.Callees[callee] += weight
		if k.frames[0].inlined {
			s.Inlined[callee] += weight
		}
		s.Lines[fmt.Sprintf("%s:%d", at.fn.file, k.frames[top].line)] += weight
		s.Samples += count
		above.add(k.frames[top+1:], weight)
		sum += weight
		squares += part * k.squares
	}
	if squares > 0 {
		s.Effective = tidy(sum * sum / squares)
	}
	s.Callers = above.list(sum)
	s.Known = tidy(t.ranking.m.effectiveOf(s.Share, t.ranking.m.weights(below, 0)))
	return s
}

// callers adds up, for each function above another one, the weights of the stacks and of the frames
// between.
type callers map[*function]struct{ weight, far float64 }

// add adds a stack's frames above the function, the nearest first.
func (c callers) add(above []frame, weight float64) {
	seen := map[*function]bool{}
	for far, f := range above {
		if f.fn.class == own && f.fn.target != "" && !seen[f.fn] {
			seen[f.fn] = true
			at := c[f.fn]
			at.weight, at.far = at.weight+weight, at.far+weight*float64(far)
			c[f.fn] = at
		}
	}
}

// list returns the callers, the nearest first, with their shares of a weight.
func (c callers) list(whole float64) (out []Caller) {
	list := slices.Collect(maps.Keys(c))
	inorder.By(list, func(a, b *function) int {
		x, y := c[a], c[b]
		return cmp.Or(cmp.Compare(x.far/x.weight, y.far/y.weight), strings.Compare(a.target, b.target))
	})
	for _, f := range list {
		out = append(out, Caller{f.target, tidy(c[f].weight / whole)})
	}
	return out
}

// outermost returns the frame of a function that is nearest to the root.
func outermost(frames []frame, fn *function) int {
	for i := len(frames) - 1; i >= 0; i-- {
		if frames[i].fn == fn {
			return i
		}
	}
	return 0
}

// spender names the function that spends the time of a stack below a function.
func spender(frames []frame, fn *function) string {
	i := 0
	for ; i < len(frames)-1 && frames[i].fn.class == goRuntime; i++ {
		if forCollector(frames[i].fn.key) {
			return Collector
		}
	}
	if i > 0 {
		return frames[i-1].fn.key
	}
	if frames[0].fn == fn {
		return SelfCallee
	}
	return frames[0].fn.key
}

// forCollector reports whether a runtime function works for the collector on an allocator's time.
func forCollector(name string) bool {
	return strings.HasPrefix(name, "runtime.gcAssist") || strings.HasPrefix(name, "runtime.gcWriteBarrier") ||
		strings.HasPrefix(name, "runtime.wbBuf") || strings.HasPrefix(name, "runtime.gcStart") ||
		strings.HasPrefix(name, "runtime.deductAssist") || strings.HasPrefix(name, "runtime.bulkBarrier")
}

// SharedShare returns the share of the whole in which a function calls another, or is called by it.
func (t *Table) SharedShare(a, b string) float64 {
	var x, y *cost
	for _, c := range t.ranking.order {
		switch c.fn.target {
		case a:
			x = c
		case b:
			y = c
		}
	}
	if x == nil || y == nil {
		return 0
	}
	inside, sum := map[int]bool{}, 0.0
	for _, i := range x.stacks {
		inside[i] = true
	}
	for _, i := range y.stacks {
		if inside[i] {
			sum += t.ranking.m.stacks[i].weight
		}
	}
	return sum / t.ranking.m.total
}

// reach returns the time below a function that its own package and the library below that spend: a
// candidate holds copies of functions of its package. Across packages it holds copies of others'
// functions, too, and of no methods.
func (r *ranking) reach(c *cost, across bool) float64 {
	sum, pkg := 0.0, packageOf(c.fn.target)
	for _, i := range c.stacks {
		s := r.m.stacks[i]
		elsewhere := func(f frame) bool {
			return f.fn.class == own && packageOf(f.fn.key) != pkg && !(across && !isMethod(f.fn.key))
		}
		if !slices.ContainsFunc(s.frames[:outermost(s.frames, c.fn)], elsewhere) {
			sum += s.weight
		}
	}
	return sum
}

// insideShare is the share of a function's time below another from which on it counts as inside.
// The rest would be its own saving, once that other one has a copy.
const insideShare = 0.75

// EntriesBelow returns the entries of a target's package that spend most of their time below it;
// across packages the functions of others, too, which are no methods. A search of the target
// reaches them. [Table.Heads] makes heads count as entries.
func (t *Table) EntriesBelow(target string, across bool) (inside []string) {
	for _, c := range byCost(t.ranking.order) {
		reached := packageOf(c.fn.target) == packageOf(target) ||
			across && !isMethod(c.fn.target)
		if (c.entry || slices.Contains(t.heads, c.fn.target)) && c.fn.target != target && reached &&
			t.SharedShare(target, c.fn.target) >= insideShare*c.cum/t.ranking.m.total {
			inside = append(inside, c.fn.target)
		}
	}
	return inside
}

// Payers returns the entries that would pay for a function if it had no entry of its own, the most
// expensive first, with their shares of the whole. They are its nearest callers that have one.
func (t *Table) Payers(target string) []beagle.CostShare {
	sums := map[*function]float64{}
	for i, s := range t.ranking.m.stacks {
		p := t.ranking.payer[i]
		if p == nil || p.fn.target != target {
			continue
		}
		for _, f := range s.frames[outermost(s.frames, p.fn):] {
			if c := t.ranking.costs[f.fn]; c != p && c.entry {
				sums[f.fn] += s.weight
				break
			}
		}
	}
	var out []beagle.CostShare
	for _, f := range costliest(sums, len(sums)) {
		out = append(out, beagle.CostShare{What: f.target, Share: tidy(sums[f] / t.ranking.m.total)})
	}
	return out
}
