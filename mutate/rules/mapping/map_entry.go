package mapping

import (
	"go/ast"
	"go/token"
	"go/types"
	"iter"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// mapEntry (part of catalogue M1) matches code that tests for an entry of a map and then looks it
// up. It keeps the element that it found or made.
var mapEntry = &mutate.Mutator{
	Name: "map-entry",
	Doc: "Keep the element of a map that code has just tested for, found or made, instead of looking it up again. " +
		"Each look-up hashes the key. Exact: nothing comes between that could change the map, the key, or the order " +
		"in which they are read, and the key of an entry that is made equals itself.",
	Example: mutate.Shows(`if _, ok := byUser[u]; !ok {
	byUser[u] = map[string]int{}
}
byUser[u][action]++`,
		`entry, found := byUser[u]
if !found {
	entry = map[string]int{}
	byUser[u] = entry
}
entry[action]++`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findMapEntries,
	Rewrite: edit.Precomputed,
}

// A mapEntrySite is a test for an entry, and the reads of the entry that follow.
type mapEntrySite struct {
	test  *ast.IndexExpr   // the look-up that the test makes
	kept  *ast.AssignStmt  // _, ok := m[k], if it may stay where it is; or nil
	found *types.Var       // ok, or nil where the test is m[k] == nil
	cond  *ast.IfStmt      // whose body makes the entry, or leaves the list where there is none
	made  *ast.AssignStmt  // m[k] = x, or nil
	reads []*ast.IndexExpr // of the same entry, behind that
}

// findMapEntries looks for tests for an entry, with a use behind them.
func findMapEntries(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		s, ok := mapEntryAt(p, list, i)
		if !ok || !facts.TakesTime(p, list[i]) || !facts.CanDeclare(p, list[i]) {
			continue
		}
		sites = append(sites, edit.Site(list[i], "entry "+p.Text(s.test), s.edits(p)...))
	}
	return sites
}

// mapEntryAt recognises the test at a place of a list, with what follows it.
func mapEntryAt(p *mutate.Pass, list []ast.Stmt, i int) (s mapEntrySite, ok bool) {
	forms := []func(*mutate.Pass, []ast.Stmt) (mapEntrySite, bool){madeEntry, testedEntry, leftEntry, entryInside}
	for _, form := range forms {
		if s, ok = form(p, list[i:]); ok {
			return s, true
		}
	}
	return s, false
}

// madeEntry recognises a test that makes a missing entry.
func madeEntry(p *mutate.Pass, list []ast.Stmt) (s mapEntrySite, ok bool) {
	// The test is a part of the if, or a statement in front of it.
	if as, is := list[0].(*ast.AssignStmt); is {
		s.kept = as
		list = list[1:]
	}
	if len(list) < 2 {
		return s, false
	}
	s.cond, ok = list[0].(*ast.IfStmt)
	if !ok || s.cond.Else != nil || !s.tests(p) || !s.sound(p) || !s.equal(p) || !s.makes(p) {
		return s, false
	}
	s.reads = s.readsAfter(p, list[1:])
	return s, len(s.reads) > 0
}

// testedEntry recognises a test that is a statement, whatever comes of it.
func testedEntry(p *mutate.Pass, list []ast.Stmt) (s mapEntrySite, ok bool) {
	s.kept, ok = list[0].(*ast.AssignStmt)
	if !ok || !s.looksUp(p, s.kept) || !s.sound(p) {
		return s, false
	}
	s.reads = s.readsAfter(p, list[1:])
	return s, len(s.reads) > 0
}

// leftEntry recognises a test that leaves the list where the entry is missing.
func leftEntry(p *mutate.Pass, list []ast.Stmt) (s mapEntrySite, ok bool) {
	s.cond, ok = list[0].(*ast.IfStmt)
	if !ok || s.cond.Else != nil || !mutate.Terminates(s.cond.Body.List) || !s.tests(p) || !s.sound(p) {
		return s, false
	}
	s.reads = s.readsAfter(p, list[1:])
	return s, len(s.reads) > 0
}

// entryInside recognises a test that uses the entry in its own body, where map-update does not.
func entryInside(p *mutate.Pass, list []ast.Stmt) (s mapEntrySite, ok bool) {
	s.cond, ok = list[0].(*ast.IfStmt)
	if !ok || s.cond.Init == nil {
		return s, false
	}
	as, ok := s.cond.Init.(*ast.AssignStmt)
	if !ok || !s.looksUp(p, as) || p.Var(s.cond.Cond) != s.found || !s.sound(p) ||
		facts.MapKept(p, s.test.X, s.cond.Body) {
		return s, false
	}
	s.kept = as
	s.reads = s.readsAfter(p, s.cond.Body.List)
	return s, len(s.reads) > 0
}

// looksUp recognises `_, ok := m[k]`.
func (s *mapEntrySite) looksUp(p *mutate.Pass, as *ast.AssignStmt) bool {
	if as.Tok != token.DEFINE || len(as.Lhs) != 2 || len(as.Rhs) != 1 || !syntax.IsBlank(as.Lhs[0]) {
		return false
	}
	id, isName := as.Lhs[1].(*ast.Ident)
	ix, isElement := ast.Unparen(as.Rhs[0]).(*ast.IndexExpr)
	if !isName || !isElement {
		return false
	}
	s.test = ix
	s.found, _ = p.Info.Defs[id].(*types.Var)
	return s.found != nil
}

// tests recognises `_, ok := m[k]` with !ok, and m[k] == nil.
func (s *mapEntrySite) tests(p *mutate.Pass) bool {
	as := s.kept
	if as == nil && s.cond.Init != nil {
		as, _ = s.cond.Init.(*ast.AssignStmt)
	} else if s.cond.Init != nil {
		return false
	}
	if as == nil {
		eq, ok := ast.Unparen(s.cond.Cond).(*ast.BinaryExpr)
		if !ok || s.cond.Init != nil || eq.Op != token.EQL || !p.Info.Types[eq.Y].IsNil() {
			return false
		}
		s.test, ok = ast.Unparen(eq.X).(*ast.IndexExpr)
		return ok
	}
	not, ok := ast.Unparen(s.cond.Cond).(*ast.UnaryExpr)
	// A test that code asks again keeps its variable, which must be new.
	return ok && not.Op == token.NOT && s.looksUp(p, as) && p.Var(not.X) == s.found &&
		(s.kept != nil || len(p.Uses(s.found, s.cond.Body)) == 0)
}

// sound reports whether code names a map and its key by variables, fields and constants, so that
// they are the same at the test and at the use unless code between assigns these.
func (s *mapEntrySite) sound(p *mutate.Pass) bool {
	steady := isPath(p, s.test.Index) || p.Info.Types[s.test.Index].Value != nil
	_, ok := p.Info.TypeOf(s.test.X).Underlying().(*types.Map)
	return ok && isPath(p, s.test.X) && steady
}

// equal reports whether the key finds what was stored under it. A NaN does not.
func (s *mapEntrySite) equal(p *mutate.Pass) bool {
	return equalsItself(p.Info.TypeOf(s.test.X).Underlying().(*types.Map).Key())
}

// equalsItself reports whether all values of a type equal themselves, and comparing them cannot
// panic.
func equalsItself(t types.Type) bool {
	if syntax.IsTypeParam(t) {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&(types.IsFloat|types.IsComplex) == 0
	case *types.Pointer, *types.Chan:
		return true
	case *types.Array:
		return equalsItself(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if !equalsItself(f.Type()) {
				return false
			}
		}
		return true
	}
	return false
}

// isPath reports whether an expression is a variable, or a field behind one.
func isPath(p *mutate.Pass, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return p.Var(e) != nil
	case *ast.SelectorExpr:
		s := p.Info.Selections[e]
		return s != nil && s.Kind() == types.FieldVal && isPath(p, e.X)
	}
	return false
}

