package effects

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/beagle-go/beagle/internal/syntax"
)

// A Program analyses the functions of some packages.
type Program struct {
	IsOwn func(*ssa.Function) bool // selects the functions whose bodies are analysed
	Table *Table                   // summaries of all other functions; may be nil
	Limit int                      // of the steps of the analysis; 0 for none

	steps   int
	done    map[*ssa.Function]*Summary
	text    map[*ssa.Function]string
	callers map[*ssa.Function][]*ssa.Function // in the order in which they were met
	calls   map[[2]*ssa.Function]bool         // callee and caller of each
	stale   []*ssa.Function                   // functions to analyse again, since a callee changed
	waiting map[*ssa.Function]bool
	current *ssa.Function
	refs    map[types.Type]bool
	callees []*ssa.Function              // functions that are used as values
	boxed   []types.Type                 // dynamic types of interface values, each once
	methods map[methodOf]*ssa.Function   // methods of dynamic types
	named   map[string][]*ssa.Function   // methods of the boxed types, by name
	within  map[methodOf][]*ssa.Function // see methodsWithin
	prog    *ssa.Program
}

// NewProgram prepares the analysis of every function that own accepts.
func NewProgram(prog *ssa.Program, own func(*ssa.Function) bool, table *Table) *Program {
	return &Program{callers: map[*ssa.Function][]*ssa.Function{}, waiting: map[*ssa.Function]bool{}, IsOwn: own,
		Table: table, prog: prog, done: map[*ssa.Function]*Summary{}, text: map[*ssa.Function]string{},
		refs: map[types.Type]bool{}, calls: map[[2]*ssa.Function]bool{}, methods: map[methodOf]*ssa.Function{},
		named: map[string][]*ssa.Function{}, within: map[methodOf][]*ssa.Function{}}
}

// Values tells the program which functions serve as values and which types become interface values.
// A call through a package variable may reach any of them.
func (p *Program) Values(fns []*ssa.Function) {
	for _, f := range fns {
		if recv := f.Signature.Recv(); recv != nil {
			p.box(recv.Type())
		}
		for _, b := range f.Blocks {
			for _, in := range b.Instrs {
				p.values(in)
			}
		}
		p.Values(f.AnonFuncs)
	}
}

// values notes the functions that an instruction takes as values, and the types that it puts into
// interfaces: both may be called later, by code that is not seen.
func (p *Program) values(in ssa.Instruction) {
	called := ssa.Value(nil)
	if c, ok := in.(ssa.CallInstruction); ok {
		called = c.Common().Value
	}
	for _, op := range in.Operands(nil) {
		if f, ok := (*op).(*ssa.Function); ok && *op != called {
			p.callees = append(p.callees, f)
		}
	}
	if box, ok := in.(*ssa.MakeInterface); ok {
		p.box(box.X.Type())
	}
}

// box notes a dynamic type of interface values.
func (p *Program) box(t types.Type) {
	if !slices.Contains(p.boxed, t) {
		p.boxed = append(p.boxed, t)
		clear(p.named)
	}
}

// methodsNamed returns the methods of a name that values of unknown type may have.
func (p *Program) methodsNamed(name string) []*ssa.Function {
	fns, ok := p.named[name]
	if !ok {
		for _, t := range p.boxed {
			if f := p.method(t, name); f != nil {
				fns = append(fns, f)
			}
		}
		p.named[name] = fns
	}
	return fns
}

// Analyse computes the summaries of the functions, and of all that they call, up to a fixed point.
func (p *Program) Analyse(fns []*ssa.Function) {
	for _, f := range fns {
		p.SummaryOf(f)
	}
	for len(p.stale) > 0 {
		f := p.stale[0]
		p.stale = p.stale[1:]
		delete(p.waiting, f)
		p.reanalyse(f)
	}
}

// TooLong is the value that an analysis panics with at its limit.
const TooLong = "the analysis takes too long"

// took counts n steps against the limit.
func (p *Program) took(n int) {
	if p.steps += n; p.Limit > 0 && p.steps > p.Limit {
		panic(TooLong)
	}
}

// reanalyse analyses a function anew. If its summary changed, its callers are analysed again too.
func (p *Program) reanalyse(f *ssa.Function) {
	// The unit asks for other functions while it is solved; the current one is what they are noted
	// for.
	was := p.current
	p.current = f
	u := newUnit(p, f)
	u.solve()
	p.current = was
	s := u.summary()
	// The text is the whole summary: where it is the same, no caller can find anything new.
	text := s.String()
	if text == p.text[f] {
		return
	}
	p.done[f], p.text[f] = s, text
	for _, g := range p.callers[f] {
		if !p.waiting[g] {
			p.waiting[g] = true
			p.stale = append(p.stale, g)
		}
	}
}

// SummaryOf returns the summary of a function, or nil for an unknown one. A function begins with no
// effects when Of first meets it; Analyse completes the summary later.
func (p *Program) SummaryOf(f *ssa.Function) *Summary {
	// Instances of a generic function share the summary of the generic one.
	if o := f.Origin(); o != nil {
		f = o
	}
	if s, ok := p.done[f]; ok {
		p.recordDependence(f)
		return s
	}
	// The table has summaries of the library. A function of our own with a body is analysed anyway.
	if obj, ok := f.Object().(*types.Func); ok && p.Table != nil {
		if s := p.Table.SummaryOf(Name(obj)); s != nil && (len(f.Blocks) == 0 || !p.IsOwn(f)) {
			return s
		}
	}
	if len(f.Blocks) == 0 || !p.IsOwn(f) && f.Synthetic == "" {
		return nil
	}
	// Begin with no effects, so that recursive calls find something. The analysis repeats until
	// nothing is added.
	p.done[f] = new(Summary)
	p.recordDependence(f)
	p.reanalyse(f)
	return p.done[f]
}

