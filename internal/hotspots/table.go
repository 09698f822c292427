package hotspots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/special"
	linker "github.com/beagle-go/beagle/internal/symbol"
)

// Options choose the subject and the form of a ranking.
type Options struct {
	Kind     string  // "" for CPU when there is a CPU profile, else the first kind there is
	Least    float64 // share of the whole under which a function gets no entry
	Limit    int     // entries and dropped functions to list, each; 0 for all
	Checkout *Checkout
	Service  Service
	Calls    map[string]float64 // of targets, a second, in the whole service
}

// A Table is a ranking that answers further questions.
type Table struct {
	beagle.Hotspots
	ranking *ranking
	options Options
	others  map[string]*merged // the kinds that were not ranked
	heads   []string           // targets that count as entries, see Heads
}

// Rank makes the table of a service's profiles.
func Rank(all []*Profile, o Options) (*Table, error) {
	if o.Checkout == nil {
		o.Checkout = &Checkout{}
	}
	// Merge the profiles of each kind. One kind makes the ranking.
	kind, err := kindOf(all, o.Kind)
	if err != nil {
		return nil, err
	}
	names := newNamer(o.Checkout)
	t := &Table{options: o, others: map[string]*merged{}}
	for _, k := range []string{CPU, Alloc, Block, Mutex} {
		m, err := merge(k, all, names)
		if err != nil {
			return nil, err
		}
		if k != kind {
			t.others[k] = m
			t.Profiles = append(t.Profiles, m.used...)
			continue
		}
		t.ranking = &ranking{m: m}
		t.Profiles = append(m.used, t.Profiles...)
	}
	m := t.ranking.m
	if m.total <= 0 {
		return nil, &beagle.UsageError{
			What: fmt.Sprintf("the %s profiles hold no samples", kind),
			Remedy: "profile while the service works; block and mutex profiles need runtime.SetBlockProfileRate " +
				"and SetMutexProfileFraction",
		}
	}
	if err := m.refuseOther(o.Checkout); err != nil {
		return nil, err
	}
	// Rank, with the garbage collection that each function causes.
	if kind == CPU {
		t.GCBy = bill(m, t.others[Alloc])
	}
	t.ranking = rank(m, o.Least)
	t.fill(kind)
	// Add what makes the ranking doubtful.
	if few := fewSamplesWarning(t.Effective); few != "" {
		t.Warnings = append(t.Warnings, few)
	}
	t.Warnings = append(append(t.Warnings, m.warnings...), doubts(all, names, o.Checkout)...)
	if absent := t.absent(); absent != "" {
		t.Warnings = append(t.Warnings, absent)
	}
	t.Advice = t.advise()
	return t, nil
}

// refuseOther refuses the profile of another program: code of modules is on its stacks, and none of
// them is the checkout's. A service that idles runs the standard library alone.
func (m *merged) refuseOther(c *Checkout) error {
	if c.Module == "" && len(c.Own) == 0 {
		return nil
	}
	packages := map[string]float64{}
	for _, s := range m.stacks {
		if s.owned() {
			return nil
		}
		if pkg := s.module(); pkg != "" {
			packages[pkg] += s.weight
		}
	}
	if len(packages) == 0 {
		return nil
	}
	var most string
	for pkg, weight := range packages {
		if most == "" || weight > packages[most] || weight == packages[most] && pkg < most {
			most = pkg
		}
	}
	return &beagle.UsageError{
		What: fmt.Sprintf("no sample of the %s profile is of code of %s; of other modules package %s has most", m.kind,
			cmp.Or(strings.Join(c.Own, ","), c.Module), most),
		Remedy: "name the checkout that was profiled with -C; beagle hotspots takes other packages as its own " +
			"with --own",
	}
}

// module returns the outermost package of the stack that is of a module: it says whose work this
// is. Every program has a package main, so another one is preferred.
func (s *stack) module() (pkg string) {
	for _, f := range slices.Backward(s.frames) {
		p := parseName(f.fn.key).pkg
		switch {
		case f.fn.class != foreign || p != "main" && linker.Standard(p):
		case p != "main":
			return p
		default:
			pkg = p
		}
	}
	return pkg
}

