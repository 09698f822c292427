package loops

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// unswitch (catalogue L7) matches a loop with an if whose condition never changes in it. It tests
// the condition once and writes a loop for each branch. It does the same where the if compares the
// index with a bound: where all indexes are below it, the loop has one branch only.
var unswitch = &mutate.Mutator{
	Name: "unswitch",
	Doc: "Test a condition that is the same in every iteration once, before two loops. The compiler does not " +
		"unswitch loops. Legal because the condition has no effects, cannot panic, and nothing in the loop changes " +
		"it. An index is always below a bound that the loop's own bound does not exceed.",
	Example: mutate.Shows(`for _, c := range b {
	if upper {
		c -= 32
	}
	out = append(out, c)
}`,
		`if upper {
	for _, c := range b {
		c -= 32
		out = append(out, c)
	}
} else {
	for _, c := range b {
		out = append(out, c)
	}
}`),
	Class:   beagle.E0,
	Gain:    1.1,
	Find:    findUnswitch,
	Rewrite: edit.Precomputed,
}

// findUnswitch looks for ifs in a loop whose condition stays the same.
func findUnswitch(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, s := range mutate.Nodes[ast.Stmt](p, nil) {
		body := syntax.LoopBody(s)
		if body == nil || facts.LineCount(p, s) > 30 || facts.IsLabelled(p, s) {
			continue
		}
		// The loop is written twice, and a label may stand only once.
		if _, ok := p.Parent(s).(*ast.LabeledStmt); ok {
			continue
		}
		for _, branch := range branchesIn(body) {
			if branch.Init != nil || p.Info.Types[branch.Cond].Value != nil {
				continue
			}
			// The condition must be the same in all iterations, at least where another one holds.
			if facts.Stable(p, branch.Cond, s) {
				if usedInBoth(p, s, branch) {
					sites = append(sites,
						edit.Site(branch, "invariant if "+p.Text(branch.Cond), unswitchEdit(p, s, branch)))
				}
			} else if all, ok := alwaysBelow(p, s, branch.Cond); ok && usedWith(p, s, branch, branch.Body) {
				sites = append(sites, edit.Site(branch, "if "+p.Text(branch.Cond), boundEdit(p, s, branch, all)))
			}
		}
	}
	return sites
}

// branchesIn returns the ifs that run in every turn: those of a loop's body, and of blocks in it.
func branchesIn(body *ast.BlockStmt) (branches []*ast.IfStmt) {
	for _, s := range body.List {
		switch s := s.(type) {
		case *ast.IfStmt:
			branches = append(branches, s)
		case *ast.BlockStmt:
			branches = append(branches, branchesIn(s)...)
		}
	}
	return branches
}

// onlyBranch reports whether the loop holds only the branch, so that it need not run if the
// condition is false.
func onlyBranch(p *mutate.Pass, loop ast.Stmt, branch *ast.IfStmt) bool {
	list := syntax.LoopBody(loop).List
	return len(list) == 1 && list[0] == ast.Stmt(branch) && branch.Else == nil && finiteHead(p, loop)
}

// usedInBoth reports whether both copies use every variable that the loop declares outside the
// branch; the compiler refuses an unused one.
func usedInBoth(p *mutate.Pass, loop ast.Stmt, branch *ast.IfStmt) bool {
	// Then one of the copies is empty and not written.
	if onlyBranch(p, loop, branch) {
		return true
	}
	return usedWith(p, loop, branch, branch.Body) && usedWith(p, loop, branch, branch.Else)
}

// usedWith reports whether a copy of the loop that has one arm in place of the branch uses every
// variable that the loop declares outside the branch. The arm is nil if there is none.
func usedWith(p *mutate.Pass, loop ast.Stmt, branch *ast.IfStmt, arm ast.Stmt) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, loop) {
		v, ok := p.Info.Defs[id].(*types.Var)
		if !ok || facts.Inside(id, branch) {
			continue
		}
		uses := len(p.Uses(v, loop)) - len(p.Uses(v, branch))
		if arm != nil {
			uses += len(p.Uses(v, arm))
		}
		if uses == 0 {
			return false
		}
	}
	return true
}

// unswitchEdit asks the condition once, and writes the loop with each of its branches. If the loop
// does nothing else, there is nothing to do without the branch.
func unswitchEdit(p *mutate.Pass, loop ast.Stmt, branch *ast.IfStmt) mutate.Edit {
	// The loop around the branch is the same in both.
	with := func(arm string) string {
		return p.Between(loop.Pos(), branch.Pos()) + arm + p.Between(branch.End(), loop.End())
	}
	if onlyBranch(p, loop, branch) {
		return p.Replace(loop, "if "+p.Text(branch.Cond)+" {\n"+with(armText(p, branch.Body))+"\n}")
	}
	otherwise := ""
	switch e := branch.Else.(type) {
	case *ast.BlockStmt:
		otherwise = armText(p, e)
	case *ast.IfStmt:
		otherwise = p.Text(e)
	}
	return p.Replace(loop, "if "+p.Text(branch.Cond)+" {\n"+with(armText(p, branch.Body))+"\n} else {\n"+
		trimBlankLines(with(otherwise))+"\n}")
}

