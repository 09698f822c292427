package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// positionSet is M4 for sets of what a list's elements say: H4's small hash
// table, of positions in the list instead of keys.
var positionSet = &mutate.Mutator{
	Name: "position-set",
	Doc: "Keep the set of what was seen in a list as a table of positions in it, on the stack, and compare the elements themselves: no key " +
		"is made, hashed through a function pointer or stored. A map takes over when the table is full. Exact: the set is local and used " +
		"only in the loop, and its keys are numbers that the list's elements hold.",
	Before: `seen := map[int]struct{}{}
for i, e := range events {
	if _, ok := seen[e.id]; ok {
		continue
	}
	seen[e.id] = struct{}{}
	...
}`,
	After: `var seenAt [128]uint16 // positions, from 1
for i, e := range events {
	at, known := uint64(e.id)*0x9e3779b97f4a7c15>>57, false
	for ; seenAt[at&127] != 0; at++ {
		if events[seenAt[at&127]-1].id == e.id {
			known = true
			break
		}
	}
	...`,
	Class:   beagle.E0,
	Gain:    3,
	Find:    findPositionSet,
	Params:  setSizes,
	Rewrite: rewritePositionSet,
}

// A positionSite is a set that one loop over a list asks and adds to.
type positionSite struct {
	set      *setSite
	loop     *ast.RangeStmt
	list     *types.Var
	index    string
	ask      *ast.IfStmt
	add      ast.Stmt
	key      ast.Expr // as the map has it
	positive bool     // the body of ask is for what is known
	parts    []part   // of the key
}

// A part of a key is a field of an element, or the element.
type part struct {
	field string // with its dot
	text  string // of the element under way
	typ   types.Type
}

func findPositionSet(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range statements(p) {
		d, ok := declaration(p, list[i])
		if !ok || captured(p, d.Var) || p.FuncOf(d.Stmt) == nil || !emptyMap(p, d) {
			continue
		}
		m, ok := d.Var.Type().(*types.Map)
		if f := p.Effects(d.Value); !ok || !isSetElem(m.Elem()) || f.Writes || callsFunction(p, d.Value) && !plainHint(p, d.Value) {
			continue
		}
		s := &positionSite{set: &setSite{decl: d, key: m.Key()}}
		if s.readUses(p) && s.readLoop(p, list) && s.readKey(p) {
			sites = append(sites, mutate.Site{Node: d.Stmt, Label: "set " + d.Var.Name(), Data: s})
		}
	}
	return sites
}

// readUses wants one question with the addition right behind it, and nothing
// else.
func (s *positionSite) readUses(p *mutate.Pass) bool {
	uses := p.Uses(s.set.decl.Var, p.File)
	if len(uses) != 2 {
		return false
	}
	ix, ok := p.Parent(uses[0]).(*ast.IndexExpr)
	if !ok || ix.X != ast.Expr(uses[0]) {
		return false
	}
	if s.ask, s.positive = s.set.condition(p, ix); s.ask == nil || s.ask.Else != nil {
		return false
	}
	s.add = s.set.addedNext(p, s.ask, ix, s.positive)
	s.key = ix.Index
	return s.add != nil
}

// readLoop wants the question to be asked once for each element of a list that
// stays as it is.
func (s *positionSite) readLoop(p *mutate.Pass, list []ast.Stmt) bool {
	loop, ok := enclosing[*ast.RangeStmt](p, s.ask)
	if !ok || loop.Tok != token.DEFINE || isBlank(loop.Key) || loop.Key == nil || labelled(p, loop) {
		return false
	}
	body, at := p.Siblings(s.ask)
	seq, i := p.Var(loop.X), p.Var(loop.Key)
	if at < 0 || len(body) == 0 || body[0] != loop.Body.List[0] || !between(list, s.set.decl.Stmt, loop) {
		return false
	}
	if seq == nil || !local(p, seq) || !isSlice(seq.Type()) || p.Assigned(seq, loop) || captured(p, seq) || p.Assigned(i, loop.Body) {
		return false
	}
	if v := p.Var(loop.Value); loop.Value != nil && v != nil && p.Assigned(v, loop.Body) {
		return false
	}
	s.loop, s.list, s.index = loop, seq, i.Name()
	return !handedOn(p, seq, loop)
}

// between reports whether two statements stand in a list in this order.
func between(list []ast.Stmt, first, second ast.Stmt) bool {
	at := -1
	for i, st := range list {
		if st == first {
			at = i
		}
		if st == second {
			return at >= 0
		}
	}
	return false
}

