//lint:file-ignore SA6005 a Before is what the rule replaces

package branches

import (
	_ "embed"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed fold_length.go
var foldLengthSource string

// foldLength (part of catalogue C12) matches a comparison with a constant without regard to case.
// It compares the lengths first.
var foldLength = example.Rule{
	Name: "fold-length",
	Doc: "Compare the lengths before strings.EqualFold, which walks both texts and does not look at lengths first. " +
		"Most names that code compares with a constant have another length. Exact: a text of ASCII without k and s " +
		"equals only texts of its own length. The Kelvin sign and the long s fold to these two, and have more bytes.",
	Class:  beagle.E0,
	Gain:   1.3,
	Source: foldLengthSource,
	Pairs: []example.Pair{{
		Before: func(s, x string) bool { return strings.EqualFold(s, x) },
		After:  func(s, x string) bool { return len(s) == len(x) && strings.EqualFold(s, x) },
		When:   foldsInASCII,
	}, {
		Before: func(x, s string) bool { return strings.EqualFold(x, s) },
		After:  func(x, s string) bool { return len(s) == len(x) && strings.EqualFold(x, s) },
		When:   foldsInASCII,
	}},
	Guard: func(m *example.Match) bool {
		return readsQuickly(m.Pass, m.Expr("s")) && !lengthAsked(m.Pass, m.Node, m.Expr("s"))
	},
}.Mutator()

// foldsInASCII reports whether a text equals only texts of ASCII without regard to case.
func foldsInASCII(x string) bool { return kit.AllASCII(x) && !strings.ContainsAny(x, "kKsS") }

// readsQuickly reports whether an expression names a variable, a field or an element of a list,
// which costs nearly nothing to read twice.
func readsQuickly(p *mutate.Pass, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident, *ast.BasicLit:
		return true
	case *ast.SelectorExpr:
		return readsQuickly(p, e.X)
	case *ast.IndexExpr:
		_, table := p.Info.TypeOf(e.X).Underlying().(*types.Map)
		return !table && readsQuickly(p, e.X) && readsQuickly(p, e.Index)
	}
	return false
}

// lengthAsked reports whether a condition asks for the length of a text in front of a test.
func lengthAsked(p *mutate.Pass, test ast.Node, s ast.Expr) bool {
	for _, up := range p.Path(test)[1:] {
		both, ok := up.(*ast.BinaryExpr)
		if !ok || both.Op != token.LAND || !facts.Inside(test, both.Y) {
			continue
		}
		for _, call := range mutate.Nodes[*ast.CallExpr](p, both.X) {
			if length, ok := p.IsBuiltin(call, "len"); ok && p.Same(length.Args[0], s) {
				return true
			}
		}
	}
	return false
}