// makes recognises the body that makes the entry, as its last statement. The statements before
// it may change nothing that the map or the key is made of.
func (s *mapEntrySite) makes(p *mutate.Pass) bool {
	body := s.cond.Body.List
	if len(body) == 0 {
		return false
	}
	last := body[len(body)-1]
	lhs, _, ok := syntax.SplitAssign(last, token.ASSIGN)
	if !ok || !p.Same(lhs, s.test) {
		return false
	}
	s.made = last.(*ast.AssignStmt)
	for _, st := range body[:len(body)-1] {
		if !s.keeps(p, st) {
			return false
		}
	}
	return s.keeps(p, s.made.Rhs[0])
}

// keeps reports whether code leaves the names alone that the map and the key consist of. The map's
// entries may change: the new entry is stored after them.
func (s *mapEntrySite) keeps(p *mutate.Pass, code ast.Node) bool {
	for v := range s.names(p) {
		if s.assigns(p, v, code) {
			return false
		}
	}
	return s.private(p) || !p.Effects(code).Writes
}

// assigns reports whether code assigns a name of the map or the key. Changes of the entry's element
// leave them alone.
func (s *mapEntrySite) assigns(p *mutate.Pass, v *types.Var, code ast.Node) bool {
	return slices.ContainsFunc(p.Uses(v, code), func(id *ast.Ident) bool {
		inEntry := func(up ast.Node) bool {
			ix, ok := up.(*ast.IndexExpr)
			return ok && p.Same(ix, s.test)
		}
		return p.Changes(id) && !slices.ContainsFunc(p.Path(id), inEntry)
	})
}