// fewSamplesWarning warns when samples are so few that shares are known to no more than 5 points,
// however far they drift.
func fewSamplesWarning(samples float64) string {
	const enough = 400
	if samples >= enough {
		return ""
	}
	low, high := wilson(0.5, samples)
	return fmt.Sprintf("%.0f samples are few: by their number alone a share of 50 %% is uncertain by %.0f points; "+
		"profile %.0f times as long for 5 points, or while the service is busier",
		samples, 50*(high-low), math.Ceil(enough/max(samples, 1)))
}

// kindOf picks the kind of profiles to rank.
func kindOf(all []*Profile, want string) (string, error) {
	have := map[string]bool{}
	for _, p := range all {
		have[p.Kind] = true
	}
	var others []string
	for _, k := range []string{CPU, Alloc, Block, Mutex} {
		switch {
		case have[k] && (want == "" || want == k):
			return k, nil
		case have[k]:
			others = append(others, k)
		}
	}
	if want == "" {
		return "", &beagle.UsageError{What: "there is no profile", Remedy: "name a file, a directory or an address"}
	}
	return "", &beagle.UsageError{
		What:   fmt.Sprintf("no %s profile among the sources, which hold %s", want, strings.Join(others, ", ")),
		Remedy: fmt.Sprintf("add a %s profile; beagle hotspots ranks by another kind with --kind", want),
	}
}

// fill enters the ranked functions into the table, those without an entry, and the rest.
func (t *Table) fill(kind string) {
	r, m, s := t.ranking, t.ranking.m, &t.options.Service
	t.Service, t.Kind, t.Unit, t.Total, t.Samples = s.Name, kind, m.unit, m.total, m.samples
	t.Effective, t.Least, t.Price = m.effective(), t.options.Least, s.Price
	if m.freedom() >= leastFreedom {
		t.Spread = len(m.origins)
	}
	t.Autoscaling = s.scaling()
	if kind == CPU {
		if t.Cores = s.Cores; t.Cores == 0 && m.unit == "cores" {
			t.Cores = m.total
		}
	}
	t.Hotspots.Hotspots, t.Dropped = []beagle.Hotspot{}, []beagle.DroppedFunction{}
	for _, c := range byCost(r.order) {
		switch {
		case !c.entry:
			t.DroppedCount++
			if max(c.flat, c.folded) >= r.least*m.total && (t.options.Limit == 0 || len(t.Dropped) < t.options.Limit) {
				t.Dropped = append(t.Dropped, t.describeDropped(c))
			}
		case t.options.Limit > 0 && len(t.Hotspots.Hotspots) >= t.options.Limit:
			t.More++
		default:
			t.Hotspots.Hotspots = append(t.Hotspots.Hotspots, t.hotspot(c))
		}
	}
	t.Rest = t.rest()
	t.Total, t.Cores, t.Effective = tidy(t.Total), tidy(t.Cores), tidy(t.Effective)
}

// tidy drops digits that are noise in a sum of many samples.
func tidy(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64)
	if err != nil {
		return v
	}
	return short
}

// byCost sorts entries by net and the others by their own time.
func byCost(all []*cost) []*cost {
	return inorder.Collect(slices.Values(all), func(a, b *cost) int {
		return cmp.Or(cmp.Compare(b.net, a.net), cmp.Compare(b.flat, a.flat), cmp.Compare(b.cum, a.cum),
			cmp.Compare(a.fn.key, b.fn.key))
	})
}

