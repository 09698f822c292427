package exec

import (
	"fmt"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/syntax"
)

// global returns the object of a package variable. Its package is run first.
func (m *Machine) global(g *ssa.Global) int {
	if id, ok := m.globals[g]; ok {
		return id
	}
	if !m.started[g.Pkg] && !m.starting {
		m.start(g.Pkg)
		if id, ok := m.globals[g]; ok {
			return id
		}
	}
	return m.newGlobal(g)
}

// newGlobal gives a package variable its memory, which is zero until the package's initialisation
// runs.
func (m *Machine) newGlobal(g *ssa.Global) int {
	m.base = append(m.base, m.zero(g.Type().Underlying().(*types.Pointer).Elem()))
	id := -len(m.base)
	m.globals[g] = id
	// Without the initialisation zero would be a guess, so reading it is refused. With it, the
	// value holds only if nothing writes the variable later.
	if !m.started[g.Pkg] {
		m.closed[id] = fmt.Sprintf("the package variable %s, whose package was not run", g)
	} else {
		m.bars[id] = m.writtenElsewhere(g)
	}
	return id
}

// start runs a package's initialisation on constants. Code that it cannot follow leaves poison
// behind, or bars the whole package.
func (m *Machine) start(p *ssa.Package) {
	// Mark it at the beginning: packages may lead back to each other through methods.
	m.started[p] = true
	fn := p.Func("init")
	if fn == nil || fn.Blocks == nil {
		delete(m.started, p) // the library has the bodies of its own packages only
		return
	}
	// All variables exist before any of them is initialised.
	for _, mem := range p.Members {
		if g, ok := mem.(*ssa.Global); ok {
			m.newGlobal(g)
		}
	}
	// The initialisation runs on a machine of its own with generous limits, which shares the
	// variables. All values are constants there.
	sub := &Machine{Pool: m.Pool, IntBits: m.IntBits, States: 1 << 20, Turns: 1 << 17, prog: m.prog,
		lib: m.lib, ctx: m.ctx, plans: m.plans,
		variables: variables{
			globals: m.globals, started: m.started, bars: m.bars, closed: m.closed, base: m.base, starting: true,
		}}
	list := sub.call(fn, nil, nil, nil, nil)
	// Unless it returned in one way, nothing is known of the package's variables.
	if len(list) != 1 || list[0].Kind != Returned || sub.lost != "" {
		why := sub.lost
		if len(list) == 1 && why == "" {
			why = list[0].Why
		}
		m.base = sub.base
		for g, id := range m.globals {
			if g.Pkg == p {
				m.bars[id] = fmt.Sprintf("the package variables of %s could not be computed: %s", p.Pkg.Path(), why)
			}
		}
		return
	}
	m.keep(&sub.variables, list[0].heap)
}

// keep makes what initialisation allocated part of the constant memory.
func (v *variables) keep(sub *variables, heap []Value) {
	n := len(sub.base)
	to := map[int]int{}
	for i := range heap {
		to[i+1] = -(n + i + 1)
	}
	v.base = append(sub.base, heap...)
	for i, old := range v.base {
		v.base[i] = renumber(old, to, 0)
	}
}

// barred returns the reason why an object may not be read, or "".
func (v *variables) barred(id int) string {
	if why := v.closed[id]; why != "" || v.starting {
		return why
	}
	return v.bars[id]
}

// writtenElsewhere returns where a package variable may change after the start of the program, or
// nothing.
func (m *Machine) writtenElsewhere(g *ssa.Global) string {
	t := g.Type().Underlying().(*types.Pointer).Elem()
	// Other packages may write an exported variable of the program. Error variables are exempt, or
	// no function that returns one could be compared.
	if g.Object() != nil && g.Object().Exported() && g.Pkg == m.prog.pkg &&
		!syntax.IsError(t) {
		return fmt.Sprintf("the exported variable %s, which other packages may write", g.Name())
	}
	// Go through the package's code once, for all of its variables.
	if m.uses == nil {
		m.uses = map[*ssa.Package]map[*ssa.Global][]ssa.Instruction{}
	}
	if m.uses[g.Pkg] == nil {
		m.uses[g.Pkg] = usesOf(g.Pkg)
	}
	// Each use outside of the initialisation must only read.
	for _, in := range m.uses[g.Pkg][g] {
		w := watcher{seen: map[ssa.Value]bool{}}
		if !w.reads(g, in) {
			return fmt.Sprintf("the package variable %s, which may be written in %s", g.Name(), in.Parent())
		}
	}
	return ""
}

// usesOf lists what names each variable of a package, outside initialisation.
func usesOf(p *ssa.Package) map[*ssa.Global][]ssa.Instruction {
	// Walk through the functions and through the literals in them. An init function itself may
	// write, but a literal in it may run later.
	out := map[*ssa.Global][]ssa.Instruction{}
	var walk func(f *ssa.Function)
	walk = func(f *ssa.Function) {
		for _, b := range f.Blocks {
			for _, in := range b.Instrs {
				for _, o := range in.Operands(nil) {
					if g, ok := (*o).(*ssa.Global); ok {
						out[g] = append(out[g], in)
					}
				}
			}
		}
		for _, a := range f.AnonFuncs {
			walk(a)
		}
	}
	// init functions come apart from all others: what they do is done before anything else runs.
	for _, f := range functions(p) {
		if f.Name() == "init" || strings.HasPrefix(f.Name(), "init#") {
			for _, a := range f.AnonFuncs {
				walk(a)
			}
			continue
		}
		walk(f)
	}
	return out
}

