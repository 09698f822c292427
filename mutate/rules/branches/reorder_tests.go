package branches

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// reorderTests (catalogue C5) matches a chain of && or || whose operands are pure. It writes the
// operands in another order: first what decides most often in the corpus, or what costs least.
var reorderTests = &mutate.Mutator{
	Name: "reorder-tests",
	Doc: "Put the test first that decides a chain of && or || most often, by the corpus, or that costs least. Legal " +
		"because all operands are free of effects and cannot panic, whichever comes first.",
	Example: mutate.Shows(`if strings.Contains(s, "@") && len(s) < 64 {`,
		`if len(s) < 64 && strings.Contains(s, "@") {`),
	Class:   beagle.E0,
	Gain:    1.1,
	Find:    findReorder,
	Params:  reorderParams,
	Rewrite: rewriteReorder,
}

// A testChain is a chain in another order.
type testChain struct {
	expr  *ast.BinaryExpr
	order []ast.Expr
	label string
}

// findReorder looks for chains of && and || whose tests may change places, with a better order.
func findReorder(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	used := facts.Reached.Of(p)
	for _, e := range mutate.Nodes[*ast.BinaryExpr](p, nil) {
		// Take the whole chain of one operator, in code that runs.
		if e.Op != token.LAND && e.Op != token.LOR || !used[p.FuncOf(e)] {
			continue
		}
		if up, ok := p.Parent(e).(*ast.BinaryExpr); ok && up.Op == e.Op {
			continue
		}
		ops := syntax.Operands(e, e.Op)
		// Without effects and panics the tests may run in any order. Two that bound a range read
		// best as they are.
		if len(ops) < 2 || len(ops) > 6 || isRange(p, e, ops) || !allPure(p, ops) {
			continue
		}
		if c := betterOrder(p, e, ops); c != nil {
			sites = append(sites, mutate.Site{Node: e, Label: "tests " + p.Text(e), Data: c})
		}
	}
	return sites
}

// isRange recognises c >= 'a' && c <= 'z', which the compiler turns into one comparison.
func isRange(p *mutate.Pass, e *ast.BinaryExpr, ops []ast.Expr) bool {
	if e.Op != token.LAND {
		return false
	}
	var first ast.Expr
	for _, op := range ops {
		b, ok := ast.Unparen(op).(*ast.BinaryExpr)
		// Both comparisons must be of the same expression with constants.
		if !ok {
			return false
		}
		if _, constant := p.Int(b.Y); !constant || first != nil && !p.Same(first, b.X) {
			return false
		}
		first = b.X
	}
	return true
}

// betterOrder returns the order that a reason supports, or nil if that is the present one. If all
// tests are of one byte and the corpus has its values, the reason is how often each test decides.
// Otherwise it is what each test costs.
func betterOrder(p *mutate.Pass, e *ast.BinaryExpr, ops []ast.Expr) *testChain {
	if decides := decidedShares(p, e.Op, ops); decides != nil {
		// A few calls more or less are no reason: the corpus is a sample.
		const clearly = 0.05
		if best := slices.Max(decides); best < decides[0]+clearly {
			return nil
		}
		return &testChain{e, sortedBy(ops, func(i, j int) bool { return decides[i] > decides[j] }),
			"most frequent first"}
	}
	costs := make([]int, len(ops))
	for i, op := range ops {
		costs[i] = costOf(p, op)
	}
	// Equal costs keep their order, so that nothing is moved without a reason.
	if slices.Min(costs) == costs[0] {
		return nil
	}
	return &testChain{e, sortedBy(ops, func(i, j int) bool { return costs[i] < costs[j] }), "cheapest first"}
}

// sortedBy sorts by less, and keeps the order of tests that are alike.
func sortedBy(ops []ast.Expr, less func(i, j int) bool) []ast.Expr {
	at := make([]int, len(ops))
	for i := range at {
		at[i] = i
	}
	// Sort indexes, and so that equal ones keep their order.
	inorder.By(at, func(i, j int) int {
		switch {
		case less(i, j):
			return -1
		case less(j, i):
			return 1
		}
		return 0
	})
	out := make([]ast.Expr, len(ops))
	for i, k := range at {
		out[i] = ops[k]
	}
	return out
}

// decidedShares returns how many of the corpus's bytes each test decides a chain for, or nil if
// that is unknown.
func decidedShares(p *mutate.Pass, op token.Token, ops []ast.Expr) []float64 {
	bytes := byteShares(p)
	if bytes == nil {
		return nil
	}
	var out []float64
	var operand ast.Expr
	// All tests must be of one byte: then each one decides the chain for a known share of the
	// bytes.
	for _, e := range ops {
		t, ok := characters.TestOf(p, e)
		if !ok || operand != nil && !p.Same(operand, t.Operand) {
			return nil
		}
		operand = t.Operand
		set, err := p.Values().ByteSet(e, operand)
		if err != nil {
			return nil
		}
		share := 0.0
		// A test decides || where it holds, and && where it fails.
		for c := range set {
			if set[c] == (op == token.LOR) {
				share += bytes[c]
			}
		}
		out = append(out, share)
	}
	return out
}

// costOf ranks tests: comparisons in registers, reads from memory, strings, calls.
func costOf(p *mutate.Pass, e ast.Expr) int {
	// A call costs more than anything else here.
	if facts.CallsFunction(p, e) {
		return 100
	}
	cost := 0
	for _, n := range mutate.Nodes[ast.Expr](p, e) {
		switch n := n.(type) {
		case *ast.IndexExpr, *ast.StarExpr, *ast.SelectorExpr:
			cost += 2
		case *ast.BinaryExpr:
			if b, ok := p.Info.TypeOf(n.X).Underlying().(*types.Basic); n.Op != token.LAND && n.Op != token.LOR &&
				(!ok || b.Info()&types.IsString != 0) {
				cost += 4 // strings, structs, interfaces
			}
		}
	}
	return cost
}

func allPure(p *mutate.Pass, list []ast.Expr) bool {
	for _, e := range list {
		if !p.Pure(e) {
			return false
		}
	}
	return true
}

// reorderParams offers one order only: any other is a step that the search can do without.
func reorderParams(_ *mutate.Pass, s mutate.Site) []mutate.Param {
	return []mutate.Param{{Label: s.Data.(*testChain).label}}
}

func rewriteReorder(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	c := s.Data.(*testChain)
	var texts []string
	for _, op := range c.order {
		texts = append(texts, operandOf(p, op, c.expr.Op))
	}
	return []mutate.Edit{p.Replace(c.expr, strings.Join(texts, " "+c.expr.Op.String()+" "))}, nil
}

// operandOf keeps the parentheses that an operand needs beside op, or in the head of an if.
func operandOf(p *mutate.Pass, e ast.Expr, op token.Token) string {
	e = ast.Unparen(e)
	for range mutate.Nodes[*ast.CompositeLit](p, e) {
		return "(" + p.Text(e) + ")"
	}
	return edit.Operand(e, p.Text(e), op)
}