// alwaysBelow recognises a condition by which the index of a loop is below a bound that stays the
// same. It returns the condition by which all indexes are.
func alwaysBelow(p *mutate.Pass, loop ast.Stmt, cond ast.Expr) (all string, ok bool) {
	c, ok := ast.Unparen(cond).(*ast.BinaryExpr)
	if !ok || c.Op != token.LSS && c.Op != token.GTR {
		return "", false
	}
	index, bound := p.Var(c.X), c.Y
	if c.Op == token.GTR {
		index, bound = p.Var(c.Y), c.X
	}
	if facts.HoldsLabel(p, loop) {
		return "", false // a label may stand only once
	}
	limit, ok := limitOf(p, loop, index)
	if !ok || !facts.Stable(p, bound, loop) {
		return "", false
	}
	// The comparison of the bounds has no index that gives such a constant its type.
	if f, counted := loop.(*ast.ForStmt); counted && (shiftsConstant(p, bound) || shiftsConstant(p, f.Cond)) {
		return "", false
	}
	return limit + " <= " + p.Text(bound), true
}

// shiftsConstant reports whether code shifts a constant by a variable.
func shiftsConstant(p *mutate.Pass, n ast.Node) bool {
	for _, b := range mutate.Nodes[*ast.BinaryExpr](p, n) {
		if b.Op == token.SHL && p.Info.Types[b].Value == nil && p.Info.Types[b.X].Value != nil {
			return true
		}
	}
	return false
}

// limitOf writes what all values of a variable are below that counts the turns of a loop.
func limitOf(p *mutate.Pass, loop ast.Stmt, index *types.Var) (limit string, ok bool) {
	if index == nil {
		return "", false
	}
	switch s := loop.(type) {
	case *ast.RangeStmt:
		id, isName := s.Key.(*ast.Ident)
		if !isName || s.Tok != token.DEFINE || p.Info.Defs[id] != types.Object(index) || p.Var(s.X) == nil ||
			p.Assigned(index, s.Body) {
			return "", false
		}
		switch t := p.Info.TypeOf(s.X).Underlying().(type) {
		case *types.Slice:
			return "len(" + p.Text(s.X) + ")", true
		case *types.Basic:
			if t.Info()&types.IsString != 0 {
				return "len(" + p.Text(s.X) + ")", true
			}
			return p.Text(s.X), types.Identical(p.Info.TypeOf(s.X), index.Type())
		}
	case *ast.ForStmt:
		l, counted := p.Counted(s)
		if !counted || l.Index != index || l.Skips || !facts.Stable(p, l.Bound, s) {
			return "", false
		}
		return p.Text(l.Bound), ast.Unparen(s.Cond).(*ast.BinaryExpr).Op == token.LSS
	}
	return "", false
}

// boundEdit writes the loop with the branch alone for the case that its condition always holds, and
// the loop as it was for others.
func boundEdit(p *mutate.Pass, loop ast.Stmt, branch *ast.IfStmt, all string) mutate.Edit {
	return p.Replace(loop, "if "+all+" {\n"+p.Between(loop.Pos(), branch.Pos())+armText(p, branch.Body)+
		p.Between(branch.End(), loop.End())+"\n} else {\n"+p.Text(loop)+"\n}")
}

// armText returns an arm's statements, in braces if they declare something.
func armText(p *mutate.Pass, b *ast.BlockStmt) string {
	if declaresNames(b.List) {
		return p.Text(b)
	}
	return p.BodyText(b)
}

// trimBlankLines closes the gap that an empty arm leaves. A raw string may hold such a gap, too,
// and keeps it.
func trimBlankLines(text string) string {
	if strings.Contains(text, "`") {
		return text
	}
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// finiteHead reports whether the loop's head only counts, or ranges over data, and does nothing
// else.
func finiteHead(p *mutate.Pass, s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.RangeStmt:
		// The variables of such a loop outlive it.
		if s.Tok == token.ASSIGN {
			return false // code after the loop sees the variables
		}
		switch p.Info.TypeOf(s.X).Underlying().(type) {
		case *types.Slice, *types.Array, *types.Map, *types.Basic:
			return p.Pure(s.X)
		}
	case *ast.ForStmt:
		l, ok := p.Counted(s)
		return ok && !l.Skips && l.Start != nil && s.Init != nil && s.Init.(*ast.AssignStmt).Tok == token.DEFINE &&
			p.Pure(l.Start) && p.Pure(s.Cond)
	}
	return false
}
