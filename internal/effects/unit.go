package effects

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/syntax"
)

// A unit is one function together with its closures; they are solved at once.
type unit struct {
	heap
	knownEffects
	fns     []*ssa.Function
	in      map[*ssa.Function]bool
	nodes   map[ssa.Value]int
	pts     [][]set // what a value may point at, one set for each part of a tuple
	running map[methodRun]bool
	handed  map[methodRun]set // what foreign code in a place got already
	given   []ssa.Value       // the arguments of the current call, for their types
}

// A heap is the memory that a function may reach, with its content.
type heap struct {
	p       *Program
	fn      *ssa.Function // whose parameters lead to it
	places  []place
	content []set // what the references in a place point at
	index   map[place]int
	fields  [][]int // for a place that is a struct, the places of its fields
	whole   []int   // for the place of a field, that of its struct
	errors  set     // the places of sentinel errors
	changed bool    // something is known that was not known a step ago
}

// knownEffects holds the effects of a function and its closures, as far as the solver knows them.
type knownEffects struct {
	written map[writing]Effect
	stored  map[Store]Effect
	runs    map[Run]Effect
	thrown  map[Ref]Effect           // where the values of panics lead
	moved   map[Ref]Effect           // shared memory that other shared memory leads to
	methods map[*ssa.Function]Effect // methods of others that calls through interfaces may reach
	at      ssa.Instruction          // the current instruction
}

// A writing is a write to the memory of a place. By names the function without a summary that alone
// may write there; "" stands for a write that the analysis sees.
type writing struct {
	place int
	by    string
}

// A methodRun is a method that runCode is running on a place. It stops runCode from running the
// same method on the same place again.
type methodRun struct {
	place  int
	method string
}

// A place is a piece of memory, or a function.
type place struct {
	ref   Ref
	site  ssa.Instruction // the instruction that made it, for Fresh
	fn    *ssa.Function   // a function value
	box   types.Type      // the dynamic type of an interface value
	field int             // of a fresh struct or of a parameter's struct
	inner int             // not 0 for memory that a callee put behind a field of its result
}

// Kept names the memory of a closure that outlives the call that made the closure.
const Kept = "a variable kept by a function value"

// newUnit makes the unit of a function, with the memory of its parameters as what they point at.
func newUnit(p *Program, fn *ssa.Function) *unit {
	u := &unit{
		heap: heap{p: p, fn: fn, index: map[place]int{}},
		knownEffects: knownEffects{
			written: map[writing]Effect{}, stored: map[Store]Effect{}, runs: map[Run]Effect{}, thrown: map[Ref]Effect{},
			moved: map[Ref]Effect{}, methods: map[*ssa.Function]Effect{},
		},
		in: map[*ssa.Function]bool{}, nodes: map[ssa.Value]int{}, running: map[methodRun]bool{},
		handed: map[methodRun]set{},
	}
	// Parameters lead to memory that only the caller knows; each has a place for it.
	u.enter(fn)
	for i, param := range fn.Params {
		if p.hasRefs(param.Type()) {
			u.grow(param, 0, u.single(u.param(Top, i, WholeValue)))
		}
	}
	for _, v := range fn.FreeVars { // variables of a closure that outlived its maker
		u.grow(v, 0, u.single(u.shared(Kept)))
	}
	return u
}

// enter adds a function and its closures to the unit.
func (u *unit) enter(f *ssa.Function) {
	if u.in[f] {
		return
	}
	u.in[f] = true
	u.fns = append(u.fns, f)
	for _, g := range f.AnonFuncs {
		u.enter(g)
	}
}

// place returns the index of a place and adds the place if it is new.
func (h *heap) place(p place) int {
	if i, ok := h.index[p]; ok {
		return i
	}
	i := len(h.places)
	h.index[p] = i
	h.places = append(h.places, p)
	h.content = append(h.content, nil)
	h.fields = append(h.fields, nil)
	h.whole = append(h.whole, i)
	// Memory below a parameter, and shared memory, leads to itself: its inside is unknown. A
	// parameter's own memory leads to what lies below it.
	switch p.ref.Kind {
	case Deep, Shared:
		h.content[i].add(i)
	case Top:
		if h.p.holdsRefs(h.fn.Params[p.ref.Param].Type(), p.field) {
			deep := h.param(Deep, p.ref.Param, p.field)
			h.content[i].add(deep)
		}
	}
	// A field is listed with its whole, which a write to the whole reaches.
	if p.field != WholeValue {
		if w := h.wholeObject(p); w != i {
			h.fields[w] = append(h.fields[w], i)
			h.whole[i] = w
		}
	}
	return i
}

