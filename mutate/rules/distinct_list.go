package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// distinctList (part of catalogue M4) matches a loop that only appends the elements with a new key.
// It writes a hash table of positions on the stack, and, as C10 does, avoids the branch on whether
// an element is new. Longer lists take the original loop.
var distinctList = &mutate.Mutator{
	Name: "distinct",
	Doc: "Find what is new in a short list with a hash table of positions on the stack, and allocate the result " +
		"once, as large as it is; without a branch on whether an element is new, which no processor can predict " +
		"when it is random: each position is noted down, and the next one overwrites it unless it was new. Longer " +
		"lists go the old way. Legal because the set is local, the loop does nothing else, and keys are numbers " +
		"that the elements hold.",
	Example: mutate.Shows(`seen := map[int32]struct{}{}
for i, e := range events {
	if _, ok := seen[e.id]; ok {
		continue
	}
	seen[e.id] = struct{}{}
	first = append(first, i)
}`,
		`if len(events) > 0 && len(events) <= 256 {
	var slots [512]uint8 // positions; 0 is free, or the first element, which is known
	var found [256]uint8
	count := 1
	for i, e := range events {
		key := uint64(uint32(e.id))
		at := key * 0x9e3779b97f4a7c15 >> 55
		var slot, other uint64
		for {
			slot = uint64(slots[at&511])
			other = uint64(uint32(events[slot].id))
			end := other
			if slot == 0 { // a conditional move, as below
				end = key
			}
			if end == key {
				break
			}
			at++
		}
		found[count&255] = uint8(i)
		if other != key {
			count++
			slot = uint64(i)
		}
		slots[at&511] = uint8(slot)
	}
	...`),
	Class:   beagle.E2,
	Gain:    4,
	Find:    findDistinct,
	Params:  distinctForms,
	Rewrite: rewriteDistinct,
}

// A distinctSite is a position-set whose loop only appends to a list.
type distinctSite struct {
	*positionSite
	out  facts.Declaration
	typ  string   // the type of the list, as written
	elem ast.Expr // the appended value
	move bool     // the set's declaration may move to the loop
}

func findDistinct(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, set := range localSets(p) {
		s := &distinctSite{positionSite: &positionSite{set: set}}
		// Each step reads one part of the form, and leaves it for the next.
		if !canDeclare(p, set.decl.Stmt) || !s.readUses(p) || !s.readLoop(p, list) || !s.readKey(p) || !s.names(p) {
			continue
		}
		// A key that packs into a word is what makes the other set fast.
		if packWord(s.parts) != "" && s.readBody(p) && s.readResult(p, list) && s.readElem(p) {
			sites = append(sites, mutate.Site{Node: s.loop, Label: "what is new in " + s.list.Name(), Data: s})
		}
	}
	return sites
}