// private reports whether only the function itself can change the names that the map and the key
// consist of.
func (s *mapEntrySite) private(p *mutate.Pass) bool {
	for v := range s.names(p) {
		if !facts.IsLocal(p, v) || facts.Pointed(p, v) || facts.Captured.Of(p)[v] {
			return false
		}
	}
	return true
}

// names yields the variables and the fields that the map and the key consist of.
func (s *mapEntrySite) names(p *mutate.Pass) iter.Seq[*types.Var] {
	return func(yield func(*types.Var) bool) {
		for _, id := range mutate.Nodes[*ast.Ident](p, s.test) {
			if v, ok := p.Info.Uses[id].(*types.Var); ok && !yield(v) {
				return
			}
		}
	}
}

// readsAfter returns the reads of the entry in the statements that follow, up to the first that may
// change the entry.
func (s *mapEntrySite) readsAfter(p *mutate.Pass, list []ast.Stmt) (reads []*ast.IndexExpr) {
	for _, st := range list {
		// What a body does that leaves the list, the rest of the list does not see.
		if test, ok := st.(*ast.IfStmt); ok && endsList(test) && s.leaves(p, test.Cond) {
			reads = append(reads, s.readsIn(p, test.Cond)...)
			reads = append(reads, s.readsAfter(p, test.Body.List)...)
			continue
		}
		if !s.leaves(p, st) {
			return append(reads, s.firstReads(p, st)...)
		}
		reads = append(reads, s.readsIn(p, st)...)
	}
	return reads
}

// endsList reports whether control never comes from the body of an if to the statement that
// follows.
func endsList(test *ast.IfStmt) bool {
	return test.Init == nil && test.Else == nil && mutate.Terminates(test.Body.List)
}

// leaves reports whether code changes neither the names nor the entry. A map of another type is
// another map, unless a conversion leads from one to the other, which ignores tags of fields.
func (s *mapEntrySite) leaves(p *mutate.Pass, st ast.Node) bool {
	for v := range s.names(p) {
		if s.assigns(p, v, st) {
			return false
		}
	}
	own, private := p.Info.TypeOf(s.test.X).Underlying(), s.private(p)
	store := func(l ast.Expr) bool {
		ix, ok := ast.Unparen(l).(*ast.IndexExpr)
		if !ok {
			return private
		}
		other := p.Info.TypeOf(ix.X).Underlying()
		if _, ok := other.(*types.Map); !ok {
			return private
		}
		return !types.IdenticalIgnoreTags(own, other) && !facts.IsGeneric(p, l) && !facts.IsGeneric(p, st)
	}
	return facts.ChangesOnly(p, st, store, func(call *ast.CallExpr) bool {
		_, grows := p.IsBuiltin(call, "append")
		return grows && private
	})
}

