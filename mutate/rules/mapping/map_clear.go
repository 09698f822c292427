package mapping

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

// mapClear (catalogue M6 and the second half of A10) matches a local map that a loop makes anew in
// each iteration, or empties by key. It clears the map and uses it again.
var mapClear = &mutate.Mutator{
	Name: "map-clear",
	Doc: "Clear a map and use it again instead of making a new one: the buckets are there already. Legal because " +
		"the map never leaves the function, so nobody holds the old one.",
	Example: mutate.Shows(`for _, line := range lines {
	seen = make(map[string]bool)`,
		`for _, line := range lines {
	clear(seen)`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findMapClear,
	Rewrite: edit.Precomputed,
}

// findMapClear looks for maps that are made anew where the old one could be emptied, and for loops
// that empty one.
func findMapClear(p *mutate.Pass) []mutate.Site {
	if !p.GoAtLeast(21) {
		return nil // clear
	}
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		// A map that each iteration makes for itself can be made once and cleared.
		if d, ok := facts.Declares(p, list[i]); ok && d.Value != nil {
			if edits := reuseInLoop(p, d); edits != nil {
				sites = append(sites, edit.Site(d.Stmt, "map "+d.Var.Name()+" made in every turn", edits...))
			}
			continue
		}
		// So can one that the code makes anew and assigns to the variable of the old one. Nothing
		// else may hold the old one, and it must not be nil at first.
		lhs, rhs, ok := syntax.SplitAssign(list[i], token.ASSIGN)
		if !ok || p.Var(lhs) == nil || !madeMap(p, rhs) || !mapStaysHere(p, p.Var(lhs)) || !startsMade(p, p.Var(lhs)) ||
			rangedOver(p, p.Var(lhs), list[i]) || facts.IsRedefined(p, list[i], "clear") {
			continue
		}
		sites = append(sites,
			edit.Site(list[i], "map "+p.Text(lhs)+" made anew", p.Replace(list[i], "clear("+p.Text(lhs)+")")))
	}
	// A loop that deletes each key is what clear does.
	for _, r := range mutate.Nodes[*ast.RangeStmt](p, nil) {
		if m, ok := deletesAll(p, r); ok && !facts.IsRedefined(p, r, "clear") {
			sites = append(sites, edit.Site(r, "deletion of all elements", p.Replace(r, "clear("+m+")")))
		}
	}
	return sites
}

// madeMap recognises make(map[K]V) and map[K]V{}. clear and a new map treat NaN keys alike, so
// floats need no care here.
func madeMap(p *mutate.Pass, e ast.Expr) bool {
	if t := p.Info.TypeOf(e); t == nil {
		return false
	} else if _, ok := t.Underlying().(*types.Map); !ok {
		return false
	}
	if call, ok := p.IsBuiltin(e, "make"); ok {
		return len(call.Args) == 1 || p.Pure(call.Args[1])
	}
	lit, ok := ast.Unparen(e).(*ast.CompositeLit)
	return ok && len(lit.Elts) == 0
}

// mapStaysHere reports whether nothing else ever sees a local map, and whether the variable always
// holds one.
func mapStaysHere(p *mutate.Pass, v *types.Var) bool {
	return facts.Owns(p, v) && !slices.ContainsFunc(p.Uses(v, p.File), func(id *ast.Ident) bool {
		as, ok := p.Parent(id).(*ast.AssignStmt)
		return ok && !madeMap(p, as.Rhs[0]) // it is nil from there
	})
}

// rangedOver reports whether a statement stands in a loop over a map, which goes on with the
// elements of the old map.
func rangedOver(p *mutate.Pass, v *types.Var, s ast.Stmt) bool {
	for _, up := range p.Path(s) {
		if r, ok := up.(*ast.RangeStmt); ok && p.Var(r.X) == v {
			return true
		}
	}
	return false
}

// startsMade reports whether v is declared with a map: clear would leave a nil map nil.
func startsMade(p *mutate.Pass, v *types.Var) bool {
	for list, i := range facts.Statements(p) {
		if d, ok := facts.Declares(p, list[i]); ok && d.Var == v {
			return d.Value != nil && madeMap(p, d.Value)
		}
	}
	return false
}

// reuseInLoop moves a map that each iteration of a loop makes in front of the loop.
func reuseInLoop(p *mutate.Pass, d facts.Declaration) []mutate.Edit {
	if !madeMap(p, d.Value) || !mapStaysHere(p, d.Var) {
		return nil
	}
	// The declaration must stand in the loop's own body: in a branch it would not run each time.
	body, ok := p.Parent(d.Stmt).(*ast.BlockStmt)
	if !ok {
		return nil
	}
	loop, ok := p.Parent(body).(ast.Stmt)
	if !ok || syntax.LoopBody(loop) != body || facts.UsesOwn(p, d.Value, loop) {
		return nil
	}
	// The size hint is evaluated in front of the loop now.
	if !facts.Stable(p, d.Value, loop) {
		return nil
	}
	name := d.Var.Name()
	// In front of the loop another variable of that name may be visible, which the loop uses.
	if isShadowedAt(p, name, loop) || facts.IsRedefined(p, loop, "clear") {
		return nil
	}
	return []mutate.Edit{edit.InsertBefore(p, edit.LabelOf(p, loop), p.Text(d.Stmt)),
		p.Replace(d.Stmt, "clear("+name+") // reuses the buckets of the turn before")}
}

// isShadowedAt reports whether the name means something else at the loop.
func isShadowedAt(p *mutate.Pass, name string, loop ast.Stmt) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, p.FuncOf(loop)) {
		if id.Name == name && !facts.Inside(id, loop) {
			return true
		}
	}
	return p.Pkg.Scope().Lookup(name) != nil
}

// deletesAll recognises `for k := range m { delete(m, k) }` for keys that a look-up can find: a NaN
// key survives the loop, but not clear.
func deletesAll(p *mutate.Pass, r *ast.RangeStmt) (string, bool) {
	m, ok := p.Info.TypeOf(r.X).Underlying().(*types.Map)
	// For other keys, == may be false for a key and itself.
	if !ok || len(r.Body.List) != 1 || r.Value != nil ||
		syntax.PlainKind(m.Key())&(types.IsString|types.IsInteger|types.IsBoolean) == 0 {
		return "", false
	}
	st, ok := r.Body.List[0].(*ast.ExprStmt)
	if !ok {
		return "", false
	}
	call, ok := p.IsBuiltin(st.X, "delete")
	// Map and key must be those of the loop.
	if !ok || p.Var(r.X) == nil || p.Var(call.Args[0]) != p.Var(r.X) || r.Key == nil ||
		p.Var(call.Args[1]) != p.Var(r.Key) || p.Var(r.Key) == nil {
		return "", false
	}
	return p.Text(r.X), r.Tok == token.DEFINE
}
