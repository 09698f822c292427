package source

import (
	"fmt"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
)

// Grammar lists the simple conditions over the target's parameters that a contract may propose.
// Those of one kind come widest first. most gives the largest recorded length of a parameter, or
// 0 for one without lengths.
func (c *Conditions) Grammar(most func(param int) int) []*Predicate {
	g := &grammar{conditions: c, seen: map[string]bool{}}
	var all []operand
	// Fields are asked about as well as the parameters themselves.
	for i, v := range variables(c.sig) {
		o := operand{c.target.Params[i].Name, v.Type(), i}
		all = append(all, o)
		all = append(all, c.fieldsOf(o)...)
	}
	for _, o := range all {
		g.listConditions(o, most(o.param))
	}
	// A relation has a direction, so each pair comes twice.
	for i, a := range all {
		for _, b := range all[i+1:] {
			g.pair(a, b)
			g.pair(b, a)
		}
	}
	return g.out
}

// An operand is a parameter, or a field of one.
type operand struct {
	text  string
	typ   types.Type
	param int
}

// fieldsOf returns the fields of a struct, or of the struct behind a pointer.
func (c *Conditions) fieldsOf(o operand) []operand {
	const most = 8
	t := o.typ.Underlying()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	s, ok := t.(*types.Struct)
	if !ok {
		return nil
	}
	var out []operand
	for f := range s.Fields() {
		// A field must be visible where the condition is compiled.
		if (f.Exported() || f.Pkg() == c.pkg.Types) && f.Name() != "_" && len(out) < most {
			out = append(out, operand{o.text + "." + f.Name(), f.Type(), o.param})
		}
	}
	return out
}

type grammar struct {
	conditions *Conditions
	seen       map[string]bool
	out        []*Predicate
}

// add takes a condition unless it does not fit the types.
func (g *grammar) add(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if g.seen[text] {
		return
	}
	g.seen[text] = true
	if p, err := g.conditions.Predicate(text); err == nil {
		g.out = append(g.out, p)
	}
}

// listConditions lists conditions on one operand, by what its type allows to ask. most is the
// greatest length that occurs.
func (g *grammar) listConditions(o operand, most int) {
	// By the kind of value: texts have lengths and forms, numbers have bounds, and references may
	// be nil.
	switch t := o.typ.Underlying().(type) {
	case *types.Basic:
		switch info := t.Info(); {
		case info&types.IsString != 0:
			g.lengths(o.text, most)
			g.text(o.text, "string", "strings", "ValidString", "RuneCountInString", o.typ)
		case info&types.IsInteger != 0:
			g.integer(o.text, info&types.IsUnsigned != 0)
		case info&types.IsFloat != 0:
			g.float(o.text)
		}
	case *types.Slice:
		g.lengths(o.text, most)
		g.add("%s != nil", o.text)
		g.elements(o, t.Elem())
	case *types.Map:
		g.add("%s != nil", o.text)
		g.lengths(o.text, most)
	case *types.Pointer, *types.Interface, *types.Signature:
		g.add("%s != nil", o.text)
	}
}

func (g *grammar) lengths(x string, most int) {
	for shift := 24; shift >= 2; shift-- {
		g.add("len(%s) < 1<<%d", x, shift)
	}
	if most > 0 {
		g.add("len(%s) <= %d", x, most)
	}
	g.add("len(%s) > 0", x)
}

// text conditions are exact for bytes that are no UTF-8 too: those count as one
// rune each.
func (g *grammar) text(x, plain, pkg, valid, count string, t types.Type) {
	if _, named := t.(*types.Basic); !named && plain == "string" || plain == "[]byte" && t.String() != "[]byte" {
		x = plain + "(" + x + ")"
	}
	g.add("utf8.%s(%s)", valid, x)
	g.add("%s.IndexByte(%s, 0) < 0", pkg, x)
	g.add("utf8.%s(%s) && utf8.%s(%s) == len(%s)", valid, x, count, x, x)
}

// elements lists conditions on the elements of a list: texts are asked as a whole, and floats for
// NaN.
func (g *grammar) elements(o operand, elem types.Type) {
	b, ok := elem.Underlying().(*types.Basic)
	if !ok {
		return
	}
	x := o.text
	switch {
	case b.Kind() == types.Uint8:
		g.text(x, "[]byte", "bytes", "Valid", "RuneCount", o.typ)
	case b.Info()&types.IsString != 0:
		g.add(`!slices.Contains(%s, "")`, x)
		g.text("strings.Join("+x+`, " ")`, "string", "strings", "ValidString", "RuneCountInString",
			types.Typ[types.String])
	case b.Info()&types.IsFloat != 0:
		g.add("!slices.ContainsFunc(%s, math.IsNaN)", x)
	}
	// Elements with an order may be distinct or sorted, which many functions rely on.
	if b.Info()&types.IsOrdered != 0 {
		g.add("len(slices.Compact(slices.Sorted(slices.Values(%s)))) == len(%s)", x, x)
		g.add("slices.IsSorted(%s)", x)
	}
}

// integer lists bounds at powers of two, the widest first: those at which types and tables end.
func (g *grammar) integer(x string, unsigned bool) {
	for _, shift := range []int{63, 62, 53, 48, 32, 31, 24, 20, 16, 15, 12, 10, 8, 7} {
		g.add("%s < 1<<%d", x, shift)
		if !unsigned {
			g.add("%s > -1<<%d", x, shift)
		}
	}
	g.add("%s != 0", x)
	if !unsigned {
		g.add("%s >= 0", x)
		g.add("%s > 0", x)
	}
}

func (g *grammar) float(x string) {
	g.add("%s == %s", x, x) // not NaN
	g.add("!math.IsInf(float64(%s), 0)", x)
	g.add("math.Abs(float64(%s)) < 1<<53", x)
	g.add("%s >= 0", x)
}

// pair relates two operands: lengths to each other, an index to a length, two
// numbers of one type.
func (g *grammar) pair(a, b operand) {
	switch {
	case measured(a.typ) && measured(b.typ):
		g.add("len(%s) <= len(%s)", a.text, b.text)
		// Equality has no direction.
		if !g.seen[fmt.Sprintf("len(%s) == len(%s)", b.text, a.text)] {
			g.add("len(%s) == len(%s)", a.text, b.text)
		}
	case isInt(a.typ) && measured(b.typ):
		g.add("%s <= len(%s)", a.text, b.text)
		g.add("%s < len(%s)", a.text, b.text)
	case isNumber(a.typ) && types.Identical(a.typ, b.typ):
		g.add("%s <= %s", a.text, b.text)
		g.add("%s < %s", a.text, b.text)
	}
}

func measured(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Slice, *types.Map:
		return true
	case *types.Basic:
		return t.Info()&types.IsString != 0
	}
	return false
}

func isInt(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.Int && types.Identical(t, b)
}

func isNumber(t types.Type) bool { return syntax.Has(t, types.IsInteger|types.IsFloat) }
