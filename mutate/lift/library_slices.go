package lift

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/beagle-go/beagle/internal/inorder"
)

func init() {
	ordered[int]()
	ordered[string]()
	ordered[byte]()
	ordered[rune]()
	ordered[int64]()
	ordered[uint16]()
	ordered[uint32]()
	ordered[uint64]()
	ordered[float64]()
	comparableSlices[bool]()
}

// ordered registers the functions on slices of a type whose values have an order.
func ordered[T cmp.Ordered]() {
	comparableSlices[T]()
	p1("slices.Max", some[T], slices.Max[[]T])
	p1("slices.Min", some[T], slices.Min[[]T])
	f1("slices.IsSorted", slices.IsSorted[[]T])
	f2("slices.Compare", slices.Compare[[]T])
	f1("slices.Sorted(slices.Values($1))", func(s []T) []T {
		s = slices.Clone(s)
		inorder.Sort(s)
		return s
	}, inPlace("slices.Sort($1)"), atPrice(20))
	f2("slices.BinarySearch", func(s []T, x T) int { i, _ := slices.BinarySearch(s, x); return i }, result(1, 2))
	f2("slices.BinarySearch", func(s []T, x T) bool { _, ok := slices.BinarySearch(s, x); return ok }, result(2, 2))
}

// comparableSlices registers the functions on slices of a type with ==.
func comparableSlices[T comparable]() {
	// Functions that copy are bounded by maxSize, and those that panic are defined only where they
	// do not.
	text := byGo[reflect.TypeFor[T]()] == typeFor[byte]()
	if !text { // bytes has these
		f2("slices.Contains", slices.Contains[[]T])
		f2("slices.Index", slices.Index[[]T])
		f2("slices.Equal", slices.Equal[[]T], commutes)
	}
	f1("slices.Clone", slices.Clone[[]T], glue)
	f1("slices.Compact(slices.Clone($1))", func(s []T) []T { return slices.Compact(slices.Clone(s)) })
	// Functions that work in place are evaluated on a copy, and written as a statement.
	reversed := func(s []T) []T {
		s = slices.Clone(s)
		slices.Reverse(s)
		return s
	}
	f1("slices.Reverse", reversed, inPlace("slices.Reverse($1)"), onlyInPlace)
	p2("slices.Concat", func(a, b []T) bool { return len(a)+len(b) <= maxSize }, func(a, b []T) []T {
		return slices.Concat(a, b)
	})
	p2("slices.Repeat", func(s []T, n int) bool {
		return n >= 0 && n <= maxSize && n*len(s) <= maxSize
	}, func(s []T, n int) []T {
		return slices.Repeat(s, n)
	})
	p3("slices.Insert(slices.Clone($1), $2, $3)", func(s []T, i int, _ T) bool {
		return inside(s, i)
	}, func(s []T, i int, v T) []T {
		return slices.Concat(s[:i], []T{v}, s[i:])
	})
	p3("slices.Delete(slices.Clone($1), $2, $3)", func(s []T, i, j int) bool {
		return 0 <= i && i <= j && j <= len(s)
	}, func(s []T, i, j int) []T {
		return slices.Delete(slices.Clone(s), i, j)
	})
	// The language's own operators join the functions.
	f1("len($1)", func(s []T) int { return len(s) }, glue)
	p2("$1[$2]", func(s []T, n int) bool { return 0 <= n && n < len(s) }, func(s []T, i int) T { return s[i] }, glue)
	p2("$1[:$2]", inside[T], func(s []T, n int) []T { return s[:n:n][:n] }, glue)
	p2("$1[$2:]", inside[T], func(s []T, n int) []T { return s[n:] }, glue)
}

// onlyInPlace marks a component without a form that is an expression: its argument is cloned first.
func onlyInPlace(c *Component) { c.place = -1 }

func atPrice(n int) trait { return func(c *Component) { c.price = n } }

func inside[T any](s []T, n int) bool { return 0 <= n && n <= len(s) }

func some[T any](s []T) bool { return len(s) > 0 }

func within[S ~string](s S, n int) bool { return 0 <= n && n <= len(s) }

func divides[T integer](_, b T) bool { return b != 0 }
