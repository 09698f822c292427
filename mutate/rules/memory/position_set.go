package memory

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// positionSet (part of catalogue M4) matches a local set that one loop over a list asks and
// extends, with keys from the list's elements. It writes H4's small hash table on the stack, which
// holds positions in the list in place of keys.
var positionSet = &mutate.Mutator{
	Name: "position-set",
	Doc: "Keep the set of a list's elements seen so far as a table of positions in the list, on the stack, and " +
		"compare the elements themselves: no key is made, hashed through a function pointer or stored. A map takes " +
		"over when the table is full. Exact: the set is local and used only in the loop, and its keys are numbers " +
		"that the list's elements hold.",
	Example: mutate.Shows(`seen := map[int]struct{}{}
for i, e := range events {
	if _, ok := seen[e.id]; ok {
		continue
	}
	seen[e.id] = struct{}{}
	...
}`,
		`var seenAt [128]uint16 // positions, from 1
for i, e := range events {
	at, known := uint64(e.id)*0x9e3779b97f4a7c15>>57, false
	for ; seenAt[at&127] != 0; at++ {
		if events[seenAt[at&127]-1].id == e.id {
			known = true
			break
		}
	}
	...`),
	Class:   beagle.E0,
	Gain:    3,
	Find:    findPositionSet,
	Params:  sizesFor(64, 256),
	Rewrite: rewritePositionSet,
}

// A positionSite is a set that one loop over a list asks and extends.
type positionSite struct {
	set      *setSite
	loop     *ast.RangeStmt
	list     *types.Var
	index    string
	ask      *ast.IfStmt
	add      ast.Stmt
	key      ast.Expr // as the map has it
	positive bool     // the body of ask is for known keys
	parts    []part   // the integers of the key
}

func findPositionSet(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, set := range localSets(p) {
		s := &positionSite{set: set}
		if facts.CanDeclare(p, set.decl.Stmt) && s.readUses(p) && s.readLoop(p, list) && s.readKey(p) && s.names(p) {
			sites = append(sites, mutate.Site{Node: set.decl.Stmt, Label: "set " + set.decl.Var.Name(), Data: s})
		}
	}
	return sites
}

// readUses accepts one question with the addition right after it, and no other use.
func (s *positionSite) readUses(p *mutate.Pass) bool {
	uses := p.Uses(s.set.decl.Var, p.File)
	// A third use could see which keys are in the set.
	if len(uses) != 2 {
		return false
	}
	ix, ok := p.Parent(uses[0]).(*ast.IndexExpr)
	if !ok || ix.X != ast.Expr(uses[0]) {
		return false
	}
	// With an else, both answers would have an action.
	if s.ask, s.positive = s.set.condition(p, ix); s.ask == nil || s.ask.Else != nil {
		return false
	}
	s.add = s.set.addedNext(p, s.ask, ix, s.positive)
	s.key = ix.Index
	return s.add != nil
}

// readLoop accepts a question that the loop asks once for each element of a list that does not
// change.
func (s *positionSite) readLoop(p *mutate.Pass, list []ast.Stmt) bool {
	// The loop must give the position of each element, for the set holds positions.
	loop, ok := facts.Enclosing[*ast.RangeStmt](p, s.ask)
	if !ok || loop.Tok != token.DEFINE || syntax.IsBlank(loop.Key) || loop.Key == nil || facts.IsLabelled(p, loop) {
		return false
	}
	// The question must stand in the loop's own body, and the loop after the set's declaration in
	// the same list.
	body, at := p.Siblings(s.ask)
	seq, i := p.Var(loop.X), p.Var(loop.Key)
	if at < 0 || len(body) == 0 || body[0] != loop.Body.List[0] || !standBetween(list, s.set.decl.Stmt, loop) {
		return false
	}
	// The list must be the same at each comparison with an earlier element.
	if seq == nil || !facts.IsLocal(p, seq) || !facts.IsSlice(seq.Type()) || p.Assigned(seq, loop) ||
		facts.Captured.Of(p)[seq] ||
		p.Assigned(i, loop.Body) {
		return false
	}
	if v := p.Var(loop.Value); loop.Value != nil && v != nil && p.Assigned(v, loop.Body) {
		return false
	}
	s.loop, s.list, s.index = loop, seq, i.Name()
	return !handedOn(p, seq, loop)
}