// hotspot returns the table's entry for a function.
func (t *Table) hotspot(c *cost) beagle.Hotspot {
	// Enter the shares of the profile.
	total := t.ranking.m.total
	h := beagle.Hotspot{
		Target: c.fn.target, Symbols: slices.Clone(c.fn.symbols), File: c.fn.file, Line: c.hottest(),
		Flat: tidy(c.flat / total), Cum: tidy(c.cum / total), Net: tidy(c.net / total), GC: tidy(c.gc / total),
		Runtime: tidy(c.runtime / total), Reach: tidy(t.ranking.reach(c, false) / total),
		Samples: c.count, Effective: tidy(t.ranking.effective(c)),
	}
	inorder.Sort(h.Symbols)
	h.Symbols = slices.Compact(h.Symbols)
	low, high := wilson(h.Net, h.Effective)
	h.NetLow, h.NetHigh = tidy(low), tidy(high)
	// Enter the callees that matter.
	for _, f := range costliest(c.callees, 5) {
		if f.class != goRuntime && c.callees[f] >= c.net/20 {
			h.Callees = append(h.Callees, f.key)
		}
	}
	// Enter processors and money.
	if t.Kind != CPU {
		return h
	}
	h.Cores = tidy(t.Cores * h.Net)
	h.CostYear = tidy(t.options.Service.year(h.Cores))
	h.SaveYear, h.SaveNote = t.options.Service.saving(t.Autoscaling, h.Net, h.CostYear)
	h.SaveYear = tidy(h.SaveYear)
	if calls := t.options.Calls[h.Target]; calls > 0 {
		h.Calls = calls
		h.NanosCall = tidy(h.Cores * 1e9 / calls)
	}
	return h
}

// describeDropped describes a function without an entry, with the reason.
func (t *Table) describeDropped(c *cost) beagle.DroppedFunction {
	total := t.ranking.m.total
	d := beagle.DroppedFunction{
		Function: c.fn.symbols[0], Flat: tidy(c.flat / total), Cum: tidy(c.cum / total), Net: tidy(c.folded / total),
		Reason: c.fn.reason,
		Target: c.fn.target,
	}
	if c.fn.class == goRuntime && t.ranking.collecting(c) {
		d.Reason = "it collects garbage: the functions that allocate pay for it, by " +
			cmp.Or(t.GCBy, "nothing that the profiles show")
	}
	if d.Reason == "" && c.into != nil {
		d.Reason = "the compiler inlines it into " + c.into.target + ", and a search of that one changes both"
	}
	if d.Reason == "" {
		d.Reason = fmt.Sprintf("its net share of %.2f %% is below the least of %.2f %%", 100*d.Net, 100*t.Least)
		if d.Cum >= t.Least {
			d.Reason += "; the rest of what it takes is in callees that have their own entry"
		}
	}
	for _, f := range costliest(c.carriers, 3) {
		d.CountsFor = append(d.CountsFor, beagle.CostShare{What: f.target, Share: tidy(c.carriers[f] / total)})
	}
	return d
}

// rest divides the time for which no entry pays.
func (t *Table) rest() []beagle.CostShare {
	const (
		small     = iota // own code under the least share
		lost             // own code of another checkout
		collector        // garbage collection that no own code caused
		scheduler        // the runtime's own work
		library
	)
	what := [...]string{
		small:     "own code under the least share, with its callees",
		lost:      "own code whose files are not in the checkout",
		collector: "garbage collection that no entry pays for",
		scheduler: "Go's runtime outside of own code: scheduling, timers, network poller",
		library:   "goroutines of libraries, without own code on the stack",
	}
	sums := make([]float64, len(what))
	paid := 0.0
	for _, c := range t.ranking.order {
		if c.entry {
			paid += c.gc
		}
	}
	for i, s := range t.ranking.m.stacks {
		switch {
		case t.ranking.payer[i] != nil:
		case s.collects():
			sums[collector] += s.weight
		case s.absent():
			sums[lost] += s.weight
		case s.owned():
			sums[small] += s.weight
		case s.runtimeOnly():
			sums[scheduler] += s.weight
		default:
			sums[library] += s.weight
		}
	}
	sums[collector] = max(0, sums[collector]-paid)
	out := []beagle.CostShare{}
	for i, v := range sums {
		if v > 1e-9*t.ranking.m.total {
			out = append(out, beagle.CostShare{What: what[i], Share: tidy(v / t.ranking.m.total)})
		}
	}
	if t.More > 0 {
		sum := 0.0
		for _, c := range byCost(t.ranking.order)[len(t.Hotspots.Hotspots):] {
			if c.entry {
				sum += c.net
			}
		}
		out = append(out, beagle.CostShare{What: fmt.Sprintf("%d hot spots beyond the limit of the list", t.More),
			Share: tidy(sum / t.ranking.m.total)})
	}
	return out
}

