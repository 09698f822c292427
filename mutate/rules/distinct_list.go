package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// distinctList is M4 for a loop that does nothing but keep what is new: C10 takes
// the branch away that depends on whether it is.
var distinctList = &mutate.Mutator{
	Name: "distinct",
	Doc: "Find what is new in a short list without a branch on whether it is, which no processor can predict: every element is noted down, and " +
		"the next one overwrites it unless it was new. The set is a hash table on the stack, and the result is allocated once, as large as it " +
		"is. Longer lists go the old way. Legal because the set is local, the loop does nothing else, and keys are numbers that the elements hold.",
	Before: `seen := map[int32]struct{}{}
for i, e := range events {
	if _, ok := seen[e.id]; ok {
		continue
	}
	seen[e.id] = struct{}{}
	first = append(first, i)
}`,
	After: `if len(events) < 256 {
	var slots [512]uint16 // numbers of keys, 0 is free
	var keys [256]uint64  // number 0 is the key under way, which ends the search at a free slot
	var found [256]uint16
	count := 0
	for i, e := range events {
		key := uint64(e.id)
		at := key * 0x9e3779b97f4a7c15 >> 55
		slot := slots[at&511]
		for keys[0] = key; keys[slot&255] != key; slot = slots[at&511] {
			at++
		}
		found[count&255], keys[(count+1)&255] = uint16(i), key
		if slot == 0 { // a conditional move
			count++
			slot = uint16(count)
		}
		slots[at&511] = slot
	}
	...`,
	Class:   beagle.E2,
	Gain:    4,
	Find:    findDistinct,
	Params:  distinctSizes,
	Rewrite: rewriteDistinct,
}

// A distinctSite is a position-set whose loop only appends to a list.
type distinctSite struct {
	*positionSite
	out  declared
	typ  string   // of the list, as written
	elem ast.Expr // what is appended
	move bool     // the set's declaration may go to where the loop is
}

func findDistinct(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, set := range localSets(p) {
		s := &distinctSite{positionSite: &positionSite{set: set}}
		if !canDeclare(p, set.decl.Stmt) || !s.readUses(p) || !s.readLoop(p, list) || !s.readKey(p) || !s.names(p) {
			continue
		}
		if packWord(s.parts) != "" && s.readBody(p) && s.readResult(p, list) && s.readElem(p) {
			sites = append(sites, mutate.Site{Node: s.loop, Label: "what is new in " + s.list.Name(), Data: s})
		}
	}
	return sites
}

// readBody wants nothing in the loop but a variable for the key, the question,
// the addition and one append of one element.
func (s *distinctSite) readBody(p *mutate.Pass) bool {
	body := s.loop.Body.List
	if len(body) > 1 && body[0] != ast.Stmt(s.ask) {
		if d, ok := declaration(p, body[0]); !ok || p.Var(s.key) != d.Var {
			return false
		}
		body = body[1:]
	}
	if body[0] != ast.Stmt(s.ask) {
		return false
	}
	rest := body[1:]
	if s.positive {
		if len(s.ask.Body.List) != 1 {
			return false
		}
		b, ok := s.ask.Body.List[0].(*ast.BranchStmt)
		if !ok || b.Tok != token.CONTINUE || b.Label != nil {
			return false
		}
	} else if rest, body = s.ask.Body.List, rest; len(body) > 0 {
		return false
	}
	if len(rest) != 2 || rest[0] != s.add {
		return false
	}
	v, call, ok := appends(p, rest[1])
	if !ok || len(call.Args) != 2 || call.Ellipsis.IsValid() {
		return false
	}
	s.out.Var, s.elem = v, call.Args[1]
	return true
}

// readResult finds the declaration of the list that is appended to, in front of
// the loop, empty and not used in between.
func (s *distinctSite) readResult(p *mutate.Pass, list []ast.Stmt) bool {
	v, found, kind := s.out.Var, false, ""
	s.move = true
	for _, st := range list {
		if st == ast.Stmt(s.loop) {
			break
		}
		d, ok := declaration(p, st)
		if ok && d.Var == v {
			s.out, found = d, true
			if kind, s.typ = emptyValue(p, d); kind == "" {
				kind, s.typ = madeEmpty(p, d)
			}
			continue
		}
		if found && len(p.Uses(v, st)) > 0 {
			return false
		}
		if st.Pos() > s.set.decl.Stmt.Pos() {
			s.move = false // what its declaration uses may change
		}
	}
	if kind == "" || captured(p, v) || len(p.Uses(v, s.loop)) != 2 {
		return false
	}
	for _, name := range []string{"make", "len", "int"} {
		if redefined(p, s.loop, name) {
			return false
		}
	}
	_, isSlice := v.Type().Underlying().(*types.Slice)
	return isSlice && namesMean(p, s.out, s.loop.Pos())
}

// madeEmpty recognises make(T, 0, n).
func madeEmpty(p *mutate.Pass, d declared) (kind, typ string) {
	call, ok := p.IsBuiltin(orNil(d.Value), "make")
	if !ok || len(call.Args) != 3 || !p.IsInt(call.Args[1], 0) {
		return "", ""
	}
	return "empty", p.Text(call.Args[0])
}

// namesMean reports whether what a declaration uses is called the same at pos.
func namesMean(p *mutate.Pass, d declared, pos token.Pos) bool {
	for id := range mutate.Nodes[*ast.Ident](p, d.Stmt) {
		obj := p.Info.Uses[id]
		if sel, ok := p.Parent(id).(*ast.SelectorExpr); obj == nil || ok && sel.Sel == id {
			continue
		}
		if !means(p, pos, id.Name, obj) {
			return false
		}
	}
	return true
}