// handedOn reports whether the loop may change elements of the list: through a
// call, or a pointer into it.
func handedOn(p *mutate.Pass, seq *types.Var, loop *ast.RangeStmt) bool {
	for _, id := range p.Uses(seq, loop.Body) {
		switch up := p.Parent(id).(type) {
		case *ast.IndexExpr:
			if addr, ok := p.Parent(up).(*ast.UnaryExpr); ok && addr.Op == token.AND {
				return true
			}
		case *ast.CallExpr:
			if p.LenOf(up) != seq {
				return true
			}
		default:
			return true
		}
	}
	for call := range mutate.Nodes[*ast.CallExpr](p, loop.Body) {
		if p.Effects(call).Writes && !appendsElsewhere(p, call, seq) {
			return true // to memory that may be the list's
		}
	}
	elsewhere := func(e ast.Expr) bool {
		e = ast.Unparen(e)
		_, plain := e.(*ast.Ident)
		return plain || intoMap(p, e)
	}
	for st := range mutate.Nodes[ast.Stmt](p, loop.Body) {
		switch st := st.(type) {
		case *ast.IncDecStmt:
			if !elsewhere(st.X) {
				return true
			}
		case *ast.AssignStmt:
			for _, lhs := range st.Lhs {
				if !elsewhere(lhs) {
					return true // through a pointer or another slice
				}
			}
		}
	}
	return false
}

// appendsElsewhere reports whether a call appends to what cannot share the
// list's memory: a slice of other elements, or one that began empty here.
func appendsElsewhere(p *mutate.Pass, call *ast.CallExpr, seq *types.Var) bool {
	if _, ok := p.IsBuiltin(call, "append"); !ok {
		return false
	}
	to := p.Var(call.Args[0])
	elem := seq.Type().Underlying().(*types.Slice).Elem()
	if t, ok := p.Info.TypeOf(call.Args[0]).Underlying().(*types.Slice); ok && !types.Identical(t.Elem().Underlying(), elem.Underlying()) {
		return true
	}
	if to == nil || !local(p, to) {
		return false
	}
	fresh := false
	for list, i := range statements(p) {
		if d, ok := declaration(p, list[i]); ok && d.Var == to {
			_, made := p.IsBuiltin(d.Value, "make")
			_, literal := d.Value.(*ast.CompositeLit)
			fresh = d.Value == nil || made || literal
		}
	}
	for as := range mutate.Nodes[*ast.AssignStmt](p, p.FuncOf(call)) {
		for i, lhs := range as.Lhs {
			if p.Var(lhs) != to || as.Tok == token.DEFINE {
				continue
			}
			again, ok := p.IsBuiltin(as.Rhs[min(i, len(as.Rhs)-1)], "append")
			if !ok || p.Var(again.Args[0]) != to {
				return false
			}
		}
	}
	return fresh
}

// intoMap reports whether what is assigned is an entry of a map, which is no
// element of a list.
func intoMap(p *mutate.Pass, lhs ast.Expr) bool {
	ix, ok := lhs.(*ast.IndexExpr)
	if !ok {
		return false
	}
	_, isMap := p.Info.TypeOf(ix.X).Underlying().(*types.Map)
	return isMap
}

// readKey takes the key apart: a part of the element, or a struct of parts,
// perhaps in a variable.
func (s *positionSite) readKey(p *mutate.Pass) bool {
	e := ast.Unparen(s.key)
	if v := p.Var(e); v != nil && v != p.Var(s.loop.Value) {
		for _, st := range s.loop.Body.List {
			if d, ok := declaration(p, st); ok && d.Var == v && d.Value != nil && !p.Assigned(v, s.loop.Body) && !captured(p, v) {
				e = ast.Unparen(d.Value)
			}
		}
	}
	exprs := []ast.Expr{e}
	if lit, ok := e.(*ast.CompositeLit); ok {
		t, isStruct := p.Info.TypeOf(lit).Underlying().(*types.Struct)
		if !isStruct || len(lit.Elts) != t.NumFields() || t.NumFields() == 0 || t.NumFields() > 4 {
			return false
		}
		exprs = nil
		for _, el := range lit.Elts {
			if kv, ok := el.(*ast.KeyValueExpr); ok {
				el = kv.Value
			}
			exprs = append(exprs, el)
		}
	}
	for _, e := range exprs {
		one, ok := s.part(p, e)
		if !ok {
			return false
		}
		s.parts = append(s.parts, one)
	}
	return true
}

