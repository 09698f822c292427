package bounds

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"math/bits"
	"slices"
	"strconv"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// tablePad (catalogue B6) matches look-ups in a fixed table by an index that depends on one byte.
// It pads the table to a power of two and masks the index. A table driven by another table needs
// this, because the compiler does not know the first one's entries.
var tablePad = &mutate.Mutator{
	Name: "table-pad",
	Doc: "Pad a fixed table to a power of two and mask the index, which then needs no bounds check. Exact, because " +
		"evaluating the index on all 256 bytes shows that it always lies in the original part.",
	Example: mutate.Shows(`var cost = [5]int{1, 2, 4, 4, 9}

sum += cost[class[c]]`,
		`var cost = [8]int{1, 2, 4, 4, 9}

sum += cost[class[c]&7]`),
	Class:   beagle.E0,
	Gain:    1.05,
	Find:    findTablePad,
	Rewrite: edit.Precomputed,
}

// findTablePad looks for tables of the package that never change, indexed by a byte or by what
// depends on one.
func findTablePad(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, g := range mutate.Nodes[*ast.GenDecl](p, nil) {
		if g.Tok != token.VAR || !packageDecl(p, g) {
			continue
		}
		// The table is an array that never changes, declared alone.
		for _, s := range g.Specs {
			spec := s.(*ast.ValueSpec)
			if len(spec.Names) != 1 || len(spec.Values) != 1 || spec.Type != nil {
				continue
			}
			v, _ := p.Info.Defs[spec.Names[0]].(*types.Var)
			lit, ok := spec.Values[0].(*ast.CompositeLit)
			if v == nil || !ok || !p.Frozen(v) || !syntax.Is[*types.Array](v.Type()) {
				continue
			}
			if edits := padEdits(p, v, lit); edits != nil {
				sites = append(sites, edit.Site(spec, "table "+v.Name(), edits...))
			}
		}
	}
	return sites
}

func packageDecl(p *mutate.Pass, g *ast.GenDecl) bool {
	return slices.Contains(p.File.Decls, ast.Decl(g))
}

// padEdits accepts a table if every use is a look-up with an index inside it. The compiler must be
// unable to prove at least one of them.
func padEdits(p *mutate.Pass, v *types.Var, lit *ast.CompositeLit) []mutate.Edit {
	// A table of 2^n elements needs no bounds check for an index that is masked with 2^n-1.
	old := v.Type().Underlying().(*types.Array).Len()
	padded := int64(1) << bits.Len64(uint64(old-1))
	t, ok := lit.Type.(*ast.ArrayType)
	if !ok || old < 2 || padded > 1<<12 {
		return nil
	}
	var masked []mutate.Edit
	// Each index must lie inside of the table as it is, so that neither the mask nor the added
	// elements are ever seen.
	for _, id := range p.Uses(v, p.File) {
		ix, ok := p.Parent(id).(*ast.IndexExpr)
		if !ok || ix.X != ast.Expr(id) {
			return nil // code reads its length
		}
		if _, constant := p.Int(ix.Index); constant {
			continue
		}
		masks, within := indexWithin(p, ix.Index, old)
		if !within {
			return nil
		}
		// Only an index without a mask, in a loop, is worth an edit.
		if !masks && p.InLoop(ix) {
			index := edit.Operand(ix.Index, p.Text(ix.Index), token.AND)
			masked = append(masked, p.Replace(ix.Index, fmt.Sprintf("%s&%d", index, padded-1)))
		}
	}
	if len(masked) == 0 {
		return nil
	}
	// A table that is a power of two already needs the masks only.
	if padded == old {
		return masked
	}
	return append(masked, p.Replace(t.Len, strconv.Itoa(int(padded))))
}

// indexWithin reports whether an index that depends on one byte stays below n for all 256 bytes,
// and whether code masks it already.
func indexWithin(p *mutate.Pass, index ast.Expr, n int64) (masked, within bool) {
	// A mask below n keeps any index inside.
	if b, ok := ast.Unparen(index).(*ast.BinaryExpr); ok && b.Op == token.AND {
		if m, ok := p.Int(b.Y); ok && m >= 0 && m < n {
			return true, true
		}
	}
	// Otherwise the index must depend on one byte, and is evaluated for all of its values.
	operand := onlyByte(p, index)
	if operand == nil {
		return false, false
	}
	for c := range 256 {
		v, err := p.Values().EvalByte(index, operand, byte(c))
		if err != nil {
			return false, false
		}
		switch v := v.(type) {
		case int64:
			if v < 0 || v >= n {
				return false, false
			}
		case uint64:
			if v >= uint64(n) {
				return false, false
			}
		default:
			return false, false
		}
	}
	return false, true
}

// onlyByte returns the byte on which an index depends. It returns nil if there is none, or more
// than one.
func onlyByte(p *mutate.Pass, index ast.Expr) ast.Expr {
	var operand ast.Expr
	many := false
	// Go through the index, and collect the bytes that it reads. A call, another variable or a
	// second byte ends the search.
	ast.Inspect(index, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok || many {
			return !many
		}
		if call, isCall := e.(*ast.CallExpr); isCall && !p.Info.Types[call.Fun].IsType() {
			many = true
			return false
		}
		if ix, isIndex := e.(*ast.IndexExpr); isIndex && p.Frozen(p.Var(ix.X)) {
			return true // a table: its index is what matters
		}
		if b := characters.ByteOperand(p, e); b != nil && !p.Frozen(p.Var(b)) {
			many = operand != nil && !p.Same(operand, b)
			operand = b
			return false
		}
		if v := p.Var(e); v != nil && !p.Frozen(v) {
			many = true
		}
		return true
	})
	if many {
		return nil
	}
	return operand
}
