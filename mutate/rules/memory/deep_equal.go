package memory

import (
	_ "embed"
	"go/ast"
	"go/types"
	"maps"
	"reflect"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
)

//go:embed deep_equal.go
var deepEqualSource string

// deepEqual (part of catalogue A9) matches reflect.DeepEqual of two values of one type that Go can
// compare itself. It writes that comparison.
var deepEqual = example.Rule{
	Name: "deep-equal",
	Doc: "Compare values of a known type directly instead of by reflection, which boxes both and walks through their " +
		"types. Exact: the values hold no pointers and no interfaces. A nil list or map differs from an empty one, " +
		"as DeepEqual has it, and elements that may differ from themselves are left to it.",
	Class:  beagle.E0,
	Gain:   5,
	Source: deepEqualSource,
	Pairs: []example.Pair{{
		Before: deepLists[[]string], After: equalLists[[]string], Guard: plainParts("E"), Go: 21,
	}, {
		Before: deepMaps[map[string]int], After: equalMaps[map[string]int], Guard: plainParts("K", "V"), Go: 21,
	}, {
		Before: deepPointers[uint64], After: equalPointers[uint64], Guard: plainParts("T"),
	}, {
		Before: deepValues[string], After: equalValues[string],
		Guard: func(m *example.Match) bool {
			return plainValue(m.Type("T"), true) && !m.IsConstant("a") && !m.IsConstant("b") && writesNoLiteral(m)
		},
	}},
	Label: func(m *example.Match) string { return "comparison of " + m.Pass.Text(m.Expr("a")) },
}.Mutator()

func deepLists[S ~[]E, E comparable](a, b S) bool { return reflect.DeepEqual(a, b) }
func equalLists[S ~[]E, E comparable](a, b S) bool {
	return (a == nil) == (b == nil) && slices.Equal(a, b)
}

func deepMaps[M ~map[K]V, K, V comparable](a, b M) bool { return reflect.DeepEqual(a, b) }
func equalMaps[M ~map[K]V, K, V comparable](a, b M) bool {
	return (a == nil) == (b == nil) && maps.Equal(a, b)
}

func deepPointers[T comparable](a, b *T) bool { return reflect.DeepEqual(a, b) }

func equalPointers[T comparable](a, b *T) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

func deepValues[T comparable](a, b T) bool  { return reflect.DeepEqual(a, b) }
func equalValues[T comparable](a, b T) bool { return a == b }

// plainParts accepts values of several parts whose types are plain.
func plainParts(names ...string) func(*example.Match) bool {
	return func(m *example.Match) bool {
		return writesNoLiteral(m) && !slices.ContainsFunc(names, func(name string) bool {
			return !plainValue(m.Type(name), false)
		})
	}
}

// writesNoLiteral reports whether no operand is a literal, which a condition may not hold as it is.
func writesNoLiteral(m *example.Match) bool {
	_, a := ast.Unparen(m.Expr("a")).(*ast.CompositeLit)
	_, b := ast.Unparen(m.Expr("b")).(*ast.CompositeLit)
	return !a && !b
}

// plainValue reports whether == and DeepEqual say the same of two values: they are numbers, texts,
// truths, and arrays and structs of those. DeepEqual takes a list to be equal to itself whatever
// its elements are, so that floats, which may differ from themselves, are for single values.
func plainValue(t types.Type, floats bool) bool {
	// All else may lead to memory, which DeepEqual follows and == does not.
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
