package text

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// listText (part of catalogue S1) matches a list of texts that code only appends to and joins. It
// appends the texts themselves, each with the separator after it, to an array on the stack.
var listText = &mutate.Mutator{
	Name: "list-text",
	Doc: "Put a text together at once instead of joining a list that exists only for that. That saves the list, " +
		"which grows by allocations, and the strings of pieces that the library can append. Exact: nobody else sees " +
		"the list, and each piece is evaluated where it was; the last separator is cut off.",
	Example: mutate.Shows(`var list []string
for _, o := range options {
	list = append(list, o.Name+"="+strconv.Itoa(o.Value))
}
return strings.Join(list, ", ")`,
		`var room [64]byte // holds most texts while they grow
text := room[:0]
for _, o := range options {
	text = append(text, o.Name...)
	text = append(text, '=')
	text = strconv.AppendInt(text, int64(o.Value), 10)
	text = append(text, ", "...)
}
return strings.TrimSuffix(string(text), ", ")`),
	Class:   beagle.E0,
	Gain:    1.6,
	Find:    findListText,
	Params:  listRooms,
	Rewrite: rewriteListText,
}

// A listSite is a list that code only joins.
type listSite struct {
	decl    facts.Declaration
	first   []ast.Expr        // what it begins with
	grown   []*ast.AssignStmt // appends
	emptied []*ast.AssignStmt
	joins   []*ast.CallExpr
	sep     ast.Expr
	empty   bool         // the separator may be no text
	tests   []*ast.Ident // in len(list), compared with 0
}

// findListText looks for lists of texts that only grow and end up in one text by strings.Join.
func findListText(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		d, ok := facts.Declares(p, list[i])
		if !ok || !isTexts(d.Var.Type()) || facts.Captured.Of(p)[d.Var] || !facts.CanDeclare(p, list[i]) ||
			// The rewrite writes these names, which must mean what they usually do.
			facts.RedefinesAny(p, list[i], "append", "byte", "int64", "string") {
			continue
		}
		s := &listSite{decl: d}
		// All uses must be appends, joins and tests, and there must be something to gain.
		if s.begins(p) && s.collect(p) && s.separates(p) && s.pays(p) {
			sites = append(sites, mutate.Site{Node: d.Stmt, Label: "list " + d.Var.Name(), Data: s})
		}
	}
	return sites
}

// isTexts reports whether a type is []string.
func isTexts(t types.Type) bool {
	s, ok := types.Unalias(t).(*types.Slice)
	return ok && syntax.IsPredeclared(s.Elem(), types.String)
}

// begins reads the first value: nothing, room for texts, or a literal.
func (s *listSite) begins(p *mutate.Pass) bool {
	if kind, _ := facts.EmptyValue(p, s.decl); kind != "" {
		return true
	}
	if call, made := p.IsBuiltin(s.decl.Value, "make"); made {
		// A capacity counts elements; the text's capacity is computed from its parts.
		return len(call.Args) == 3 && p.IsInt(call.Args[1], 0) && p.Pure(call.Args[2]) &&
			facts.IsLength(p, call.Args[2])
	}
	lit, ok := s.decl.Value.(*ast.CompositeLit)
	if !ok {
		return false
	}
	for _, e := range lit.Elts {
		// An index would leave gaps, which are empty texts.
		if _, keyed := e.(*ast.KeyValueExpr); keyed {
			return false
		}
	}
	s.first = lit.Elts
	// The order of two parts with effects could be seen.
	return impureParts(p, lit.Elts) <= 1
}

// collect sorts all uses of the list. It refuses a list that anybody else may see.
func (s *listSite) collect(p *mutate.Pass) bool {
	// Each use of the list must be one of those that the rewrite knows: an append, an emptying, a
	// test or a Join. Anything else could keep the list.
	for _, id := range p.Uses(s.decl.Var, p.File) {
		if id == s.decl.Name {
			continue
		}
		switch up := p.Parent(id).(type) {
		case *ast.AssignStmt:
			if !s.assigned(p, up) {
				return false
			}
		case *ast.SliceExpr: // list = list[:0], seen at its left side
			as, ok := p.Parent(up).(*ast.AssignStmt)
			if !ok || !s.empties(p, as) {
				return false
			}
		case *ast.CallExpr:
			if !s.called(p, id, up) {
				return false
			}
		default:
			return false
		}
	}
	return len(s.joins) > 0 && s.apart()
}

