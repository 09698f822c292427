package loops

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// partKernel (catalogue L10) matches a loop that stores the zero value into a part of a list, or
// copies a part of a list into another. The library does both many bytes at a time.
var partKernel = &mutate.Mutator{
	Name: "part-kernel",
	Doc: "Use clear or copy for a loop over a part of a list. The compiler does so only for a loop that clears a " +
		"whole list. Legal because the part lies in the list, which the code asks unless it is sure, and because a " +
		"copied part overlaps the other one only where the order makes no difference.",
	Example: mutate.Shows(`for i := n; i < end; i++ {
	s[i] = 0
}`,
		`if 0 <= n && n < end && end <= len(s) {
	clear(s[n:end])
} else {
	for i := n; i < end; i++ {
		s[i] = 0
	}
}`),
	Class:   beagle.E0,
	Gain:    2,
	Find:    findPartKernel,
	Rewrite: edit.Precomputed,
}

// fewestElements is how long a part must be to pay for a call, where the code says how long it is.
const fewestElements = 8

// A partLoop does the same to each place of a part of a list.
type partLoop struct {
	stmt     ast.Stmt
	body     ast.Stmt // the only one
	index    *types.Var
	value    *types.Var // the element of a range, or nil
	through  ast.Expr   // what a range goes through, or nil
	from, to place
	last     bool // the loop runs for the last place, too
}

// A listPart is a list and the places in it that a loop reaches.
type listPart struct {
	list     ast.Expr
	elem     types.Type
	offset   place // from the loop's index to that of the list
	from, to place
}

// findPartKernel looks for loops that clear or copy parts.
func findPartKernel(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, at := range facts.Statements(p) {
		l := partLoopOf(p, list[at])
		if l == nil || hasKernel(p, l.stmt) {
			continue
		}
		lhs, rhs, ok := syntax.SplitAssign(l.body, token.ASSIGN)
		if !ok {
			continue
		}
		to := l.indexed(p, lhs)
		if to == nil {
			continue
		}
		// The stored value is zero, or the element of another list.
		if facts.IsZero(p, rhs, to.elem) {
			if p.GoAtLeast(21) && !l.clearsAll(p, to) {
				sites = l.add(p, sites, "clear", to)
			}
		} else if from := l.source(p, rhs); from != nil && types.Identical(from.elem, to.elem) &&
			copiesAlike(p, to, from, l.stmt) {
			sites = l.add(p, sites, "copy", to, from)
		}
	}
	return sites
}

// partLoopOf recognises a loop that counts up and has a single statement.
func partLoopOf(p *mutate.Pass, s ast.Stmt) *partLoop {
	body := syntax.LoopBody(s)
	if body == nil || len(body.List) != 1 {
		return nil
	}
	l := &partLoop{stmt: s, body: body.List[0]}
	switch s := s.(type) {
	case *ast.RangeStmt:
		key, _ := s.Key.(*ast.Ident)
		if key == nil || s.Tok != token.DEFINE {
			return nil
		}
		l.index, _ = p.Info.Defs[key].(*types.Var)
		if id, ok := s.Value.(*ast.Ident); ok {
			l.value, _ = p.Info.Defs[id].(*types.Var)
		}
		// A range over a text yields runes, and one over a pointer to an array needs no array.
		switch u := p.Info.TypeOf(s.X).Underlying().(type) {
		case *types.Slice, *types.Array:
			l.through = ast.Unparen(s.X)
			l.to.addTerm(p, placeTerm{l.through, true}, false)
		case *types.Basic:
			if u.Info()&types.IsInteger == 0 {
				return nil
			}
			l.to.add(p, s.X, false)
		default:
			return nil
		}
	case *ast.ForStmt:
		c, ok := p.Counted(s)
		if !ok || c.Skips || c.Start == nil || s.Init.(*ast.AssignStmt).Tok != token.DEFINE ||
			ast.Unparen(s.Cond).(*ast.BinaryExpr).Op == token.NEQ {
			return nil
		}
		l.index, l.last = c.Index, !c.Strict
		l.from.add(p, c.Start, false)
		l.to.add(p, c.Bound, false)
	}
	// Another type wraps where a place does not, or does not fit a length.
	if l.index == nil || !types.Identical(l.index.Type(), types.Typ[types.Int]) {
		return nil
	}
	return l
}

