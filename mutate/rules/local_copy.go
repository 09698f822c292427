package rules

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// localCopy (catalogue B7, and L4 for reads) matches a loop that reads a slice or map from a
// package variable or a field. It copies the slice or map into a local variable in front of the
// loop.
var localCopy = &mutate.Mutator{
	Name: "local-copy",
	Doc: "Read a slice or map that a package variable or field holds into a local variable in front of the loop. " +
		"The compiler loads a local once and can prove bounds for it. Legal because nothing in the loop can put " +
		"another value there, and the field is read before the loop in any case.",
	Example: mutate.Shows(`for i := range key {
	h = table[byte(h)^key[i]] ^ h>>8
}`,
		`table := table // a local slice: its length is known to stay
for i := range key {
	h = table[byte(h)^key[i]] ^ h>>8
}`),
	Class:   beagle.E0,
	Gain:    1.08,
	Find:    findLocalCopy,
	Rewrite: precomputed,
}

// findLocalCopy looks for indexed slices and maps in a field or a package variable, which outermost
// loops load anew in each iteration because a store could change them.
func findLocalCopy(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for s := range mutate.Nodes[ast.Stmt](p, nil) {
		// The outermost of nested loops runs the most iterations.
		if loopBody(s) == nil || p.InLoop(s) {
			continue
		}
		var seen []ast.Expr
		for ix := range mutate.Nodes[*ast.IndexExpr](p, loopBody(s)) {
			base := ast.Unparen(ix.X)
			// Nothing in the loop may assign it, directly or through a call.
			if containsSame(p, seen, base) || !heldStill(p, base, s) {
				continue
			}
			seen = append(seen, base)
			sites = append(sites, copySite(p, base, s))
		}
	}
	return sites
}

func containsSame(p *mutate.Pass, list []ast.Expr, e ast.Expr) bool {
	for _, x := range list {
		if p.Same(x, e) {
			return true
		}
	}
	return false
}

// heldStill reports whether e is a global or a field of slice or map type that holds one value
// during the whole loop.
func heldStill(p *mutate.Pass, e ast.Expr, loop ast.Stmt) bool {
	t := p.Info.TypeOf(e)
	if t == nil {
		return false
	}
	// Only slices and maps are headers whose copy still reaches the same elements.
	switch t.Underlying().(type) {
	case *types.Slice, *types.Map:
	default:
		return false
	}
	switch e := e.(type) {
	// A variable of the package must not be replaced by anything that the loop calls.
	case *ast.Ident:
		v := p.Var(e)
		return p.IsGlobal(v) && !mayReplace(p, loop)
	// A field may be held if the loop writes elements through it at most.
	case *ast.SelectorExpr:
		sel := p.Info.Selections[e]
		base := p.Var(e.X)
		if sel == nil || sel.Kind() != types.FieldVal || base == nil || len(sel.Index()) != 1 ||
			!storesThroughFields(p, base, loop) || facts.Captured.Of(p)[base] {
			return false
		}
		if _, ptr := base.Type().Underlying().(*types.Pointer); ptr && !dereferencedBefore(p, base, loop) {
			return false // a nil pointer must not panic earlier, nor if the loop does not run
		}
		return !mayReplace(p, loop)
	}
	return false
}

// storesThroughFields reports whether the loop changes nothing of base but elements of what its
// fields hold.
func storesThroughFields(p *mutate.Pass, base *types.Var, loop ast.Node) bool {
	// Only uses that change something are of interest.
	for _, id := range p.Uses(base, loop) {
		if !p.Changes(id) {
			continue
		}
		// The change must go through a field of base to an element of a slice or map: base itself
		// and the field then stay.
		field, ok := p.Parent(id).(*ast.SelectorExpr)
		if !ok || p.PointerMethod(field) {
			return false
		}
		ix, ok := p.Parent(field).(*ast.IndexExpr)
		if !ok || ix.X != ast.Expr(field) {
			return false
		}
		switch p.Info.TypeOf(field).Underlying().(type) {
		case *types.Slice, *types.Map:
		default:
			return false // an array is a part of base
		}
		if u, ok := p.Parent(ix).(*ast.UnaryExpr); ok && u.Op == token.AND {
			return false
		}
	}
	return true
}

// mayReplace reports whether the loop may store a slice, a map, or a value that contains one,
// outside local variables.
func mayReplace(p *mutate.Pass, loop ast.Node) bool {
	return !facts.ChangesOnly(p, loop, func(l ast.Expr) bool { return facts.IsBasic(p.Info.TypeOf(l)) },
		func(call *ast.CallExpr) bool {
			_, grows := p.IsBuiltin(call, "append")
			s, ok := p.Info.TypeOf(call).Underlying().(*types.Slice)
			return grows && ok && facts.IsBasic(s.Elem())
		})
}

// copySite copies one of them to a local variable in front of the loop, and uses that in the loop.
func copySite(p *mutate.Pass, base ast.Expr, loop ast.Stmt) mutate.Site {
	name := ""
	switch e := base.(type) {
	case *ast.Ident:
		name = p.Fresh("local"+upperFirst(e.Name), e.Name+"Copy")
	case *ast.SelectorExpr:
		name = p.Fresh(lowerFirst(e.Sel.Name), lowerFirst(e.Sel.Name)+"Copy")
	}
	edits := []mutate.Edit{
		insertBefore(p, labelOf(p, loop), name+" := "+p.Text(base)+" // a local: loaded once, not in every turn"),
	}
	for e := range mutate.Nodes[ast.Expr](p, loop) {
		// A literal may run after the loop, and must read the field itself.
		if p.Same(e, base) && !inLiteral(p, e, loop) {
			edits = append(edits, p.Replace(e, name))
		}
	}
	return site(loop, p.Text(base)+" in a loop", outermostOnly(edits)...)
}
