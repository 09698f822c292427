package rules

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// sortExtreme (part of catalogue O3) matches a sort of the function's own copy of which code only
// reads the first or the last element. It calls slices.Min or slices.Max.
var sortExtreme = &mutate.Mutator{
	Name: "sort-extreme",
	Doc: "Look for the smallest or greatest element instead of sorting for it: one pass instead of n log n. Legal " +
		"because the sorted slice is the function's own copy and nothing else of it is used; on an empty slice it " +
		"panics with another text.",
	Before: `c := slices.Clone(v)
slices.Sort(c)
return c[0]`,
	After: `c := slices.Clone(v)
return slices.Min(c)`,
	Class:   beagle.E1,
	Gain:    3,
	Find:    findSortExtreme,
	Rewrite: precomputed,
}

func findSortExtreme(p *mutate.Pass) []mutate.Site {
	if !goAtLeast(p, 21) {
		return nil // package slices is missing
	}
	var sites []mutate.Site
	for list, i := range statements(p) {
		v := sorted(p, list[i])
		if v == nil || !ownCopy(p, v) || p.InLoop(list[i]) {
			continue
		}
		edits := extremes(p, v, list[i])
		if edits != nil {
			sites = append(sites,
				site(list[i], "sort of "+v.Name(), append([]mutate.Edit{p.Delete(list[i])}, edits...)...))
		}
	}
	return sites
}

// sorted returns v for slices.Sort(v), sort.Ints(v) and sort.Strings(v). It leaves out floats: NaN
// sorts first, but spreads in Min and Max.
func sorted(p *mutate.Pass, s ast.Stmt) *types.Var {
	st, ok := s.(*ast.ExprStmt)
	if !ok {
		return nil
	}
	call, ok := p.IsCall(st.X, "slices", "Sort")
	if !ok {
		if call, ok = p.IsCall(st.X, "sort", "Ints", "Strings"); !ok {
			return nil
		}
	}
	v := p.Var(call.Args[0])
	if !local(p, v) || !isSlice(v.Type()) {
		return nil
	}
	if b, ok := v.Type().Underlying().(*types.Slice).Elem().Underlying().(*types.Basic); !ok ||
		b.Info()&(types.IsInteger|types.IsString) == 0 {
		return nil
	}
	return v
}

// ownCopy reports whether v is declared with memory of its own: a clone, or an append to an empty
// slice.
func ownCopy(p *mutate.Pass, v *types.Var) bool {
	if captured(p, v) {
		return false
	}
	for list, i := range statements(p) {
		d, ok := declaration(p, list[i])
		if !ok || d.Var != v || d.Value == nil {
			continue
		}
		if _, ok := p.IsCall(d.Value, "slices", "Clone", "Collect", "Sorted"); ok {
			return true
		}
		call, ok := p.IsBuiltin(d.Value, "append")
		if !ok {
			return false
		}
		kind, _ := emptyValue(p, declared{Value: ast.Unparen(call.Args[0])})
		return kind != "" || p.Info.Types[call.Args[0]].IsNil()
	}
	return false
}

// extremes replaces v[0] and v[len(v)-1] behind the sort, if code there uses v in no other way.
func extremes(p *mutate.Pass, v *types.Var, after ast.Stmt) []mutate.Edit {
	pkg, edits := p.Import("slices")
	n := len(edits)
	for _, id := range p.Uses(v, p.FuncOf(after)) {
		if id.Pos() < after.Pos() {
			if up, ok := p.Parent(id).(*ast.CallExpr); ok {
				if _, isLen := p.IsBuiltin(up, "len"); isLen {
					continue
				}
			}
			return nil
		}
		if inside(id, after) || inLastIndex(p, id) {
			continue
		}
		up := p.Parent(id)
		if call, ok := p.IsBuiltin(up, "len"); ok && call.Args[0] == ast.Expr(id) {
			continue
		}
		ix, ok := up.(*ast.IndexExpr)
		if !ok || assignedTo(p, ix) {
			return nil
		}
		switch {
		case p.IsInt(ix.Index, 0):
			edits = append(edits, p.Replace(ix, pkg+".Min("+v.Name()+")"))
		case isLast(p, ix):
			edits = append(edits, p.Replace(ix, pkg+".Max("+v.Name()+")"))
		default:
			return nil
		}
	}
	if len(edits) == n || len(edits) > n+2 {
		return nil
	}
	return edits
}

// isLast recognises v[len(v)-1].
func isLast(p *mutate.Pass, ix *ast.IndexExpr) bool {
	b, ok := ast.Unparen(ix.Index).(*ast.BinaryExpr)
	return ok && b.Op == token.SUB && p.IsInt(b.Y, 1) && p.LenOf(b.X) != nil && p.LenOf(b.X) == p.Var(ix.X)
}

func inLastIndex(p *mutate.Pass, id *ast.Ident) bool {
	for _, up := range p.Path(id) {
		if ix, ok := up.(*ast.IndexExpr); ok && inside(id, ix.Index) && isLast(p, ix) {
			return true
		}
	}
	return false
}