// indexed recognises list[i+offset].
func (l *partLoop) indexed(p *mutate.Pass, e ast.Expr) *listPart {
	ix, ok := ast.Unparen(e).(*ast.IndexExpr)
	if !ok || !types.Identical(p.Info.TypeOf(ix.Index), types.Typ[types.Int]) {
		return nil
	}
	var at place
	at.add(p, ix.Index, false)
	i := slices.IndexFunc(at.plus, func(t placeTerm) bool { return !t.length && p.Var(t.expr) == l.index })
	if i < 0 {
		return nil
	}
	at.plus = slices.Delete(at.plus, i, i+1)
	return l.partOf(p, ix.X, at)
}

// source recognises the element of a list that a loop reads: an index, or the value of a range.
func (l *partLoop) source(p *mutate.Pass, e ast.Expr) *listPart {
	if l.value != nil && p.Var(e) == l.value {
		return l.partOf(p, l.through, place{})
	}
	return l.indexed(p, e)
}

// partOf returns the part of a list that a loop reaches with an offset, or nil if the type has no
// parts that clear and copy take.
func (l *partLoop) partOf(p *mutate.Pass, list ast.Expr, offset place) *listPart {
	elem := elementOf(p.Info.TypeOf(list))
	if elem == nil {
		return nil
	}
	return &listPart{list, elem, offset, l.from.sum(p, offset), l.to.sum(p, offset)}
}

// elementOf returns the type of the elements of a slice, an array, a pointer to one, or a text.
func elementOf(t types.Type) types.Type {
	if syntax.IsText(t) {
		return types.Typ[types.Byte]
	}
	return facts.ElemOf(t)
}

// clearsAll reports whether a loop is `for i := range s { s[i] = 0 }`, which the compiler clears.
func (l *partLoop) clearsAll(p *mutate.Pass, to *listPart) bool {
	return l.through != nil && p.Same(l.through, to.list) && to.offset.empty()
}

// hasKernel reports whether a loop is what this rule left for parts that do not lie in their lists.
func hasKernel(p *mutate.Pass, loop ast.Stmt) bool {
	otherwise, ok := p.Parent(loop).(*ast.BlockStmt)
	if !ok || len(otherwise.List) != 1 {
		return false
	}
	branch, ok := p.Parent(otherwise).(*ast.IfStmt)
	if !ok || branch.Else != ast.Stmt(otherwise) || len(branch.Body.List) != 1 {
		return false
	}
	call, ok := branch.Body.List[0].(*ast.ExprStmt)
	if !ok {
		return false
	}
	_, clears := p.IsBuiltin(call.X, "clear")
	_, copies := p.IsBuiltin(call.X, "copy")
	return clears || copies
}

// copiesAlike reports whether copy does what a loop does that begins with the first element. The
// loop may read an element that it has written where the source lies in front of the target in the
// same memory.
func copiesAlike(p *mutate.Pass, to, from *listPart, loop ast.Stmt) bool {
	// Two arrays are the same one or have no element in common.
	_, target := p.Info.TypeOf(to.list).Underlying().(*types.Array)
	_, source := p.Info.TypeOf(from.list).Underlying().(*types.Array)
	arrays := target && source
	same := p.Same(to.list, from.list) || arrays
	if distance := to.offset.sum(p, from.offset.negative()); same && distance.isConstant() && distance.plain <= 0 {
		return true
	}
	v, w := p.Var(to.list), p.Var(from.list)
	if v != nil && w != nil && v != w && (arrays || facts.Apart(p, v, w) || facts.Apart(p, w, v)) {
		return true
	}
	own := func(v *types.Var) bool { return facts.Owns(p, v) || facts.OwnsUpTo(p, v, loop) }
	return syntax.IsText(p.Info.TypeOf(from.list)) || !p.Same(to.list, from.list) && (own(v) || own(w))
}