// A watcher follows a reference and sees whether anything is written through
// it.
type watcher struct{ seen map[ssa.Value]bool }

// follow reports whether all uses of a reference only read.
func (w *watcher) follow(v ssa.Value) bool {
	// A cycle of phis is followed once: whatever it does elsewhere decides.
	if w.seen[v] {
		return true
	}
	w.seen[v] = true
	// A value whose uses are not recorded may have any.
	if v.Referrers() == nil {
		return false
	}
	for _, in := range *v.Referrers() {
		if !w.reads(v, in) {
			return false
		}
	}
	return true
}

// reads reports whether an instruction only reads what v leads to. An address or a part that leads
// to memory is followed.
func (w *watcher) reads(v ssa.Value, in ssa.Instruction) bool {
	// A number that is read leads nowhere. A value that leads to memory must be followed.
	switch in := in.(type) {
	case *ssa.UnOp:
		return !refers(in.Type(), 0) || w.follow(in)
	case *ssa.IndexAddr:
		return in.X == v && w.follow(in)
	case *ssa.FieldAddr, *ssa.Slice, *ssa.Phi, *ssa.ChangeType:
		return w.follow(in.(ssa.Value))
	case *ssa.Index, *ssa.Field, *ssa.Extract:
		return !refers(in.(ssa.Value).Type(), 0) || w.follow(in.(ssa.Value))
	case *ssa.BinOp, *ssa.DebugRef, *ssa.If:
		return true
	case *ssa.Convert:
		// A conversion to a string copies the bytes; what another one does with its operand is not
		// known.
		return syntax.IsText(in.Type())
	case *ssa.Call:
		return w.call(v, in)
	}
	return false
}

// call reports whether a call only reads. A function with a body is followed with its parameter.
func (w *watcher) call(v ssa.Value, in *ssa.Call) bool {
	if b, ok := in.Call.Value.(*ssa.Builtin); ok {
		// copy and append read the elements of the second argument, and may hand them on where
		// these lead to memory.
		switch b.Name() {
		case "len", "cap":
			return true
		case "copy", "append":
			t, ok := v.Type().Underlying().(*types.Slice)
			return ok && !refers(t.Elem(), 0) && in.Call.Args[0] != v
		}
		return false
	}
	// A call of a function that is not known, or has no body here, may write.
	f := in.Call.StaticCallee()
	if f == nil || f.Blocks == nil || in.Call.Value == v {
		return false
	}
	// The value may be several of the arguments.
	for i, a := range in.Call.Args {
		if a == v && !w.follow(f.Params[i]) {
			return false
		}
	}
	return true
}

// refers reports whether a value of the type leads to memory that could be
// written through it. Strings and interfaces do not: what an interface holds
// is a copy, or a pointer that needs an assertion first.
func refers(t types.Type, depth int) bool {
	if depth > 8 {
		return true
	}
	switch u := t.Underlying().(type) {
	// A basic type other than an unsafe pointer holds no memory. The only interfaces taken for
	// values are errors.
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Interface:
		return !syntax.IsError(t)
	case *types.Array:
		return refers(u.Elem(), depth+1)
	case *types.Struct:
		for i := range u.NumFields() {
			if refers(u.Field(i).Type(), depth+1) {
				return true
			}
		}
		return false
	}
	return true
}

// spoil goes on after an instruction of initialisation that could not be
// followed: its value is poison, and so is all memory that it was handed.
func (a *activation) spoil(s *state, why string) bool {
	in := a.p.fn.Blocks[s.block].Instrs[s.at]
	// An instruction without a value has an effect that is now missing.
	v, ok := in.(ssa.Value)
	if !ok {
		return false
	}
	if c, ok := in.(*ssa.Call); ok {
		f := c.Call.StaticCallee()
		if f == nil || f.Pkg == a.p.fn.Pkg || f.Pkg == nil {
			return false // it may have written any variable of the package
		}
		for _, x := range c.Call.Args {
			eachPtr(a.value(s, x), func(p *Ptr) { a.m.poison(s, p.Obj, why) })
		}
	}
	a.set(s, v, Poison{why})
	s.at++
	return true
}

// poison makes an object unknown, and all that it leads to, since the code that was not followed
// may have written that too.
func (v *variables) poison(s *state, id int, why string) {
	var old Value
	switch {
	case id == 0:
		return
	case id < 0:
		old, v.base[-id-1] = v.base[-id-1], Poison{why}
	default:
		old, s.heap[id-1] = s.heap[id-1], Poison{why}
	}
	eachPtr(old, func(p *Ptr) { v.poison(s, p.Obj, why) })
}
