package lift

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate"
)

// Options say how hard to look.
type Options struct {
	Seed     uint64
	Regions  int              // that are looked at; 0 is 48
	Inputs   int              // drawn for each region; 0 is 2304
	Terms    int              // tried for each search; 0 is 150000
	Total    int              // tried for all regions; 0 is 2500000
	Time     time.Duration    // for all regions, by the clock; 0 is a minute
	Recorded []map[string]any // arguments of recorded calls of the target, by parameter
	Sorted   []string         // parameters of the target that are nearly always in order
	Packages []string         // packages of [Modules] whose functions are offered
	GoOn     func() bool      // asked often; the study ends when it is false. It may wait; nil is always true
}

const (
	defaultInputs  = 2304
	defaultRegions = 48
	defaultTerms   = 150_000
	cheapTerms     = 25_000    // that the first search for a region may try
	defaultTotal   = 2_500_000 // about 5 s of processor time
	defaultTime    = time.Minute
	regionSearches = 3 // of all terms that a search may try, for one region
)

// A Study looks for terms that do what regions of one candidate do. The caller
// runs the regions: see [Study.Program].
type Study struct {
	p         *mutate.Pass
	o         Options
	questions []*question
	starts    []int // the first line of each region in the program's text
}

// A question is a region with its inputs and outputs.
type question struct {
	r      *Region
	words  constants
	inputs []any
	first  int // this many inputs are recorded
	status []byte
	outs   []any
	found  []*term // for each output
}

// limits bound the work on one study.
type limits struct {
	perSearch int
	total     int
	region    int // what spent may be until the next region
	deadline  time.Time
	goOn      func() bool
	ended     atomic.Bool // the answers are no longer needed
	spent     int         // terms tried
	restarts  int
}

// over reports whether the time for a region is used up.
func (l *limits) over() bool {
	return l.spent >= l.total || l.spent >= l.region || l.late()
}

// late reports whether the search is to end whatever it has found.
func (l *limits) late() bool {
	if l.goOn != nil && !l.goOn() {
		return true
	}
	return l.ended.Load() || !l.deadline.IsZero() && time.Now().After(l.deadline)
}

// NewStudy cuts a candidate into regions and draws their inputs.
func NewStudy(p *mutate.Pass, o Options) *Study {
	o.Inputs, o.Terms = cmp.Or(o.Inputs, defaultInputs), cmp.Or(o.Terms, defaultTerms)
	o.Total, o.Time = cmp.Or(o.Total, defaultTotal), cmp.Or(o.Time, defaultTime)
	s := &Study{p: p, o: o}
	regions := Regions(p)
	for i, r := range regions[:min(len(regions), cmp.Or(o.Regions, defaultRegions))] {
		s.questions = append(s.questions, s.ask(r, o.Seed+uint64(i)))
	}
	return s
}

// ask makes the inputs of a region: recorded ones first if the region is the target itself, then
// drawn ones, and all runes if it asks about one.
func (s *Study) ask(r *Region, seed uint64) *question {
	q := &question{r: r, words: wordsOf(s.p, r.fn.Body)}
	var ts []*Type
	for _, in := range r.Inputs {
		ts = append(ts, in.Type)
	}
	recorded := s.recorded(r, ts)
	// Inputs are drawn from the constants of the code, so that they reach its branches.
	drawn := draw(seed, q.words, ts, s.o.Inputs)
	for i, t := range ts {
		col := t.add(nil, t.make(0))
		if recorded != nil {
			col = t.add(col, recorded[i])
			q.first = t.length(col)
		}
		q.inputs = append(q.inputs, t.add(col, drawn[i]))
	}
	if every := everyRune(ts); every != nil && (r.Kind == "function" || r.Kind == "expression") {
		q.inputs[0] = ts[0].add(q.inputs[0], every)
	}
	return q
}

// recorded returns the columns of recorded calls, where the region is the target.
func (s *Study) recorded(r *Region, ts []*Type) []any {
	// Calls are recorded at the target's parameters, which are the inputs only if the region is its
	// whole body.
	if r.Kind != "function" || r.fn != s.p.Func {
		return nil
	}
	cols := make([]any, len(ts))
	for i, t := range ts {
		cols[i] = t.make(len(s.o.Recorded))
		for k, row := range s.o.Recorded {
			v, ok := row[r.Inputs[i].Expr]
			// A value that the grammar cannot hold makes all calls useless: the others would be a
			// chosen sample.
			if !ok || !t.holds(v) {
				return nil
			}
			t.set(cols[i], k, v)
		}
	}
	return cols
}

// Regions returns the regions of the study.
func (s *Study) Regions() []*Region {
	var out []*Region
	for _, q := range s.questions {
		out = append(out, q.r)
	}
	return out
}

