package bounds

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// checkHint (catalogue B2) matches neighbouring statements that read one slice at constant indexes
// in ascending order. It adds a read of the highest index in front, so that one check covers all.
var checkHint = &mutate.Mutator{
	Name: "bounds-hint",
	Doc: "Read the highest constant index first, so that one bounds check covers the lines below. Legal because " +
		"every one of them is reached, so a slice that is too short panics in any case; it panics earlier. Only the " +
		"lines themselves may assign the slice.",
	Example: mutate.Shows(`a := b[0]
c := b[1]
d := b[2]`,
		`_ = b[2] // one bounds check for the lines below
a := b[0]
c := b[1]
d := b[2]`),
	Class:   beagle.E1,
	Gain:    1.05,
	Find:    findCheckHint,
	Rewrite: edit.Precomputed,
}

// findCheckHint looks for runs of statements that read a slice at several constant indexes, the
// highest of which is not the first.
func findCheckHint(p *mutate.Pass) []mutate.Site {
	type read struct {
		stmt ast.Stmt
		of   *types.Var
	}
	var sites []mutate.Site
	seen := map[read]bool{}
	for list, i := range facts.Statements(p) {
		if !syntax.IsPlainStmt(list[i]) {
			continue
		}
		// Each variable that the statement indexes starts a run of its own. Globals, captured and
		// pointed-to variables may change between two reads.
		for _, ix := range mutate.Nodes[*ast.IndexExpr](p, list[i]) {
			v := p.Var(ix.X)
			if v == nil || seen[read{list[i], v}] || p.IsGlobal(v) || facts.Captured.Of(p)[v] || facts.Pointed(p, v) {
				continue
			}
			first, top, n, run := constantIndexes(p, list[i:], v)
			for _, s := range run {
				seen[read{s, v}] = true
			}
			// A hint pays for at least two accesses, unless the first one is the highest anyway or
			// an earlier test has done it.
			if n < 2 || top < 1 || first == top || isHinted(p, v, top, list[:i]) || longEnough(p, v, top, list[i]) {
				continue
			}
			sites = append(sites, edit.Site(list[i], fmt.Sprintf("reads of %s[0..%d]", v.Name(), top),
				edit.InsertBefore(p, list[i], fmt.Sprintf("_ = %s[%d] // one bounds check for the lines below",
					v.Name(), top))))
		}
	}
	return sites
}

// constantIndexes looks at the run of simple statements at the start of list. It finds the constant
// indexes at which they read a slice or string: the first, the highest, and how many there are.
func constantIndexes(p *mutate.Pass, list []ast.Stmt, v *types.Var) (first, top int64, n int, run []ast.Stmt) {
	first = -1
	// Every statement of the run must be reached when the first one is: the hint panics early only
	// where one of the accesses would have panicked anyway.
	for _, s := range list {
		if !syntax.IsPlainStmt(s) {
			break
		}
		here := 0
		// An index that depends on a condition may never be read, so it says nothing of the length.
		for _, ix := range mutate.Nodes[*ast.IndexExpr](p, s) {
			k, ok := p.Int(ix.Index)
			if !ok || p.Var(ix.X) != v || !syntax.SlicedOrString(v.Type()) || facts.MayBeSkipped(p, ix, s) {
				continue
			}
			if first < 0 {
				first = k
			}
			here, top = here+1, max(top, k)
		}
		// Stop before the first statement without an access, and at one that changes the slice
		// between two.
		if first < 0 || here == 0 && n > 0 && !p.Pure(s) && p.Effects(s).Writes && p.Assigned(v, s) {
			break
		}
		n += here
		run = append(run, s)
		// Once the variable is another slice or the function has returned, later indexes say
		// nothing of this one.
		if p.Assigned(v, s) && !onlyElements(p, v, s) {
			break
		}
		if _, ok := s.(*ast.ReturnStmt); ok {
			break
		}
	}
	return first, top, n, run
}

// isHinted reports whether the last of some statements, as far as they are hints, read an index of
// v that is as high.
func isHinted(p *mutate.Pass, v *types.Var, top int64, list []ast.Stmt) bool {
	for _, s := range slices.Backward(list) {
		lhs, rhs, ok := syntax.SplitAssign(s, token.ASSIGN)
		ix, index := rhs.(*ast.IndexExpr)
		if !ok || !syntax.IsBlank(lhs) || !index {
			return false
		}
		if k, ok := p.Int(ix.Index); ok && p.Var(ix.X) == v && k >= top {
			return true
		}
	}
	return false
}

// longEnough reports whether an if, a loop or a case around s has tested the length, so that no
// checks are left.
func longEnough(p *mutate.Pass, v *types.Var, top int64, s ast.Stmt) bool {
	if p.Reassigned(v, p.FuncOf(s)) {
		return false // the slice may have become shorter
	}
	// A slice that was cut out with constant bounds has a known length.
	if d, ok := facts.Declared.Of(p)[v]; ok && cutOut(p, d.Value) > top {
		return true
	}
	// Go outwards, and collect the conditions that hold wherever s is reached. Only the body of an
	// if or a loop is bound to its condition, and only a case of a single test.
	for _, up := range p.Path(s) {
		var tests []ast.Expr
		switch up := up.(type) {
		case *ast.IfStmt:
			if facts.Inside(s, up.Body) {
				tests = syntax.Operands(up.Cond, token.LAND)
			}
		case *ast.ForStmt:
			if up.Cond != nil && facts.Inside(s, up.Body) {
				tests = syntax.Operands(up.Cond, token.LAND)
			}
		case *ast.CaseClause:
			if len(up.List) == 1 {
				tests = syntax.Operands(up.List[0], token.LAND)
			}
		}
		// len(v) > top and len(v) >= top+1 are what the hint would say.
		for _, e := range tests {
			b, ok := ast.Unparen(e).(*ast.BinaryExpr)
			if !ok || b.Op != token.GEQ && b.Op != token.GTR || !facts.IsLengthOf(p, b.X, v) {
				continue
			}
			if n, ok := p.Int(b.Y); ok && (n > top || n == top && b.Op == token.GTR) {
				return true
			}
		}
	}
	return false
}

// cutOut returns the length of s[i+1 : i+4], where both ends are the same index plus a constant, or
// 0.
func cutOut(p *mutate.Pass, e ast.Expr) int64 {
	s, ok := e.(*ast.SliceExpr)
	if !ok || s.High == nil {
		return 0
	}
	high, n := placeOf(p, s.High)
	if s.Low == nil {
		if c, ok := p.Int(s.High); ok {
			return c
		}
		return 0
	}
	low, m := placeOf(p, s.Low)
	// Both ends must stand behind the same place, or the length is not a constant.
	if !p.Same(low, high) {
		return 0
	}
	return n - m
}

func onlyElements(p *mutate.Pass, v *types.Var, s ast.Stmt) bool {
	as, ok := s.(*ast.AssignStmt)
	if !ok {
		return false
	}
	for _, l := range as.Lhs {
		if p.Var(l) == v {
			return false
		}
	}
	return true
}