func (s *positionSite) part(p *mutate.Pass, e ast.Expr) (part, bool) {
	e = ast.Unparen(e)
	out := part{text: p.Text(e), typ: p.Info.TypeOf(e)}
	if !isInteger(out.typ) {
		return out, false
	}
	if sel, ok := e.(*ast.SelectorExpr); ok {
		field, isVar := p.Info.Uses[sel.Sel].(*types.Var)
		if !isVar || !field.IsField() {
			return out, false
		}
		if _, pointer := p.Info.TypeOf(sel.X).Underlying().(*types.Pointer); pointer {
			return out, false // what it points to is not the list's
		}
		out.field, e = "."+sel.Sel.Name, ast.Unparen(sel.X)
	}
	if s.loop.Value != nil && p.Var(e) != nil && p.Var(e) == p.Var(s.loop.Value) {
		return out, true
	}
	ix, ok := e.(*ast.IndexExpr)
	return out, ok && p.Var(ix.X) == s.list && p.Var(ix.Index) == p.Var(s.loop.Key)
}

func rewritePositionSet(p *mutate.Pass, site mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	s, n := site.Data.(*positionSite), param.Value.(int)
	key, ok := typeText(p, s.set.key)
	if !ok {
		return nil, fmt.Errorf("the type of the keys of %s cannot be written here", s.set.decl.Var.Name())
	}
	name := s.set.decl.Var.Name()
	bits := 1
	for 1<<bits < 2*n {
		bits++
	}
	at, known, more := p.Fresh("at", "slot"), p.Fresh("known", "seenBefore"), p.Fresh(name+"More", name+"Rest")
	hash, hashed := s.hash(p)
	var same []string
	for _, one := range s.parts {
		same = append(same, fmt.Sprintf("<q>%s == %s", one.field, one.text))
	}
	element := fmt.Sprintf("%s[<slots>[<at>&<mask>]-1]", s.list.Name())
	q := p.Fresh("q", "before")
	compare := "if " + strings.ReplaceAll(strings.Join(same, " && "), "<q>", element) + " {"
	if len(same) > 1 {
		compare = "if <q> := &" + element + "; " + strings.Join(same, " && ") + " {"
	}
	condition := known
	if !s.positive {
		condition = "!" + known
	}
	text := strings.NewReplacer("<slots>", p.Fresh(name+"At", name+"Slots"), "<count>", p.Fresh(name+"Len", name+"Count"), "<more>", more, "<at>", at, "<known>", known,
		"<hash>", hash, "<hashed>", hashed, "<shift>", itoa(64-bits), "<mask>", itoa(2*n-1), "<size>", itoa(2*n), "<n>", itoa(n), "<i>", s.index,
		"<K>", key, "<key>", p.Text(s.key), "<q>", q, "<list>", s.list.Name())
	declare := text.Replace(`var <slots> [<size>]uint16 // positions in <list>, from 1: a hash table with open addressing
<count> := 0
var <more> map[<K>]struct{} // what has no room there`)
	look := text.Replace("<hash><at>, <known> := <hashed>>><shift>, false\nfor ; <slots>[<at>&<mask>] != 0; <at>++ {\n") + text.Replace(text.Replace(compare)) + text.Replace(`
<known> = true
break
}
}
if !<known> {
if <count> < <n> && <i> < 1<<16-1 {
<slots>[<at>&<mask>] = uint16(<i> + 1)
<count>++
} else if _, <known> = <more>[<key>]; !<known> {
if <more> == nil {
<more> = map[<K>]struct{}{}
}
<more>[<key>] = struct{}{}
}
}
`)
	edits := []mutate.Edit{
		p.Replace(s.set.decl.Stmt, declare),
		p.Span(s.ask.Pos(), s.ask.Cond.End(), look+"if "+condition),
		p.Delete(s.add),
	}
	return edits, nil
}

// hash is what is hashed of a key: its parts in one word if they fit, else
// mixed one after the other; first is what comes before it.
func (s *positionSite) hash(p *mutate.Pass) (first, word string) {
	bits := int64(0)
	for _, one := range s.parts {
		bits += 8 * largest.Sizeof(one.typ)
	}
	const odd = "0x9e3779b97f4a7c15"
	if len(s.parts) == 1 {
		return "", "uint64(" + s.parts[0].text + ")*" + odd
	}
	if bits > 64 {
		h := p.Fresh("h", "hash")
		first = fmt.Sprintf("%s := uint64(%s) * %s\n", h, s.parts[0].text, odd)
		for _, one := range s.parts[1:] {
			first += fmt.Sprintf("%s = (%s ^ %s>>32 ^ uint64(%s)) * %s\n", h, h, h, one.text, odd)
		}
		return first, h
	}
	var words []string
	for _, one := range s.parts {
		size := 8 * largest.Sizeof(one.typ)
		bits -= size
		w := fmt.Sprintf("uint64(uint%d(%s))", size, one.text)
		if bits > 0 {
			w += "<<" + itoa(int(bits))
		}
		words = append(words, w)
	}
	return "", "(" + strings.Join(words, "|") + ")*" + odd
}
