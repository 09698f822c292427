package exec

import (
	"fmt"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/proof/term"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A Shape fixes the parts of arguments that are not integers: lengths, and which pointers are
// nil. It is a list of choices, in the order of a walk over the arguments' types.
type Shape []int

// A Chooser walks through all shapes up to a length.
type Chooser struct {
	most  int  // length
	top   bool // always choose the most
	picks Shape
	tops  []int
	at    int
}

// choose returns the next pick, as an odometer's digit: what was picked before comes again, and a
// new place starts at one end of its range.
func (c *Chooser) choose(top int) int {
	if c.at == len(c.picks) {
		first := 0
		if c.top {
			first = top
		}
		c.picks, c.tops = append(c.picks, first), append(c.tops, top)
	}
	c.at++
	return c.picks[c.at-1]
}

// next goes to the following shape.
func (c *Chooser) next() bool {
	for len(c.picks) > 0 {
		i := len(c.picks) - 1
		if c.picks[i] < c.tops[i] {
			c.picks[i]++
			return true
		}
		c.picks, c.tops = c.picks[:i], c.tops[:i]
	}
	return false
}

// A Param names a variable of the input, or a length.
type Param struct {
	Type   types.Type
	Term   *term.Term // of an integer or a truth value
	Bytes  []*term.Term
	Elems  []Param // of a slice, an array, a struct, a pointer
	Nil    bool
	Length int
}

// Shapes lists the shapes of the parameters in which the greatest length is
// above from and at most to. sized is false when the parameters have no
// lengths. An error says which type cannot be made.
func Shapes(params []types.Type, from, to, limit int) (list []Shape, sized bool, err error) {
	// Go through all choices of lengths, by planning an input for each.
	for c := (&Chooser{most: to}); ; {
		c.at = 0
		b := builder{c: c}
		for _, t := range params {
			if err := b.plan(t, 0); err != nil {
				return nil, false, err
			}
		}
		// Shapes up to from have been looked at in an earlier round.
		if b.longest > from || !b.sized || from < 0 {
			list = append(list, slices.Clone(c.picks))
		}
		sized = sized || b.sized
		if len(list) > limit {
			return nil, sized, fmt.Errorf("more than %d combinations of lengths up to %d", limit, to)
		}
		if !c.next() {
			return list, sized, nil
		}
	}
}

// builder counts the needs of a shape.
type builder struct {
	c       *Chooser
	longest int
	sized   bool
}

// plan walks over a type as makeInput will, and makes a choice for each length and each pointer. It
// returns an error for types that cannot be made.
func (b *builder) plan(t types.Type, depth int) error {
	// Recursive types have no end.
	if depth > 6 {
		return fmt.Errorf("an argument of type %s", t)
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		// Floats are numbers without terms.
		switch {
		case u.Info()&types.IsString != 0:
			b.length()
			return nil
		case u.Info()&(types.IsInteger|types.IsBoolean) != 0:
			return nil
		}
	case *types.Slice:
		for range b.length() {
			if err := b.plan(u.Elem(), depth+1); err != nil {
				return err
			}
		}
		// With length 0 the element's type must still be one that can be made. So it is with a nil
		// pointer.
		return b.probe(u.Elem(), depth)
	case *types.Array:
		// A large array would make as many variables.
		if u.Len() > 256 {
			break
		}
		for range u.Len() {
			if err := b.plan(u.Elem(), depth+1); err != nil {
				return err
			}
		}
		return nil
	case *types.Struct:
		for i := range u.NumFields() {
			if err := b.plan(u.Field(i).Type(), depth+1); err != nil {
				return err
			}
		}
		return nil
	// A pointer is nil or leads to a value of its own.
	case *types.Pointer:
		if b.c.choose(1) == 0 {
			return b.probe(u.Elem(), depth)
		}
		return b.plan(u.Elem(), depth+1)
	}
	return fmt.Errorf("an argument of type %s", t)
}

// probe asks whether a type can be made at all, even if this shape needs none.
func (b *builder) probe(t types.Type, depth int) error {
	c := builder{c: &Chooser{most: 0}}
	return c.plan(t, depth+1)
}

func (b *builder) length() int {
	n := b.c.choose(b.c.most)
	b.sized, b.longest = true, max(b.longest, n)
	return n
}

// An Input is the arguments of one shape, in the memory of a machine.
type Input struct {
	Params []Param

	args []Value
	heap []Value
}

// Input makes the arguments of a shape. Equal names make equal variables, so
// that shapes share their bytes, and two machines over one pool their inputs.
func (m *Machine) Input(params []types.Type, shape Shape) *Input {
	in := &Input{}
	at := 0
	s := &state{}
	for i, t := range params {
		p, v := m.makeInput(s, t, fmt.Sprintf("p%d", i), shape, &at)
		in.Params, in.args = append(in.Params, p), append(in.args, v)
	}
	in.heap = s.heap
	return in
}

// variable returns a variable of the input, or what stands for it.
func (m *Machine) variable(name string, t types.Type, w int) *term.Term {
	if m.fill != nil {
		return m.fill(t, w)
	}
	return m.Pool.Var(name, w)
}

// makeInput makes a value of a type with a variable for each integer in it, and a description of
// how the value is made.
func (m *Machine) makeInput(s *state, t types.Type, name string, shape Shape, at *int) (Param, Value) {
	// The shape lists, in the order of the walk, the lengths and which pointers are nil.
	take := func() int { *at++; return shape[*at-1] }
	p := Param{Type: t}
	// part makes a part of the value, and notes it in the description.
	part := func(t types.Type, name string) Value {
		q, v := m.makeInput(s, t, name, shape, at)
		p.Elems = append(p.Elems, q)
		return v
	}
	switch u := t.Underlying().(type) {
	// Each byte is a variable of its own, named by its place.
	case *types.Basic:
		if syntax.IsText(t) {
			str := &Str{}
			for i := range take() {
				str.B = append(str.B, m.variable(fmt.Sprintf("%s[%d]", name, i), types.Typ[types.Byte], 8))
			}
			p.Bytes, p.Length = str.B, len(str.B)
			return p, str
		}
		p.Term = m.variable(name, t, m.width(t))
		return p, p.Term
	case *types.Slice:
		p.Length = take()
		var list []Value
		for i := range p.Length {
			list = append(list, part(u.Elem(), fmt.Sprintf("%s[%d]", name, i)))
		}
		return p, m.newSlice(s, list, len(list), nil)
	case *types.Array:
		a := &Agg{Array: true}
		for i := range int(u.Len()) {
			a.Elems = append(a.Elems, part(u.Elem(), fmt.Sprintf("%s[%d]", name, i)))
		}
		return p, a
	case *types.Struct:
		a := &Agg{}
		for i := range u.NumFields() {
			a.Elems = append(a.Elems, part(u.Field(i).Type(), name+"."+u.Field(i).Name()))
		}
		return p, a
	case *types.Pointer:
		// No two pointers of an input lead to the same value.
		if take() == 0 {
			p.Nil = true
			return p, &Ptr{}
		}
		v := part(u.Elem(), "*"+name)
		return p, &Ptr{Obj: m.alloc(s, v)}
	}
	panic("exec: a shape of a type that cannot be made")
}

// Run runs the program's function. It panics with [LimitReached] or [term.Limit]
// when a limit is reached.
func (m *Machine) Run(in *Input) []*Outcome {
	list := m.call(m.prog.Target, in.args, nil, nil, append([]Value(nil), in.heap...))
	for _, o := range list {
		o.When = m.Pool.All(o.pc...)
	}
	return list
}