// standBetween reports whether two statements stand in a list in this order.
func standBetween(list []ast.Stmt, first, second ast.Stmt) bool {
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

// readKey takes the key apart: a part of the element, or a struct of parts, perhaps in a variable.
func (s *positionSite) readKey(p *mutate.Pass) bool {
	// A key in a variable of the body is as good as its definition, if nothing else changes it.
	e := ast.Unparen(s.key)
	if v := p.Var(e); v != nil && v != p.Var(s.loop.Value) {
		for _, st := range s.loop.Body.List {
			if d, ok := facts.Declares(p, st); ok && d.Var == v && d.Value != nil && !p.Assigned(v, s.loop.Body) &&
				!facts.Captured.Of(p)[v] {
				e = ast.Unparen(d.Value)
			}
		}
	}
	// A struct is equal to another one if all of its fields are, so each field is one part. More
	// than four make the comparison longer than the hash that it replaces.
	exprs := []ast.Expr{e}
	if lit, ok := e.(*ast.CompositeLit); ok {
		t, isStruct := p.Info.TypeOf(lit).Underlying().(*types.Struct)
		if !isStruct || len(lit.Elts) != t.NumFields() || t.NumFields() == 0 || t.NumFields() > 4 {
			return false
		}
		for f := range t.Fields() {
			if f.Name() == "_" {
				return false // the comparison leaves this field out
			}
		}
		exprs = nil
		for _, el := range lit.Elts {
			if kv, ok := el.(*ast.KeyValueExpr); ok {
				el = kv.Value
			}
			exprs = append(exprs, el)
		}
	}
	// A part must be computable for each element of the list.
	for _, e := range exprs {
		one, ok := s.part(p, e)
		if !ok {
			return false
		}
		s.parts = append(s.parts, one)
	}
	return true
}

// part recognises an integer that is the loop's element, or a field in it.
func (s *positionSite) part(p *mutate.Pass, e ast.Expr) (part, bool) {
	e = ast.Unparen(e)
	out := part{text: p.Text(e), typ: p.Info.TypeOf(e)}
	// Integers are compared and hashed in one step.
	if !syntax.IsInteger(out.typ) {
		return out, false
	}
	// A field of the element is a part, if it lies in the list's own memory.
	if sel, ok := e.(*ast.SelectorExpr); ok {
		field, isVar := p.Info.Uses[sel.Sel].(*types.Var)
		if !isVar || !field.IsField() {
			return out, false
		}
		if _, pointer := p.Info.TypeOf(sel.X).Underlying().(*types.Pointer); pointer {
			return out, false // what the pointer leads to does not belong to the list
		}
		out.field, e = "."+sel.Sel.Name, ast.Unparen(sel.X)
	}
	// The element is the loop's variable or list[i].
	if s.loop.Value != nil && p.Var(e) != nil && p.Var(e) == p.Var(s.loop.Value) {
		return out, true
	}
	ix, ok := e.(*ast.IndexExpr)
	return out, ok && p.Var(ix.X) == s.list && p.Var(ix.Index) == p.Var(s.loop.Key)
}

// rewritePositionSet puts a table of positions in the set's place. Keys beyond the table go to a
// map.
func rewritePositionSet(p *mutate.Pass, site mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	s, n := site.Data.(*positionSite), param.Value.(int)
	key, ok := facts.TypeText(p, s.set.key)
	if !ok {
		return nil, fmt.Errorf("the type of the keys of %s cannot be written here", s.set.decl.Var.Name())
	}
	name := s.set.decl.Var.Name()
	slots, at, known := p.Fresh(name+"At", name+"Slots"), p.Fresh("at", "slot"), p.Fresh("known", "seenBefore")
	// The names in the template get fresh names here, and the sizes follow from n: the table is
	// twice as large as the list, so that it is at most half full.
	hash, hashed := s.hash(p)
	text := strings.NewReplacer("<slots>", slots, "<count>", p.Fresh(name+"Len", name+"Count"), "<more>",
		p.Fresh(name+"More", name+"Rest"),
		"<at>", at, "<known>", known, "<hash>", hash, "<hashed>", hashed, "<shift>", strconv.Itoa(64-tableBits(n)),
		"<mask>", strconv.Itoa(2*n-1),
		"<size>", strconv.Itoa(2*n), "<n>", strconv.Itoa(n), "<i>", s.index, "<K>", key, "<key>", p.Text(s.key),
		"<list>",
		s.list.Name(),
		"<compare>", s.compare(p, fmt.Sprintf("%s[%s[%s&%d]-1]", s.list.Name(), slots, at, 2*n-1)))
	// The look-up comes in front of the question, and leaves the answer in a variable.
	condition := known
	if !s.positive {
		condition = "!" + known
	}
	// The look-up adds the position, so the addition goes.
	return []mutate.Edit{
		p.Replace(s.set.decl.Stmt, text.Replace(declarePositions)),
		p.Span(s.ask.Pos(), s.ask.Cond.End(), text.Replace(lookUpPosition)+"if "+condition),
		p.Delete(s.add),
	}, nil
}

const declarePositions = `var <slots> [<size>]uint16 // positions in <list>, from 1: a hash table with open addressing
<count> := 0
var <more> map[<K>]struct{} // what has no room there`

const lookUpPosition = `<hash><at>, <known> := <hashed>>><shift>, false
for ; <slots>[<at>&<mask>] != 0; <at>++ {
	if <compare> {
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
`

// compare compares the parts of an element, as written, with those of the current one. It compares
// several parts through a pointer to the element.
func (s *positionSite) compare(p *mutate.Pass, element string) string {
	if len(s.parts) == 1 {
		return element + s.parts[0].field + " == " + s.parts[0].text
	}
	q := p.Fresh("q", "before")
	var same []string
	for _, one := range s.parts {
		same = append(same, q+one.field+" == "+one.text)
	}
	return q + " := &" + element + "; " + strings.Join(same, " && ")
}

// hash returns the value to hash for a key: its parts in one word if they fit, or else mixed one
// after the other. first holds the statements in front of it.
func (s *positionSite) hash(p *mutate.Pass) (first, word string) {
	if len(s.parts) == 1 {
		return "", "uint64(" + s.parts[0].text + ")*" + hashFactor
	}
	if pack := packWord(s.parts); pack != "" {
		return "", "(" + pack + ")*" + hashFactor
	}
	h := p.Fresh("h", "hash")
	return mixHash(h, s.parts) + "\n", h
}