// add writes the call, and asks in front of it what is not sure: whether the loop runs, and whether
// the parts lie in their lists. For those that do not, the loop stays: it writes some elements
// before it panics.
func (l *partLoop) add(p *mutate.Pass, sites []mutate.Site, kernel string, parts ...*listPart) []mutate.Site {
	if facts.RedefinesAny(p, l.stmt, kernel, "len") || !l.steady(p, parts) || !l.sensible(p, parts) ||
		!l.ends(p, parts) {
		return sites
	}
	runs, inside := l.tests(p, parts)
	var args []string
	for _, part := range parts {
		args = append(args, part.cut(p, l.last))
	}
	text := kernel + "(" + strings.Join(args, ", ") + ")"
	tests := slices.Concat(runs, inside)
	// The first place comes first, as in the loop.
	if i := slices.Index(tests, "0 <= "+l.from.text(p)); i > 0 {
		tests = slices.Insert(slices.Delete(tests, i, i+1), 0, "0 <= "+l.from.text(p))
	}
	if len(tests) > 0 {
		text = "if " + strings.Join(tests, " && ") + " {\n" + text + "\n}"
	}
	if len(inside) > 0 {
		text += " else {\n" + p.Text(l.stmt) + "\n}"
	}
	return append(sites, edit.Site(l.stmt, "loop that is "+kernel, p.Replace(l.stmt, text)))
}

// steady reports whether all that says where the parts lie keeps its value while the loop runs.
func (l *partLoop) steady(p *mutate.Pass, parts []*listPart) bool {
	elem := parts[0].elem
	keeps := func(t placeTerm) bool {
		if t.length {
			return elementOf(p.Info.TypeOf(t.expr)) != nil && keepsName(p, t.expr, l, elem)
		}
		return l.keeps(p, t.expr, elem)
	}
	for _, part := range parts {
		if !keepsName(p, part.list, l, elem) || !part.offset.all(keeps) {
			return false
		}
	}
	return (l.through == nil || keepsName(p, l.through, l, elem)) && l.from.all(keeps) && l.to.all(keeps)
}

// keepsName reports whether e is a variable other than the loop's own, or a field of one, that no
// store into a list of such elements changes. A list has no variables in it, and a field only as a
// part of an element.
func keepsName(p *mutate.Pass, e ast.Expr, l *partLoop, elem types.Type) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v := p.Var(e)
		return v != nil && v != l.index && v != l.value
	case *ast.SelectorExpr:
		s := p.Info.Selections[e]
		return s != nil && s.Kind() == types.FieldVal && len(s.Index()) == 1 && !holdsAny(elem, s.Recv()) &&
			keepsName(p, e.X, l, elem)
	}
	return false
}

// holdsAny reports whether a value of a type may have one of another type in it: a struct, or what
// a pointer to one leads to.
func holdsAny(t, inner types.Type) bool {
	inner = syntax.Pointee(inner)
	// Pointers convert between types whose underlying types are the same.
	if types.IdenticalIgnoreTags(t.Underlying(), inner.Underlying()) {
		return true
	}
	if _, generic := t.(*types.TypeParam); generic {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return holdsAny(u.Elem(), inner)
	case *types.Struct:
		for f := range u.Fields() {
			if holdsAny(f.Type(), inner) {
				return true
			}
		}
	}
	return false
}

// keeps reports whether a number keeps its value while the loop runs, and has no effects but that
// of a nil pointer, which the loop would meet first as well.
func (l *partLoop) keeps(p *mutate.Pass, e ast.Expr, elem types.Type) bool {
	e = ast.Unparen(e)
	if p.Info.Types[e].Value != nil {
		return true
	}
	// Only simple arithmetic is worth doing several times.
	switch e := e.(type) {
	case *ast.CallExpr:
		if _, length := p.IsBuiltin(e, "len"); length {
			return keepsName(p, e.Args[0], l, elem)
		}
		return p.Info.Types[e.Fun].IsType() && p.Info.Types[e].Value == nil && isNumber(p, e) &&
			isNumber(p, e.Args[0]) && l.keeps(p, e.Args[0], elem)
	case *ast.BinaryExpr:
		return isNumber(p, e) && !facts.MayFail(p, e.Op, e.Y) && l.keeps(p, e.X, elem) && l.keeps(p, e.Y, elem)
	}
	return isNumber(p, e) && keepsName(p, e, l, elem)
}

func isNumber(p *mutate.Pass, e ast.Expr) bool {
	return syntax.PlainKind(p.Info.TypeOf(e))&types.IsInteger != 0
}

