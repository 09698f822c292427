package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// branchless (catalogue C10) matches an if that only raises or lowers a variable to another value,
// or only counts. It writes min or max, or adds the condition as 0 or 1.
var branchless = &mutate.Mutator{
	Name: "branchless",
	Doc: "Compute instead of branching where the branch cannot be predicted: min and max, or a condition added as 0 " +
		"or 1. Legal for integers and conditions that cannot panic; floats are left alone because of NaN.",
	Before: `if c == ' ' {
	n++
}`,
	After: `n += boolToInt(c == ' ')

// boolToInt is 1 for true. It compiles to one instruction, without a branch.
func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}`,
	Class:   beagle.E0,
	Gain:    1.15,
	Find:    findBranchless,
	Rewrite: precomputed,
}

func findBranchless(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for s := range mutate.Nodes[*ast.IfStmt](p, nil) {
		if s.Init != nil || s.Else != nil || len(s.Body.List) != 1 || !p.InLoop(s) {
			continue
		}
		if up, ok := p.Parent(s).(*ast.IfStmt); ok && up.Else == ast.Stmt(s) {
			continue
		}
		if text := minMax(p, s); text != "" {
			sites = append(sites, site(s, "if "+p.Text(s.Cond), p.Replace(s, text)))
		} else if edits := countIf(p, s); edits != nil {
			sites = append(sites, site(s, "if "+p.Text(s.Cond), edits...))
		}
	}
	return sites
}

// minMax turns `if a < b { b = a }` into b = min(b, a).
func minMax(p *mutate.Pass, s *ast.IfStmt) string {
	cond, ok := ast.Unparen(s.Cond).(*ast.BinaryExpr)
	lhs, rhs, isAssign := assigned(s.Body.List[0], token.ASSIGN)
	if !ok || !isAssign || !facts.PlainLocal(p, lhs) || !isInteger(p.Info.TypeOf(lhs)) ||
		!p.Pure(rhs) && !p.Same(rhs, cond.X) && !p.Same(rhs, cond.Y) {
		return ""
	}
	if p.Effects(s.Cond).Writes {
		return ""
	}
	less := cond.Op == token.LSS || cond.Op == token.LEQ
	if !less && cond.Op != token.GTR && cond.Op != token.GEQ {
		return ""
	}
	switch {
	case p.Same(cond.X, rhs) && p.Same(cond.Y, lhs): // rhs < lhs: the smaller value
	case p.Same(cond.X, lhs) && p.Same(cond.Y, rhs): // lhs < rhs: the greater value
		less = !less
	default:
		return ""
	}
	name := "max"
	if less {
		name = "min"
	}
	if redefined(p, s, name) || !goAtLeast(p, 21) {
		return ""
	}
	return fmt.Sprintf("%s = %s(%s, %s)", p.Text(lhs), name, p.Text(lhs), p.Text(rhs))
}

// redefined reports whether the name of a builtin means something else in the package, or in the
// function around n.
func redefined(p *mutate.Pass, n ast.Node, name string) bool {
	if p.Pkg.Scope().Lookup(name) != nil {
		return true
	}
	for id := range mutate.Nodes[*ast.Ident](p, p.FuncOf(n)) {
		if id.Name == name && p.Info.Defs[id] != nil {
			return true
		}
	}
	return false
}

// redefinesAny is redefined for several names.
func redefinesAny(p *mutate.Pass, n ast.Node, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return redefined(p, n, name) })
}

// countIf turns `if cond { n++ }` into n += boolToInt(cond).
func countIf(p *mutate.Pass, s *ast.IfStmt) []mutate.Edit {
	inc, ok := s.Body.List[0].(*ast.IncDecStmt)
	if !ok || !facts.PlainLocal(p, inc.X) || !isBasic(p, inc.X, types.Int) || !p.Pure(s.Cond) && !pureInLoop(p, s) {
		return nil
	}
	name, decl := boolToInt(p)
	op := "+="
	if inc.Tok == token.DEC {
		op = "-="
	}
	edits := []mutate.Edit{p.Replace(s, fmt.Sprintf("%s %s %s(%s)", p.Text(inc.X), op, name, p.Text(s.Cond)))}
	if decl != "" {
		edits = append(edits, p.Declare(s, decl))
	}
	return edits
}

// pureInLoop reports whether the condition is pure, if reading elements of the loop's own sequence
// counts as pure.
func pureInLoop(p *mutate.Pass, s *ast.IfStmt) bool {
	for _, up := range p.Path(s) {
		if st, ok := up.(ast.Stmt); ok && loopBody(up) != nil {
			return pureElements(p, s.Cond, st)
		}
	}
	return false
}

// boolToInt returns the helper's name, and its declaration if it is new.
func boolToInt(p *mutate.Pass) (name, decl string) {
	const body = "(b bool) int {\n\tif b {\n\t\treturn 1\n\t}\n\treturn 0\n}"
	if obj := p.Pkg.Scope().Lookup("boolToInt"); obj != nil {
		if d := p.Decl(obj); d != nil && strings.HasSuffix(p.Text(d), "func boolToInt"+body) {
			return "boolToInt", ""
		}
	}
	name = p.Fresh("boolToInt")
	return name, "// " + name + " is 1 for true. It compiles to one instruction, without a branch.\nfunc " + name + body
}
