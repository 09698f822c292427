package rules

import (
	"go/ast"
	"go/token"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// reorderTests is C5.
var reorderTests = &mutate.Mutator{
	Name: "reorder-tests",
	Doc: "Test first what decides most often or costs least in a chain of && or ||. Legal because all operands are free of effects and cannot " +
		"panic, whichever comes first.",
	Before:  `if strings.Contains(s, "@") && len(s) < 64 {`,
	After:   `if len(s) < 64 && strings.Contains(s, "@") {`,
	Class:   beagle.E0,
	Gain:    1.1,
	Find:    findReorder,
	Params:  reorderParams,
	Rewrite: rewriteReorder,
}

type testChain struct {
	expr *ast.BinaryExpr
	ops  []ast.Expr
}

func findReorder(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for e := range mutate.Nodes[*ast.BinaryExpr](p, nil) {
		if e.Op != token.LAND && e.Op != token.LOR {
			continue
		}
		if up, ok := p.Parent(e).(*ast.BinaryExpr); ok && up.Op == e.Op {
			continue
		}
		ops := operands(e, e.Op)
		if len(ops) < 2 || len(ops) > 6 || !allPure(p, ops) {
			continue
		}
		sites = append(sites, mutate.Site{Node: e, Label: "tests " + p.Text(e), Data: testChain{e, ops}})
	}
	return sites
}

func allPure(p *mutate.Pass, list []ast.Expr) bool {
	for _, e := range list {
		if !p.Pure(e) {
			return false
		}
	}
	return true
}

// reorderParams offers each later operand as the first one, the cheap ones
// before the dear ones.
func reorderParams(p *mutate.Pass, s mutate.Site) []mutate.Param {
	c := s.Data.(testChain)
	var cheap, dear []mutate.Param
	for i, op := range c.ops {
		if i == 0 {
			continue
		}
		param := mutate.Param{Label: p.Text(op) + " first", Value: i}
		if callsFunction(p, op) {
			dear = append(dear, param)
			continue
		}
		cheap = append(cheap, param)
	}
	return append(cheap, dear...)
}

func callsFunction(p *mutate.Pass, e ast.Expr) bool {
	for call := range mutate.Nodes[*ast.CallExpr](p, e) {
		if _, isLen := p.IsBuiltin(call, "len"); !isLen && !p.Info.Types[call.Fun].IsType() {
			return true
		}
	}
	return false
}

func rewriteReorder(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	c := s.Data.(testChain)
	first := param.Value.(int)
	texts := []string{operandOf(p, c.ops[first], c.expr.Op)}
	for i, op := range c.ops {
		if i != first {
			texts = append(texts, operandOf(p, op, c.expr.Op))
		}
	}
	return []mutate.Edit{p.Replace(c.expr, strings.Join(texts, " "+c.expr.Op.String()+" "))}, nil
}

// operandOf keeps the parentheses that an operand needs beside op.
func operandOf(p *mutate.Pass, e ast.Expr, op token.Token) string {
	e = ast.Unparen(e)
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op.Precedence() < op.Precedence() {
		return "(" + p.Text(e) + ")"
	}
	return p.Text(e)
}
