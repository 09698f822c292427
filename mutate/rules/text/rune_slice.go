package text

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// runeSlice (catalogue S9) matches a conversion []rune(s) whose result code only ranges over or
// counts, or of which it takes the first character. It ranges over the string, and counts and
// decodes with package utf8.
var runeSlice = &mutate.Mutator{
	Name: "rune-slice",
	Doc: "Range over the string instead of over a slice of its runes, which costs four bytes a character and an " +
		"allocation, and decode one character instead of all for the first. Legal because range and package utf8 " +
		"decode runes as the conversion does, invalid bytes included; a rune's number is counted where it is used.",
	Example: mutate.Shows(`for _, r := range []rune(s) {
	use(r)
}`, `for _, r := range s {
	use(r)
}`),
	Class:   beagle.E0,
	Gain:    2,
	Find:    findRuneSlice,
	Rewrite: edit.Precomputed,
}

// findRuneSlice looks for conversions of a text to runes that code only reads in order: in a loop,
// for the first rune, or in a variable that is only ranged over and counted. Ranging over the text
// itself gives the same runes without a slice.
func findRuneSlice(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, r := range mutate.Nodes[*ast.RangeStmt](p, nil) {
		from, ok := facts.ConvertsTo(p, r.X, "[]rune")
		// Without an index the loop over the text is the same. With one, the index must count
		// runes, not bytes. Since Go 1.22 each iteration has a variable of its own; before, nothing
		// may keep it.
		if ok && syntax.IsBlank(r.Key) {
			sites = append(sites, edit.Site(r, "loop over "+p.Text(r.X), p.Replace(r.X, p.Text(from))))
		} else if ok && r.Tok == token.DEFINE && facts.CanDeclare(p, r) &&
			(p.GoAtLeast(22) || !outlivesIteration(p, r.Key)) {
			sites = append(sites, edit.Site(r, "loop over "+p.Text(r.X), countedRunes(p, r, from)...))
		}
	}
	for _, ix := range mutate.Nodes[*ast.IndexExpr](p, nil) {
		from, ok := facts.ConvertsTo(p, ix.X, "[]rune")
		if ok && p.IsInt(ix.Index, 0) && p.FuncOf(ix) != nil && !p.Changes(ix) && !facts.AssignedTo(p, ix) {
			sites = append(sites, edit.Site(ix, p.Text(ix), firstRune(p, ix, from)...))
		}
	}
	// With a variable the text is read later than it was converted, so it must keep its value.
	for list, i := range facts.Statements(p) {
		d, ok := facts.Declares(p, list[i])
		if !ok || d.Value == nil {
			continue
		}
		if from, ok := facts.ConvertsTo(p, d.Value, "[]rune"); ok && facts.Stable(p, from, p.FuncOf(d.Stmt).Body) {
			if edits := onlyRanged(p, d, from); edits != nil {
				sites = append(sites, edit.Site(d.Stmt, d.Name.Name+" := "+p.Text(d.Value), edits...))
			}
		}
	}
	return sites
}

// outlivesIteration reports whether something may hold a loop's variable when its iteration is
// over. Before Go 1.22, it sees the variable of all iterations.
func outlivesIteration(p *mutate.Pass, key ast.Expr) bool {
	id, ok := key.(*ast.Ident)
	if !ok {
		return true
	}
	v, _ := p.Info.Defs[id].(*types.Var)
	return v == nil || facts.Captured.Of(p)[v] || facts.Pointed(p, v)
}

// onlyRanged rewrites a variable that holds the runes, if code only goes through it and counts it.
func onlyRanged(p *mutate.Pass, d facts.Declaration, from ast.Expr) []mutate.Edit {
	// The variable disappears, so every use must have another form: a loop over the runes, or their
	// number.
	uses, ok := facts.ReadsOf(p, d.Var, p.FuncOf(d.Stmt))
	if !ok || len(uses) == 0 {
		return nil
	}
	pkg, imports := p.Import("unicode/utf8")
	counts := 0
	edits := []mutate.Edit{p.Delete(d.Stmt)}
	done := map[ast.Node]bool{}
	// The head and the body of one loop may both use it; the loop is rewritten once.
	for _, id := range uses {
		if !meansSame(p, from, id.Pos()) {
			return nil
		}
		if loop := loopOver(p, id, d); loop != nil {
			if !done[loop] {
				done[loop] = true
				edits = append(edits, rangeRunes(p, loop, from)...)
			}
			continue
		}
		call, ok := p.Parent(id).(*ast.CallExpr)
		if !ok {
			return nil
		}
		if _, isLen := p.IsBuiltin(call, "len"); !isLen {
			return nil
		}
		edits = append(edits, p.Replace(call, pkg+".RuneCountInString("+p.Text(from)+")"))
		counts++
	}
	if counts > 0 {
		edits = append(edits, imports...)
	}
	return edits
}