// absent returns a warning if a notable share of the time is in own code whose files the checkout
// does not have, or "".
func (t *Table) absent() string {
	sum := 0.0
	byFunction := map[*function]float64{}
	for _, s := range t.ranking.m.stacks {
		if !s.absent() {
			continue
		}
		sum += s.weight
		for _, f := range s.frames { // the innermost one
			if f.fn.absent {
				byFunction[f.fn] += s.weight
				break
			}
		}
	}
	share := sum / t.ranking.m.total
	if share < t.options.Least || sum == 0 {
		return ""
	}
	var most *function
	for f, weight := range byFunction {
		if most == nil || weight > byFunction[most] || weight == byFunction[most] && f.key < most.key {
			most = f
		}
	}
	return fmt.Sprintf("%.1f %% of the time is in functions whose files are not in the checkout, most of it in %s "+
		"of %s; give the checkout that was profiled with -C: a module within another one is a checkout of its own",
		100*share, most.key, most.file)
}

// absent reports whether the stack has own code, and none of it is in the checkout.
func (s *stack) absent() bool {
	found := false
	for _, f := range s.frames {
		if f.fn.class == own {
			if !f.fn.absent {
				return false
			}
			found = true
		}
	}
	return found
}

func (s *stack) runtimeOnly() bool {
	for _, f := range s.frames {
		if f.fn.class != goRuntime {
			return false
		}
	}
	return true
}

// doubts are warnings about profiles that may be of another program than the
// checkout, or of several.
func doubts(all []*Profile, n *namer, c *Checkout) []string {
	var out []string
	builds := map[string][]string{}
	for _, p := range all {
		if p.Build != "" {
			builds[p.Build] = append(builds[p.Build], p.Source)
		}
	}
	if len(builds) > 1 {
		var each []string
		for b, sources := range builds {
			each = append(each, fmt.Sprintf("%s (%s)", shortBuild(b), sources[0]))
		}
		inorder.Sort(each)
		out = append(out, "the profiles are of several builds: "+strings.Join(each, ", ")+
			"; shares of functions that changed between them are mixed")
	}
	if c.Build != "" {
		for b, sources := range builds {
			if b != c.Build {
				out = append(out, fmt.Sprintf("%s is of build %s, the program that --binary names is %s: lines "+
					"and functions may differ",
					sources[0], shortBuild(b), shortBuild(c.Build)))
			}
		}
	}
	out = append(out, movedLines(n)...)
	return append(out, skew(all)...)
}

func shortBuild(build string) string { return build[:min(len(build), 12)] }

// movedLines compares the lines where functions begin.
func movedLines(n *namer) []string {
	var lines, gone []string
	for _, f := range n.byKey {
		switch {
		case f.missing && f.class == own:
			gone = append(gone, f.key)
		case f.decl != nil && f.said > 0 && int64(f.decl.Start) != f.said:
			lines = append(lines, fmt.Sprintf("%s begins at %s:%d in the profile and at line %d in the checkout",
				f.key, f.file, f.said, f.decl.Start))
		}
	}
	inorder.Sort(lines)
	inorder.Sort(gone)
	var out []string
	if len(lines) > 0 {
		out = append(out, "the profile is of another build than the checkout: "+lines[0]+andMore(len(lines)-1)+
			"; check the version out that was profiled, or profile this one")
	}
	if len(gone) > 0 {
		out = append(out, "the profile is of another build than the checkout: "+gone[0]+" is in the profile and "+
			"not in the checkout"+
			andMore(len(gone)-1))
	}
	return out
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more functions)", n)
}

// wilson returns the 95 % interval of a share that was seen in n samples.
func wilson(p, n float64) (low, high float64) {
	low, high = special.Wilson(min(max(p, 0), 1), n)
	return max(0, low), min(1, high)
}
