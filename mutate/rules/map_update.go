package rules

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// mapUpdate (catalogue M1) matches code that looks one key up twice. It updates the element in
// place, or keeps the element that the first look-up found.
var mapUpdate = &mutate.Mutator{
	Name: "map-update",
	Doc: "Look a key up once instead of twice: update the element in place, or keep what the test found. Each " +
		"lookup hashes the key again. Legal because map and key are the same at both places and nothing changes the " +
		"map in between.",
	Before: `if _, ok := m[k]; ok {
	use(m[k])
}`,
	After: `if v, ok := m[k]; ok {
	use(v)
}`,
	Class:   beagle.E0,
	Gain:    1.6,
	Find:    findMapUpdate,
	Rewrite: precomputed,
}

var opAssign = map[token.Token]string{
	token.ADD: "+=", token.SUB: "-=", token.MUL: "*=", token.OR: "|=", token.AND: "&=", token.XOR: "^=",
}

func findMapUpdate(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range statements(p) {
		switch s := list[i].(type) {
		case *ast.AssignStmt:
			if edits := updateInPlace(p, s); edits != nil {
				sites = append(sites, site(s, "update of "+p.Text(s.Lhs[0]), edits...))
			}
		case *ast.IfStmt:
			for _, try := range []func(*mutate.Pass, *ast.IfStmt, []ast.Stmt) []mutate.Edit{presenceUpdate,
				presenceInit, keepFound, keepRead} {
				if edits := try(p, s, list[i+1:]); edits != nil {
					sites = append(sites, site(s, "lookups of "+p.Text(lookupIn(p, s)), edits...))
					break
				}
			}
		}
	}
	return sites
}

// mapElement recognises m[k] if code can evaluate m and k again right away. They must have no
// effects, and a panic would have come before.
func mapElement(p *mutate.Pass, e ast.Expr) (*ast.IndexExpr, bool) {
	ix, ok := ast.Unparen(e).(*ast.IndexExpr)
	if !ok || p.Info.TypeOf(ix.X) == nil {
		return nil, false
	}
	m, ok := p.Info.TypeOf(ix.X).Underlying().(*types.Map)
	if !ok || types.IsInterface(m.Key()) {
		return nil, false
	}
	return ix, !p.Effects(ix.X).Writes && !p.Effects(ix.Index).Writes
}

// elementType returns the type of m[k], also for the form with two values.
func elementType(p *mutate.Pass, ix *ast.IndexExpr) types.Type {
	return p.Info.TypeOf(ix.X).Underlying().(*types.Map).Elem()
}

// updateInPlace turns m[k] = m[k] + v into m[k] += v.
func updateInPlace(p *mutate.Pass, s *ast.AssignStmt) []mutate.Edit {
	lhs, rhs, ok := assigned(s, token.ASSIGN)
	if !ok {
		return nil
	}
	ix, ok := mapElement(p, lhs)
	sum, isBinary := rhs.(*ast.BinaryExpr)
	if !ok || !isBinary || opAssign[sum.Op] == "" || !p.Same(ix, sum.X) || p.Effects(sum.Y).Writes {
		return nil
	}
	return []mutate.Edit{p.Replace(s, p.Text(ix)+" "+opAssign[sum.Op]+" "+p.Text(ast.Unparen(sum.Y)))}
}

// presenceTest recognises `if _, ok := m[k]; ok` (present) and `; !ok`.
func presenceTest(p *mutate.Pass, s *ast.IfStmt) (ix *ast.IndexExpr, ok *ast.Ident, present, found bool) {
	init, isAssign := s.Init.(*ast.AssignStmt)
	if !isAssign || init.Tok != token.DEFINE || len(init.Lhs) != 2 || len(init.Rhs) != 1 || !isBlank(init.Lhs[0]) {
		return nil, nil, false, false
	}
	ix, found = mapElement(p, init.Rhs[0])
	okVar := p.Var(init.Lhs[1])
	cond := ast.Unparen(s.Cond)
	present = true
	if not, isNot := cond.(*ast.UnaryExpr); isNot && not.Op == token.NOT {
		cond, present = ast.Unparen(not.X), false
	}
	id, _ := init.Lhs[1].(*ast.Ident)
	return ix, id, present, found && okVar != nil && p.Var(cond) == okVar && len(p.Uses(okVar, s)) == 1
}