// meansSame reports whether all names in an expression mean the same at a position.
func meansSame(p *mutate.Pass, e ast.Expr, pos token.Pos) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, e) {
		sel, ok := p.Parent(id).(*ast.SelectorExpr)
		if !(ok && sel.Sel == id) && !facts.Means(p, pos, id.Name, p.Info.Uses[id]) {
			return false
		}
	}
	return true
}

// loopOver returns the loop that reads the runes one after the other and that holds this use.
func loopOver(p *mutate.Pass, id *ast.Ident, d facts.Declaration) ast.Stmt {
	for _, up := range p.Path(id) {
		s, ok := up.(ast.Stmt)
		if !ok || syntax.LoopBody(s) == nil {
			continue
		}
		if l, ok := p.Elements(s); ok && l.Seq == d.Var && l.Start == 0 && l.Plain && allElems(p, l) {
			return s
		}
	}
	return nil
}

// allElems reports whether the loop uses the sequence only for its elements.
func allElems(p *mutate.Pass, l *mutate.ElementLoop) bool {
	return len(p.Uses(l.Seq, l.Body)) == len(l.Elems) && (l.Value == nil || len(l.Elems) == 0)
}

// rangeRunes writes a loop over the runes as one over the text. It returns nil if the body declares
// the element again under the loop's own name.
func rangeRunes(p *mutate.Pass, s ast.Stmt, from ast.Expr) []mutate.Edit {
	l, _ := p.Elements(s)
	// The loop needs a name for the rune if it has none and reads the elements by index.
	name := "_"
	if l.Value != nil {
		name = l.Value.Name()
	} else if len(l.Elems) > 0 {
		name = p.Fresh("r", "c")
	}
	head := "for _, " + name + " := range " + p.Text(from) + " {"
	if name == "_" {
		head = "for range " + p.Text(from) + " {"
	}
	edits := []mutate.Edit{p.Span(s.Pos(), l.Body.Lbrace+1, head)}
	// Each element that was read by index is the loop's variable. A copy of it under the same name
	// would be declared as itself.
	for _, e := range l.Elems {
		if lhs, rhs, ok := syntax.SplitAssign(facts.AsStmt(p.Parent(e)), token.DEFINE); ok && rhs == ast.Expr(e) &&
			p.Text(lhs) == name {
			return nil
		}
		edits = append(edits, p.Replace(e, name))
	}
	return edits
}

// countedRunes ranges over the string and counts the runes.
func countedRunes(p *mutate.Pass, r *ast.RangeStmt, from ast.Expr) []mutate.Edit {
	n := p.Fresh("n", "number")
	value := "range"
	if !syntax.IsBlank(r.Value) {
		value = "_, " + p.Text(r.Value) + " := range"
	}
	return []mutate.Edit{
		edit.InsertBefore(p, edit.LabelOf(p, r), n+" := -1 // counts the runes"),
		p.Span(r.Pos(), r.Body.Lbrace+1,
			fmt.Sprintf("for %s %s {\n%s++\n%s := %s", value, p.Text(from), n, p.Text(r.Key), n)),
	}
}

// firstRune decodes the first rune only.
func firstRune(p *mutate.Pass, ix *ast.IndexExpr, from ast.Expr) []mutate.Edit {
	name, edits := edit.Helper(p, ix, func(name string) string {
		return fmt.Sprintf(`// %s returns the first rune of s, and panics if there is none.
func %s(s string) rune {
	_ = s[0]
	r, _ := utf8.DecodeRuneInString(s)
	return r
}`, name, name)
	}, "firstRune", "leadingRune")
	return edit.WithImports(p, append(edits, p.Replace(ix, name+"("+p.Text(from)+")")), "unicode/utf8")
}
