package bounds

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// unsignedIndex (catalogue B1) matches a loop whose body moves its index. It makes the index
// unsigned. The compiler's prove pass keeps the facts 0 <= i and i < len(s) apart, and loses the
// first one if the body moves i. An unsigned index needs only the second.
var unsignedIndex = &mutate.Mutator{
	Name: "unsigned-index",
	Doc: "Count with an unsigned index. Where a loop body moves the index itself, the compiler can no longer see " +
		"that it is not negative and checks every access; an unsigned index needs the upper bound only. Legal " +
		"because the index starts at zero or above, only grows, and is used only to index and to compare with " +
		"lengths.",
	Example: mutate.Shows(`for i := 0; i < len(s); i++ {
	if s[i] == '_' {
		i++
		if i == len(s) || s[i] == '_' {
			return false
		}
	}
}`,
		`for i := uint(0); i < uint(len(s)); i++ {
	if s[i] == '_' {
		i++
		if i >= uint(len(s)) || s[i] == '_' {
			return false
		}
	}
}`),
	Class:   beagle.E0,
	Gain:    1.15,
	Find:    findUnsigned,
	Rewrite: rewriteUnsigned,
}

// findUnsigned looks for loops over an index that also moves in the body. An unsigned one has only
// one bound to check.
func findUnsigned(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, f := range mutate.Nodes[*ast.ForStmt](p, nil) {
		l, ok := p.Counted(f)
		// Without further steps in the body, the compiler knows the bounds.
		if !ok || l.Seq == nil || !l.Skips || p.Basic(f.Post.(*ast.IncDecStmt).X) != types.Int {
			continue
		}
		if _, err := unsignedEdits(p, l); err == nil {
			sites = append(sites, mutate.Site{
				Node:  f,
				Label: "for loop over " + l.Seq.Name() + " by " + l.Index.Name(),
				Data:  l,
			})
		}
	}
	return sites
}

func rewriteUnsigned(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	return unsignedEdits(p, s.Data.(*mutate.CountedLoop))
}

// unsignedEdits converts the definition and all uses of the index, or names the use that prevents
// it.
func unsignedEdits(p *mutate.Pass, l *mutate.CountedLoop) ([]mutate.Edit, error) {
	fn := p.FuncOf(l.Stmt)
	def, start := definitionOf(p, l.Index, fn)
	if def == nil {
		return nil, errors.New("the index is declared in a way that the rule does not know")
	}
	// A negative start would become a huge number.
	if n, ok := p.Int(start); !ok || n < 0 {
		return nil, errors.New("the index may start below zero")
	}
	edits := []mutate.Edit{p.Replace(start, "uint("+p.Text(start)+")")}
	converted := map[ast.Node]bool{}
	// Every use must have an unsigned form; the first one without is the reason for the refusal.
	for _, id := range p.Uses(l.Index, fn) {
		e, err := unsignedUse(p, l, id, converted)
		if err != nil {
			return nil, err
		}
		edits = append(edits, e...)
	}
	return edits, nil
}

// unsignedUse rewrites one use of the index. Steps upwards and indexes are the same for both;
// comparisons need a conversion.
func unsignedUse(p *mutate.Pass, l *mutate.CountedLoop, id *ast.Ident, done map[ast.Node]bool) ([]mutate.Edit, error) {
	switch up := p.Parent(id).(type) {
	// Downwards, an unsigned index would pass 0.
	case *ast.IncDecStmt:
		if up.Tok == token.INC {
			return nil, nil
		}
	case *ast.AssignStmt:
		if n, ok := p.Int(up.Rhs[0]); up.Tok == token.ADD_ASSIGN && ok && n >= 0 {
			return nil, nil
		}
	case *ast.IndexExpr:
		if ast.Unparen(up.Index) == ast.Expr(id) && hasPlaces(p, up.X) {
			return nil, nil
		}
	case *ast.BinaryExpr:
		return unsignedCompare(p, l, id, up, done)
	}
	return nil, fmt.Errorf("the index is used in %q", p.Text(p.Parent(id)))
}

// hasPlaces reports whether an operand takes an index of any integer type for the same place. The
// keys of a map may be interfaces, which tell types apart.
func hasPlaces(p *mutate.Pass, e ast.Expr) bool {
	switch p.Info.TypeOf(e).Underlying().(type) {
	case *types.Slice, *types.Array, *types.Basic, *types.Pointer:
		return true
	}
	return false
}