// readBody accepts a loop that holds only a variable for the key, the question, the addition, and
// one append of one element.
func (s *distinctSite) readBody(p *mutate.Pass) bool {
	body := s.loop.Body.List
	// The key may have a variable of its own, declared first.
	if len(body) > 1 && body[0] != ast.Stmt(s.ask) {
		if d, ok := facts.Declares(p, body[0]); !ok || p.Var(s.key) != d.Var {
			return false
		}
		body = body[1:]
	}
	if body[0] != ast.Stmt(s.ask) {
		return false
	}
	// Take the statements that run for a new key: after the question if it holds for a known key,
	// or its body if it holds for a new one. The question may do nothing else than skip the rest.
	rest := body[1:]
	if s.positive {
		if len(s.ask.Body.List) != 1 || !facts.EndsIn(s.ask.Body.List, token.CONTINUE) {
			return false
		}
	} else if rest, body = s.ask.Body.List, rest; len(body) > 0 {
		return false
	}
	// For a new key the loop adds it to the set and appends an element. More would need a place in
	// the generated code.
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

// readResult finds the declaration of the appended list. It must stand in front of the loop, be
// empty, and have no use in between.
func (s *distinctSite) readResult(p *mutate.Pass, list []ast.Stmt) bool {
	v, found, kind := s.out.Var, false, ""
	s.move = true
	// Look for the declaration between the start of the list and the loop.
	for _, st := range list {
		if st == ast.Stmt(s.loop) {
			break
		}
		d, ok := facts.Declares(p, st)
		if ok && d.Var == v {
			s.out, found = d, true
			if kind, s.typ = emptyValue(p, d); kind == "" {
				kind, s.typ = madeEmpty(p, d)
			}
			continue
		}
		// The table takes the place of the appended list, so an element of an earlier append would
		// be lost.
		if found && len(p.Uses(v, st)) > 0 {
			return false
		}
		if st.Pos() > s.set.decl.Stmt.Pos() {
			s.move = false // the values in its declaration may change
		}
	}
	// The two uses in the loop are those of the append.
	if kind == "" || facts.Captured.Of(p)[v] || len(p.Uses(v, s.loop)) != 2 {
		return false
	}
	// The generated code uses these names, and must mean the built-in ones.
	for _, name := range []string{"make", "len", "int"} {
		if redefined(p, s.loop, name) {
			return false
		}
	}
	_, isSlice := v.Type().Underlying().(*types.Slice)
	return isSlice && namesMean(p, s.out, s.loop.Pos())
}

// madeEmpty recognises make(T, 0, n).
func madeEmpty(p *mutate.Pass, d facts.Declaration) (kind, typ string) {
	call, ok := p.IsBuiltin(orNil(d.Value), "make")
	if !ok || len(call.Args) != 3 || !p.IsInt(call.Args[1], 0) {
		return "", ""
	}
	return "empty", p.Text(call.Args[0])
}

// namesMean reports whether the names in a declaration mean the same at pos.
func namesMean(p *mutate.Pass, d facts.Declaration, pos token.Pos) bool {
	for id := range mutate.Nodes[*ast.Ident](p, d.Stmt) {
		obj := p.Info.Uses[id]
		if sel, ok := p.Parent(id).(*ast.SelectorExpr); obj == nil || ok && sel.Sel == id {
			continue
		}
		if !facts.Means(p, pos, id.Name, obj) {
			return false
		}
	}
	return true
}

// readElem accepts an element that code can evaluate again after the loop, from the values of the
// loop's variables.
func (s *distinctSite) readElem(p *mutate.Pass) bool {
	// The element is computed later than before, so it may have no effects and no calls.
	if !p.Pure(s.elem) || callsFunction(p, s.elem) {
		return false
	}
	// The address of a loop's variable is another one each time.
	for n := range mutate.Nodes[*ast.UnaryExpr](p, s.elem) {
		if n.Op == token.AND || n.Op == token.ARROW {
			return false
		}
	}
	for range mutate.Nodes[*ast.FuncLit](p, s.elem) {
		return false // it would have its own variable in each iteration, unlike the loops of old modules
	}
	uses := false
	// The element must depend on the loop's variables. Other variables of the body are gone after
	// the loop, and those of the package may have changed.
	for id := range mutate.Nodes[*ast.Ident](p, s.elem) {
		switch v := p.Var(id); {
		case v == nil || v.IsField():
		case v == p.Var(s.loop.Key) || v == s.element(p):
			uses = true
		case v == s.list, !facts.IsLocal(p, v), s.loop.Pos() <= v.Pos() && v.Pos() < s.loop.End():
			return false
		}
	}
	return uses
}

// element returns the variable that holds the loop's element, or nil.
func (s *distinctSite) element(p *mutate.Pass) *types.Var {
	if s.loop.Value == nil {
		return nil
	}
	return p.Var(s.loop.Value)
}

// A distinctForm is a way to find new elements in lists up to a length.
type distinctForm struct {
	n      int
	branch bool // whether to branch on new elements: faster if the branch is predictable
}

// distinctForms offers the smallest table that fits the lists of the corpus.
func distinctForms(p *mutate.Pass, _ mutate.Site) []mutate.Param {
	n := 1024
	for _, less := range []int{256, 64} {
		if percentile99(p) < less {
			n = less
		}
	}
	return []mutate.Param{{Label: strconv.Itoa(n), Value: distinctForm{n, false}},
		{Label: strconv.Itoa(n) + " with a branch", Value: distinctForm{n, true}}}
}

// rewriteDistinct writes a second form of the loop for short lists. It finds out whether a key is
// new by a table of positions on the stack, and builds the list of distinct elements as it goes.
func rewriteDistinct(p *mutate.Pass, site mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	s, form := site.Data.(*distinctSite), param.Value.(distinctForm)
	// The generated names start with those of the user's variables, so that they can be told apart.
	n, set, out := form.n, s.set.decl.Var.Name(), s.out.Var.Name()
	head, slot, q := s.loop.Key.(*ast.Ident).Name, p.Fresh("slot", set+"Slot"), p.Fresh("q", "before")
	if v := s.element(p); v != nil && s.keyUses(p, v) {
		head += ", " + v.Name()
	}
	// The table holds positions of the list and not keys, in the smallest type that fits.
	position, search := "uint8", findNew
	if n > 256 {
		position = "uint16"
	}
	if form.branch {
		search = findNewByBranch
	}
	// A key of several fields is compared through a pointer; a plain one needs none.
	pointer, other := s.otherKey(slot, q)
	if pointer == "" {
		search = strings.ReplaceAll(search, "<q>\n", "")
	}
	// Fill in the template. The hash keeps the top bits of a product, hence the shift by 64 minus
	// the size of the table, which is twice the number of elements.
	text := strings.NewReplacer("<slots>", p.Fresh("slots", set+"Slots"), "<found>", p.Fresh("found", out+"At"),
		"<count>", p.Fresh("count", set+"Count"),
		"<key>", p.Fresh("key", set+"Key"), "<at>", p.Fresh("at", set+"At"), "<slot>", slot, "<other>",
		p.Fresh("other", set+"Other"),
		"<end>", p.Fresh("end", set+"End"), "<next>", p.Fresh("next", "nextElement"), "<q>", pointer,
		"<pack other>", other,
		"<pack>", packWord(s.parts), "<factor>", hashFactor, "<shift>", strconv.Itoa(64-tableBits(n)),
		"<mask>", strconv.Itoa(2*n-1),
		"<size>", strconv.Itoa(2*n), "<n>", strconv.Itoa(n),
		"<last>", strconv.Itoa(n-1), "<uint>", position, "<i>", s.index, "<head>", head,
		"<list>", s.list.Name(), "<out>", out,
		"<T>", s.typ, "<k>", p.Fresh("k", "n"))
	// The fast form goes in front of the loop, which becomes the other branch: it handles lists
	// that are too long for the table.
	fast := text.Replace(search+s.fill(p)) + p.Text(s.elem) + "\n}\n} else {\n"
	edits := []mutate.Edit{before(p, s.loop, fast), p.Insert(s.loop.End(), "\n}")}
	// In the fast form the set is not needed, so its declaration moves into the branch that uses
	// it. It stays if a value in it may have changed since.
	if s.move {
		edits[0].New += p.Text(s.set.decl.Stmt) + "\n"
		edits = append(edits, p.Delete(s.set.decl.Stmt))
	}
	return edits, nil
}

// otherKey writes the key of the element at a position, and the pointer to it that several fields
// need.
func (s *distinctSite) otherKey(slot, q string) (pointer, key string) {
	element := s.list.Name() + "[" + slot + "]"
	if len(s.parts) > 1 {
		pointer, element = q+" := &"+element, q
	}
	parts := slices.Clone(s.parts)
	for i := range parts {
		parts[i].text = element + parts[i].field
	}
	return pointer, packWord(parts)
}

// keyUses reports whether the key depends on a variable.
func (s *distinctSite) keyUses(p *mutate.Pass, v *types.Var) bool {
	for _, id := range p.Uses(v, s.loop.Body) {
		if id.Pos() < s.ask.Body.Pos() {
			return true
		}
	}
	return false
}

const findNew = `if len(<list>) > 0 && len(<list>) <= <n> {
	// What is new is found without a branch on whether it is: each position is
	// noted down, and the next one overwrites it unless it was new.
	var <slots> [<size>]<uint> // positions, a hash table with open addressing; 0 is free, or the first element, which is known
	var <found> [<n>]<uint>
	<count> := 1
	for <head> := range <list> {
		<key> := <pack>
		<at> := <key> * <factor> >> <shift>
		var <slot>, <other> uint64
		for {
			<slot> = uint64(<slots>[<at>&<mask>])
			<q>
			<other> = <pack other>
			<end> := <other>
			if <slot> == 0 { // a conditional move, as below
				<end> = <key>
			}
			if <end> == <key> {
				break
			}
			<at>++
		}
		<found>[<count>&<last>] = <uint>(<i>)
		if <other> != <key> {
			<count>++
			<slot> = uint64(<i>)
		}
		<slots>[<at>&<mask>] = <uint>(<slot>)
	}
	<out> = make(<T>, <count>)
`

const findNewByBranch = `if len(<list>) < <n> {
	var <slots> [<size>]<uint> // positions from 1, 0 is free: a hash table with open addressing
	var <found> [<n>]<uint>
	<count> := 0
<next>:
	for <head> := range <list> {
		<key> := <pack>
		<at> := <key> * <factor> >> <shift>
		for <slots>[<at>&<mask>] != 0 {
			<slot> := <slots>[<at>&<mask>] - 1
			<q>
			if <pack other> == <key> {
				continue <next>
			}
			<at>++
		}
		<found>[<count>&<last>] = <uint>(<i>)
		<count>++
		<slots>[<at>&<mask>] = <uint>(<i> + 1)
	}
	if <count> > 0 {
		<out> = make(<T>, <count>)
	}
`

// fill begins the loop that makes the list from the positions.
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
