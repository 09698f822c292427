package rules

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// earlyExit (catalogue L9) matches a loop that only sets a flag if a pure condition holds. It
// leaves the loop once the flag is set.
var earlyExit = &mutate.Mutator{
	Name: "early-exit",
	Doc: "Leave a loop as soon as its answer is known. Legal because all that the rest of the loop could do is to " +
		"set the flag once more: its condition has no effects and cannot panic.",
	Before: `found := false
for _, x := range v {
	if x == want {
		found = true
	}
}`,
	After: `found := false
for _, x := range v {
	if x == want {
		found = true
		break
	}
}`,
	Class:   beagle.E0,
	Gain:    1.5,
	Find:    findEarlyExit,
	Rewrite: precomputed,
}

func findEarlyExit(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for s := range mutate.Nodes[ast.Stmt](p, nil) {
		body := loopBody(s)
		if body == nil || len(body.List) != 1 {
			continue
		}
		branch, ok := body.List[0].(*ast.IfStmt)
		if !ok || branch.Init != nil || branch.Else != nil || len(branch.Body.List) != 1 || !finiteHead(p, s) {
			continue
		}
		lhs, rhs, ok := assigned(branch.Body.List[0], token.ASSIGN)
		flag := p.Var(lhs)
		if !ok || p.Info.Types[rhs].Value == nil || !local(p, flag) || captured(p, flag) ||
			len(p.Uses(flag, branch.Cond)) > 0 {
			continue
		}
		if !pureElements(p, branch.Cond, s) {
			continue
		}
		sites = append(sites, site(s, "loop that sets "+flag.Name(), exitEdits(p, s, branch, flag, rhs)...))
	}
	return sites
}

// finiteHead reports whether the loop's head only counts, or ranges over data.
func finiteHead(p *mutate.Pass, s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.RangeStmt:
		if s.Tok == token.ASSIGN {
			return false // code behind the loop sees the variables
		}
		switch p.Info.TypeOf(s.X).Underlying().(type) {
		case *types.Slice, *types.Array, *types.Map, *types.Basic:
			return true
		}
	case *ast.ForStmt:
		l, ok := p.Counted(s)
		return ok && !l.Skips && l.Start != nil && s.Init != nil && s.Init.(*ast.AssignStmt).Tok == token.DEFINE &&
			p.Pure(s.Cond)
	}
	return false
}

// pureElements is Pure for a condition in a loop that reads the elements of a sequence within its
// bounds.
func pureElements(p *mutate.Pass, e ast.Expr, loop ast.Stmt) bool {
	e = ast.Unparen(e)
	if b, ok := e.(*ast.BinaryExpr); ok {
		switch b.Op {
		case token.QUO, token.REM, token.SHL, token.SHR:
			return p.Pure(e)
		case token.EQL, token.NEQ:
			if types.IsInterface(p.Info.TypeOf(b.X)) {
				return p.Pure(e)
			}
		}
		return pureElements(p, b.X, loop) && pureElements(p, b.Y, loop)
	}
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op != token.ARROW {
		return pureElements(p, u.X, loop)
	}
	if ix, ok := e.(*ast.IndexExpr); ok {
		if l, ok := p.Elements(loop); ok {
			for _, elem := range l.Elems {
				if elem == ix {
					return true
				}
			}
		}
	}
	return p.Pure(e)
}

// exitEdits breaks out of the loop, or returns if a return comes next.
func exitEdits(p *mutate.Pass, loop ast.Stmt, branch *ast.IfStmt, flag *types.Var, value ast.Expr) []mutate.Edit {
	set := branch.Body.List[0]
	list, i := p.Siblings(loop)
	if i > 0 && i+1 < len(list) {
		ret, ok := list[i+1].(*ast.ReturnStmt)
		d, okDecl := declaration(p, list[i-1])
		if ok && okDecl && len(ret.Results) == 1 && p.Var(ret.Results[0]) == flag && d.Var == flag && d.Value != nil &&
			p.Info.Types[d.Value].Value != nil && len(p.Uses(flag, p.FuncOf(loop))) == 2 {
			return []mutate.Edit{p.Delete(d.Stmt), p.Replace(set, "return "+p.Text(value)),
				p.Replace(ret.Results[0], p.Text(d.Value))}
		}
	}
	return []mutate.Edit{p.Insert(set.End(), "\nbreak")}
}