// wholeObject returns the place of the struct that has p as a field.
func (h *heap) wholeObject(p place) int {
	p.field = WholeValue
	if p.ref.Kind != Fresh {
		p.ref.Field = WholeValue
	}
	return h.place(p)
}

func (h *heap) param(k Kind, i, field int) int {
	return h.place(place{ref: Ref{Kind: k, Param: i, Field: field}, field: field})
}

func (h *heap) shared(name string) int {
	return h.place(place{ref: Ref{Kind: Shared, Field: WholeValue, Name: name}, field: WholeValue})
}

// conceal replaces shared memory by sentinel errors, which lead nowhere. By convention, errors that
// outlive a call never change.
func (h *heap) conceal(s set) set {
	out := s
	for i := range s.all {
		if h.places[i].ref.Kind != Shared {
			continue
		}
		sentinel := h.place(place{ref: Ref{Name: h.places[i].ref.Name}, field: WholeValue})
		h.errors.add(sentinel)
		out = out.without(h.single(i))
		out.add(sentinel)
	}
	return out
}

// expose replaces sentinel errors by the memory that they come from. Code that asks an error for
// its own type, or for other methods, can reach that memory.
func (h *heap) expose(s set) set {
	if !h.errors.meets(s) {
		return s
	}
	out := s.without(h.errors)
	for i := range h.errors.all {
		if s.has(i) {
			out.add(h.shared(h.places[i].ref.Name))
		}
	}
	return out
}

// exposeAll is expose for the arguments of a call.
func (h *heap) exposeAll(args []set) []set {
	if h.errors.empty() {
		return args
	}
	out := make([]set, len(args))
	for i, s := range args {
		out[i] = h.expose(s)
	}
	return out
}

func (h *heap) fresh(site ssa.Instruction) int {
	return h.place(place{ref: Ref{Kind: Fresh, Field: WholeValue}, site: site, field: WholeValue})
}

// field returns the place of a field of the struct at i.
func (h *heap) field(i, field int) int {
	// Fields are told apart only in memory that has one shape: not in functions and boxes, and not
	// where a place stands for much memory.
	p := h.places[i]
	if p.field != WholeValue || p.fn != nil || p.box != nil || p.ref.Kind == Deep || p.ref.Kind == Shared {
		return i
	}
	p.field = field
	// A field of a parameter's memory has a name in the summary.
	if p.ref.Kind == Top {
		p.ref.Field = field
	}
	// A place that is new may be loaded by a step that ran already.
	if _, known := h.index[p]; !known {
		h.changed = true
	}
	return h.place(p)
}

func (h *heap) single(i int) set {
	var s set
	s.add(i)
	return s
}

// load returns what the references in the places of s point at. A whole struct holds what its
// fields hold, and a field holds what a store of the whole put there.
func (h *heap) load(s set) set {
	var out set
	for i := range s.all {
		out.union(h.content[i])
		for _, j := range h.fields[i] {
			out.union(h.content[j])
		}
		if p := &h.places[i]; p.field != WholeValue {
			for j := range h.content[h.whole[i]].all {
				if r := h.places[j].ref; r.Kind != Deep || r.Field != WholeValue || r.Param != p.ref.Param {
					out.add(j) // the field knows by its own name what the whole held from the start
				}
			}
		}
	}
	return out
}

// open replaces interface values by the values that they hold.
func (h *heap) open(s set) set {
	var out set
	for i := range s.all {
		if p := h.places[i]; p.box != nil || p.fn != nil {
			out.union(h.content[i])
		}
		out.add(i)
	}
	return out
}

// reach returns everything reachable from the places of s.
func (h *heap) reach(s set) set {
	var out set
	for next := s; ; {
		h.p.took(1 + len(next))
		grew := out.union(next)
		next = h.load(out)
		if !out.union(next) && !grew {
			return out
		}
	}
}