// assigned accepts an append, and an assignment that empties the list.
func (s *listSite) assigned(p *mutate.Pass, as *ast.AssignStmt) bool {
	// Only a statement of a list can become several.
	if _, at := p.Siblings(as); at < 0 {
		return false
	}
	if v, call, ok := facts.AppendsTo(p, as); ok && v == s.decl.Var {
		s.grown = append(s.grown, as)
		return impureParts(p, call.Args[1:]) <= 1
	}
	if s.empties(p, as) {
		s.emptied = append(s.emptied, as)
		return true
	}
	return false
}

// empties recognises list = list[:0] and list = nil.
func (s *listSite) empties(p *mutate.Pass, as *ast.AssignStmt) bool {
	lhs, rhs, ok := syntax.SplitAssign(as, token.ASSIGN)
	if !ok || p.Var(lhs) != s.decl.Var {
		return false
	}
	cut, ok := rhs.(*ast.SliceExpr)
	if !ok {
		return p.Info.Types[rhs].IsNil()
	}
	return p.Var(cut.X) == s.decl.Var && cut.Low == nil && cut.High != nil && p.IsInt(cut.High, 0) && !cut.Slice3
}

// called accepts append in a statement that assigned has seen, strings.Join, and a test of the
// length.
func (s *listSite) called(p *mutate.Pass, id *ast.Ident, call *ast.CallExpr) bool {
	// strings.Join is a call whose result somebody takes.
	if _, ok := p.IsCall(call, "strings", "Join"); ok {
		s.joins = append(s.joins, call)
		_, named := call.Fun.(*ast.SelectorExpr) // the package has a name
		switch p.Parent(call).(type) {
		case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt: // a conversion is no statement
			return false
		}
		return named && len(call.Args) == 2 && call.Args[0] == ast.Expr(id)
	}
	// The list itself must be what is appended to.
	if _, ok := p.IsBuiltin(call, "append"); ok {
		v, same, ok := facts.AppendsTo(p, p.Parent(call))
		return ok && v == s.decl.Var && same == call && call.Args[0] == ast.Expr(id)
	}
	if _, ok := p.IsBuiltin(call, "len"); ok {
		s.tests = append(s.tests, id)
		return testsForNone(p, call)
	}
	return false
}

// testsForNone reports whether code asks only whether a length is 0.
func testsForNone(p *mutate.Pass, length *ast.CallExpr) bool {
	b, ok := p.Parent(length).(*ast.BinaryExpr)
	if !ok || b.X != ast.Expr(length) {
		return false
	}
	switch b.Op {
	case token.EQL, token.NEQ, token.GTR:
		return p.IsInt(b.Y, 0)
	case token.GEQ, token.LSS:
		return p.IsInt(b.Y, 1)
	}
	return false
}

// apart reports whether no append holds another use of the list: each is replaced as a whole.
func (s *listSite) apart() bool {
	for _, as := range s.grown {
		for _, join := range s.joins {
			if facts.Inside(join, as) {
				return false
			}
		}
		for _, id := range s.tests {
			if facts.Inside(id, as) {
				return false
			}
		}
	}
	return true
}

// separates reports whether all calls join by one text that each append knows.
func (s *listSite) separates(p *mutate.Pass) bool {
	// One join gives the separator: a constant, or a local variable that keeps its value.
	s.sep = s.joins[0].Args[1]
	text, constant := facts.ConstString(p, s.sep)
	v := p.Var(s.sep)
	if !constant && !(facts.IsLocal(p, v) && syntax.IsPredeclared(v.Type(), types.String) && !p.Assigned(v, p.File)) {
		return false
	}
	s.empty = text == ""
	// The others must use the same one.
	for _, join := range s.joins[1:] {
		other, same := facts.ConstString(p, join.Args[1])
		if constant && !(same && other == text) || !constant && p.Var(join.Args[1]) != v {
			return false
		}
	}
	// An empty text that grows says nothing of the number of elements, if the elements may be
	// empty.
	if s.empty && len(s.tests) > 0 {
		return false // texts may be empty, too
	}
	if constant {
		return true
	}
	// The separator is written at the declaration and at each append, so its name must mean the
	// same there.
	places := []token.Pos{s.decl.Stmt.Pos()}
	for _, as := range s.grown {
		places = append(places, as.Pos())
	}
	for _, at := range places {
		if !facts.Means(p, at, v.Name(), v) {
			return false
		}
	}
	return true
}

