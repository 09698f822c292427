package term

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// tabulate computes t, which is not interned yet, for all values of its only
// variable. The arguments are canonical, so that the recursion is shallow.
func (p *Pool) tabulate(t, v *Term) []uint64 {
	tabs := make([][]uint64, len(t.Args))
	for i, a := range t.Args {
		tabs[i] = p.tableOf(a, v)
	}
	// A variable has few enough values to compute all of them.
	out, vals := make([]uint64, 1<<v.W), make([]uint64, len(t.Args))
	for x := range out {
		for i := range tabs {
			vals[i] = tabs[i][x]
		}
		out[x] = p.compute(t, vals)
	}
	return out
}

// tableOf is the table of a term with one variable: its own if it has one, otherwise a computed
// one.
func (p *Pool) tableOf(t, v *Term) []uint64 {
	switch t.Op {
	case Map:
		return p.tables[t.Val]
	case Var:
		out := make([]uint64, 1<<v.W)
		for x := range out {
			out[x] = uint64(x)
		}
		return out
	}
	return p.tabulate(t, v)
}

// canon returns the one term of w bits that has the given values for the values of v: a constant, v
// itself or a table, between zeros.
func (p *Pool) canon(v *Term, w int, tab []uint64) *Term {
	// A table with one value is a constant.
	var ones uint64
	same := true
	for _, x := range tab {
		ones |= x
		same = same && x == tab[0]
	}
	if same {
		return p.Const(w, tab[0])
	}
	// Take off the zeros at both ends that all values have. The rest may be the variable itself.
	low := bits.TrailingZeros64(ones)
	inner := bits.Len64(ones) - low
	part := slices.Clone(tab)
	identity := inner == v.W
	for i := range part {
		part[i] >>= low
		identity = identity && part[i] == uint64(i)
	}
	t := v
	if !identity {
		t = p.intern(&Term{Op: Map, W: inner, Val: uint64(p.table(part)), Args: []*Term{v}})
	}
	if inner == w {
		return t
	}
	// Put the zeros back around it.
	var parts []*Term
	if top := w - inner - low; top > 0 {
		parts = append(parts, p.Const(top, 0))
	}
	parts = append(parts, t)
	if low > 0 {
		parts = append(parts, p.Const(low, 0))
	}
	return p.intern(&Term{Op: Concat, W: w, Args: parts})
}

// table numbers the contents of a table.
func (p *Pool) table(tab []uint64) int {
	b := make([]byte, 0, 8*len(tab))
	for _, v := range tab {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	id, ok := p.tabID[string(b)]
	if !ok {
		id = len(p.tables)
		p.tables = append(p.tables, tab)
		p.tabID[string(b)] = id
	}
	return id
}

// Select returns the element of a list at an index that is below its length: a tree of decisions
// over the bits of the index, whose equal parts are shared.
func (p *Pool) Select(list []*Term, index *Term) *Term {
	if index.IsConst() {
		return list[min(index.Val, uint64(len(list)-1))]
	}
	n := uint64(len(list))
	if n > index.hi+1 && index.hi+1 > 0 {
		n = index.hi + 1
	}
	return p.choose(list[:n], index, max(bits.Len64(n-1)-1, 0))
}

// choose is a binary search by the bits of the index. Equal halves need no bit.
func (p *Pool) choose(list []*Term, index *Term, bit int) *Term {
	if len(list) == 1 {
		return list[0]
	}
	// A large table takes long: ask whether the work was called off.
	if p.tick != nil {
		p.tick()
	}
	half := 1 << bit
	// A list need not be a power of two: without a second half, this bit is 0 for all indices.
	if len(list) <= half {
		return p.choose(list, index, bit-1)
	}
	low, high := p.choose(list[:half], index, bit-1), p.choose(list[half:], index, bit-1)
	if low == high {
		return low
	}
	return p.Ite(p.Extract(index, bit, 1), high, low)
}