// store puts references to the places of from into the places of into.
func (u *unit) store(into, from set) {
	for i := range into.all {
		before := u.content[i]
		if u.places[i].ref.Kind == Invalid {
			continue
		}
		// Sets may be shared between places, so the place gets a copy that grows.
		if !before.covers(from) {
			u.content[i] = append(set(nil), before...)
			u.content[i].union(from)
			u.changed = true
			u.note(i, from)
		}
	}
}

// note records that a foreign reference was left in memory of others.
func (u *unit) note(i int, from set) {
	ref := u.places[i].ref
	if ref.Kind == Fresh || ref.Kind == Invalid {
		return
	}
	for j := range u.reach(from).all {
		if r := u.places[j].ref; r.Kind != Invalid {
			u.remember(Store{ref, r})
		}
	}
}

func (u *unit) remember(s Store) {
	if s.Into == s.From {
		return
	}
	if s.Into.Kind == Shared && s.From.Kind == Shared {
		if _, known := u.moved[s.From]; !known {
			u.moved[s.From] = u.effect(s.From)
		}
		return
	}
	if _, known := u.stored[s]; !known {
		u.stored[s] = u.effect(s.From)
		u.changed = true
	}
}

func (k *knownEffects) effect(r Ref) Effect {
	f := Effect{Ref: r}
	if k.at != nil {
		f.Pos = k.at.Pos()
	}
	return f
}

// write marks the places of s as written by via.
func (u *unit) write(s set, via string) { u.suspect(s, via, "") }

// suspect marks the places of s as written by via, if the function by writes to them. What a
// version may do must not follow from a doubt about the original, so doubts are told apart.
func (u *unit) suspect(s set, via, by string) {
	for i := range s.all {
		if u.places[i].ref.Kind == Invalid {
			continue
		}
		if _, known := u.written[writing{i, by}]; !known {
			f := u.effect(u.places[i].ref)
			f.Via, f.Ref.By = via, by
			u.written[writing{i, by}] = f
			u.changed = true
		}
	}
}

// value returns what v may point at.
func (u *unit) value(v ssa.Value) set { return u.part(v, 0) }

// part returns the set of part i of a value. Constants lead nowhere, and globals and functions to
// themselves.
func (u *unit) part(v ssa.Value, i int) set {
	switch v := v.(type) {
	case nil, *ssa.Const, *ssa.Builtin:
		return nil
	case *ssa.Global:
		return u.single(u.shared(globalName(v)))
	case *ssa.Function:
		return u.single(u.function(v))
	}
	if n, ok := u.nodes[v]; ok && i < len(u.pts[n]) {
		return u.pts[n][i]
	}
	return nil
}

func (h *heap) function(f *ssa.Function) int { return h.place(place{fn: f, field: WholeValue}) }

func globalName(g *ssa.Global) string {
	if g.Pkg == nil {
		return g.Name()
	}
	return g.Pkg.Pkg.Path() + "." + g.Name()
}

// grow adds s to the set of part i of v.
func (u *unit) grow(v ssa.Value, i int, s set) {
	if s.empty() {
		return
	}
	switch t := partType(v, i); {
	case syntax.IsError(t):
		s = u.conceal(s)
	case u.errors.meets(s) && u.p.isOwnError(t):
		s = u.expose(s)
	}
	// Numbers are given when a value is first met, for slices instead of maps in the sets.
	n, ok := u.nodes[v]
	if !ok {
		n = len(u.pts)
		u.nodes[v] = n
		u.pts = append(u.pts, nil)
	}
	for len(u.pts[n]) <= i {
		u.pts[n] = append(u.pts[n], nil)
	}
	if u.pts[n][i].union(s) {
		u.changed = true
	}
}

// partType returns the type of a value, or of part i of a tuple.
func partType(v ssa.Value, i int) types.Type {
	if tuple, ok := v.Type().(*types.Tuple); ok && i < tuple.Len() {
		return tuple.At(i).Type()
	}
	return v.Type()
}

// assign grows v, unless its type holds no references.
func (u *unit) assign(v ssa.Value, s set) {
	if u.p.hasRefs(v.Type()) {
		u.grow(v, 0, s)
	}
}
