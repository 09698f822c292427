package lift

// eval evaluates a term on other examples: cols are the inputs there.
func (t *term) eval(leaves []leaf, cols []any, n int, mask uint64) (any, uint64) {
	// An input is found by its number, and a constant has one value for all examples.
	switch {
	case t.c == nil && t.input >= 0:
		for i, l := range leaves {
			if l.input == t.input {
				return cols[i], mask
			}
		}
		return nil, 0
	case t.c == nil:
		return constantColumn(leaves, t, n), mask
	case t.c == choose:
		return t.evalChoice(leaves, cols, n, mask)
	}
	// Arguments that are undefined on an example make the result undefined there.
	var args [3]any
	for i, a := range t.args {
		if args[i], mask = a.eval(leaves, cols, n, mask); mask == 0 {
			return nil, 0
		}
	}
	dst := t.typ.make(n)
	return dst, t.c.eval(dst, args[:len(t.args)], mask)
}

// evalChoice evaluates each side of a guard where it is taken.
func (t *term) evalChoice(leaves []leaf, cols []any, n int, mask uint64) (any, uint64) {
	c, ok := t.args[0].eval(leaves, cols, n, mask)
	if ok == 0 {
		return nil, 0
	}
	// Each side is only evaluated on those examples that take it, so that it may be undefined on
	// the others.
	yes := truths64(c) & ok
	dst, defined := t.typ.make(n), uint64(0)
	for k, where := range []uint64{yes, ok &^ yes} {
		if where == 0 {
			continue
		}
		col, got := t.args[1+k].eval(leaves, cols, n, where)
		for i := range n {
			if got>>i&1 == 1 {
				t.typ.set(dst, i, t.typ.element(col, i))
				defined |= 1 << i
			}
		}
	}
	return dst, defined
}

// constantColumn returns n times the constant that a leaf spells.
func constantColumn(leaves []leaf, t *term, n int) any {
	col := t.typ.make(n)
	for _, l := range leaves {
		if l.input < 0 && l.typ == t.typ && l.text == t.text {
			for i := range n {
				t.typ.set(col, i, l.value)
			}
		}
	}
	return col
}
