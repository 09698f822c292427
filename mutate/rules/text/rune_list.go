package text

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// runeList (part of catalogue S9) matches a list of characters that code fills from its first
// element to its last and only makes a text of. It puts the bytes of the text together instead.
var runeList = &mutate.Mutator{
	Name: "rune-list",
	Doc: "Put the bytes of a text together where code collects its characters first. A list of characters takes " +
		"four bytes for each, and making a text of it goes through it twice. Exact except for the text of the " +
		"panic on a negative length: the list only becomes a text, and an invalid character is written as the same " +
		"bytes.",
	Example: mutate.Shows(`runes := make([]rune, len(latin))
for i, b := range latin {
	runes[i] = rune(b)
}
return string(runes)`,
		`runes := make([]byte, 0, len(latin))
for _, b := range latin {
	runes = utf8.AppendRune(runes, rune(b))
}
return string(runes)`),
	Class:   beagle.E1,
	Gain:    1.5,
	Find:    findRuneList,
	Rewrite: edit.Precomputed,
}

// findRuneList looks for lists of characters that a loop fills.
func findRuneList(p *mutate.Pass) []mutate.Site {
	if !p.GoAtLeast(18) { // utf8.AppendRune
		return nil
	}
	var sites []mutate.Site
	for d, rest := range facts.AllDeclarations(p) {
		if !isRuneList(d.Var.Type()) || facts.Captured.Of(p)[d.Var] || d.Spec != nil && len(d.Spec.Names) != 1 ||
			!facts.CanDeclare(p, d.Stmt) ||
			facts.RedefinesAny(p, d.Stmt, "byte", "make", "append", "len", "string") {
			continue
		}
		l := &runeListSite{v: d.Var}
		if l.declares(p, d, rest) && l.collect(p) {
			utf8, edits := p.Import("unicode/utf8")
			edits = append(edits, l.edits(p, utf8)...)
			sites = append(sites, edit.Site(d.Stmt, "characters of "+d.Var.Name(), edits...))
		}
	}
	return sites
}

// isRuneList reports whether a type is []rune itself.
func isRuneList(t types.Type) bool {
	s, ok := types.Unalias(t).(*types.Slice)
	return ok && types.Identical(s.Elem(), types.Typ[types.Int32])
}

// A runeListSite is a list of characters with its uses.
type runeListSite struct {
	v       *types.Var
	types   []ast.Expr        // that the declaration names
	made    *ast.CallExpr     // make([]rune, n), if a loop stores all elements
	filled  *facts.Loop       // that loop
	stores  []*ast.AssignStmt // appends, or the store of that loop
	texts   int
	repeats bool // the list grows in a loop
}

// declares reads the declaration of a list that is empty, or that the next statement to use it
// fills.
func (l *runeListSite) declares(p *mutate.Pass, d facts.Declaration, rest []ast.Stmt) bool {
	if d.Type != nil {
		l.types = append(l.types, d.Type)
	}
	switch value := ast.Unparen(d.Value).(type) {
	case nil:
		return d.Type != nil
	case *ast.CompositeLit:
		l.types = append(l.types, value.Type)
		return value.Type != nil && len(value.Elts) == 0
	case *ast.CallExpr:
		if _, ok := p.IsBuiltin(value, "make"); !ok || len(value.Args) < 2 {
			return false
		}
		l.types = append(l.types, value.Args[0])
		if p.IsInt(value.Args[1], 0) {
			return true
		}
		l.made = value
		return len(value.Args) == 2 && l.fills(p, rest)
	}
	return false
}

// fills reports whether the first statement that uses the list is a loop that stores each element
// in turn, and notes the store.
func (l *runeListSite) fills(p *mutate.Pass, rest []ast.Stmt) bool {
	length := l.made.Args[1]
	for _, s := range rest {
		if len(p.Uses(l.v, s)) == 0 {
			if !facts.Stable(p, length, s) {
				return false
			}
			continue
		}
		loop := facts.Loops.Of(p)[s]
		if loop == nil || loop.Index == nil || loop.StopsEarly(p) || len(p.Uses(l.v, s)) != 1 ||
			!goesThrough(p, loop, length) || !facts.Stable(p, length, s) {
			return false
		}
		if _, continues, _ := p.Branches(loop.Body); len(continues) > 0 {
			return false
		}
		for _, st := range loop.Body.List {
			as, ok := st.(*ast.AssignStmt)
			if ok && as.Tok == token.ASSIGN && len(as.Lhs) == 1 && len(as.Rhs) == 1 {
				ix, ok := ast.Unparen(as.Lhs[0]).(*ast.IndexExpr)
				if ok && p.Var(ix.X) == l.v && p.Var(ix.Index) == loop.Index {
					l.filled, l.stores, l.repeats = loop, []*ast.AssignStmt{as}, true
					return true
				}
			}
		}
		return false
	}
	return false
}

