package branches

import (
	_ "embed"
	"go/ast"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed branchless.go
var branchlessSource string

// branchless (catalogue C10) matches an if in a loop that only raises or lowers a variable to
// another value, or only counts. It writes min or max, or adds the condition as 0 or 1.
var branchless = example.Rule{
	Name: "branchless",
	Doc: "Compute instead of branching where the branch cannot be predicted: min and max, or a condition added as 0 " +
		"or 1. Legal for integers and conditions that cannot panic; floats are left alone because of NaN.",
	Class:  beagle.E0,
	Gain:   1.15,
	Source: branchlessSource,
	Pairs: []example.Pair{
		{Before: countIf, After: addCondition, Guard: quietCondition},
		{Before: countDownIf, After: takeCondition, Guard: quietCondition},
		{Before: lowerIfLess[int], After: lowerTo[int], Go: 21},
		{Before: lowerUnlessMore[int], After: lowerTo[int], Go: 21},
		{Before: raiseIfMore[uint8], After: raiseTo[uint8], Go: 21},
		{Before: raiseUnlessLess[uint8], After: raiseTo[uint8], Go: 21},
	},
	Guard: func(m *example.Match) bool { return m.Pass.InLoop(m.Node) },
	Label: func(m *example.Match) string { return "if " + m.Pass.Text(m.Node.(*ast.IfStmt).Cond) },
}.Mutator()

func countIf(n int, cond bool) int {
	if cond {
		n++
	}
	return n
}

func addCondition(n int, cond bool) int {
	n += kit.BoolToInt(cond)
	return n
}

func countDownIf(n int, cond bool) int {
	if cond {
		n--
	}
	return n
}

func takeCondition(n int, cond bool) int {
	n -= kit.BoolToInt(cond)
	return n
}

func lowerIfLess[T kit.Integer](x, v T) T {
	if v < x {
		x = v
	}
	return x
}

func lowerUnlessMore[T kit.Integer](x, v T) T {
	if v <= x {
		x = v
	}
	return x
}

func lowerTo[T kit.Integer](x, v T) T {
	x = min(x, v)
	return x
}

func raiseIfMore[T kit.Integer](x, v T) T {
	if v > x {
		x = v
	}
	return x
}

func raiseUnlessLess[T kit.Integer](x, v T) T {
	if v >= x {
		x = v
	}
	return x
}

func raiseTo[T kit.Integer](x, v T) T {
	x = max(x, v)
	return x
}

// quietCondition reports whether the condition is pure, if reading elements of the loop's own
// sequence counts as pure.
func quietCondition(m *example.Match) bool {
	if m.Pass.Pure(m.Expr("cond")) {
		return true
	}
	loop, ok := enclosingLoop(m.Pass, m.Node)
	return ok && facts.PureElements(m.Pass, m.Expr("cond"), loop)
}

// enclosingLoop returns the innermost loop around n.
func enclosingLoop(p *mutate.Pass, n ast.Node) (ast.Stmt, bool) {
	for _, up := range p.Path(n) {
		if s, ok := up.(ast.Stmt); ok && syntax.LoopBody(up) != nil {
			return s, true
		}
	}
	return nil, false
}
