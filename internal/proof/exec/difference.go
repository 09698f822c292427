package exec

import (
	"github.com/beagle-go/beagle/internal/proof/term"
)

// A Difference holds the conditions under which two runs on one input differ.
type Difference struct {
	Differ  *term.Term // holds on the inputs on which they differ
	Unknown *term.Term // and on those that one of them was not followed on
	Whys    []string   // why not
}

// Compare says when the outcomes of two machines on one input differ. Both work over one pool.
// [NotCompared] lists the parts of an outcome that it leaves out.
func Compare(m, n *Machine, in *Input, a, b []*Outcome) *Difference {
	p := m.Pool
	d := &Difference{Differ: p.Bool(false), Unknown: p.Bool(false)}
	// The comparison is unknown on inputs that either machine could not follow.
	for _, list := range [][]*Outcome{a, b} {
		for _, o := range list {
			if o.Kind == Unknown {
				d.Unknown = p.Or(d.Unknown, o.When)
				d.Whys = append(d.Whys, o.Why)
			}
		}
	}
	// Pair up the outcomes. Two panics are alike, since their texts are not compared.
	for _, x := range a {
		for _, y := range b {
			if x.Kind == Unknown || y.Kind == Unknown || x.Kind == Panicked && y.Kind == Panicked {
				continue
			}
			// A pair counts where both conditions hold. Most pairs exclude each other.
			both := p.All(x.When, y.When)
			if both.False() {
				continue
			}
			c := comparer{m: m, n: n, x: x, y: y}
			differ := p.Bool(true)
			// Outcomes of different kinds differ wherever both happen. Others may differ in their
			// results and in memory.
			if x.Kind == y.Kind {
				differ = c.outcome(len(in.heap))
			}
			d.Differ = p.Or(d.Differ, p.All(both, differ))
			if c.why != "" {
				d.Unknown = p.Or(d.Unknown, both)
				d.Whys = append(d.Whys, c.why)
			}
		}
	}
	return d
}

// NotCompared lists the parts of outcomes that [Compare] leaves out.
var NotCompared = []string{"panic values", "what a panic leaves behind", "error texts of fmt.Errorf",
	"nil or empty", "capacity",
	"which memory results share", "arguments that share memory"}

// A comparer compares two outcomes. why is set when it could not.
type comparer struct {
	m, n *Machine
	x, y *Outcome
	why  string
}

func (c *comparer) outcome(inputs int) *term.Term {
	out := c.m.Pool.Bool(false)
	for i := range c.x.Results {
		out = c.m.Pool.Or(out, c.value(c.x.Results[i], c.y.Results[i], 0))
	}
	for i := range inputs {
		out = c.m.Pool.Or(out, c.value(c.x.heap[i], c.y.heap[i], 0))
	}
	return out
}

// value says when two values differ.
func (c *comparer) value(a, b Value, depth int) *term.Term {
	p := c.m.Pool
	// Values may form a ring.
	if depth > 12 {
		return c.unable("values that lead on and on")
	}
	switch x := a.(type) {
	case *term.Term:
		if y, ok := b.(*term.Term); ok {
			return p.Not(p.Eq(x, y))
		}
	case *Str:
		if y, ok := b.(*Str); ok {
			return p.Not(c.m.equalBytes(x.B, y.B))
		}
	case *Slice:
		if y, ok := b.(*Slice); ok {
			return c.slices(x, y, depth)
		}
	case *Agg:
		if y, ok := b.(*Agg); ok {
			return c.list(x.Elems, y.Elems, depth)
		}
	// A pointer counts by what it leads to, in the memory of its own machine.
	case *Ptr:
		if y, ok := b.(*Ptr); ok {
			if x.Obj == 0 || y.Obj == 0 {
				return p.Bool(x.Obj != y.Obj)
			}
			u, v := c.load(c.m, c.x, x), c.load(c.n, c.y, y)
			if u == nil || v == nil {
				return c.unable("results that lead to memory that is not known")
			}
			return c.value(u, v, depth+1)
		}
	case *Iface:
		if y, ok := b.(*Iface); ok {
			return c.iface(x, y, depth)
		}
	}
	return c.unable("results that cannot be compared")
}

func (c *comparer) unable(why string) *term.Term {
	c.why = why
	return c.m.Pool.Bool(false)
}

// iface is where two interfaces differ: one is nil, or the types differ, or the values do.
func (c *comparer) iface(x, y *Iface, depth int) *term.Term {
	p := c.m.Pool
	if x.Type == nil || y.Type == nil {
		return p.Bool((x.Type == nil) != (y.Type == nil))
	}
	_, ox := x.V.(Opaque)
	_, oy := y.V.(Opaque)
	switch {
	case ox && oy:
		return p.Bool(false) // whether their texts differ is not compared
	// An error of fmt.Errorf against one that has a value: callers can tell them apart.
	case ox || oy, x.Type.String() != y.Type.String():
		return p.Bool(true)
	}
	return c.value(x.V, y.V, depth+1)
}

func (c *comparer) list(a, b []Value, depth int) *term.Term {
	if len(a) != len(b) {
		return c.m.Pool.Bool(true)
	}
	list := make([]*term.Term, len(a))
	for i := range list {
		list[i] = c.value(a[i], b[i], depth+1)
	}
	return c.m.Pool.Any(list...)
}

// slices is where two slices differ in length or elements. Their memory may be apart, and their
// capacity is not compared.
func (c *comparer) slices(x, y *Slice, depth int) *term.Term {
	if x.Len != y.Len {
		return c.m.Pool.Bool(true)
	}
	if x.Len == 0 {
		return c.m.Pool.Bool(false)
	}
	u, ok := c.load(c.m, c.x, &x.At).(*Agg)
	v, ok2 := c.load(c.n, c.y, &y.At).(*Agg)
	if !ok || !ok2 {
		return c.unable("slices of memory that is not known")
	}
	return c.list(u.Elems[x.Off:x.Off+x.Len], v.Elems[y.Off:y.Off+y.Len], depth)
}

// load reads the memory that an outcome left behind.
func (c *comparer) load(m *Machine, o *Outcome, at *Ptr) (v Value) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(unknown); !ok {
				panic(r)
			}
			v = nil
		}
	}()
	return m.load(&state{heap: o.heap}, at)
}