// readsIn returns the reads of the entry in code, apart from those in functions, which run at
// another time.
func (s *mapEntrySite) readsIn(p *mutate.Pass, code ast.Node) (reads []*ast.IndexExpr) {
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.IndexExpr:
			if p.Same(n, s.test) && isElementRead(p, n) {
				reads = append(reads, n)
				return false
			}
		}
		return true
	})
	return reads
}

// isElementRead reports whether an element of a map is neither stored nor asked for with ok.
func isElementRead(p *mutate.Pass, e ast.Expr) bool {
	is := func(other ast.Expr) bool { return ast.Unparen(other) == e }
	switch up := p.Path(e)[1].(type) {
	case *ast.ParenExpr:
		return false
	case *ast.AssignStmt:
		return !slices.ContainsFunc(up.Lhs, is) && len(up.Lhs) == len(up.Rhs)
	case *ast.ValueSpec:
		return len(up.Names) == len(up.Values)
	case *ast.IncDecStmt:
		return false
	case *ast.RangeStmt:
		return is(up.X)
	}
	return true
}

// firstReads returns the reads of the entry in a statement that surely come before anything that
// the statement changes.
func (s *mapEntrySite) firstReads(p *mutate.Pass, st ast.Stmt) []*ast.IndexExpr {
	part := firstEvaluated(st)
	if part == nil {
		return nil
	}
	reads := s.readsIn(p, part)
	for _, u := range mutate.Nodes[*ast.UnaryExpr](p, part) {
		if u.Op == token.ARROW {
			return nil // others run meanwhile
		}
	}
	// The operands of the last call are read before it. Any other call may come before a read.
	last, private := lastCall(part), s.private(p)
	for _, call := range mutate.Nodes[*ast.CallExpr](p, part) {
		if _, grows := p.IsBuiltin(call, "append"); grows && private || !facts.CallChanges(p, call) {
			continue
		}
		outside := func(read *ast.IndexExpr) bool { return !facts.Inside(read, call) }
		if call != last || slices.ContainsFunc(reads, outside) {
			return nil
		}
	}
	return reads
}

// firstEvaluated returns what a statement evaluates first and once, or nil.
func firstEvaluated(st ast.Stmt) ast.Node {
	switch st := st.(type) {
	case *ast.ExprStmt, *ast.AssignStmt, *ast.IncDecStmt, *ast.ReturnStmt:
		return st
	case *ast.RangeStmt:
		return st.X
	case *ast.IfStmt:
		if st.Init == nil {
			return st.Cond
		}
		return firstEvaluated(st.Init)
	}
	return nil
}

// lastCall returns the call that a statement makes last, or nil.
func lastCall(part ast.Node) (last *ast.CallExpr) {
	switch st := part.(type) {
	case *ast.ExprStmt:
		last, _ = ast.Unparen(st.X).(*ast.CallExpr)
	case *ast.AssignStmt:
		if len(st.Rhs) == 1 {
			last, _ = ast.Unparen(st.Rhs[0]).(*ast.CallExpr)
		}
	case *ast.ReturnStmt:
		if len(st.Results) == 1 {
			last, _ = ast.Unparen(st.Results[0]).(*ast.CallExpr)
		}
	}
	return last
}

// edits keeps the element in a variable.
func (s *mapEntrySite) edits(p *mutate.Pass) []mutate.Edit {
	entry := p.Fresh("entry", "element", "elementOf")
	var edits []mutate.Edit
	switch {
	case s.kept != nil:
		edits = append(edits, p.Replace(s.kept.Lhs[0], entry))
	case s.found != nil:
		found := p.Fresh("found", "known", "isThere")
		edits = append(edits, p.Span(s.cond.Pos(), s.cond.Body.Pos(),
			entry+", "+found+" := "+p.Text(s.test)+"\nif !"+found+" "))
	default:
		edits = append(edits, p.Span(s.cond.Pos(), s.cond.Body.Pos(),
			entry+" := "+p.Text(s.test)+"\nif "+entry+" == nil "))
	}
	if s.made != nil {
		edits = append(edits, p.Replace(s.made, entry+" = "+p.Text(s.made.Rhs[0])+"\n"+p.Text(s.test)+" = "+entry))
	}
	for _, read := range s.reads {
		edits = append(edits, p.Replace(read, entry))
	}
	return edits
}
