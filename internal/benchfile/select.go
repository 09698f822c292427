package benchfile

import (
	"cmp"
	"fmt"
	"go/types"
	"math"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
)

// Options bound a benchmark's file.
type Options struct {
	Inputs int          // distinct ones
	Bytes  int          // of source text for their values
	For    *source.Unit // the function that the benchmark is for, which the unit calls; nil for the unit itself
	Given  []Given      // parameters of the unit that no record holds
}

// A Plan lists the calls of a benchmark, and how often it makes each.
type Plan struct {
	Unit     *source.Unit // the function that the benchmark calls
	For      *source.Unit // the function that it is for: the unit, or one that the unit calls
	Given    []Given      // parameters of the unit that no record holds
	Corpus   *beagle.Corpus
	Groups   []Group
	Extremes []extreme
	Distinct int    // inputs of the corpus that can be written in Go
	Rule     string // how the benchmark's distinct inputs stand for those of the corpus
	Far      []int  // parameters whose memory each call finds far away
	Distance int    // bytes of other inputs until the memory of a far parameter comes again
	Handed   bool   // the benchmark reads each input just before its call, as a caller does; no far parameter
	Work     int    // pieces of other work between that and the call
	Pause    int    // calls between two pauses, in which others take the caches; 0 for none
	Scale    int    // Fit's factor for the number of inputs until they repeat; divides it when negative, 0 for none
	Places   int    // in memory, for each input that is called as often; 0 is 1
	Notes    []string
	moved    float64 // by how much Fit changed the groups' weights
	open     bool    // its program takes numbers from the environment
	bytes    int     // bound of the source text
	strata   []corpus.InputClass
	from     *pool
}

// A Group is a stratum of alike inputs.
type Group struct {
	Name     string
	Share    float64 // of the recorded calls
	Weight   float64 // of the benchmark's calls; Share, unless Fit changes it
	Distinct int     // inputs of the corpus
	Inputs   []Input
}

// An Input is a recorded call that the benchmark makes.
type Input struct {
	Record beagle.Record
	Share  float64 // of its group's calls
	lit    rt.Literal
}

// An extreme is an input that is timed alone.
type extreme struct {
	Name string
	Input
}

// Inputs returns the number of distinct inputs in the benchmark.
func (p *Plan) Inputs() int {
	n := 0
	for _, g := range p.Groups {
		n += len(g.Inputs)
	}
	return n
}

// Select draws the inputs of a benchmark from a corpus. Each group of alike inputs keeps its share
// of the calls, however rare it is. Within a group, inputs are drawn in proportion to their calls.
func Select(u *source.Unit, c *beagle.Corpus, o Options) (*Plan, error) {
	p := &Plan{Unit: u, For: cmp.Or(o.For, u), Given: o.Given, Corpus: c}
	if why := unrepeatable(&u.Target, c); why != nil {
		return nil, why
	}
	if p.through() {
		p.Notes = append(p.Notes, fmt.Sprintf("it calls %s, which calls %s as a service does; ns/op is the time of "+
			"both", u.Target.Spec(), p.For.Target.Spec()))
	}
	for _, g := range p.Given {
		p.Notes = append(p.Notes, fmt.Sprintf("all calls share %s, which is %s: its state goes on from call to call",
			u.Target.Params[g.Param].Name, g.Expr))
	}
	if names := p.unseen(); names != "" {
		p.Notes = append(p.Notes, fmt.Sprintf("nothing ran the calls beforehand: if the call changes %s, or what it "+
			"points to, later calls with the same input find it changed", names))
	}
	if n := u.Target.Params; len(n) > 0 && strings.HasPrefix(u.Target.Recv, "*") &&
		slices.Contains(c.Facets.Mutates, n[0].Name) {
		p.Notes = append(p.Notes, fmt.Sprintf("the call changes %s, and each input keeps its own: its state goes on "+
			"from one call to the next, as in a service", n[0].Name))
	}
	pool, err := p.pool(o)
	if err != nil {
		return nil, err
	}
	strata, err := corpus.Strata(&c.Facets, pool.records)
	if err != nil {
		return nil, err
	}
	for i := range strata {
		strata[i].Name = p.withoutGiven(strata[i].Name)
	}
	p.Distinct, p.bytes, p.strata, p.from = len(pool.records), o.Bytes, strata, pool
	p.fill(o.Inputs)
	p.extremes(strata, pool)
	return p, nil
}

// fill draws about n inputs, or as many as the file has room for. Groups keep their weights.
func (p *Plan) fill(n int) {
	had := p.Groups
	for ; ; n = n * 3 / 4 {
		p.Groups = p.draw(p.strata, n, p.from)
		if p.size() <= p.bytes || n <= 1 {
			break
		}
	}
	for i := range had {
		p.Groups[i].Weight = had[i].Weight
	}
	p.Rule = p.rule()
}

