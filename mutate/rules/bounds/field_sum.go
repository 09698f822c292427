package bounds

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// fieldSum (catalogue L4) matches a loop that updates a field through a pointer in each iteration.
// It updates a local variable, and stores it into the field after the loop.
var fieldSum = &mutate.Mutator{
	Name: "field-accumulator",
	Doc: "Add up in a local variable and store the field once after the loop, instead of loading and storing it in " +
		"every iteration. Legal because the loop calls nothing, cannot panic or leave early, and touches no other " +
		"memory of the field's type.",
	Example: mutate.Shows(`for _, x := range v {
	h.sum += x
}`,
		`sum := h.sum
for _, x := range v {
	sum += x
}
h.sum = sum`),
	Class:   beagle.E0,
	Gain:    1.1,
	Find:    findFieldSum,
	Rewrite: edit.Precomputed,
}

// findFieldSum looks for loops that add to a field through a pointer, and certainly run to their
// end.
func findFieldSum(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for r := range mutate.Nodes[*ast.RangeStmt](p, nil) {
		// An outer loop would write the field back at each of its turns.
		if p.InLoop(r) || facts.IsLabelled(p, r) || !quietLoop(p, r) {
			continue
		}
		if _, at := p.Siblings(r); at < 0 {
			continue
		}
		// One field for each loop is enough: the next application finds the others.
		for as := range mutate.Nodes[*ast.AssignStmt](p, r.Body) {
			field, ok := sumField(p, as)
			if !ok || !onlyMemory(p, r, field) {
				continue
			}
			sites = append(sites, fieldSite(p, r, field))
			break
		}
	}
	return sites
}

// quietLoop reports whether the loop certainly runs to its end and calls nothing. Only fields
// through pointers may panic in it, and code in front of the loop has read those.
func quietLoop(p *mutate.Pass, r *ast.RangeStmt) bool {
	// A range over a map, a channel or a function may leave or change memory between two
	// iterations.
	switch p.Info.TypeOf(r.X).Underlying().(type) {
	case *types.Slice, *types.Array, *types.Basic:
	default:
		return false
	}
	// Look for anything that may panic, block, leave the loop, take an address or call. The field
	// would then be seen with a sum that is not written back yet.
	quiet := r.Tok != token.ASSIGN
	ast.Inspect(r.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			quiet = quiet && p.Info.Types[n.Fun].IsType()
		// A division panics by zero, and a shift by a negative count.
		case *ast.BinaryExpr:
			if n.Op == token.QUO || n.Op == token.REM || n.Op == token.SHL || n.Op == token.SHR {
				_, constant := p.Int(n.Y)
				quiet = quiet && constant
			}
			// Interfaces of a type that cannot be compared panic.
			if (n.Op == token.EQL || n.Op == token.NEQ) && types.IsInterface(p.Info.TypeOf(n.X)) {
				quiet = false
			}
		case *ast.AssignStmt:
			if n.Tok == token.QUO_ASSIGN || n.Tok == token.REM_ASSIGN || n.Tok == token.SHL_ASSIGN ||
				n.Tok == token.SHR_ASSIGN {
				quiet = false
			}
		case *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr, *ast.FuncLit, *ast.ReturnStmt,
			*ast.BranchStmt,
			*ast.GoStmt, *ast.DeferStmt, *ast.SendStmt, *ast.SelectStmt, *ast.ForStmt, *ast.RangeStmt, *ast.LabeledStmt,
			*ast.CompositeLit:
			quiet = false
		case *ast.UnaryExpr:
			quiet = quiet && n.Op != token.ARROW && n.Op != token.AND
		}
		return quiet
	})
	return quiet
}