// unsignedCompare converts i < len(s), i == len(s), s[i+1] and i+1 < len(s). It turns == into >=,
// which shows the compiler the bound on the other branch.
func unsignedCompare(
	p *mutate.Pass, l *mutate.CountedLoop, id *ast.Ident, up *ast.BinaryExpr, done map[ast.Node]bool,
) ([]mutate.Edit, error) {
	// i+n stays an index, or one side of a comparison. Any other sum may be needed as an int.
	if up.Op == token.ADD && ast.Unparen(up.X) == ast.Expr(id) {
		n, ok := p.Int(up.Y)
		if !ok || n < 0 {
			return nil, fmt.Errorf("the index is used in %q", p.Text(up))
		}
		switch outer := p.Parent(up).(type) {
		case *ast.IndexExpr:
			if ast.Unparen(outer.Index) == ast.Expr(up) && hasPlaces(p, outer.X) {
				return nil, nil
			}
		case *ast.BinaryExpr:
			return compareWithLen(p, l, up, outer, done)
		}
		return nil, fmt.Errorf("the index is used in %q", p.Text(up))
	}
	return compareWithLen(p, l, id, up, done)
}

// compareWithLen rewrites a comparison of the index with a length. An unsigned index is never
// negative; a step below zero makes it larger than every length.
func compareWithLen(
	p *mutate.Pass, l *mutate.CountedLoop, left ast.Expr, cmp *ast.BinaryExpr, done map[ast.Node]bool,
) ([]mutate.Edit, error) {
	// Both operands may be visited, and the comparison is rewritten once.
	if done[cmp] {
		return nil, nil
	}
	if ast.Unparen(cmp.X) != left {
		return nil, fmt.Errorf("the index is used in %q", p.Text(cmp))
	}
	// i == len(s) becomes i >= uint(len(s)), and != becomes <, which tells the compiler the bound.
	// They are the same only if the index can't jump over the length.
	op := cmp.Op
	switch op {
	case token.LSS, token.GEQ, token.LEQ, token.GTR:
	case token.EQL:
		op = token.GEQ
	case token.NEQ:
		op = token.LSS
	default:
		return nil, fmt.Errorf("the index is used in %q", p.Text(cmp))
	}
	if op != cmp.Op && !onlyStepsOfOne(p, l) {
		return nil, fmt.Errorf("%q may be passed without being met", p.Text(cmp))
	}
	if op != cmp.Op && !neverPassesEnd(p, l, cmp) {
		op = cmp.Op
	}
	done[cmp] = true
	// The bound must be a length or a constant that is not negative: only these keep their order as
	// unsigned numbers.
	bound := p.Text(cmp.Y)
	if _, constant := p.Int(cmp.Y); !constant {
		if p.LenOf(cmp.Y) == nil {
			return nil, fmt.Errorf("the index is compared with %q", bound)
		}
		bound = "uint(" + bound + ")"
	} else if n, _ := p.Int(cmp.Y); n < 0 {
		return nil, errors.New("the index is compared with a negative number")
	}
	return []mutate.Edit{p.Span(cmp.OpPos, cmp.Y.End(), op.String()+" "+bound)}, nil
}

// neverPassesEnd reports whether the index is never behind the end of the loop's sequence where
// code asks whether it is at the end: at the start of the body it is in front of the end, and the
// body moves it by one once.
func neverPassesEnd(p *mutate.Pass, l *mutate.CountedLoop, cmp *ast.BinaryExpr) bool {
	steps := 0
	if facts.Captured.Of(p)[l.Index] {
		return false
	}
	for _, inc := range mutate.Nodes[*ast.IncDecStmt](p, l.Stmt.Body) {
		if p.Var(inc.X) == l.Index {
			if steps++; steps > 1 || facts.InInnerLoop(p, inc, l.Stmt.Body) {
				return false
			}
		}
	}
	return facts.Inside(cmp, l.Stmt.Body) && p.LenOf(cmp.Y) == l.Seq && p.Var(cmp.X) == l.Index &&
		ast.Unparen(l.Stmt.Cond).(*ast.BinaryExpr).Op == token.LSS
}

// onlyStepsOfOne reports whether == len(s) and >= len(s) mean the same. They do if the access after
// a jump past the end would panic in both forms; the rule accepts only steps of one.
func onlyStepsOfOne(p *mutate.Pass, l *mutate.CountedLoop) bool {
	for _, as := range mutate.Nodes[*ast.AssignStmt](p, l.Stmt) {
		if len(as.Lhs) == 1 && p.Var(as.Lhs[0]) == l.Index && as.Tok != token.DEFINE && !withinBounds(p, l, as) {
			return false
		}
	}
	return true
}

// withinBounds recognises `for i+k < len(s) && ... { i += k }`, a step that never passes the end.
func withinBounds(p *mutate.Pass, l *mutate.CountedLoop, as *ast.AssignStmt) bool {
	for _, up := range p.Path(as) {
		f, ok := up.(*ast.ForStmt)
		if !ok || f.Cond == nil {
			continue
		}
		// The nearest loop with a condition decides.
		first, ok := syntax.Operands(f.Cond, token.LAND)[0].(*ast.BinaryExpr)
		if !ok || first.Op != token.LSS || !p.Same(first.Y, l.Bound) {
			return false
		}
		sum, ok := first.X.(*ast.BinaryExpr)
		return ok && sum.Op == token.ADD && p.Var(sum.X) == l.Index && p.Same(sum.Y, as.Rhs[0])
	}
	return false
}
