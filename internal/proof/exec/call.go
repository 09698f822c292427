package exec

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/proof/term"
	"github.com/beagle-go/beagle/internal/syntax"
)

// callInstr runs a call. The state goes on once for each way in which the call
// may return.
func (a *activation) callInstr(s *state, in *ssa.Call) ([]*state, bool) {
	c := &in.Call
	// A builtin has no body: it gives a value, splits the state, or ends it.
	if b, ok := c.Value.(*ssa.Builtin); ok {
		v, split, ok := a.builtin(s, in, b.Name())
		if !ok {
			return split, true
		}
		if !s.dead {
			a.set(s, in, v)
		}
		return nil, s.dead
	}
	var args []Value
	for _, x := range c.Args {
		args = append(args, a.value(s, x))
	}
	f := a.callee(s, c)
	return a.finish(s, in, a.m.outcomes(f.Fn, args, f.Bind, s)), true
}

// outcomes runs a function, or what stands for it.
func (m *Machine) outcomes(fn *ssa.Function, args, bind []Value, s *state) []*Outcome {
	// An error of fmt is opaque: its text is not compared. One that wraps another one can be asked
	// for it.
	if fn.String() == "fmt.Errorf" {
		if wraps(args) {
			giveUp("fmt.Errorf wraps an error, or has a format that is not constant")
		}
		return []*Outcome{
			{Results: []Value{&Iface{Type: types.Universe.Lookup("error").Type(), V: Opaque{"fmt.Errorf"}}}, pc: s.pc,
				heap: s.heap},
		}
	}
	// The initialisation of an imported package runs when one of its variables is read.
	if m.starting && fn.Name() == "init" && len(fn.Params) == 0 && m.depth == 1 && fn.Synthetic != "" {
		return []*Outcome{{pc: s.pc, heap: s.heap}} // of another package: run when needed
	}
	// A function of our own may stand for a function of the library, such as one in assembly.
	// Otherwise its source is read.
	body := m.lib.model(fn)
	if body == nil && fn.Blocks != nil {
		body = fn
	}
	if body == nil {
		body = m.lib.body(m.ctx, fn)
	}
	if body == nil || body.Blocks == nil {
		giveUp("a call of %s", fn)
	}
	return m.call(body, args, bind, s.pc, s.heap)
}

// callee finds the function that is called. Only one that is known on this path can be followed.
func (a *activation) callee(s *state, c *ssa.CallCommon) *Func {
	if c.IsInvoke() {
		giveUp("a call of the interface method %s", c.Method.Name())
	}
	f, ok := a.value(s, c.Value).(*Func)
	if !ok || f.Fn == nil {
		giveUp("a call of a function value")
	}
	// A generic function's body has no types; an instance has its own body.
	if f.Fn.TypeParams().Len() > 0 && len(f.Fn.TypeArgs()) == 0 {
		giveUp("a call of the generic function %s", f.Fn)
	}
	return f
}

// finish lets the state go on after a call.
func (a *activation) finish(s *state, in ssa.Value, list []*Outcome) []*state {
	// Each outcome of the callee continues the caller in a state of its own.
	var out []*state
	for _, o := range list {
		f := s.fork()
		f.pc, f.heap = o.pc, o.heap
		// At the start of a program, what cannot be followed spoils the variables and nothing else.
		if o.Kind == Unknown && a.m.starting && a.m.depth == 1 {
			giveUp("%s", o.Why)
		}
		// A panic goes on through the caller, and so does what is not known.
		if o.Kind != Returned {
			a.end(f, &Outcome{Kind: o.Kind, Why: o.Why})
			continue
		}
		// Several results are one value until they are taken apart.
		switch len(o.Results) {
		case 0:
			f.env[a.p.reg[in]] = &Agg{}
		case 1:
			f.env[a.p.reg[in]] = o.Results[0]
		default:
			f.env[a.p.reg[in]] = &Agg{Elems: o.Results}
		}
		f.at++
		out = append(out, f)
	}
	return out
}

// helper runs a function of the models.
func (a *activation) helper(s *state, name string, args ...Value) []*Outcome {
	return a.m.call(a.m.lib.helper(name), args, nil, s.pc, s.heap)
}

