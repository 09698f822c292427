package rules

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// peelFirst (catalogue L12) matches a flag that is true in the first iteration of a range loop and
// cleared in every iteration. It asks the index for the first iteration and drops the flag.
var peelFirst = &mutate.Mutator{
	Name: "first-by-index",
	Doc: "Ask the index whether this is the first iteration instead of carrying a flag from iteration to iteration. " +
		"Legal because the flag is cleared in every iteration and used for nothing else.",
	Before: `first := true
for _, w := range words {
	if !first {
		b.WriteByte(',')
	}
	first = false
	b.WriteString(w)
}`,
	After: `for i, w := range words {
	if i > 0 {
		b.WriteByte(',')
	}
	b.WriteString(w)
}`,
	Class:   beagle.E0,
	Gain:    1.05,
	Find:    findPeelFirst,
	Rewrite: precomputed,
}

func findPeelFirst(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range statements(p) {
		d, ok := facts.Declares(p, list[i])
		if !ok || d.Value == nil || !isTrue(p, d.Value) || facts.Captured.Of(p)[d.Var] || !canDeclare(p, d.Stmt) {
			continue // or a goto may lead to the loop again
		}
		for _, s := range list[i+1:] {
			r, ok := s.(*ast.RangeStmt)
			if !ok || !indexed(p, r) {
				continue
			}
			if edits := flagEdits(p, d, r); edits != nil {
				sites = append(sites, site(r, "flag "+d.Var.Name(), edits...))
			}
		}
	}
	return sites
}

// indexed reports whether the loop's first iteration has index 0.
func indexed(p *mutate.Pass, r *ast.RangeStmt) bool {
	if r.Tok != token.DEFINE {
		return false
	}
	switch t := p.Info.TypeOf(r.X).Underlying().(type) {
	case *types.Slice, *types.Array:
		return true
	case *types.Basic:
		return t.Info()&types.IsString != 0 || t.Info()&types.IsInteger != 0
	}
	return false
}

// flagEdits recognises two forms at the start of the body: `if first { first = false } else { A }`
// and `if !first { A }; first = false`.
func flagEdits(p *mutate.Pass, d facts.Declaration, r *ast.RangeStmt) []mutate.Edit {
	if len(r.Body.List) == 0 || len(p.Uses(d.Var, p.File)) != 2 {
		return nil
	}
	branch, ok := r.Body.List[0].(*ast.IfStmt)
	if !ok || branch.Init != nil {
		return nil
	}
	index := p.Fresh("i", "n")
	edits := []mutate.Edit{p.Delete(d.Stmt)}
	switch {
	case !isBlank(r.Key):
		index = p.Text(r.Key)
		if k := p.Var(r.Key); p.Assigned(k, r.Body) || shadowed(p, k, branch) {
			return nil
		}
	case r.Key == nil:
		edits = append(edits, p.Span(r.For+3, r.X.Pos(), " "+index+" := range "))
	default:
		edits = append(edits, p.Replace(r.Key, index))
	}
	if p.Var(branch.Cond) == d.Var {
		other, isBlock := branch.Else.(*ast.BlockStmt)
		if !isBlock || len(branch.Body.List) != 1 || !clears(p, branch.Body.List[0], d.Var) {
			return nil
		}
		return append(edits, p.Span(branch.Pos(), other.Pos(), "if "+index+" > 0 "))
	}
	not, ok := ast.Unparen(branch.Cond).(*ast.UnaryExpr)
	if !ok || not.Op != token.NOT || p.Var(not.X) != d.Var || branch.Else != nil || len(r.Body.List) < 2 ||
		!clears(p, r.Body.List[1], d.Var) {
		return nil
	}
	if continues(p, branch) || p.Effects(branch).Jumps {
		return nil
	}
	return append(edits, p.Replace(branch.Cond, index+" > 0"), p.Delete(r.Body.List[1]))
}

func shadowed(p *mutate.Pass, v *types.Var, n ast.Node) bool {
	for id := range mutate.Nodes[*ast.Ident](p, n) {
		if id.Name == v.Name() && p.Info.ObjectOf(id) != v {
			return true
		}
	}
	return false
}

func clears(p *mutate.Pass, s ast.Stmt, v *types.Var) bool {
	lhs, rhs, ok := assigned(s, token.ASSIGN)
	if !ok || p.Var(lhs) != v {
		return false
	}
	value := p.Info.Types[rhs].Value
	return value != nil && value.ExactString() == "false"
}