// Program returns the text of a file for the candidate's package. Its function [Entry] reads inputs
// of the regions from the standard input, and writes the values that each region leaves to the
// standard output. Loops end when they run out of fuel.
func (s *Study) Program(pkg string) string {
	text, starts := program(s.p, pkg, s.Regions())
	s.starts = starts
	return text
}

// Drop leaves out the regions to which lines of the program's text belong: the
// compiler refused them. It reports whether there were any, and some are left.
func (s *Study) Drop(lines []int) bool {
	// A line belongs to the last region that begins at it or before.
	bad := map[int]bool{}
	for _, line := range lines {
		if i, exact := slices.BinarySearch(s.starts, line); exact {
			bad[i] = true
		} else if i > 0 {
			bad[i-1] = true
		}
	}
	var kept []*question
	for i, q := range s.questions {
		if !bad[i] {
			kept = append(kept, q)
		}
	}
	s.questions = kept
	return len(bad) > 0 && len(kept) > 0
}

// A Report tells what a study found, and where it gave up.
type Report struct {
	Matches  []Match
	Answers  []Answer
	Terms    int // tried
	Restarts int
}

// An Answer is the outcome of one region.
type Answer struct {
	Region string
	Kind   string
	Func   string
	Term   string // empty when there is none
	Why    string // there is no term
	final  bool   // a harder search changes nothing
}

// Find looks for terms: first for cheap ones of each region, then, with the remaining terms, harder
// where there was none. It is pure except for its deadline.
func (s *Study) Find() Report {
	l := &limits{total: s.o.Total, deadline: time.Now().Add(s.o.Time), goOn: s.o.GoOn}
	var rep Report
	for _, q := range s.questions {
		rep.Answers = append(rep.Answers, Answer{Region: q.r.String(), Kind: q.r.Kind, Func: q.r.Func})
	}
	for _, l.perSearch = range slices.Compact([]int{min(cheapTerms, s.o.Terms), s.o.Terms}) {
		s.round(l, &rep)
	}
	inorder.By(rep.Matches, func(a, b Match) int { return cmp.Compare(a.Price, b.Price) })
	rep.Terms, rep.Restarts = l.spent, l.restarts
	return rep
}

// round asks each question that has no answer yet.
func (s *Study) round(l *limits, rep *Report) {
	var open []int
	for i, a := range rep.Answers {
		// Questions with an answer, or with a reason that no further round changes, are left out.
		if a.Term == "" && !a.final {
			open = append(open, i)
		}
	}
	ahead := s.lookAhead(open, l)
	defer ahead.end()
	for k, i := range open {
		q, a := s.questions[i], &rep.Answers[i]
		// A match covers the smaller regions inside of it.
		if covered(rep.Matches, s.p, q.r) {
			ahead.skip(k)
			a.Why = "a larger region is a term already"
			continue
		}
		// The next questions are answered in advance, on other processors, as long as nothing here
		// makes them needless.
		got := ahead.answer(k, l)
		if got.why == "" {
			rep.Matches, q.found = append(rep.Matches, got.matches...), got.found
			a.Term, a.Why = got.matches[0].Term, ""
			continue
		}
		a.Why, a.final = got.why, got.why != noTerm && got.why != noneHeld && got.why != noTime
	}
}

// Why a region has no term, where a harder search could change that.
const (
	noTerm   = "no term found"
	noneHeld = "no term held"
	noTime   = "there was no time left"
)

// covered reports whether a region lies in one that has a term.
func covered(found []Match, p *mutate.Pass, r *Region) bool {
	return slices.ContainsFunc(found, func(f Match) bool {
		return f.start <= p.Offset(r.start) && p.Offset(r.end) <= f.end
	})
}

// An answeredQuestion question has matches, with a term for each output of the first one, or a
// reason why not.
type answeredQuestion struct {
	matches []Match
	found   []*term
	why     string
}

// answer looks for the terms of one region.
func (s *Study) answer(q *question, l *limits) answeredQuestion {
	if q.status == nil {
		return answeredQuestion{why: "it did not run"}
	}
	// One region may not use up the time of all others.
	if l.region = l.spent + regionSearches*l.perSearch; l.over() {
		return answeredQuestion{why: noTime}
	}
	library := s.library()
	// Functions on sorted slices agree only on sorted inputs, so they have a pool of their own.
	pools := []*pool{q.pool(library, nil)}
	if in := q.sorted(s); in >= 0 {
		pools = append(pools, q.pool(library, func(i int) bool { return inOrder(q.inputs[in], i) }))
	}
	why := ""
	for k, pool := range pools {
		// Few inputs, or outputs that never change, would let any term pass.
		if pool.n < 64 || pool.constant() {
			why = "its outputs do not vary"
			continue
		}
		terms, reason := pool.explain(l)
		if reason != "" {
			why = reason
			continue
		}
		var a answeredQuestion
		for _, way := range ways(terms) {
			f, ok := s.match(q, way)
			if !ok {
				continue
			}
			f.Sorted = k > 0
			if a.matches = append(a.matches, f); len(a.matches) == 1 {
				a.found = q.best(way)
			}
		}
		if len(a.matches) > 0 {
			return a
		}
		why = "the term is not better than the code"
	}
	return answeredQuestion{why: why}
}