func lookupIn(p *mutate.Pass, s *ast.IfStmt) ast.Node {
	for ix := range mutate.Nodes[*ast.IndexExpr](p, s) {
		if e, ok := mapElement(p, ix); ok {
			return e
		}
	}
	return s.Cond
}

// presenceUpdate handles a test that adds to an element or sets it for the first time. It writes an
// addition, since a missing element counts as zero.
func presenceUpdate(p *mutate.Pass, s *ast.IfStmt, _ []ast.Stmt) []mutate.Edit {
	ix, _, present, ok := presenceTest(p, s)
	other, isBlock := s.Else.(*ast.BlockStmt)
	if !ok || !isBlock {
		return nil
	}
	add, set := s.Body, other
	if !present {
		add, set = other, s.Body
	}
	if len(add.List) != 1 || len(set.List) != 1 || plainKind(elementType(p, ix))&(types.IsInteger|types.IsString) == 0 {
		return nil
	}
	lhs, first, ok := assigned(set.List[0], token.ASSIGN)
	if !ok || !p.Same(lhs, ix) {
		return nil
	}
	switch st := add.List[0].(type) {
	case *ast.IncDecStmt:
		if st.Tok == token.INC && p.Same(st.X, ix) && p.IsInt(first, 1) {
			return []mutate.Edit{p.Replace(s, p.Text(st))}
		}
	case *ast.AssignStmt:
		lhs, added, ok := assigned(st, token.ADD_ASSIGN)
		if ok && p.Same(lhs, ix) && p.Same(added, first) && !p.Effects(added).Writes {
			return []mutate.Edit{p.Replace(s, p.Text(st))}
		}
	}
	return nil
}

// presenceInit drops `if _, ok := m[k]; !ok { m[k] = 0 }` in front of an addition to the element.
func presenceInit(p *mutate.Pass, s *ast.IfStmt, rest []ast.Stmt) []mutate.Edit {
	ix, _, present, ok := presenceTest(p, s)
	if !ok || present || s.Else != nil || len(s.Body.List) != 1 || len(rest) == 0 {
		return nil
	}
	lhs, zero, ok := assigned(s.Body.List[0], token.ASSIGN)
	if !ok || !p.Same(lhs, ix) || !p.IsInt(zero, 0) || plainKind(elementType(p, ix))&types.IsInteger == 0 {
		return nil
	}
	if inc, ok := rest[0].(*ast.IncDecStmt); ok && p.Same(inc.X, ix) {
		return []mutate.Edit{p.Delete(s)}
	}
	if lhs, added, ok := assigned(rest[0], token.ADD_ASSIGN, token.SUB_ASSIGN, token.OR_ASSIGN); ok &&
		p.Same(lhs, ix) && p.Pure(added) {
		return []mutate.Edit{p.Delete(s)}
	}
	return nil
}

// keepFound keeps the element that a presence test has looked up.
func keepFound(p *mutate.Pass, s *ast.IfStmt, _ []ast.Stmt) []mutate.Edit {
	ix, _, present, ok := presenceTest(p, s)
	if !ok || !present {
		return nil
	}
	same := readsOf(p, ix, s.Body)
	if len(same) == 0 || !stable(p, ix.Index, s.Body) || !mapStays(p, ix, s.Body) {
		return nil
	}
	name := p.Fresh("v", "elem", "val")
	init := s.Init.(*ast.AssignStmt)
	edits := []mutate.Edit{p.Replace(init.Lhs[0], name)}
	for _, e := range same {
		edits = append(edits, p.Replace(e, name))
	}
	return edits
}

