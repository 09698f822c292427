package loops

import (
	_ "embed"
	"go/ast"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/example"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/kit"
)

//go:embed compact.go
var compactSource string

// compact (part of catalogue L10) matches a loop that appends each element of its own list that
// differs from the neighbour before. It calls slices.Compact on the list.
var compact = example.Rule{
	Name: "compact",
	Doc: "Drop equal neighbours within the list (slices.Compact) instead of copying the kept elements into another " +
		"one, which grows step by step. Legal because the list was made here, nothing else holds it, and nothing " +
		"uses it later. An empty or nil list stays so; only the capacity differs.",
	Class:  beagle.E2,
	Gain:   1.5,
	Go:     21,
	Source: compactSource,
	Pairs: []example.Pair{
		{Before: unlikeBefore[[]string], After: compactEqual[[]string], Spent: []string{"list"}},
		{Before: lastKept[[]string], After: compactEqual[[]string], Spent: []string{"list"}},
		{Before: unlikeOfEmpty[[]int], After: compactedEmpty[[]int], Spent: []string{"list"}, Guard: fromEmpty},
		{Before: lastOfEmpty[[]int], After: compactedEmpty[[]int], Spent: []string{"list"}, Guard: fromEmpty},
		{Before: lastOfMade[[]int], After: compactedEmpty[[]int], Spent: []string{"list"}, Guard: fromEmpty},
	},
	Label: func(m *example.Match) string { return "neighbours in " + m.Pass.Text(m.Expr("list")) },
}.Mutator()

func unlikeBefore[S ~[]T, T kit.Exact](list S) S {
	var out S
	for i, x := range list {
		if i == 0 || x != list[i-1] {
			out = append(out, x)
		}
	}
	return out
}

func lastKept[S ~[]T, T kit.Exact](list S) S {
	var out S
	for _, x := range list {
		if len(out) == 0 || x != out[len(out)-1] {
			out = append(out, x)
		}
	}
	return out
}

func compactEqual[S ~[]T, T kit.Exact](list S) S {
	var out S
	if len(list) > 0 {
		out = slices.Compact(list)
	}
	return out
}

func unlikeOfEmpty[S ~[]T, T kit.Exact](list S) S {
	out := S{}
	for i, x := range list {
		if i == 0 || x != list[i-1] {
			out = append(out, x)
		}
	}
	return out
}

func lastOfEmpty[S ~[]T, T kit.Exact](list S) S {
	out := S{}
	for _, x := range list {
		if len(out) == 0 || x != out[len(out)-1] {
			out = append(out, x)
		}
	}
	return out
}

func lastOfMade[S ~[]T, T kit.Exact](list S) S {
	out := make(S, 0)
	for _, x := range list {
		if len(out) == 0 || x != out[len(out)-1] {
			out = append(out, x)
		}
	}
	return out
}

func compactedEmpty[S ~[]T, T kit.Exact](list S) S {
	out := slices.Compact(list)
	return out
}

// fromEmpty reports whether a list starts as an empty one and code only appends to it, so that it
// is never nil. A parameter may be nil, and so is what is declared without a value.
func fromEmpty(m *example.Match) bool {
	p, v := m.Pass, m.Var("list")
	if d, ok := facts.Declared.Of(p)[v]; !ok || d.Value == nil || !neverNil(p, d.Value, v) {
		return false
	}
	// A later assignment must append to the variable itself, or be fresh.
	for _, as := range mutate.Nodes[*ast.AssignStmt](p, nil) {
		for i, l := range as.Lhs {
			if p.Var(l) == v && (len(as.Rhs) != len(as.Lhs) || !neverNil(p, as.Rhs[i], v)) {
				return false
			}
		}
	}
	return true
}

func neverNil(p *mutate.Pass, e ast.Expr, v *types.Var) bool {
	if _, ok := ast.Unparen(e).(*ast.CompositeLit); ok || p.Var(e) == v {
		return true
	}
	if _, ok := p.IsBuiltin(e, "make"); ok {
		return true
	}
	call, ok := p.IsBuiltin(e, "append")
	return ok && neverNil(p, call.Args[0], v)
}