// ways splits the terms of each output: into those of the standard library, where each output has
// one, and those of modules, where some output has one. The measurement then decides between the
// two. A term of a module that is slower by estimate than one of the standard library is no way of
// its own: nearly all values can be had by a detour over some function.
func ways(right [][]*term) (out [][][]*term) {
	standard, modules := make([][]*term, len(right)), make([][]*term, len(right))
	whole, some := true, false
	for k, ts := range right {
		cheapest := math.MaxInt
		for _, t := range ts {
			if !t.module {
				standard[k], cheapest = append(standard[k], t), min(cheapest, t.price)
			}
		}
		for _, t := range ts {
			if t.module && t.price <= cheapest {
				modules[k] = append(modules[k], t)
			}
		}
		whole, some = whole && len(standard[k]) > 0, some || len(modules[k]) > 0
		// An output without a term of a module takes one of the standard library.
		if len(modules[k]) == 0 {
			modules[k] = standard[k]
		}
	}
	if whole {
		out = append(out, standard)
	}
	if some {
		out = append(out, modules)
	}
	return out
}

// sorted returns the place of an input that is nearly always in order; -1 for none.
func (q *question) sorted(s *Study) int {
	return slices.IndexFunc(q.r.Inputs, func(in Input) bool {
		return q.r.fn == s.p.Func && in.param && in.Type.slice && slices.Contains(s.o.Sorted, in.Expr)
	})
}

// inOrder reports whether a slice in a column is sorted.
func inOrder(col any, i int) bool {
	switch col := col.(type) {
	case [][]int:
		return slices.IsSorted(col[i])
	case [][]int64:
		return slices.IsSorted(col[i])
	case [][]uint16:
		return slices.IsSorted(col[i])
	case [][]uint32:
		return slices.IsSorted(col[i])
	case [][]uint64:
		return slices.IsSorted(col[i])
	case [][]byte:
		return slices.IsSorted(col[i])
	case [][]float64:
		return slices.IsSorted(col[i])
	case [][]string:
		return slices.IsSorted(col[i])
	}
	return false
}

// library returns the functions that terms may have.
func (s *Study) library() []*Component {
	if len(s.o.Packages) == 0 {
		return all
	}
	return append(offered(s.o.Packages), all...)
}

// pool holds the inputs on which the region ended, where keep says so.
func (q *question) pool(library []*Component, keep func(i int) bool) *pool {
	// Take the inputs on which the region ended; recorded ones are in front.
	p := &pool{leaves: q.words.leaves(q.r.Inputs, q.r.Outputs), terms: library}
	var at []int
	for i, st := range q.status {
		if st == 0 && (keep == nil || keep(i)) {
			if i < q.first {
				p.first++
			}
			at = append(at, i)
		}
	}
	p.n = len(at)
	for _, l := range p.leaves {
		var col any
		if l.input >= 0 {
			col = l.typ.pick(q.inputs[l.input], at)
		}
		p.cols = append(p.cols, col)
	}
	// With early returns an output counts only where it is set: results where the region returned,
	// and variables where it went on.
	returned := make([]bool, p.n)
	for k, o := range q.r.Outputs {
		if o.Name == "returned" {
			copy(returned, o.Type.pick(q.outs[k], at).([]bool))
		}
	}
	for k, o := range q.r.Outputs {
		out := outputVector{typ: o.Type, col: o.Type.pick(q.outs[k], at), mask: make([]bool, p.n)}
		for i := range out.mask {
			out.mask[i] = !o.early && !o.late || o.early && returned[i] || o.late && !returned[i]
		}
		p.outs = append(p.outs, out)
	}
	return p
}

// constant reports whether no output varies.
func (p *pool) constant() bool {
	for _, o := range p.outs {
		first := slices.Index(o.mask, true)
		for i := range p.n {
			if first >= 0 && o.mask[i] && !o.typ.same(o.col, first, i) {
				return false
			}
		}
	}
	return true
}

// Summary returns a line about a report.
func (r *Report) Summary() string {
	var terms []string
	for _, f := range r.Matches {
		terms = append(terms, f.Kind+" of "+f.Func+" is "+f.Term)
	}
	return fmt.Sprintf("%d of %d pieces of code are terms of the library: %s", len(r.Matches), len(r.Answers),
		strings.Join(terms, "; "))
}
