package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// shrinkEnds (catalogue B9) matches a loop that moves two indexes towards each other from both ends
// of a slice. It cuts both ends off the slice. The prove pass knows 0 <= i and i < j, but not that
// j stays below the length.
var shrinkEnds = &mutate.Mutator{
	Name: "shrink-ends",
	Doc: "Walk towards the middle by cutting an element off both ends of a slice instead of moving two indexes. The " +
		"compiler can prove that the first and the last element of a slice of two or more are there, and checks no " +
		"index. Exact: the indexes are used only to name these two elements.",
	Before: `for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
	s[i], s[j] = s[j], s[i]
}`,
	After: `for rest := s; len(rest) > 1; rest = rest[1 : len(rest)-1] {
	rest[0], rest[len(rest)-1] = rest[len(rest)-1], rest[0]
}`,
	Class:   beagle.E0,
	Gain:    1.1,
	Find:    findShrinkEnds,
	Rewrite: precomputed,
}

func findShrinkEnds(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for f := range mutate.Nodes[*ast.ForStmt](p, nil) {
		i, j, seq := fromBothEnds(p, f)
		if seq == nil || captured(p, seq) || p.IsGlobal(seq) || p.Assigned(i, f.Body) || p.Assigned(j, f.Body) {
			continue
		}
		rest := p.Fresh("rest", "middle")
		edits := []mutate.Edit{
			p.Span(f.Init.Pos(), f.Post.End(),
				fmt.Sprintf("%s := %s; len(%s) > 1; %s = %s[1 : len(%s)-1]", rest, seq.Name(), rest, rest, rest, rest)),
		}
		if named := namesOfEnds(p, f, i, j, seq, rest); named != nil {
			sites = append(sites, site(f, "loop from both ends of "+seq.Name(), append(edits, named...)...))
		}
	}
	return sites
}

// fromBothEnds recognises the head of a loop that moves i up and j down until they meet, and its
// sequence.
func fromBothEnds(p *mutate.Pass, f *ast.ForStmt) (i, j, seq *types.Var) {
	init, ok := f.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 2 || len(init.Rhs) != 2 || !p.IsInt(init.Rhs[0], 0) {
		return nil, nil, nil
	}
	i, j = p.Var(init.Lhs[0]), p.Var(init.Lhs[1])
	last, ok := ast.Unparen(init.Rhs[1]).(*ast.BinaryExpr)
	if !ok || last.Op != token.SUB || !p.IsInt(last.Y, 1) || i == nil || j == nil {
		return nil, nil, nil
	}
	cond, ok := f.Cond.(*ast.BinaryExpr)
	if !ok || cond.Op != token.LSS || p.Var(cond.X) != i || p.Var(cond.Y) != j {
		return nil, nil, nil
	}
	post, ok := f.Post.(*ast.AssignStmt)
	if !ok || post.Tok != token.ASSIGN || len(post.Lhs) != 2 || len(post.Rhs) != 2 || p.Var(post.Lhs[0]) != i ||
		p.Var(post.Lhs[1]) != j ||
		!isStep(p, post.Rhs[0], i, token.ADD) || !isStep(p, post.Rhs[1], j, token.SUB) {
		return nil, nil, nil
	}
	seq = p.LenOf(last.X)
	if seq == nil || isArray(seq) {
		return nil, nil, nil
	}
	return i, j, seq
}

// isStep recognises v+1 or v-1.
func isStep(p *mutate.Pass, e ast.Expr, v *types.Var, op token.Token) bool {
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	return ok && b.Op == op && p.Var(b.X) == v && p.IsInt(b.Y, 1)
}

// namesOfEnds renames s[i] and s[j]. It returns nil if code uses the indexes or the sequence in any
// other way.
func namesOfEnds(p *mutate.Pass, f *ast.ForStmt, i, j, seq *types.Var, rest string) []mutate.Edit {
	var edits []mutate.Edit
	for ix := range mutate.Nodes[*ast.IndexExpr](p, f.Body) {
		if p.Var(ix.X) != seq {
			continue
		}
		switch p.Var(ix.Index) {
		case i:
			edits = append(edits, p.Replace(ix, rest+"[0]"))
		case j:
			edits = append(edits, p.Replace(ix, rest+"[len("+rest+")-1]"))
		default:
			return nil
		}
	}
	uses := len(slices.Concat(p.Uses(i, f.Body), p.Uses(j, f.Body)))
	if uses != len(edits) || len(p.Uses(seq, f.Body)) != len(edits) || uses == 0 {
		return nil
	}
	return edits
}