// scaled returns the plan with other numbers of inputs until they repeat: a factor, or a divisor
// when negative. More inputs are recorded ones, as far as there are more and the file has room, and
// then the same ones at several places in memory. It returns nil where that changes nothing.
func (p *Plan) scaled(scale int) *Plan {
	out := *p
	out.Scale = scale
	if scale < 0 {
		out.fill(p.Inputs() / -scale)
		if out.Inputs() >= p.Inputs() {
			return nil
		}
		return &out
	}
	out.fill(p.Inputs() * scale)
	if want := p.Inputs() * scale; len(p.movable()) > 0 {
		out.Places = want / out.Inputs()
	}
	if out.Places < 2 && out.Inputs() <= p.Inputs() {
		return nil
	}
	out.Rule = out.rule()
	return &out
}

// A pool holds the records that Go source can hold.
type pool struct {
	records []beagle.Record
	lits    map[string]rt.Literal // by Args
}

// pool writes all records in Go, and leaves out those that cannot be.
func (p *Plan) pool(o Options) (*pool, error) {
	shape, types := corpus.ArgsShape(p.Unit)
	written := *shape
	written.Fields = keep(shape.Fields, p.recorded())
	out := &pool{lits: map[string]rt.Literal{}}
	// Write each record in Go, and count those that cannot be written.
	why, dropped := "", 0
	records, err := p.without(shape, slices.Concat(p.Corpus.Train, p.Corpus.Holdout))
	if err != nil {
		return nil, err
	}
	for _, r := range corpus.Merge(records) {
		v, err := rt.ParseValue(r.Args)
		var lit rt.Literal
		if err == nil {
			v.Elems = keep(v.Elems, p.recorded())
			lit, err = rt.GoArgs(&v, &written, types)
		}
		if err == nil && size(lit) > o.Bytes {
			err = fmt.Errorf("it takes %d bytes of source text, and the limit is %d", size(lit), o.Bytes)
		}
		if err != nil {
			dropped++
			why = err.Error()
			continue
		}
		out.records = append(out.records, r)
		out.lits[string(r.Args)] = lit
	}
	// Refuse a benchmark without inputs, and note the records that are missing.
	switch {
	case len(out.records) == 0 && dropped == 0:
		return nil, &beagle.UsageError{
			What:   p.Unit.Target.Spec() + ": there is no recorded call",
			Remedy: "record calls with beagle capture, or write a test that calls it",
		}
	case len(out.records) == 0:
		return nil, &beagle.UsageError{
			What: fmt.Sprintf("%s: none of %d recorded calls can be written in Go: %s", p.Unit.Target.Spec(),
				dropped, why),
			Remedy: "benchmark a function that takes plain values; beagle evolve works on this one all the same",
		}
	case dropped > 0:
		p.Notes = append(p.Notes, fmt.Sprintf("%d of %d distinct inputs are left out: %s", dropped,
			dropped+len(out.records), why))
	}
	return out, nil
}

// unrepeatable returns an error if the calls cannot be made again and again with one set of
// arguments.
func unrepeatable(of *beagle.Target, c *beagle.Corpus) error {
	for _, name := range c.Facets.Mutates {
		i := slices.IndexFunc(of.Params, func(p beagle.Param) bool { return p.Name == name })
		if i == 0 && strings.HasPrefix(of.Recv, "*") {
			continue // state that goes on from call to call, as in a service: Select says so
		}
		if i < 0 || !flat(of.Params[i].Type) {
			return &beagle.UsageError{
				What: fmt.Sprintf("%s changes %s, which a benchmark would have to make anew for each call, and "+
					"would time that too", of.Spec(), name),
				Remedy: "compare versions with beagle verify: its harness restores arguments outside of what it times",
			}
		}
	}
	return nil
}

// unseen names the recorded parameters that a call may change, and that are not copied before it,
// where no run showed what it changes.
func (p *Plan) unseen() string {
	if len(p.Given) == 0 {
		return ""
	}
	var list []string
	for _, i := range p.recorded() {
		q, plain := p.Unit.Target.Params[i], false
		if named := types.Universe.Lookup(q.Type); named != nil {
			_, plain = named.Type().(*types.Basic)
		}
		if !plain && !flat(q.Type) {
			list = append(list, q.Name)
		}
	}
	return strings.Join(list, " and ")
}

// flat reports whether a type is a slice whose copy is independent.
func flat(typ string) bool {
	elem, ok := strings.CutPrefix(valueType(typ), "[]")
	switch elem {
	case "bool", "byte", "uint8", "uint16", "uint32", "uint64", "uint", "uintptr", "int8", "int16", "int32", "int64",
		"int", "rune", "float32", "float64", "string":
		return ok
	}
	return false
}