// goesThrough reports whether a loop has as many iterations as a length says, from 0 on.
func goesThrough(p *mutate.Pass, loop *facts.Loop, length ast.Expr) bool {
	switch loop.Kind {
	case facts.OverElements:
		call, ok := p.IsBuiltin(length, "len")
		return ok && p.Var(loop.Seq) != nil && p.Same(call.Args[0], loop.Seq)
	case facts.OverNumbers:
		return p.Same(length, loop.Bound) && types.Identical(p.Info.TypeOf(loop.Bound), p.Info.TypeOf(length))
	}
	return false
}

// collect reports whether the other uses append to the list, or make a text of it.
func (l *runeListSite) collect(p *mutate.Pass) bool {
	for _, id := range p.Uses(l.v, p.File) {
		if slices.ContainsFunc(l.stores, func(as *ast.AssignStmt) bool { return facts.Inside(id, as) }) {
			continue
		}
		if as, ok := facts.Enclosing[*ast.AssignStmt](p, id); ok && l.appends(p, as) {
			l.stores = append(l.stores, as)
			l.repeats = l.repeats || p.InLoop(as)
		} else if !l.reads(p, id) {
			return false
		}
	}
	return l.texts > 0 && l.repeats
}

// appends recognises an append of characters to the list.
func (l *runeListSite) appends(p *mutate.Pass, as *ast.AssignStmt) bool {
	v, call, ok := facts.AppendsTo(p, as)
	return ok && v == l.v && l.made == nil && !call.Ellipsis.IsValid() && len(p.Uses(l.v, as)) == 2
}

// reads recognises string(v), which it counts, and a comparison of len(v) with 0.
func (l *runeListSite) reads(p *mutate.Pass, id *ast.Ident) bool {
	call, ok := p.Parent(id).(*ast.CallExpr)
	if !ok || len(call.Args) != 1 || call.Args[0] != ast.Expr(id) {
		return false
	}
	if p.Info.Types[call.Fun].IsType() {
		l.texts++
		return syntax.IsText(p.Info.TypeOf(call)) && !syntax.IsTypeParam(p.Info.TypeOf(call))
	}
	if _, length := p.IsBuiltin(call, "len"); !length {
		return false
	}
	c, ok := p.Parent(call).(*ast.BinaryExpr)
	if !ok {
		return false
	}
	zero := func(e ast.Expr) bool { return p.IsInt(e, 0) }
	return slices.Contains([]token.Token{token.EQL, token.NEQ, token.GTR, token.LSS, token.GEQ, token.LEQ}, c.Op) &&
		(zero(c.X) || zero(c.Y))
}

// edits makes a list of bytes of the list, and appends each character.
func (l *runeListSite) edits(p *mutate.Pass, utf8 string) []mutate.Edit {
	var edits []mutate.Edit
	for _, t := range l.types {
		edits = append(edits, p.Replace(t, "[]byte"))
	}
	if l.made != nil {
		edits = append(edits, p.Insert(l.made.Args[1].Pos(), "0, "))
		edits = append(edits, l.withoutIndex(p)...)
	}
	for _, as := range l.stores {
		name := l.v.Name()
		text, chars := name, as.Rhs
		if call, ok := p.IsBuiltin(as.Rhs[0], "append"); ok && l.made == nil {
			chars = call.Args[1:]
		}
		for _, c := range chars {
			text = utf8 + ".AppendRune(" + text + ", " + p.Text(c) + ")"
		}
		edits = append(edits, p.Replace(as, name+" = "+text))
	}
	return edits
}

// withoutIndex leaves out the index of the loop that fills the list, if nothing else uses it.
func (l *runeListSite) withoutIndex(p *mutate.Pass) []mutate.Edit {
	r, ok := l.filled.Stmt.(*ast.RangeStmt)
	switch {
	case !ok || len(p.Uses(l.filled.Index, r.Body)) > 1:
		return nil
	case syntax.IsBlank(r.Value):
		return []mutate.Edit{p.Span(r.Key.Pos(), r.Range, "")}
	}
	return []mutate.Edit{p.Replace(r.Key, "_")}
}
