package memory

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// stackBuilder (catalogue A3 for builders) matches a strings.Builder that stays in the function and
// that code only writes to and reads. It appends to a slice of an array on the stack, and converts
// it to a string.
var stackBuilder = &mutate.Mutator{
	Name: "stack-builder",
	Doc: "Put a text together in an array on the stack instead of a strings.Builder or bytes.Buffer, which starts " +
		"with nothing and allocates again each time it is full. One allocation of the size of the result remains. " +
		"Exact: the builder stays in the function and is only written to and read; texts that are longer than the " +
		"array move to the heap by themselves.",
	Example: mutate.Shows(`var out strings.Builder
for i := range len(s) {
	out.WriteByte(lower(s[i]))
}
return out.String()`,
		`var room [64]byte // holds most texts without an allocation
out := room[:0]
for i := range len(s) {
	out = append(out, lower(s[i]))
}
return string(out)`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findStackBuilder,
	Params:  sizesFor(64, 256),
	Rewrite: rewriteStackBuilder,
}

type roomSite struct {
	decl facts.Declaration
	uses []roomUse
}

// A roomUse is a node and its replacement, with %[1]s for the slice; drop is a statement to delete.
type roomUse struct {
	node ast.Node
	text string
	drop bool
}

// findStackBuilder looks for buffers and builders that start empty and whose text alone leaves the
// function.
func findStackBuilder(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for d := range facts.AllDeclarations(p) {
		if facts.Captured.Of(p)[d.Var] || !facts.Movable(p, d) {
			continue
		}
		// Both kinds append; only a buffer can be cut as well.
		_, _, buffer := facts.EmptyBuffer(p, d)
		builder := syntax.IsNamed(d.Var.Type(), "strings", "Builder") && startsEmpty(d)
		if !buffer && !builder {
			continue
		}
		s := &roomSite{decl: d}
		if s.collect(p) {
			sites = append(sites, mutate.Site{Node: d.Stmt, Label: "builder " + d.Var.Name(), Data: s})
		}
	}
	return sites
}

func startsEmpty(d facts.Declaration) bool {
	if d.Value == nil {
		return true
	}
	lit, ok := d.Value.(*ast.CompositeLit)
	return ok && len(lit.Elts) == 0
}

// collect accepts a builder if a slice can do all the methods that code calls on it.
func (s *roomSite) collect(p *mutate.Pass) bool {
	texts := 0
	// Every use must be a method that a slice can do as well, or a call that prints into the
	// builder.
	for _, id := range p.Uses(s.decl.Var, p.File) {
		if use, ok := s.printed(p, id); ok {
			s.uses = append(s.uses, use)
			continue
		}
		sel, ok := p.Parent(id).(*ast.SelectorExpr)
		if !ok || sel.X != ast.Expr(id) || !facts.IsCalled(p, sel) {
			return false
		}
		// A cut of the text may ask for the length in its bounds, which belongs to that use.
		if slices.ContainsFunc(s.uses, func(u roomUse) bool { return facts.Inside(id, u.node) }) {
			continue // the length that a cut names
		}
		call := p.Parent(sel).(*ast.CallExpr)
		stmt := facts.Dropping(p, call)
		use := roomUse{node: call}
		switch sel.Sel.Name {
		case "String":
			texts++
			use.text = "string(%[1]s)"
		case "Len":
			use.text = "len(%[1]s)"
		// Anything else writes. Its results are dropped, since append has none.
		default:
			if stmt == nil {
				return false // code reads the count and the error, which are always the same
			}
			use.node = stmt
			if !s.write(p, &use, sel.Sel.Name, call) {
				return false
			}
		}
		s.uses = append(s.uses, use)
	}
	// A builder that is never written or never read gains nothing.
	return texts > 0 && len(s.uses) > texts
}

// write sets the text that does what a method of the builder does, with the slice for %[1]s. It
// returns false for methods that a slice cannot do.
func (s *roomSite) write(p *mutate.Pass, use *roomUse, method string, call *ast.CallExpr) bool {
	switch method {
	case "WriteByte":
		use.text = "%[1]s = append(%[1]s, " + edit.EscapeFormat(p.Text(call.Args[0])) + ")"
	case "WriteString", "Write":
		use.text = "%[1]s = append(%[1]s, " + edit.EscapeFormat(p.Text(call.Args[0])) + "...)"
	case "WriteRune":
		use.text = "%[1]s = utf8.AppendRune(%[1]s, " + edit.EscapeFormat(p.Text(call.Args[0])) + ")"
	// A cut is written relative to the end, since the length of the text is what it names.
	case "Truncate":
		less, ok := s.cut(p, call.Args[0])
		if ok && !s.holds(p, call, less) {
			use.text = "if len(%[1]s) < " + edit.EscapeFormat(p.Text(less)) +
				" {\npanic(\"bytes.Buffer: truncation out of range\")\n}\n"
			ok = !facts.IsRedefined(p, call, "panic")
		}
		if ok {
			use.text += "%[1]s = %[1]s[:len(%[1]s)-" + edit.EscapeFormat(p.Text(less)) + "]"
		}
		return ok
	case "Reset":
		use.text = "%[1]s = %[1]s[:0]"
	// Grow has nothing to do, but panics for a negative number.
	case "Grow":
		use.drop = true
		return facts.IsLength(p, call.Args[0])
	default:
		return false
	}
	for _, arg := range call.Args {
		if len(p.Uses(s.decl.Var, arg)) > 0 {
			return false // one replacement inside another
		}
	}
	return true
}

// cut recognises b.Len() - n for a constant n, the argument of a Truncate that drops the last n
// bytes. Other places may lie beyond the end, where the buffer panics and a slice may not.
func (s *roomSite) cut(p *mutate.Pass, e ast.Expr) (less ast.Expr, ok bool) {
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	if !ok || b.Op != token.SUB || !s.length(p, b.X) {
		return nil, false
	}
	n := p.Info.Types[b.Y].Value
	return b.Y, n != nil && constant.Sign(n) >= 0
}

// length recognises b.Len().
func (s *roomSite) length(p *mutate.Pass, e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) > 0 {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Len" && p.Var(sel.X) == s.decl.Var
}

// holds reports whether the text certainly has what a Truncate cuts off: code has asked right in
// front of it.
func (s *roomSite) holds(p *mutate.Pass, call *ast.CallExpr, less ast.Expr) bool {
	n, _ := p.Int(less)
	body, _ := p.Parent(p.Parent(call)).(*ast.BlockStmt)
	i, ok := p.Parent(body).(*ast.IfStmt)
	if !ok || i.Body != body || body.List[0] != p.Parent(call) {
		return n == 0
	}
	return slices.ContainsFunc(syntax.Operands(i.Cond, token.LAND), func(e ast.Expr) bool {
		b, ok := ast.Unparen(e).(*ast.BinaryExpr)
		if !ok || !s.length(p, b.X) {
			return false
		}
		least, known := p.Int(b.Y)
		switch b.Op {
		case token.GTR:
			least++
		case token.NEQ:
			known, least = known && least == 0, 1
		case token.GEQ, token.EQL:
		default:
			return false
		}
		return known && least >= n
	})
}

// printed recognises a statement that prints into the builder, and writes what appends the same.
func (s *roomSite) printed(p *mutate.Pass, id *ast.Ident) (roomUse, bool) {
	// The builder is the first argument, itself or by its address.
	var arg ast.Expr = id
	if u, ok := p.Parent(id).(*ast.UnaryExpr); ok && u.Op == token.AND {
		arg = u
	}
	call, ok := p.Parent(arg).(*ast.CallExpr)
	if !ok || len(call.Args) == 0 || call.Args[0] != arg {
		return roomUse{}, false
	}
	// Nothing may read the results. Appendf came with Go 1.19.
	stmt := facts.Dropping(p, call)
	if stmt == nil || !p.GoAtLeast(19) {
		return roomUse{}, false
	}
	// The other arguments must not read the builder: append evaluates its own arguments in another
	// order.
	for _, a := range call.Args[1:] {
		if len(p.Uses(s.decl.Var, a)) > 0 {
			return roomUse{}, false
		}
	}
	// io.WriteString appends the text; the functions of fmt append what they would print.
	if _, writes := p.IsCall(call, "io", "WriteString"); writes {
		return roomUse{node: stmt, text: "%[1]s = append(%[1]s, " + edit.EscapeFormat(p.Text(call.Args[1])) + "...)"},
			true
	}
	for from, to := range map[string]string{"Fprintf": "Appendf", "Fprint": "Append", "Fprintln": "Appendln"} {
		if _, prints := p.IsCall(call, "fmt", from); prints && len(call.Args) > 1 {
			pkg := strings.TrimSuffix(p.Text(call.Fun), from)
			rest := edit.EscapeFormat(p.Between(call.Args[1].Pos(), call.Rparen))
			return roomUse{node: stmt, text: "%[1]s = " + pkg + to + "(%[1]s, " + rest + ")"}, true
		}
	}
	return roomUse{}, false
}

// rewriteStackBuilder declares a slice on an array in the builder's place, and rewrites the uses.
func rewriteStackBuilder(p *mutate.Pass, site mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	s := site.Data.(*roomSite)
	name, room := s.decl.Var.Name(), p.Fresh("room", "space")
	declared := fmt.Sprintf("var %s [%d]byte // holds most texts without an allocation\n%s := %s[:0]",
		room, param.Value, name, room)
	edits := edit.Redeclare(p, s.decl, declared)
	for _, u := range s.uses {
		// Grow, for one, has nothing left to do.
		if u.drop {
			edits = append(edits, p.Delete(u.node))
			continue
		}
		edits = append(edits, p.Replace(u.node, fmt.Sprintf(u.text, name)))
	}
	return edit.WithImports(p, edits, "unicode/utf8"), nil
}