// pays reports whether the list may get several texts where time goes.
func (s *listSite) pays(p *mutate.Pass) bool {
	n := len(s.first)
	for _, as := range s.grown {
		if n++; p.InLoop(as) {
			n++
		}
	}
	return n > 1 && len(s.grown) > 0 && facts.TakesTime(p, s.joins[0])
}

// listRooms are sizes of the array.
func listRooms(p *mutate.Pass, s mutate.Site) []mutate.Param {
	return append(textRooms(p, s), mutate.Param{Label: "256", Value: 256})
}

// rewriteListText appends the elements to a text in place of the list. Each is followed by the
// separator, so that an append need not know whether it is the first.
func rewriteListText(p *mutate.Pass, site mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	// The texts go into one buffer, each followed by the separator. Its array is on the stack, and
	// append moves it to the heap if it grows beyond.
	s := site.Data.(*listSite)
	room, text := p.Fresh("room", "space"), p.Fresh("text", "joined")
	begin := fmt.Sprintf("var %s [%d]byte // holds most texts while they grow\n%s := %s[:0]", room, param.Value, text,
		room)
	for _, e := range s.first {
		begin += s.piece(p, text, e)
	}
	// The declaration begins the buffer, with the elements that the list began with.
	edits := []mutate.Edit{p.Replace(s.decl.Stmt, begin)}
	for _, as := range s.grown {
		_, call, _ := facts.AppendsTo(p, as)
		lines := ""
		// A slice that is appended whole needs a loop, because each element is followed by a
		// separator.
		for i, e := range call.Args[1:] {
			if call.Ellipsis.IsValid() && i == len(call.Args)-2 {
				each := p.Fresh("piece", "part")
				lines += fmt.Sprintf("\nfor _, %s := range %s {%s\n}", each, p.Text(e), s.ended(p, text,
					fmt.Sprintf("append(%s, %s...)", text, each)))
				continue
			}
			lines += s.piece(p, text, e)
		}
		edits = append(edits, p.Replace(as, lines[1:]))
	}
	// Emptying the list keeps the room of the buffer.
	for _, as := range s.emptied {
		edits = append(edits, p.Replace(as, fmt.Sprintf("%s = %s[:0]", text, text)))
	}
	for _, id := range s.tests {
		edits = append(edits, p.Replace(id, text))
	}
	// The buffer ends with one separator too many, which TrimSuffix takes off.
	for _, join := range s.joins {
		whole := "string(" + text + ")"
		if sep, constant := facts.ConstString(p, join.Args[1]); !constant || sep != "" {
			whole = fmt.Sprintf("%s.TrimSuffix(%s, %s)", p.Text(join.Fun.(*ast.SelectorExpr).X), whole,
				p.Text(join.Args[1]))
		}
		edits = append(edits, p.Replace(join, whole))
	}
	return edit.WithImports(p, edits, "encoding/hex", "fmt", "strconv", "unicode/utf8"), nil
}

// piece writes the statements that append one text, and the separator after it. It takes a
// concatenation apart where the order of its operands cannot matter.
func (s *listSite) piece(p *mutate.Pass, text string, e ast.Expr) string {
	parts := joinedParts(p, e)
	if impureParts(p, parts) > 0 {
		parts = []ast.Expr{ast.Unparen(e)}
	}
	lines := ""
	for _, part := range parts[:len(parts)-1] {
		lines += fmt.Sprintf("\n%s = %s", text, appendCall(p, text, part))
	}
	return lines + s.ended(p, text, appendCall(p, text, parts[len(parts)-1]))
}

// ended writes an append and the separator after it.
func (s *listSite) ended(p *mutate.Pass, text, last string) string {
	line := fmt.Sprintf("\n%s = %s", text, last)
	sep, constant := facts.ConstString(p, s.sep)
	switch {
	case !constant:
		return line + fmt.Sprintf("\n%s = append(%s, %s...)", text, text, p.Text(s.sep))
	case sep == "":
		return line
	case len(sep) == 1 && sep[0] < 0x80:
		return line + fmt.Sprintf("\n%s = append(%s, %q)", text, text, sep[0])
	}
	return line + fmt.Sprintf("\n%s = append(%s, %s...)", text, text, strconv.Quote(sep))
}