// sensible reports whether parts are long enough for a call, and lie in their arrays, as far as the
// code fixes both. The compiler refuses a cut beyond an array.
func (l *partLoop) sensible(p *mutate.Pass, parts []*listPart) bool {
	if length, known := l.to.sum(p, l.from.negative()).value(p); known && length < fewestElements {
		return false
	}
	for _, part := range parts {
		from, known := part.from.value(p)
		to, ends := part.to.value(p)
		if l.last {
			to++
		}
		if known && from < 0 || ends && to < 0 {
			return false
		}
		n, array := arrayLength(p.Info.TypeOf(part.list))
		if array && (known && from > n || ends && to > n) {
			return false
		}
	}
	return true
}

// ends reports whether a loop that runs for its bound ends: for the largest number it does not. A
// bound that is a place in a list is smaller.
func (l *partLoop) ends(p *mutate.Pass, parts []*listPart) bool {
	_, known := l.to.value(p)
	return !l.last || known || slices.ContainsFunc(parts, func(t *listPart) bool { return t.offset.empty() })
}

// tests lists what is not sure: that the loop runs, and that the parts lie in their lists.
func (l *partLoop) tests(p *mutate.Pass, parts []*listPart) (runs, inside []string) {
	before, within := " < ", " <= "
	if l.last {
		before, within = " <= ", " < "
	}
	// A loop from 0 to a length that does not run has an empty part, which may be asked for if the
	// list is there.
	mayPanic := func(t *listPart) bool { return t.mayPanic(p) }
	empty := !l.last && l.from.empty() && l.to.natural(p) && !slices.ContainsFunc(parts, mayPanic)
	if !empty && !ordered(p, l.from, l.to) {
		runs = append(runs, l.from.text(p)+before+l.to.text(p))
	}
	for _, part := range parts {
		if !part.from.natural(p) {
			inside = append(inside, "0 <= "+part.from.text(p))
		}
		// The sums may wrap.
		if !part.offset.empty() && !ordered(p, part.from, part.to) {
			inside = append(inside, part.from.text(p)+before+part.to.text(p))
		}
		if !part.reachesEnd(p, l.last) && !part.fitsArray(p, l.last) {
			inside = append(inside, part.to.text(p)+within+"len("+p.Text(part.list)+")")
		}
	}
	return runs, unique(inside, runs)
}

// unique leaves out the tests that stand in the list or in another one already.
func unique(tests, others []string) []string {
	var out []string
	for _, t := range tests {
		if !slices.Contains(out, t) && !slices.Contains(others, t) {
			out = append(out, t)
		}
	}
	return out
}

// ordered reports whether both places are constants, which [partLoop.sensible] compared.
func ordered(p *mutate.Pass, from, to place) bool {
	_, known := from.value(p)
	_, ends := to.value(p)
	return known && ends
}

// mayPanic reports whether asking for the part meets a nil pointer that the loop may not meet.
func (t *listPart) mayPanic(p *mutate.Pass) bool {
	there := t.reachesEnd(p, false) || p.Pure(t.list) && !syntax.Is[*types.Pointer](p.Info.TypeOf(t.list))
	return !there || !t.offset.all(func(t placeTerm) bool { return p.Pure(t.expr) })
}

// reachesEnd reports whether a part surely ends with its list.
func (t *listPart) reachesEnd(p *mutate.Pass, last bool) bool {
	end, ok := t.to.single()
	if !ok || last {
		return false
	}
	v := p.Var(t.list)
	return end.length && p.Same(end.expr, t.list) || !end.length && v != nil && p.LengthOf(end.expr) == v
}

// fitsArray reports whether a part surely ends in its array.
func (t *listPart) fitsArray(p *mutate.Pass, last bool) bool {
	n, array := arrayLength(p.Info.TypeOf(t.list))
	to, known := t.to.value(p)
	return array && known && (to < n || to == n && !last)
}

// cut writes the part of the list.
func (t *listPart) cut(p *mutate.Pass, last bool) string {
	from, to := t.from.text(p), t.to.text(p)
	if last {
		to = t.to.sum(p, place{plain: 1}).text(p)
	}
	if t.from.empty() {
		from = ""
	}
	if t.reachesEnd(p, last) {
		to = ""
	}
	if _, array := arrayLength(p.Info.TypeOf(t.list)); !array && from == "" && to == "" {
		return p.Text(t.list)
	}
	return p.Text(t.list) + "[" + from + ":" + to + "]"
}
