package effects

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// A unit is one function together with its closures; they are solved at once.
type unit struct {
	p     *Program
	fn    *ssa.Function
	fns   []*ssa.Function
	in    map[*ssa.Function]bool
	nodes map[ssa.Value]int
	pts   [][]set // what a value may point at, one set for each part of a tuple

	places  []place
	content []set // what the references in a place point at
	index   map[place]int
	fields  [][]int // for a place that is a struct, the places of its fields

	written map[int]Finding
	stored  map[Store]Finding
	runs    map[Run]Finding
	thrown  map[Ref]Finding // where the values of panics lead
	changed bool
	at      ssa.Instruction
	running map[running]bool
	given   []ssa.Value // the arguments of the call at hand, for their types
}

// A running is a method that runCode is running on a place. It stops runCode from running the same
// method on the same place again.
type running struct {
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

// kept names the memory of a closure that outlived the call that made the closure.
const kept = "a variable kept by a function value"

func newUnit(p *Program, fn *ssa.Function) *unit {
	u := &unit{p: p, fn: fn, in: map[*ssa.Function]bool{}, nodes: map[ssa.Value]int{}, index: map[place]int{},
		written: map[int]Finding{}, stored: map[Store]Finding{}, runs: map[Run]Finding{}, thrown: map[Ref]Finding{},
		running: map[running]bool{}}
	u.enter(fn)
	for i, param := range fn.Params {
		if p.hasRefs(param.Type()) {
			u.grow(param, 0, u.single(u.param(Top, i, Whole)))
		}
	}
	for _, v := range fn.FreeVars { // variables of a closure that outlived its maker
		u.grow(v, 0, u.single(u.shared(kept)))
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
func (u *unit) place(p place) int {
	if i, ok := u.index[p]; ok {
		return i
	}
	i := len(u.places)
	u.index[p] = i
	u.places = append(u.places, p)
	u.content = append(u.content, nil)
	u.fields = append(u.fields, nil)
	switch p.ref.Kind {
	case Deep, Shared:
		u.content[i].add(i)
	case Top:
		if u.p.holdsRefs(u.fn.Params[p.ref.Param].Type(), p.field) {
			deep := u.param(Deep, p.ref.Param, p.field)
			u.content[i].add(deep)
		}
	}
	if p.field != Whole {
		if w := u.whole(p); w != i {
			u.fields[w] = append(u.fields[w], i)
		}
	}
	return i
}

// whole returns the place of the struct that has p as a field.
func (u *unit) whole(p place) int {
	p.field = Whole
	if p.ref.Kind != Fresh {
		p.ref.Field = Whole
	}
	return u.place(p)
}

func (u *unit) param(k Kind, i, field int) int {
	return u.place(place{ref: Ref{Kind: k, Param: i, Field: field}, field: field})
}

func (u *unit) shared(name string) int {
	return u.place(place{ref: Ref{Kind: Shared, Field: Whole, Name: name}, field: Whole})
}

func (u *unit) fresh(site ssa.Instruction) int {
	return u.place(place{ref: Ref{Kind: Fresh, Field: Whole}, site: site, field: Whole})
}

// field returns the place of a field of the struct at i.
func (u *unit) field(i, field int) int {
	p := u.places[i]
	if p.field != Whole || p.fn != nil || p.box != nil || p.ref.Kind == Deep || p.ref.Kind == Shared {
		return i
	}
	p.field = field
	if p.ref.Kind == Top {
		p.ref.Field = field
	}
	if _, known := u.index[p]; !known {
		u.changed = true
	}
	return u.place(p)
}

func (u *unit) single(i int) set {
	var s set
	s.add(i)
	return s
}

// load returns what the references in the places of s point at. A whole struct holds what its
// fields hold, and a field holds what a store of the whole put there.
func (u *unit) load(s set) set {
	var out set
	for i := range s.all {
		out.union(u.content[i])
		for _, j := range u.fields[i] {
			out.union(u.content[j])
		}
		if p := u.places[i]; p.field != Whole {
			for j := range u.content[u.whole(p)].all {
				if r := u.places[j].ref; r.Kind != Deep || r.Field != Whole || r.Param != p.ref.Param {
					out.add(j) // the field knows by its own name what the whole held from the start
				}
			}
		}
	}
	return out
}

// open replaces interface values by the values that they hold.
func (u *unit) open(s set) set {
	var out set
	for i := range s.all {
		if p := u.places[i]; p.box != nil || p.fn != nil {
			out.union(u.content[i])
		}
		out.add(i)
	}
	return out
}

// reach returns everything reachable from the places of s.
func (u *unit) reach(s set) set {
	var out set
	for next := s; ; {
		u.p.took(1 + len(next))
		grew := out.union(next)
		next = u.load(out)
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
	if s.Into == s.From || s.Into.Kind == Shared && s.From.Kind == Shared {
		return
	}
	if _, known := u.stored[s]; !known {
		u.stored[s] = u.finding(s.From)
		u.changed = true
	}
}

func (u *unit) finding(r Ref) Finding {
	f := Finding{Ref: r}
	if u.at != nil {
		f.Pos = u.at.Pos()
	}
	return f
}

// write marks the places of s as written by via.
func (u *unit) write(s set, via string) {
	for i := range s.all {
		if u.places[i].ref.Kind == Invalid {
			continue
		}
		if _, known := u.written[i]; !known {
			f := u.finding(u.places[i].ref)
			f.Via = via
			u.written[i] = f
			u.changed = true
		}
	}
}

// value returns what v may point at.
func (u *unit) value(v ssa.Value) set { return u.part(v, 0) }

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

func (u *unit) function(f *ssa.Function) int { return u.place(place{fn: f, field: Whole}) }

func globalName(g *ssa.Global) string {
	if g.Pkg == nil {
		return g.Name()
	}
	return g.Pkg.Pkg.Path() + "." + g.Name()
}

// grow adds s to what part i of v may point at.
func (u *unit) grow(v ssa.Value, i int, s set) {
	if s.empty() {
		return
	}
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

// assign grows v, unless its type holds no references.
func (u *unit) assign(v ssa.Value, s set) {
	if u.p.hasRefs(v.Type()) {
		u.grow(v, 0, s)
	}
}

// solve applies all instructions again and again until nothing changes.
func (u *unit) solve() {
	for u.changed = true; u.changed; {
		u.changed = false
		for i := 0; i < len(u.fns); i++ {
			for _, b := range u.fns[i].Blocks {
				for _, in := range b.Instrs {
					u.at = in
					u.p.took(1)
					u.step(in)
				}
			}
		}
	}
	u.at = nil
}

func (u *unit) step(in ssa.Instruction) {
	switch in := in.(type) {
	case *ssa.Alloc, *ssa.MakeSlice, *ssa.MakeMap, *ssa.MakeChan:
		u.grow(in.(ssa.Value), 0, u.single(u.fresh(in)))
	case *ssa.MakeInterface:
		u.box(in)
	case *ssa.MakeClosure:
		u.closure(in)
	case *ssa.Phi:
		for _, e := range in.Edges {
			u.assign(in, u.value(e))
		}
	case *ssa.ChangeType:
		u.assign(in, u.value(in.X))
	case *ssa.ChangeInterface:
		u.assign(in, u.value(in.X))
	case *ssa.SliceToArrayPointer:
		u.assign(in, u.value(in.X))
	case *ssa.Convert:
		u.convert(in, in.X)
	case *ssa.MultiConvert:
		u.convert(in, in.X)
	case *ssa.Slice:
		u.assign(in, u.open(u.value(in.X)))
	case *ssa.FieldAddr:
		u.fieldAddr(in)
	case *ssa.IndexAddr:
		u.grow(in, 0, u.open(u.value(in.X)))
	case *ssa.Field:
		u.assign(in, u.value(in.X))
	case *ssa.Index:
		u.assign(in, u.value(in.X))
	case *ssa.Lookup:
		u.first(in, u.load(u.open(u.value(in.X))))
	case *ssa.TypeAssert:
		u.typeAssert(in)
	case *ssa.UnOp:
		u.unOp(in)
	case *ssa.Extract:
		u.assign(in, u.part(in.Tuple, in.Index))
	case *ssa.Range:
		u.grow(in, 0, u.open(u.value(in.X)))
	case *ssa.Next:
		s := u.load(u.value(in.Iter))
		u.grow(in, 1, s)
		u.grow(in, 2, s)
	case *ssa.Store:
		u.storeAt(in.Addr, in.Val)
	case *ssa.MapUpdate:
		m := u.open(u.value(in.Map))
		u.write(m, "")
		u.store(m, u.value(in.Key))
		u.store(m, u.value(in.Value))
	case *ssa.Send:
		u.write(u.value(in.Chan), "")
		u.store(u.value(in.Chan), u.value(in.X))
	case *ssa.Select:
		u.selects(in)
	case *ssa.Panic:
		u.throw(u.value(in.X))
	case ssa.CallInstruction:
		u.call(in)
	}
}

// first adds s to a value, or to the first part of a tuple.
func (u *unit) first(v ssa.Value, s set) {
	t := v.Type()
	if tuple, ok := t.(*types.Tuple); ok {
		t = tuple.At(0).Type()
	}
	if u.p.hasRefs(t) {
		u.grow(v, 0, s)
	}
}

func (u *unit) storeAt(addr, val ssa.Value) {
	to := u.open(u.value(addr))
	u.write(to, "")
	if u.p.hasRefs(val.Type()) {
		u.store(to, u.value(val))
	}
}

// throw records what a caller that recovers from a panic can reach through the panic's value.
func (u *unit) throw(s set) {
	for i := range u.reach(u.open(s)).all {
		p := u.places[i]
		if p.ref.Kind == Invalid || p.ref.Kind == Fresh {
			continue
		}
		if _, known := u.thrown[p.ref]; !known {
			u.thrown[p.ref] = u.finding(p.ref)
			u.changed = true
		}
	}
}

func (u *unit) selects(in *ssa.Select) {
	for i, st := range in.States {
		ch := u.value(st.Chan)
		if st.Dir == types.SendOnly {
			u.store(ch, u.value(st.Send))
		}
		u.grow(in, 2+i, u.load(ch))
	}
}

func (u *unit) unOp(in *ssa.UnOp) {
	switch in.Op {
	case token.MUL:
		if _, global := in.X.(*ssa.Global); global && isErrorType(in.Type()) {
			return // by convention, nobody changes sentinel errors
		}
		u.assign(in, u.load(u.open(u.value(in.X))))
	case token.ARROW:
		u.first(in, u.load(u.value(in.X)))
	}
}

func (u *unit) fieldAddr(in *ssa.FieldAddr) {
	var out set
	for i := range u.open(u.value(in.X)).all {
		if u.places[i].box == nil && u.places[i].fn == nil {
			out.add(u.field(i, in.Field))
		}
	}
	u.grow(in, 0, out)
}

// convert makes fresh memory for a conversion between strings and slices. Other conversions keep
// their memory.
func (u *unit) convert(in ssa.Value, x ssa.Value) {
	if b, ok := x.Type().Underlying().(*types.Basic); ok && b.Kind() != types.UnsafePointer {
		if b.Kind() == types.Uintptr && u.p.hasRefs(in.Type()) {
			u.grow(in, 0, u.single(u.shared("an address")))
		} else if u.p.hasRefs(in.Type()) {
			u.grow(in, 0, u.single(u.fresh(in.(ssa.Instruction))))
		}
		return
	}
	u.assign(in, u.value(x))
}

func (u *unit) box(in *ssa.MakeInterface) {
	box := u.place(place{box: in.X.Type(), site: in, field: Whole})
	u.grow(in, 0, u.single(box))
	if s := u.value(in.X); !u.content[box].covers(s) {
		u.content[box].union(s)
		u.changed = true
	}
}

func (u *unit) typeAssert(in *ssa.TypeAssert) {
	x := u.value(in.X)
	if !types.IsInterface(in.AssertedType) {
		var out set
		for i := range x.all {
			switch p := u.places[i]; {
			case p.box == nil:
				out.add(i)
			case types.Identical(p.box, in.AssertedType) || mentionsParam(p.box):
				out.union(u.content[i])
			}
		}
		x = out
	}
	u.first(in, x)
}

func mentionsParam(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.TypeParam)
	return ok
}

func (u *unit) closure(in *ssa.MakeClosure) {
	f := in.Fn.(*ssa.Function)
	u.enter(f)
	place := u.function(f)
	u.grow(in, 0, u.single(place))
	for i, b := range in.Bindings {
		s := u.value(b)
		u.grow(f.FreeVars[i], 0, s)
		if !u.content[place].covers(s) {
			u.content[place].union(s)
			u.changed = true
		}
	}
}

// covers reports whether t is a subset of s.
func (s set) covers(t set) bool {
	for i, w := range t {
		if w != 0 && (i >= len(s) || w&^s[i] != 0) {
			return false
		}
	}
	return true
}
