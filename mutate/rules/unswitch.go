package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// unswitch (catalogue L7) matches a loop with an if whose condition never changes in it. It tests
// the condition once and writes a loop for each branch.
var unswitch = &mutate.Mutator{
	Name: "unswitch",
	Doc: "Ask a question that has the same answer in every iteration once, in front of two loops. The compiler does " +
		"not unswitch loops. Legal because the condition has no effects, cannot panic, and nothing in the loop " +
		"changes it.",
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
	Rewrite: precomputed,
}

// findUnswitch looks for ifs in a loop whose condition stays the same.
func findUnswitch(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for s := range mutate.Nodes[ast.Stmt](p, nil) {
		body := loopBody(s)
		if body == nil || lineCount(p, s) > 30 || isLabelled(p, s) {
			continue
		}
		// The loop is written twice, and a label may stand only once.
		if _, ok := p.Parent(s).(*ast.LabeledStmt); ok {
			continue
		}
		for _, st := range body.List {
			branch, ok := st.(*ast.IfStmt)
			// The condition must be the same in all iterations.
			if !ok || branch.Init != nil || !facts.Stable(p, branch.Cond, s) ||
				p.Info.Types[branch.Cond].Value != nil ||
				!usedInBoth(p, s, branch) {
				continue
			}
			sites = append(sites, site(branch, "invariant if "+p.Text(branch.Cond), unswitchEdit(p, s, branch)))
		}
	}
	return sites
}

// onlyBranch reports whether the loop holds only the branch, so that it need not run if the
// condition is false.
func onlyBranch(p *mutate.Pass, loop ast.Stmt, branch *ast.IfStmt) bool {
	return len(loopBody(loop).List) == 1 && branch.Else == nil && finiteHead(p, loop)
}

// usedInBoth reports whether both copies use every variable that the loop declares outside the
// branch; the compiler refuses an unused one.
func usedInBoth(p *mutate.Pass, loop ast.Stmt, branch *ast.IfStmt) bool {
	// Then one of the copies is empty and not written.
	if onlyBranch(p, loop, branch) {
		return true
	}
	for id := range mutate.Nodes[*ast.Ident](p, loop) {
		v, ok := p.Info.Defs[id].(*types.Var)
		if !ok || facts.Inside(id, branch) {
			continue
		}
		outside := len(p.Uses(v, loop)) - len(p.Uses(v, branch))
		inElse := branch.Else != nil && len(p.Uses(v, branch.Else)) > 0
		if outside == 0 && (len(p.Uses(v, branch.Body)) == 0 || !inElse) {
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

// armText returns an arm's statements, in braces if they declare something.
func armText(p *mutate.Pass, b *ast.BlockStmt) string {
	if declaresNames(b.List) {
		return p.Text(b)
	}
	return p.BodyText(b)
}

// trimBlankLines closes the gap that an empty arm leaves.
func trimBlankLines(text string) string {
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