// sumField recognises base.f op= e for a pointer variable base.
func sumField(p *mutate.Pass, as *ast.AssignStmt) (*ast.SelectorExpr, bool) {
	// Only a step adds to what is there; an assignment reads nothing.
	if as.Tok == token.DEFINE || as.Tok == token.ASSIGN || len(as.Lhs) != 1 {
		return nil, false
	}
	sel, ok := as.Lhs[0].(*ast.SelectorExpr)
	if !ok {
		return nil, false
	}
	s, base := p.Info.Selections[sel], p.Var(sel.X)
	// A promoted field has pointers in between, and a captured base may change.
	if s == nil || s.Kind() != types.FieldVal || len(s.Index()) != 1 || !facts.IsLocal(p, base) ||
		facts.Captured.Of(p)[base] {
		return nil, false
	}
	_, ptr := base.Type().Underlying().(*types.Pointer)
	_, basic := s.Obj().Type().Underlying().(*types.Basic)
	return sel, ptr && basic
}

// onlyMemory reports whether the loop writes only the field and local variables. It may read
// nothing else of the field's type through a pointer. Code in front of the loop must have followed
// the base pointer.
func onlyMemory(p *mutate.Pass, r *ast.RangeStmt, field *ast.SelectorExpr) bool {
	// The base must be the same pointer throughout, and it must not be nil: reading the field
	// before the loop would panic where an empty loop does not.
	base := p.Var(field.X)
	if p.Assigned(base, &ast.BlockStmt{Lbrace: r.For, Rbrace: r.X.Pos()}) || !facts.DereferencedBefore(p, base, r) ||
		sharesMemory(p, r.X, field) {
		return false
	}
	ok := true
	// A write may change the field itself or a plain local variable; nothing else may notice that
	// the field is written late.
	ast.Inspect(r.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				ok = ok && (facts.PlainLocal(p, l) && p.Var(l) != base || p.Same(l, field))
			}
		case *ast.IncDecStmt:
			ok = ok && (facts.PlainLocal(p, n.X) && p.Var(n.X) != base || p.Same(n.X, field))
		// Another field through a pointer may be the same memory. The field itself is the rule's
		// own business.
		case *ast.SelectorExpr:
			if p.Same(n, field) {
				return false
			}
			if s := p.Info.Selections[n]; s != nil {
				if v := p.Var(n.X); v == nil || syntax.Is[*types.Pointer](v.Type()) || !facts.IsLocal(p, v) {
					ok = false // it may be the same memory, or panic
				}
			}
		// A global variable may be the memory of the field, unless it never changes.
		case *ast.Ident:
			if v := p.Var(n); v != nil && (p.IsGlobal(v) && !p.Frozen(v) || facts.Pointed(p, v)) {
				ok = false // the base may point to it
			}
		}
		return ok
	})
	return ok
}

// sharesMemory reports whether the elements of the loop's sequence could hold the field: they have
// its type, or contain values of it.
func sharesMemory(p *mutate.Pass, x ast.Expr, field *ast.SelectorExpr) bool {
	var elem types.Type
	switch t := p.Info.TypeOf(x).Underlying().(type) {
	case *types.Slice:
		elem = t.Elem()
	case *types.Basic:
		return t.Info()&types.IsString == 0
	default:
		return true
	}
	_, basic := elem.Underlying().(*types.Basic)
	return !basic || types.Identical(elem.Underlying(), p.Info.TypeOf(field).Underlying())
}

func fieldSite(p *mutate.Pass, r *ast.RangeStmt, field *ast.SelectorExpr) mutate.Site {
	name := p.Fresh(edit.LowerFirst(field.Sel.Name), field.Sel.Name+"Now")
	text := p.Text(field)
	// In front of the loop the field is read, and behind it is written once.
	edits := []mutate.Edit{edit.InsertBefore(p, r, name+" := "+text), p.Insert(r.End(), "\n"+text+" = "+name)}
	for sel := range mutate.Nodes[*ast.SelectorExpr](p, r.Body) {
		if p.Same(sel, field) {
			edits = append(edits, p.Replace(sel, name))
		}
	}
	return edit.Site(r, text+" in a loop", edits...)
}
