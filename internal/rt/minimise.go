package rt

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"time"
)

// Minimise makes a failing record smaller, by delta debugging on the tree of
// its values: parts are left out, halved, or replaced by plainer ones as long
// as fails still holds. It stops when nothing can be made smaller or when the
// time is up, and returns the number of steps that succeeded.
func Minimise(v Value, fails func(Value) bool, budget time.Duration) (Value, int) {
	end := time.Now().Add(budget) // fails may start programs, whose processor time is not known here
	return minimise(v, nil, fails, func() bool { return time.Now().After(end) })
}

// spending returns a function that reports whether a budget of processor time is spent.
func spending(budget time.Duration) (late func() bool) {
	began, spent := time.Now(), ProcessCPU()
	return func() bool { return spentUp(ProcessCPU()-spent, time.Since(began), budget) }
}

// minimiseWall bounds the wall time, as a factor on the budget. Calls that sleep use no processor
// time, and the process must reply before its own wall time ends: else the difference would be
// lost, and the original be taken for too slow where it was under way.
const minimiseWall = 10

// spentUp reports whether a budget of processor time is spent, or is waited for too long.
func spentUp(used, wall, budget time.Duration) bool {
	return used > budget || wall > minimiseWall*budget
}

// minimise does what Minimise does for a value of type t. Values that only their package can make
// stay whole, since no caller can make a part of one.
func minimise(v Value, t reflect.Type, fails func(Value) bool, late func() bool) (Value, int) {
	m := &minimiser{root: v.Clone(), fails: fails, late: late}
	if t != nil {
		m.home = t.PkgPath()
	}
	for before := -1; before != m.steps && !m.late(); {
		before = m.steps
		m.node(&m.root, t)
	}
	return m.root, m.steps
}

type minimiser struct {
	home  string // the target's package
	root  Value
	fails func(Value) bool
	late  func() bool
	steps int
}

// try replaces *v if the whole still fails.
func (m *minimiser) try(v *Value, smaller Value) bool {
	if m.late() {
		return false
	}
	old := *v
	*v = smaller
	if m.fails(m.root) {
		m.steps++
		return true
	}
	*v = old
	return false
}

// node makes a value of type t smaller; t is nil where it is not known.
func (m *minimiser) node(v *Value, t reflect.Type) {
	// Nobody can make a value of a closed type that is smaller.
	if t != nil && closed(m.home, t) {
		return
	}
	// A shared part is made smaller where it is defined.
	if v.Back != nil {
		for i := range v.Back.Elems {
			m.node(&v.Back.Elems[i], partOfType(v, t, i))
		}
		return
	}
	// Drop the room behind a slice.
	if v.Spare > 0 {
		s := *v
		s.Spare = 0
		m.try(v, s)
	}
	// Then try smaller values of its kind. A pointer that may be nil has nothing left to try.
	switch v.Kind {
	case KindBool:
		if v.Bits != 0 {
			m.try(v, Value{Kind: KindBool})
		}
	case KindInt, KindUint:
		m.number(v)
	case KindFloat32, KindFloat64:
		m.float(v)
	case KindString, KindBytes:
		m.text(v)
	case KindList:
		m.list(v, 1)
	case KindMap:
		m.list(v, 2)
	case KindPointer, KindInterface:
		if m.try(v, Value{Kind: KindNil}) {
			return
		}
	}
	for i := range v.Elems {
		m.node(&v.Elems[i], partOfType(v, t, i))
	}
}

// partOfType returns the type of part i of a value; nil where it is not known.
func partOfType(v *Value, t reflect.Type, i int) reflect.Type {
	if t == nil {
		return nil
	}
	switch t.Kind() { // of what is shared, the reference tells the type of the elements
	// Elements of a map alternate between keys and values. A struct's parts go by their names.
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return t.Elem()
	case reflect.Map:
		return choose(i%2 == 0, t.Key(), t.Elem())
	case reflect.Struct:
		if i < len(v.Names) {
			if f, ok := t.FieldByName(v.Names[i]); ok {
				return f.Type
			}
		}
	case reflect.Interface:
		return lookupType(v.Str, nil)
	}
	return nil
}