// draw takes about n inputs, at least one of each stratum.
func (p *Plan) draw(strata []corpus.InputClass, n int, from *pool) []Group {
	shares := make([]float64, len(strata))
	for i, s := range strata {
		shares[i] = s.Share
	}
	counts := apportion(shares, max(n, len(strata)), 1)
	groups := make([]Group, len(strata))
	for i, s := range strata {
		groups[i] = Group{Name: s.Name, Share: s.Share, Weight: s.Share, Distinct: len(s.Records)}
		for _, in := range systematic(s.Records, counts[i]) {
			in.lit = from.lits[string(in.Record.Args)]
			groups[i].Inputs = append(groups[i].Inputs, in)
		}
	}
	return groups
}

// systematic draws n records in proportion to their weights, at equal distances on the line of all
// calls in the order of the records' hashes. All are taken when there are no more than n.
func systematic(records []beagle.Record, n int) []Input {
	total := 0.0
	for _, r := range records {
		total += r.Weight
	}
	var out []Input
	if len(records) <= n {
		for _, r := range records {
			out = append(out, Input{Record: r, Share: r.Weight / total})
		}
		return out
	}
	sum, at := 0.0, 0
	for _, r := range records {
		sum += r.Weight
		taken := 0
		for at < n && (float64(at)+0.5)*total/float64(n) <= sum {
			at++
			taken++
		}
		if taken > 0 {
			out = append(out, Input{Record: r, Share: float64(taken) / float64(n)})
		}
	}
	return out
}

// apportion divides n among shares by largest remainders, and gives each at least this many.
func apportion(shares []float64, n, least int) []int {
	total := 0.0
	for _, s := range shares {
		total += s
	}
	type remainder struct {
		i    int
		part float64
	}
	counts, left, over := make([]int, len(shares)), n, make([]remainder, len(shares))
	for i, s := range shares {
		exact := 0.0
		if total > 0 {
			exact = s / total * float64(n)
		}
		counts[i] = max(int(math.Floor(exact)), least)
		over[i] = remainder{i, exact - float64(counts[i])}
		left -= counts[i]
	}
	inorder.By(over, func(a, b remainder) int { return cmp.Compare(b.part, a.part) })
	for k := 0; left > 0 && k < len(over); k++ {
		counts[over[k].i]++
		left--
	}
	// Take the excess of the smallest ones from the largest.
	for left < 0 {
		i := 0
		for k := range counts {
			if counts[k] > counts[i] {
				i = k
			}
		}
		if counts[i] <= least {
			break
		}
		take := min(counts[i]-least, -left)
		counts[i] -= take
		left += take
	}
	return counts
}

// size returns the length of all values in Go.
func (p *Plan) size() int {
	n := 0
	for _, g := range p.Groups {
		for _, in := range g.Inputs {
			n += size(in.lit)
		}
	}
	return n
}

// rule describes how the benchmark's distinct inputs stand for all.
func (p *Plan) rule() string {
	n := p.Inputs()
	text := fmt.Sprintf("%d of %d distinct inputs: each group of alike inputs keeps its share of the calls, and an "+
		"input stands for %.1f of its kind", n, p.Distinct, float64(p.Distinct)/float64(n))
	if n == p.Distinct {
		text = fmt.Sprintf("all %d distinct inputs, so that caches and branch predictors see as many as recorded", n)
	}
	switch {
	case p.Scale < 0:
		text += fmt.Sprintf("; a %dth of what the file could hold, which makes the profile like production's", -p.Scale)
	case p.Scale > 0:
		text += fmt.Sprintf("; %d times as many as at first, which makes the profile like production's", p.Scale)
	}
	if p.Places > 1 {
		text += fmt.Sprintf("; each lies at up to %d places in memory, in turn", p.Places)
	}
	return text
}

// extremes picks inputs that are timed alone: the longest, the shortest, and one of each of the
// rarest groups.
func (p *Plan) extremes(strata []corpus.InputClass, from *pool) {
	add := func(name string, r beagle.Record) {
		for _, x := range p.Extremes {
			if string(x.Record.Args) == string(r.Args) {
				return
			}
		}
		p.Extremes = append(p.Extremes, extreme{name, Input{Record: r, Share: 1, lit: from.lits[string(r.Args)]}})
	}
	bySize := func(a, b beagle.Record) int { return len(a.Args) - len(b.Args) }
	add("longest", slices.MaxFunc(from.records, bySize))
	add("shortest", slices.MinFunc(from.records, bySize))
	const rare, most = 0.01, 3
	for i, k := len(strata)-1, 0; i >= 0 && k < most && strata[i].Share < rare; i, k = i-1, k+1 {
		add(fmt.Sprintf("rare: %s", strata[i].Name), slices.MaxFunc(strata[i].Records, bySize))
	}
}

// size returns the number of bytes of source text of a literal.
func size(l rt.Literal) int {
	n := 0
	for _, text := range slices.Concat(l.Setup, l.Exprs) {
		n += len(text)
	}
	return n
}
