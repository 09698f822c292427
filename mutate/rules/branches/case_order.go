package branches

import (
	"go/ast"
	"go/token"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
)

// caseOrder (catalogue C4) matches a chain of tests of one byte that exclude each other: a switch,
// an if-else chain, or neighbouring ifs. It puts the tests for the corpus's most frequent bytes
// first.
var caseOrder = &mutate.Mutator{
	Name: "case-order",
	Doc: "Ask for the most frequent bytes of the corpus first in a chain of tests. Exact, because the tests are " +
		"evaluated on all 256 bytes and no byte passes two of them.",
	Example: mutate.Shows(`switch {
case c == '"':
	quoted = true
case c >= 'a' && c <= 'z':
	n++
}`,
		`switch {
case c >= 'a' && c <= 'z':
	n++
case c == '"':
	quoted = true
}`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findCaseOrder,
	Rewrite: rewriteCaseOrder,
}

// An arm is a test, and the text that moves with it.
type arm struct {
	tests    []ast.Expr
	pos, end token.Pos
	weight   float64
}

// findCaseOrder looks for tests of one byte that could stand in the order of the corpus's
// frequencies.
func findCaseOrder(p *mutate.Pass) []mutate.Site {
	bytes := byteShares(p)
	if bytes == nil {
		return nil
	}
	var sites []mutate.Site
	for _, n := range mutate.Nodes[ast.Node](p, nil) {
		for _, arms := range armsOf(p, n) {
			// Sites are chains and switches in loops, whose order is not the best one yet. A
			// comment between two arms would end up at the wrong one.
			if len(arms) > 1 && p.InLoop(n) && weighArms(p, arms, bytes) && !slices.IsSortedFunc(arms, compareWeight) &&
				!commentsBetween(p, arms) {
				sites = append(sites, mutate.Site{
					Node:  n,
					Label: "tests of " + p.Text(characters.MustTest(p, arms[0].tests[0]).Operand),
					Data:  arms,
				})
			}
		}
	}
	return sites
}

func compareWeight(a, b arm) int {
	switch {
	case a.weight > b.weight:
		return -1
	case a.weight < b.weight:
		return 1
	}
	return 0
}

// armsOf lists the chains that start at n: the cases of a switch without a tag, an if-else chain,
// and neighbouring ifs that each leave the list.
func armsOf(p *mutate.Pass, n ast.Node) [][]arm {
	switch n := n.(type) {
	case *ast.SwitchStmt:
		return [][]arm{casesOf(n)}
	case *ast.IfStmt:
		// The second if of a chain is part of it.
		if up, ok := p.Parent(n).(*ast.IfStmt); ok && up.Else == n {
			return nil
		}
		return [][]arm{chainOf(n)}
	case *ast.BlockStmt:
		return neighbourRuns(n.List)
	case *ast.CaseClause:
		return neighbourRuns(n.Body)
	}
	return nil
}

// casesOf returns the arms of a switch of conditions, or nil if their order cannot be changed.
func casesOf(s *ast.SwitchStmt) []arm {
	if s.Tag != nil || s.Init != nil {
		return nil
	}
	var arms []arm
	// Only the default may be without a test, and it must be last. A fallthrough needs its
	// neighbour.
	for i, c := range s.Body.List {
		clause := c.(*ast.CaseClause)
		if clause.List == nil && i == len(s.Body.List)-1 {
			break // the default comes last in any case
		}
		if clause.List == nil || facts.EndsIn(clause.Body, token.FALLTHROUGH) {
			return nil
		}
		arms = append(arms, arm{tests: clause.List, pos: clause.Pos(), end: clause.End()})
	}
	return arms
}

func chainOf(s *ast.IfStmt) []arm {
	var arms []arm
	for s != nil && s.Init == nil {
		arms = append(arms, arm{tests: []ast.Expr{s.Cond}, pos: s.Cond.Pos(), end: s.Body.End()})
		next, ok := s.Else.(*ast.IfStmt)
		if !ok {
			break
		}
		s = next
	}
	return arms
}

func neighbourRuns(list []ast.Stmt) [][]arm {
	var runs [][]arm
	var run []arm
	for _, s := range list {
		i, ok := s.(*ast.IfStmt)
		// Neighbours are in each other's way only if each leaves: then at most one runs.
		if ok && i.Init == nil && i.Else == nil && mutate.Terminates(i.Body.List) {
			run = append(run, arm{tests: []ast.Expr{i.Cond}, pos: i.Pos(), end: i.End()})
			continue
		}
		runs, run = append(runs, run), nil
	}
	return append(runs, run)
}

// weighArms fills in the weights. It reports whether the arms test one byte and exclude each other.
func weighArms(p *mutate.Pass, arms []arm, bytes []float64) bool {
	var taken characters.Class
	var operand ast.Expr
	// Collect the bytes that pass each test. If one passes two, their order matters.
	for i := range arms {
		for _, e := range arms[i].tests {
			t, ok := characters.TestOf(p, e)
			if !ok || operand != nil && !p.Same(operand, t.Operand) {
				return false
			}
			operand = t.Operand
			// The set of a test is computed, not read off: tests may call predicates.
			set, err := p.Values().ByteSet(e, operand)
			if err != nil {
				return false
			}
			for c := range set {
				if set[c] && taken[c] {
					return false
				}
				if set[c] {
					taken[c] = true
					arms[i].weight += bytes[c]
				}
			}
		}
	}
	return true
}

// commentsBetween reports whether a comment would lose its arm.
func commentsBetween(p *mutate.Pass, arms []arm) bool {
	for _, g := range p.File.Comments {
		for i := 1; i < len(arms); i++ {
			if g.Pos() >= arms[i-1].end && g.End() <= arms[i].pos {
				return true
			}
		}
	}
	return false
}

func rewriteCaseOrder(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	arms := s.Data.([]arm)
	order := slices.Clone(arms)
	inorder.By(order, compareWeight)
	// Each arm's place gets the text of the arm that belongs there by weight.
	var edits []mutate.Edit
	for i, a := range arms {
		if a.pos != order[i].pos {
			edits = append(edits, p.Span(a.pos, a.end, p.Between(order[i].pos, order[i].end)))
		}
	}
	return edits, nil
}
