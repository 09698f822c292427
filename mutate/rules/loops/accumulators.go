package loops

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// accumulators (catalogue L2) matches a loop whose body only folds each element into one integer
// variable with +, ^, | or *. It writes a loop over blocks that folds into several variables in
// turn, joins them, and handles the rest as before.
var accumulators = &mutate.Mutator{
	Name: "accumulators",
	Doc: "Sum into several variables in turn and add them at the end: the additions no longer wait for each other. " +
		"Exact for integers in any order; never done for floats, whose sum would change.",
	Example: mutate.Shows(`for _, x := range v {
	sum += x
}`,
		`rest := v
var sum1, sum2, sum3 int
for len(rest) >= 4 {
	sum += rest[0]
	sum1 += rest[1]
	sum2 += rest[2]
	sum3 += rest[3]
	rest = rest[4:]
}
sum += sum1 + sum2 + sum3
for _, x := range rest {
	sum += x
}`),
	Class: beagle.E0,
	Gain:  1.5,
	Find: edit.SitesOf(reductionOf, func(_ *mutate.Pass, r *reduction) string {
		return "sum over " +
			r.loop.Seq.Name()
	}),
	Params: func(*mutate.Pass, mutate.Site) []mutate.Param {
		return []mutate.Param{{Label: "4", Value: 4}, {Label: "2", Value: 2}}
	},
	Rewrite: rewriteReduction,
}

type reduction struct {
	loop *mutate.ElementLoop
	sum  *types.Var
	op   token.Token // one of + ^ | *
	term *ast.AssignStmt
}

// reductionOf recognises a body of one statement, s op= term. The term depends on the element and
// not on s.
func reductionOf(p *mutate.Pass, s ast.Stmt) *reduction {
	// The loop must visit all elements in order, do nothing else, and leave room for the new
	// variables.
	l, ok := p.Elements(s)
	if !ok || !l.Plain || !facts.IsInnermost(l) || facts.UnrolledBefore(p, l) || !facts.CanDeclare(p, s) ||
		!facts.CanStart(p, l) ||
		facts.IsLabelled(p, s) {
		return nil
	}
	list := l.Body.List
	if facts.CopyOfElement(p, l) != nil {
		list = list[1:]
	}
	if len(list) != 1 {
		return nil
	}
	// The one statement adds to a local integer by an operator for which the order does not matter.
	// Floats are out: they round differently in another order.
	as, ok := list[0].(*ast.AssignStmt)
	if !ok || len(as.Lhs) != 1 {
		return nil
	}
	r := &reduction{loop: l, sum: p.Var(as.Lhs[0]), op: edit.Associative[as.Tok], term: as}
	if r.op == token.ILLEGAL || r.sum == nil || p.IsGlobal(r.sum) || !syntax.IsInteger(r.sum.Type()) ||
		!p.Pure(as.Rhs[0]) && !onlyReadsElement(p, l, as.Rhs[0]) {
		return nil
	}
	// A term that reads the sum, or writes something, depends on the order of the iterations.
	if len(p.Uses(r.sum, as.Rhs[0])) > 0 || p.Effects(as.Rhs[0]).Writes {
		return nil
	}
	return r
}

// onlyReadsElement reports whether a term cannot panic, if reading the element itself counts as
// safe: it is within bounds.
func onlyReadsElement(p *mutate.Pass, l *mutate.ElementLoop, e ast.Expr) bool {
	if len(l.Elems) == 0 {
		return false
	}
	// Walk through the term. Only arithmetic without division and shifts is certain not to panic.
	for _, n := range mutate.Nodes[ast.Expr](p, e) {
		switch n := n.(type) {
		case *ast.IndexExpr:
			if !slices.Contains(l.Elems, n) {
				return false
			}
		case *ast.Ident, *ast.BasicLit, *ast.ParenExpr:
		case *ast.BinaryExpr:
			if n.Op == token.QUO || n.Op == token.REM || n.Op == token.SHL || n.Op == token.SHR {
				return false
			}
		case *ast.CallExpr:
			if !p.Info.Types[n.Fun].IsType() {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// rewriteReduction writes the loop with k sums, each of which takes every k-th element, and adds
// them up after it. The original loop handles the last elements.
func rewriteReduction(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	r, k := s.Data.(*reduction), param.Value.(int)
	if _, at := p.Siblings(s.Node.(ast.Stmt)); at < 0 {
		return nil, errors.New("the loop stands in no statement list")
	}
	sum, rest := r.sum.Name(), p.Fresh("rest", "tail")
	// Besides the original sum there are k-1 partial ones, each of which takes every k-th element.
	sums := []string{sum}
	for j := 1; j < k; j++ {
		sums = append(sums, p.Fresh(sum+strconv.Itoa(j), sum+"Part"+strconv.Itoa(j)))
	}
	var block strings.Builder
	for j, name := range sums {
		fmt.Fprintf(&block, "%s %s %s\n", name, r.term.Tok,
			elementText(p, r.loop, rest, r.term.Rhs[0], strconv.Itoa(j)))
	}
	typ := types.TypeString(r.sum.Type(), types.RelativeTo(p.Pkg))
	// A partial sum starts with the neutral value, which is 1 for products and 0 for all others.
	declare := fmt.Sprintf("var %s %s", strings.Join(sums[1:], ", "), typ)
	if r.op == token.MUL {
		declare = strings.Join(sums[1:], ", ") + " := " +
			strings.TrimSuffix(strings.Repeat(edit.LiteralOf(typ, "1")+", ", k-1), ", ")
	}
	text := fmt.Sprintf("%s := %s\n%s // so that one turn need not wait for the last\nfor len(%s) >= %d {\n"+
		"%s%s = %s[%d:]\n}\n%s %s %s\n%s",
		rest, edit.StartOf(r.loop), declare, rest, k, block.String(), rest, rest, k, sum, r.term.Tok,
		strings.Join(sums[1:], " "+r.op.String()+" "), edit.RemainderLoop(p, r.loop, rest))
	return []mutate.Edit{p.Replace(s.Node, text)}, nil
}
