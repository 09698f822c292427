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

// tableArray (catalogue B5) matches a package-level slice that code only indexes, ranges over or
// measures. It declares an array.
var tableArray = &mutate.Mutator{
	Name: "table-array",
	Doc: "Make a lookup table an array instead of a slice: its length is then part of the type, so that an index " +
		"that cannot be out of bounds is not checked, and the table's address is known. Legal because the variable " +
		"is never assigned and only indexed, ranged over or measured.",
	Example: mutate.Shows(`var weights = []int{3, 1, 4, 1}`, `var weights = [...]int{3, 1, 4, 1}`),
	Class:   beagle.E0,
	Gain:    1.06,
	Find:    findTableArray,
	Rewrite: edit.Precomputed,
}

func findTableArray(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, spec := range mutate.Nodes[*ast.ValueSpec](p, nil) {
		v, ok := p.Info.Defs[spec.Names[0]].(*types.Var)
		if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 || !p.IsGlobal(v) || v.Exported() {
			continue
		}
		edits := arrayEdits(p, v, spec)
		if edits != nil {
			sites = append(sites, edit.Site(spec, "table "+v.Name(), edits...))
		}
	}
	return sites
}

// arrayEdits makes the type of a table's literal an array, if no code needs a slice.
func arrayEdits(p *mutate.Pass, v *types.Var, spec *ast.ValueSpec) []mutate.Edit {
	// The value must be a literal of a slice, and the declaration must not name its type again.
	lit, ok := ast.Unparen(spec.Values[0]).(*ast.CompositeLit)
	if !ok || len(lit.Elts) == 0 {
		return nil
	}
	t, ok := lit.Type.(*ast.ArrayType)
	if !ok || t.Len != nil || spec.Type != nil {
		return nil
	}
	// Each use must read elements or the length.
	uses := p.Uses(v, p.File)
	for _, id := range uses {
		switch up := p.Parent(id).(type) {
		case *ast.IndexExpr:
			if up.X != ast.Expr(id) || outOfBounds(p, up, len(lit.Elts)) {
				return nil
			}
			if u, ok := p.Parent(up).(*ast.UnaryExpr); ok && u.Op == token.AND {
				return nil
			}
		// A range with a value copies an array, which must be small.
		case *ast.RangeStmt:
			if up.X != ast.Expr(id) || !syntax.IsBlank(up.Value) && len(lit.Elts) > 64 {
				return nil
			}
		case *ast.CallExpr:
			if _, isLen := p.IsBuiltin(up, "len"); !isLen {
				return nil
			}
		default:
			return nil
		}
	}
	// Another slice must not take the table's place.
	if len(uses) == 0 || !p.Frozen(v) && !elementStoresOnly(p, v) {
		return nil
	}
	return []mutate.Edit{p.Replace(t, "[...]"+p.Text(t.Elt))}
}

// outOfBounds reports whether a constant index lies outside, which the compiler refuses for an
// array.
func outOfBounds(p *mutate.Pass, ix *ast.IndexExpr, n int) bool {
	k, ok := p.Int(ix.Index)
	return ok && k >= int64(n)
}

func elementStoresOnly(p *mutate.Pass, v *types.Var) bool {
	return facts.StoresElementsOnly(p, v, p.File)
}
