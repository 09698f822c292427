package probe

import (
	"cmp"
	"reflect"
	"unsafe"

	"github.com/beagle-go/beagle/probe/wire"
)

// binary carries out an operation on two values.
func (m *machine) binary(o op) {
	b, a := m.pop(), m.pop()
	if m.bad {
		return
	}
	switch o.code {
	case wire.OpIndex:
		m.index(a, b)
	case wire.OpEqual, wire.OpLess, wire.OpLessEqual:
		m.compare(o.code, a, b)
	default:
		m.arithmetic(o.code, a, b)
	}
}

// index pushes an element of a list or a byte of a text.
func (m *machine) index(list, at word) {
	i := int(at.n)
	if at.kind != isInt && at.kind != isUint || at.n < 0 || m.secretBytes(list) {
		m.bad = true
		return
	}
	if list.kind == isText {
		if i >= len(list.s) {
			m.bad = true
			return
		}
		m.push(word{kind: isUint, n: int64(list.s[i])})
		return
	}
	base, n := elements(list)
	if i >= n {
		m.bad = true
		return
	}
	m.load(list.c.elem, list.c.elem.at(base, i))
}

// secretBytes reports whether a value is text, or bytes, that a pattern calls secret. Answers on
// its single bytes would tell it bit by bit.
func (m *machine) secretBytes(w word) bool {
	s := w.s
	if w.kind != isText {
		base, n := elements(w)
		if n <= 0 || w.c.elem.kind != reflect.Uint8 {
			return false
		}
		s = unsafe.String((*byte)(base), n)
	}
	m.step(len(s) / bytesAStep)
	return m.bad || m.q.o.redact.text(s)
}

// elements returns the place of a list's elements, and their number; -1 for a value that is not a
// list.
func elements(w word) (base unsafe.Pointer, n int) {
	switch {
	case w.kind != isMemory:
	case w.c.kind == reflect.Slice:
		h := (*sliceHeader)(w.p)
		return h.data, h.len
	case w.c.kind == reflect.Array:
		return w.p, w.c.n
	}
	return nil, -1
}

// order compares two values of one kind. ok is false for those without an order, NaN among them.
func (m *machine) order(a, b word) (order int, ok bool) {
	switch {
	case a.kind == isText && b.kind == isText:
		m.step(min(len(a.s), len(b.s)) / bytesAStep)
		if m.bad || m.q.o.redact.text(a.s) || m.q.o.redact.text(b.s) {
			return 0, false
		}
		return cmp.Compare(a.s, b.s), true
	case a.kind == isUint && b.kind == isUint:
		return cmp.Compare(uint64(a.n), uint64(b.n)), true
	case a.kind == isUint && b.kind == isInt:
		if a.n < 0 || b.n < 0 { // above every int64, or above a negative number
			return 1, true
		}
		return cmp.Compare(a.n, b.n), true
	case a.kind == isInt && b.kind == isUint:
		order, ok = m.order(b, a)
		return -order, ok
	case a.kind == isInt && b.kind == isInt, a.kind == isBool && b.kind == isBool:
		return cmp.Compare(a.n, b.n), true
	case a.kind == isFloat || b.kind == isFloat:
		x, okA := number(a)
		y, okB := number(b)
		return cmp.Compare(x, y), okA && okB && x == x && y == y
	}
	return 0, false
}

// number returns a value as a float.
func number(w word) (float64, bool) {
	switch w.kind {
	case isFloat:
		return w.f, true
	case isInt:
		return float64(w.n), true
	case isUint:
		return float64(uint64(w.n)), true
	}
	return 0, false
}

func (m *machine) compare(code byte, a, b word) {
	order, ok := m.order(a, b)
	if !ok {
		m.bad = true
		return
	}
	switch code {
	case wire.OpEqual:
		m.pushBool(order == 0)
	case wire.OpLess:
		m.pushBool(order < 0)
	default:
		m.pushBool(order <= 0)
	}
}

// arithmetic computes in 64 bits.
func (m *machine) arithmetic(code byte, a, b word) {
	// Compute floats if one of the two is a float.
	if a.kind == isFloat || b.kind == isFloat {
		x, okA := number(a)
		y, okB := number(b)
		if !okA || !okB {
			m.bad = true
			return
		}
		m.floats(code, x, y)
		return
	}
	// Otherwise both must be integers that 64 bits with a sign can hold.
	integers := (a.kind == isInt || a.kind == isUint) && (b.kind == isInt || b.kind == isUint)
	if !integers || a.kind == isUint && a.n < 0 || b.kind == isUint && b.n < 0 {
		m.bad = true
		return
	}
	// Compute.
	w := word{kind: isInt}
	switch code {
	case wire.OpAdd:
		w.n = a.n + b.n
	case wire.OpSub:
		w.n = a.n - b.n
	case wire.OpMul:
		w.n = a.n * b.n
	case wire.OpDiv, wire.OpMod:
		if b.n == 0 {
			m.bad = true
			return
		}
		w.n = a.n % b.n
		if code == wire.OpDiv {
			w.n = a.n / b.n
		}
	default:
		m.bad = true
	}
	m.push(w)
}

func (m *machine) floats(code byte, x, y float64) {
	w := word{kind: isFloat}
	switch code {
	case wire.OpAdd:
		w.f = x + y
	case wire.OpSub:
		w.f = x - y
	case wire.OpMul:
		w.f = x * y
	case wire.OpDiv:
		w.f = x / y
	default:
		m.bad = true
	}
	m.push(w)
}

// each calls f with neighbours, or with all pairs, of a list's elements until it returns false.
func (m *machine) each(list word, all bool, f func(a, b word) bool) bool {
	base, n := elements(list)
	if n < 0 || m.secretBytes(list) {
		m.bad = true
		return false
	}
	at := func(i int) word {
		m.load(list.c.elem, list.c.elem.at(base, i))
		return m.pop()
	}
	for i := 1; i < n && !m.bad; i++ {
		b := at(i)
		from := i - 1
		if all {
			from = 0
		}
		for j := from; j < i && !m.bad; j++ {
			if m.step(1); !f(at(j), b) {
				return false
			}
		}
	}
	return true
}

// sorted pushes whether a list ascends.
func (m *machine) sorted(list word) {
	yes := m.each(list, false, func(a, b word) bool {
		order, ok := m.order(a, b)
		m.bad = m.bad || !ok
		return order <= 0
	})
	if !m.bad {
		m.pushBool(yes)
	}
}

// unique pushes whether a list's elements differ from each other.
func (m *machine) unique(list word) {
	yes := m.each(list, true, func(a, b word) bool {
		order, ok := m.order(a, b)
		m.bad = m.bad || !ok
		return order != 0
	})
	if !m.bad {
		m.pushBool(yes)
	}
}