// readElem wants an element that can be evaluated again behind the loop: of
// what the loop's variables hold, which is the same then.
func (s *distinctSite) readElem(p *mutate.Pass) bool {
	if !p.Pure(s.elem) || callsFunction(p, s.elem) {
		return false
	}
	for n := range mutate.Nodes[*ast.UnaryExpr](p, s.elem) {
		if n.Op == token.AND || n.Op == token.ARROW {
			return false
		}
	}
	uses := false
	for id := range mutate.Nodes[*ast.Ident](p, s.elem) {
		switch v := p.Var(id); {
		case v == nil || v.IsField():
		case v == p.Var(s.loop.Key) || v == s.element(p):
			uses = true
		case v == s.list, !local(p, v), s.loop.Pos() <= v.Pos() && v.Pos() < s.loop.End():
			return false
		}
	}
	return uses
}

// element is the variable that holds the loop's element, or nil.
func (s *distinctSite) element(p *mutate.Pass) *types.Var {
	if s.loop.Value == nil {
		return nil
	}
	return p.Var(s.loop.Value)
}

// distinctSizes offers the smallest table for the lists that were seen.
func distinctSizes(p *mutate.Pass, _ mutate.Site) []mutate.Param {
	for _, n := range []int{64, 256} {
		if percentile99(p) < n {
			return []mutate.Param{{Label: itoa(n), Value: n}}
		}
	}
	return []mutate.Param{{Label: "1024", Value: 1024}}
}

func rewriteDistinct(p *mutate.Pass, site mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	s, n := site.Data.(*distinctSite), param.Value.(int)
	set, out := s.set.decl.Var.Name(), s.out.Var.Name()
	head := s.loop.Key.(*ast.Ident).Name
	if v := s.element(p); v != nil && s.keyUses(p, v) {
		head += ", " + v.Name()
	}
	text := strings.NewReplacer("<slots>", p.Fresh("slots", set+"Slots"), "<keys>", p.Fresh("keys", set+"Keys"), "<found>", p.Fresh("found", out+"At"),
		"<count>", p.Fresh("count", set+"Count"), "<key>", p.Fresh("key", set+"Key"), "<at>", p.Fresh("at", set+"At"), "<slot>", p.Fresh("slot", set+"Slot"),
		"<pack>", packWord(s.parts), "<factor>", hashFactor, "<shift>", itoa(64-tableBits(n)), "<mask>", itoa(2*n-1), "<size>", itoa(2*n), "<n>", itoa(n),
		"<last>", itoa(n-1), "<i>", s.index, "<head>", head, "<list>", s.list.Name(), "<out>", out, "<T>", s.typ, "<k>", p.Fresh("k", "n"))
	fast := text.Replace(findNew+s.fill(p)) + p.Text(s.elem) + "\n}\n} else {\n"
	edits := []mutate.Edit{before(p, s.loop, fast), p.Insert(s.loop.End(), "\n}")}
	if s.move {
		edits[0].New += p.Text(s.set.decl.Stmt) + "\n"
		edits = append(edits, p.Delete(s.set.decl.Stmt))
	}
	return edits, nil
}

// keyUses reports whether the key is told by a variable.
func (s *distinctSite) keyUses(p *mutate.Pass, v *types.Var) bool {
	until := s.ask.Pos()
	for _, id := range p.Uses(v, s.loop.Body) {
		if id.Pos() < until || s.ask.Pos() <= id.Pos() && id.Pos() < s.ask.Body.Pos() {
			return true
		}
	}
	return false
}

const findNew = `if len(<list>) < <n> {
	// What is new is found without a branch on whether it is: each position is
	// noted down, and the next one overwrites it unless it was new.
	var <slots> [<size>]uint16 // numbers of keys, 0 is free: a hash table with open addressing
	var <keys> [<n>]uint64 // number 0 is the key under way, which ends the search at a free slot
	var <found> [<n>]uint16
	<count> := 0
	for <head> := range <list> {
		<key> := <pack>
		<at> := <key> * <factor> >> <shift>
		<slot> := <slots>[<at>&<mask>]
		for <keys>[0] = <key>; <keys>[<slot>&<last>] != <key>; <slot> = <slots>[<at>&<mask>] {
			<at>++
		}
		<found>[<count>&<last>], <keys>[(<count>+1)&<last>] = uint16(<i>), <key>
		if <slot> == 0 {
			<count>++
			<slot> = uint16(<count>)
		}
		<slots>[<at>&<mask>] = <slot>
	}
	if <count> > 0 {
		<out> = make(<T>, <count>)
	}
`

// fill begins the loop that makes the list of the positions that were found.
func (s *distinctSite) fill(p *mutate.Pass) string {
	const at = "int(<found>[<k>&<last>])"
	used := func(v *types.Var) bool { return v != nil && len(p.Uses(v, s.elem)) > 0 }
	line := "<i> := " + at
	if elem := s.element(p); used(elem) && used(p.Var(s.loop.Key)) {
		line += "\n" + elem.Name() + " := <list>[<i>]"
	} else if used(elem) {
		line = elem.Name() + " := <list>[" + at + "]"
	}
	return "for <k> := range <out> {\n" + line + "\n<out>[<k>] = "
}