// number moves an integer towards zero.
func (m *minimiser) number(v *Value) {
	// Try zero at once, then halves, and then one less at a time, as long as the difference stays.
	set := func(n int64) bool {
		s := *v
		s.Bits = uint64(n)
		return m.try(v, s)
	}
	if v.Bits == 0 || set(0) {
		return
	}
	if v.Kind == KindUint {
		for v.Bits > 1 && set(int64(v.Bits/2)) {
		}
		for v.Bits > 1 && set(int64(v.Bits-1)) {
		}
		return
	}
	// A positive number is plainer than a negative one.
	for v.Int() != 0 && v.Int() != math.MinInt64 && v.Int() < 0 && set(-v.Int()) {
	}
	for n := v.Int(); n/2 != 0 && set(n/2); n = v.Int() {
	}
	for n := v.Int(); n > 1 && set(n-1) || n < -1 && set(n+1); n = v.Int() {
	}
}

func (m *minimiser) float(v *Value) {
	for _, f := range []float64{0, 1, 2, math.Trunc(v.Float())} {
		s := *v
		s.Bits = math.Float64bits(f)
		if v.Kind == KindFloat32 {
			s.Bits = uint64(math.Float32bits(float32(f)))
		}
		if s.Bits == v.Bits || m.try(v, s) {
			return
		}
	}
}

// text leaves out ever smaller pieces of a string, then makes letters plain.
func (m *minimiser) text(v *Value) {
	// Pieces of half the length, a quarter and so on: leave each out that is not needed.
	for size := len(v.Str); size > 0; size /= 2 {
		for at := 0; at+size <= len(v.Str); {
			s := *v
			s.Str = v.Str[:at] + v.Str[at+size:]
			if !m.try(v, s) {
				at += size
			}
			if m.late() {
				return
			}
		}
	}
	// Then replace each byte by a letter or a digit.
	for i := 0; i < len(v.Str) && !m.late(); i++ {
		for _, plain := range []byte("a0") {
			if v.Str[i] == plain {
				break
			}
			s := *v
			s.Str = v.Str[:i] + string(rune(plain)) + v.Str[i+1:]
			if m.try(v, s) {
				break
			}
		}
	}
}

// list leaves out ever smaller runs of elements; unit is 2 for maps.
func (m *minimiser) list(v *Value, unit int) {
	// Their definition would go with the element that has it.
	if defines(v.Elems) {
		return // other values refer to memory that is defined inside
	}
	for size := len(v.Elems) / unit; size > 0; size /= 2 {
		for at := 0; at+size <= len(v.Elems)/unit; {
			s := *v
			// After a removal the next run begins at the same place.
			s.Elems = slices.Concat(v.Elems[:at*unit], v.Elems[(at+size)*unit:])
			if !m.try(v, s) {
				at += size
			}
			if m.late() {
				return
			}
		}
	}
}

func defines(list []Value) bool {
	return slices.ContainsFunc(list, func(v Value) bool { return v.Back != nil || defines(v.Elems) })
}

// minimiseBudget is the time for one counterexample.
const minimiseBudget = 300 * time.Millisecond

// smaller minimises a difference that one call shows.
func (c *checker[A, R]) smaller(d *Diff) *Diff {
	// Differences of several calls depend on the calls before, and have no smaller input by
	// themselves.
	if d == nil || d.Check != "" {
		return d
	}
	v, err := ParseValue(d.Args)
	if err != nil {
		return d
	}
	if out, err := json.Marshal(d); err == nil {
		diffLine(FoundPrefix, out)
	}
	best := d
	c.minimising = true
	defer func() { c.minimising = false }()
	// A smaller input counts if it shows a difference of the same kind. One that shows nothing
	// after the call would hide what is wrong.
	_, steps := minimise(v, reflect.TypeFor[A](), func(v Value) bool {
		src := new(A)
		if Decode(v.Append(nil), src, c.h.Types) != nil {
			return false
		}
		n := c.compare(d.Case, src)
		if n == nil || n.Kind != d.Kind || n.Check != "" || len(n.After) < min(len(d.After), 1) {
			return false
		}
		best = n
		return true
	}, spending(minimiseBudget))
	best.Shrunk = steps
	return best
}

func (p *replayer[A, R]) shrink() { p.out.Diff = p.check.smaller(p.out.Diff) }
