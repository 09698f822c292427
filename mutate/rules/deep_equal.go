package rules

import (
	"fmt"
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// deepEqual (part of catalogue A9) matches reflect.DeepEqual of two values of one type that Go can
// compare itself. It writes that comparison.
var deepEqual = &mutate.Mutator{
	Name: "deep-equal",
	Doc: "Compare values of a known type as what they are instead of by reflection, which boxes both and walks " +
		"through their types. Exact: what the values hold is neither a pointer nor an interface. A nil list or map " +
		"differs from an empty one, as DeepEqual has it, and elements that may differ from themselves are left to it.",
	Before: `return reflect.DeepEqual(a, b) // of type []string`,
	After:  `return (a == nil) == (b == nil) && slices.Equal(a, b)`,
	Class:  beagle.E0,
	Gain:   5,
	Find:   findDeepEqual,
	Rewrite: func(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
		return withImports(p, []mutate.Edit{p.Replace(s.Node, s.Data.(string))}, "maps", "slices"), nil
	},
}

func findDeepEqual(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for e := range mutate.Nodes[*ast.CallExpr](p, nil) {
		call, ok := p.IsCall(e, "reflect", "DeepEqual")
		if !ok {
			continue
		}
		if text, ok := comparisonOf(p, call.Args[0], call.Args[1]); ok {
			if _, beside := p.Parent(call).(ast.Expr); beside {
				text = "(" + text + ")"
			}
			sites = append(sites, mutate.Site{Node: call, Label: "comparison of " + p.Text(call.Args[0]), Data: text})
		}
	}
	return sites
}

// comparisonOf writes the comparison of two values of one type.
func comparisonOf(p *mutate.Pass, a, b ast.Expr) (string, bool) {
	t := p.Info.TypeOf(a)
	if t == nil || !types.Identical(t, p.Info.TypeOf(b)) || p.Info.Types[a].IsNil() {
		return "", false
	}
	if _, param := types.Unalias(t).(*types.TypeParam); param {
		return "", false
	}
	_, composed := ast.Unparen(a).(*ast.CompositeLit)
	_, composed2 := ast.Unparen(b).(*ast.CompositeLit)
	x, y := operandText(p, a, p.Text(a)), operandText(p, b, p.Text(b))
	if plainValue(t, true) {
		return x + " == " + y, !composed && !composed2 && p.Info.Types[a].Value == nil && p.Info.Types[b].Value == nil
	}
	if p.Effects(a).Writes || p.Effects(b).Writes || composed || composed2 {
		return "", false // each is evaluated twice
	}
	pkg := ""
	switch u := t.Underlying().(type) {
	case *types.Slice:
		if plainValue(u.Elem(), false) {
			pkg = "slices"
		}
	case *types.Pointer:
		if plainValue(u.Elem(), false) {
			return fmt.Sprintf("((%[1]s == nil) == (%[2]s == nil) && (%[1]s == nil || *%[1]s == *%[2]s))", x, y), true
		}
	case *types.Map:
		if plainValue(u.Key(), false) && plainValue(u.Elem(), false) {
			pkg = "maps"
		}
	}
	if pkg == "" || !goAtLeast(p, 21) {
		return "", false
	}
	return fmt.Sprintf("(%s == nil) == (%s == nil) && %s.Equal(%s, %s)", x, y, pkg, p.Text(a), p.Text(b)), true
}

// plainValue reports whether == and DeepEqual say the same of two values: they are numbers, texts,
// truths, and arrays and structs of those. DeepEqual takes a list to be equal to itself whatever
// its elements are, so that floats, which may differ from themselves, are for single values.
func plainValue(t types.Type, floats bool) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&(types.IsInteger|types.IsString|types.IsBoolean) != 0 ||
			floats && u.Info()&(types.IsFloat|types.IsComplex) != 0
	case *types.Array:
		return plainValue(u.Elem(), floats)
	case *types.Struct:
		for f := range u.Fields() {
			if f.Name() == "_" || !plainValue(f.Type(), floats) {
				return false // == does not look at fields without a name
			}
		}
		return true
	}
	return false
}