// keepRead keeps the element that a condition has read, if the body reads it again.
func keepRead(p *mutate.Pass, s *ast.IfStmt, _ []ast.Stmt) []mutate.Edit {
	if s.Init != nil {
		return nil
	}
	for ix := range mutate.Nodes[*ast.IndexExpr](p, s.Cond) {
		e, ok := mapElement(p, ix)
		if !ok || p.Effects(s.Cond).Writes || p.Effects(ix.X).Panics || len(readsOf(p, e, s.Cond)) == 0 {
			continue
		}
		same := readsOf(p, e, s.Body)
		if len(same) == 0 || !stable(p, e.Index, s.Body) || !mapStays(p, e, s.Body) {
			continue
		}
		name := p.Fresh("v", "elem", "val")
		edits := []mutate.Edit{p.Insert(s.Cond.Pos(), name+" := "+p.Text(e)+"; ")}
		for _, r := range append(readsOf(p, e, s.Cond), same...) {
			edits = append(edits, p.Replace(r, name))
		}
		return edits
	}
	return nil
}

// readsOf lists the plain reads of the same element below root.
func readsOf(p *mutate.Pass, ix *ast.IndexExpr, root ast.Node) []ast.Expr {
	var out []ast.Expr
	for e := range mutate.Nodes[*ast.IndexExpr](p, root) {
		if p.Same(e, ix) && !assignedTo(p, e) && !commaOK(p, e) && !throughElement(p, e) {
			if _, lit := enclosing[*ast.FuncLit](p, e); !lit {
				out = append(out, e)
			}
		}
	}
	return out
}

// throughElement reports whether code assigns through e: m[k][i] = v or m[k].f = v. Such
// assignments keep meaning the same memory only for references.
func throughElement(p *mutate.Pass, e ast.Expr) bool {
	switch p.Parent(e).(type) {
	case *ast.IndexExpr, *ast.SelectorExpr, *ast.SliceExpr:
		return plainKind(p.Info.TypeOf(e)) == 0
	}
	return false
}

func commaOK(p *mutate.Pass, e ast.Expr) bool {
	switch up := p.Parent(e).(type) {
	case *ast.AssignStmt:
		return len(up.Lhs) == 2 && len(up.Rhs) == 1
	case *ast.ValueSpec:
		return len(up.Names) == 2 && len(up.Values) == 1
	}
	return false
}

// mapStays reports whether nothing in body can change the map. The body may assign plain variables
// and make calls without effects. Any other call counts as a change, even if it cannot reach the
// map.
func mapStays(p *mutate.Pass, ix *ast.IndexExpr, body ast.Node) bool {
	m := p.Var(ix.X)
	if m != nil && p.Assigned(m, body) {
		return false
	}
	if m == nil && !stable(p, ix.X, body) {
		return false
	}
	stays := true
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				stays = stays && !storesInMap(p, l)
			}
		case *ast.IncDecStmt:
			stays = stays && !storesInMap(p, n.X)
		case *ast.CallExpr:
			if _, isAppend := p.IsBuiltin(n, "append"); !isAppend && callChanges(p, n) {
				stays = false
			}
		case *ast.GoStmt, *ast.DeferStmt, *ast.SendStmt, *ast.SelectStmt:
			stays = false
		}
		return stays
	})
	return stays
}

// storesInMap reports whether an assignment to l may change a map element.
func storesInMap(p *mutate.Pass, l ast.Expr) bool {
	switch l := ast.Unparen(l).(type) {
	case *ast.Ident:
		return !plainLocal(p, l)
	case *ast.IndexExpr:
		_, isMap := p.Info.TypeOf(l.X).Underlying().(*types.Map)
		return isMap || plainKind(p.Info.TypeOf(l)) == 0
	}
	return true
}