// recordDependence records that the current function depends on the summary of f.
func (p *Program) recordDependence(f *ssa.Function) {
	if p.current == nil {
		return
	}
	if e := [2]*ssa.Function{f, p.current}; !p.calls[e] {
		p.calls[e] = true
		p.callers[f] = append(p.callers[f], p.current)
	}
}

// Name returns "path.Name" or "path.Type.Name".
func Name(f *types.Func) string {
	f = f.Origin()
	name := syntax.FuncName(f)
	if f.Pkg() == nil {
		return name
	}
	return f.Pkg().Path() + "." + name
}

// immutableTypes lists types whose values lead to shared memory that cannot be changed through
// them.
var immutableTypes = map[string]bool{
	"time.Time":          true,
	"net/netip.Addr":     true,
	"net/netip.AddrPort": true,
	"net/netip.Prefix":   true,
	"reflect.Type":       true,
}

// hasRefs reports whether a value of type t can lead to memory that others may share. Strings do
// not count, since no code can write them.
func (p *Program) hasRefs(t types.Type) bool {
	if v, ok := p.refs[t]; ok {
		return v
	}
	p.refs[t] = false // a recursive type needs a pointer, which decides the answer
	v := p.leads(t)
	p.refs[t] = v
	return v
}

// leads reports whether a value of a type may lead to memory that can be written.
func (p *Program) leads(t types.Type) bool {
	// No code can write through some types of the library, though they hold pointers. A type
	// parameter may be anything.
	if n, ok := types.Unalias(t).(*types.Named); ok && immutableTypes[strings.TrimPrefix(types.TypeString(n, nil),
		"*")] {
		return false
	}
	if syntax.IsTypeParam(t) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Struct:
		for f := range u.Fields() {
			if p.hasRefs(f.Type()) {
				return true
			}
		}
		return false
	case *types.Array:
		return p.hasRefs(u.Elem())
	case *types.Tuple:
		for v := range u.Variables() {
			if p.hasRefs(v.Type()) {
				return true
			}
		}
		return false
	}
	return true
}

// isOwnError reports whether a type is a type of errors, other than an interface: from a value of
// it code can reach what the error holds.
func (p *Program) isOwnError(t types.Type) bool {
	return !types.IsInterface(t) && types.Implements(t, errorInterface)
}

var errorInterface = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

// holdsRefs reports whether the memory behind a value of type t, or one field of that memory, holds
// references.
func (p *Program) holdsRefs(t types.Type, field int) bool {
	// The types that t leads to decide. Interfaces, functions and channels may lead to anything.
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return p.hasRefs(u.Elem())
	case *types.Map:
		return p.hasRefs(u.Key()) || p.hasRefs(u.Elem())
	case *types.Pointer:
		if s, ok := u.Elem().Underlying().(*types.Struct); ok && field != WholeValue && field < s.NumFields() {
			return p.hasRefs(s.Field(field).Type())
		}
		return p.hasRefs(u.Elem())
	}
	return true
}

type methodOf struct {
	t    types.Type
	name string
}

// method returns the method of a dynamic type with a given name, or nil.
func (p *Program) method(t types.Type, name string) *ssa.Function {
	key := methodOf{t, name}
	if f, ok := p.methods[key]; ok {
		return f
	}
	var f *ssa.Function
	if sel := p.selection(t, name); sel != nil {
		f = p.prog.MethodValue(sel)
	}
	p.methods[key] = f
	return f
}

// methodsWithin returns the methods of a name of a type, and of the parts of its values that
// package reflect hands out.
func (p *Program) methodsWithin(t types.Type, name string) []*ssa.Function {
	key := methodOf{t, name}
	if fns, ok := p.within[key]; ok {
		return fns
	}
	var fns []*ssa.Function
	var seen typeutil.Map
	var look func(t types.Type)
	look = func(t types.Type) {
		if seen.Set(t, true) != nil {
			return
		}
		if f := p.method(t, name); f != nil {
			fns = append(fns, f)
		}
		switch u := t.Underlying().(type) {
		case *types.Struct:
			for f := range u.Fields() {
				if f.Exported() || f.Embedded() {
					look(f.Type())
				}
			}
		case *types.Map:
			look(u.Key())
			look(u.Elem())
		case interface{ Elem() types.Type }:
			look(u.Elem())
		}
	}
	look(t)
	p.within[key] = fns
	return fns
}

func (p *Program) selection(t types.Type, name string) *types.Selection {
	set := p.prog.MethodSets.MethodSet(t)
	for sel := range set.Methods() {
		if sel.Obj().Name() == name && !types.IsInterface(t) {
			return sel
		}
	}
	return nil
}

// An Effect is one effect and its place in the analysed function.
type Effect struct {
	Pos token.Pos
	Ref Ref
	Via string // the called function that has the effect, if a call does
}