// next1 returns the next rune of a loop over a string.
func (a *activation) next1(s *state, in *ssa.Next) (Value, []*state, bool) {
	p := a.m.Pool
	// The iterator is an object with the string and the position.
	it := a.pointer(s, in.Iter)
	g := a.m.load(s, it).(*Agg)
	str, pos := g.Elems[0].(*Str), g.Elems[1].(*term.Term)
	if !pos.IsConst() {
		giveUp("a loop over a string at a place that is no constant")
	}
	at := int(pos.Val)
	// At the end ok is false.
	if at >= len(str.B) {
		return &Agg{Elems: []Value{p.Bool(false), p.Const(a.m.IntBits, 0), p.Const(32, 0)}}, nil, true
	}
	// A rune has at most four bytes. Decoding splits by its length.
	rest := &Str{B: str.B[at:min(len(str.B), at+4)]}
	var out []*state
	for _, f := range a.finish(s, in, a.helper(s, "decodeRune", rest)) {
		r := f.env[a.p.reg[in]].(*Agg)
		size, ok := sizeOf(r.Elems[1])
		if !ok {
			giveUp("a rune whose size is not constant")
		}
		// Let the iterator go on behind the rune, in each of the states.
		a.m.store(f, it, &Agg{Elems: []Value{str, p.Const(64, uint64(at+size))}})
		f.env[a.p.reg[in]] = &Agg{Elems: []Value{p.Bool(true), p.Const(a.m.IntBits, uint64(at)), r.Elems[0]}}
		out = append(out, f)
	}
	return nil, out, false
}

// convert returns a conversion between types.
func (a *activation) convert(s *state, x ssa.Value, to types.Type) (Value, []*state, bool) {
	v, from := a.value(s, x), x.Type()
	in := s.blockOf(a).Instrs[s.at].(ssa.Value)
	// Integers only change their width. A string of an integer is that of the rune.
	if t, ok := v.(*term.Term); ok {
		if w := a.m.width(to); w > 0 && t.W > 0 && a.m.width(from) > 0 && syntax.IsInteger(to) {
			return a.m.Pool.Resize(t, w, signedType(from)), nil, true
		}
		if syntax.IsText(to) {
			return nil, a.finish(s, in, a.helper(s, "runeString", a.m.Pool.Resize(t, 64, signedType(from)))), false
		}
	}
	// elem tells the directions apart: one of the two types is a slice of bytes or of runes.
	elem := elemWidth(a.m, to) + elemWidth(a.m, from)
	switch u := v.(type) {
	case *Str:
		switch {
		case syntax.IsText(to):
			return u, nil, true
		// Bytes of a string are new memory, whose capacity is the runtime's choice.
		case elem == 8:
			list := make([]Value, len(u.B))
			for i, b := range u.B {
				list[i] = b
			}
			out := a.m.newSlice(s, list, len(list), nil)
			out.Grown = true
			return out, nil, true
		case elem == 32:
			return nil, a.finish(s, in, a.helper(s, "toRunes", u)), false
		}
	case *Slice:
		switch {
		case syntax.IsText(to) && elem == 8:
			out := &Str{}
			for _, e := range a.m.elems(s, u) {
				out.B = append(out.B, e.(*term.Term))
			}
			return out, nil, true
		case syntax.IsText(to) && elem == 32:
			return nil, a.finish(s, in, a.helper(s, "fromRunes", u)), false
		}
	}
	giveUp("a conversion from %s to %s", from, to)
	return nil, nil, true
}

func elemWidth(m *Machine, t types.Type) int {
	if s, ok := t.Underlying().(*types.Slice); ok {
		return m.width(s.Elem())
	}
	return 0
}

// wraps reports whether a call of fmt.Errorf may make an error that wraps another. The comparison
// does not look at the wrapped error, so the proof could say nothing about it.
func wraps(args []Value) bool {
	format, ok := args[0].(*Str)
	if !ok {
		return true
	}
	percent := false
	for _, b := range format.B {
		// A format whose bytes are not known may hold a %w. In %%w the letter is text; taking it
		// for a verb costs a proof at most.
		if !b.IsConst() || percent && b.Val == 'w' {
			return true
		}
		percent = b.Val == '%'
	}
	return false
}
