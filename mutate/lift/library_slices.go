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
	ends((func([]T) T)(nil))
	orders((func([]T) bool)(nil), (func(a, b []T) int)(nil), (func([]T) []T)(nil))
	f2("slices.BinarySearch", func(s []T, x T) int { i, _ := slices.BinarySearch(s, x); return i }, result(1, 2))
	f2("slices.BinarySearch", func(s []T, x T) bool { _, ok := slices.BinarySearch(s, x); return ok }, result(2, 2))
}

// comparableSlices registers the functions on slices of a type with ==.
func comparableSlices[T comparable]() {
	text := byGo[reflect.TypeFor[T]()] == typeFor[byte]()
	if !text { // bytes has these
		f2("slices.Contains", slices.Contains[[]T])
		f2("slices.Index", slices.Index[[]T])
		equality((func(a, b []T) bool)(nil))
	}
	copies((func([]T) []T)(nil), (func([]T, int) []T)(nil), (func(a, b []T) []T)(nil), (func([]T, int, T) []T)(nil),
		(func([]T, int, int) []T)(nil))
	// The language's own operators join the functions.
	f1("len($1)", func(s []T) int { return len(s) }, glue)
	p2("$1[$2]", func(s []T, n int) bool { return 0 <= n && n < len(s) }, func(s []T, i int) T { return s[i] }, glue)
	p2("$1[:$2]", inside[T], func(s []T, n int) []T { return s[:n:n][:n] }, glue)
	p2("$1[$2:]", inside[T], func(s []T, n int) []T { return s[n:] }, glue)
}

// equality registers the comparison of two slices, for one type of elements, by reflection as
// [copies] does.
func equality(ofTwo any) {
	byReflection("slices.Equal", ofTwo, func(a []reflect.Value) (reflect.Value, bool) {
		return reflect.ValueOf(slices.EqualFunc(elements(a[0]), elements(a[1]), reflect.Value.Equal)), true
	}, commutes)
}

// copies registers the functions that copy slices, for one type of elements. The arguments show the
// types of the functions. They work by reflection, as code for each type would be a large part of
// the library. Functions that copy are bounded by maxSize, and those that panic are defined only
// where they do not. Those that work in place are evaluated on a copy, and written as a statement.
func copies(ofOne, ofNumber, ofTwo, ofElement, ofPart any) {
	byReflection("slices.Clone", ofOne, func(a []reflect.Value) (reflect.Value, bool) {
		return joined(a[0]), true
	}, glue)
	byReflection("slices.Compact(slices.Clone($1))", ofOne, func(a []reflect.Value) (reflect.Value, bool) {
		out := reflect.MakeSlice(a[0].Type(), 0, a[0].Len())
		for i, v := range a[0].Seq2() {
			if i.Int() == 0 || !v.Equal(a[0].Index(int(i.Int())-1)) {
				out = reflect.Append(out, v)
			}
		}
		return out, true
	})
	byReflection("slices.Reverse", ofOne, func(a []reflect.Value) (reflect.Value, bool) {
		out := joined(a[0])
		swap, n := reflect.Swapper(out.Interface()), out.Len()
		for i := range n / 2 {
			swap(i, n-1-i)
		}
		return out, true
	}, inPlace("slices.Reverse($1)"), onlyInPlace)
	byReflection("slices.Concat", ofTwo, func(a []reflect.Value) (reflect.Value, bool) {
		if a[0].Len()+a[1].Len() > maxSize {
			return a[0], false
		}
		return joined(a[0], a[1]), true
	})
	byReflection("slices.Repeat", ofNumber, func(a []reflect.Value) (reflect.Value, bool) {
		n := a[1].Int()
		if n < 0 || n > maxSize || int(n)*a[0].Len() > maxSize {
			return a[0], false
		}
		return joined(a[0].Slice(0, 0), slices.Repeat(a[:1], int(n))...), true
	})
	byReflection("slices.Insert(slices.Clone($1), $2, $3)", ofElement, func(a []reflect.Value) (reflect.Value, bool) {
		i, n := int(a[1].Int()), a[0].Len()
		if i < 0 || i > n {
			return a[0], false
		}
		head := reflect.Append(joined(a[0].Slice(0, i)), a[2])
		return reflect.AppendSlice(head, a[0].Slice(i, n)), true
	})
	byReflection("slices.Delete(slices.Clone($1), $2, $3)", ofPart, func(a []reflect.Value) (reflect.Value, bool) {
		i, j, n := int(a[1].Int()), int(a[2].Int()), a[0].Len()
		if i < 0 || i > j || j > n {
			return a[0], false
		}
		return joined(a[0].Slice(0, i), a[0].Slice(j, n)), true
	})
}

// ends registers the largest and the smallest element, for one type of elements, by reflection as
// [copies] does.
func ends(ofOne any) {
	byReflection("slices.Max", ofOne, func(a []reflect.Value) (reflect.Value, bool) { return fold(a[0], larger) })
	byReflection("slices.Min", ofOne, func(a []reflect.Value) (reflect.Value, bool) { return fold(a[0], smaller) })
}

// fold joins the elements of a slice from the first on. An empty slice has no value.
func fold(s reflect.Value, join func(a, b reflect.Value) reflect.Value) (reflect.Value, bool) {
	if s.Len() == 0 {
		return s, false
	}
	all := s.Index(0)
	for i := range s.Len() - 1 {
		all = join(all, s.Index(i+1))
	}
	return all, true
}

// larger is the language's max. NaN and the signs of zeros have no place in the order of
// cmp.Compare that max gives them.
func larger(a, b reflect.Value) reflect.Value {
	switch {
	case a.CanFloat():
		return reflect.ValueOf(max(a.Float(), b.Float()))
	case compareValues(a, b) < 0:
		return b
	}
	return a
}

// smaller is the language's min.
func smaller(a, b reflect.Value) reflect.Value {
	switch {
	case a.CanFloat():
		return reflect.ValueOf(min(a.Float(), b.Float()))
	case compareValues(a, b) > 0:
		return b
	}
	return a
}

// orders registers functions that compare the elements of slices, for one type of elements, by
// reflection as [copies] does.
func orders(ofTest, ofTwo, ofOne any) {
	byReflection("slices.IsSorted", ofTest, func(a []reflect.Value) (reflect.Value, bool) {
		return reflect.ValueOf(slices.IsSortedFunc(elements(a[0]), compareValues)), true
	})
	byReflection("slices.Compare", ofTwo, func(a []reflect.Value) (reflect.Value, bool) {
		return reflect.ValueOf(slices.CompareFunc(elements(a[0]), elements(a[1]), compareValues)), true
	})
	byReflection("slices.Sorted(slices.Values($1))", ofOne, func(a []reflect.Value) (reflect.Value, bool) {
		list := elements(a[0])
		inorder.By(list, compareValues)
		return reflect.Append(reflect.MakeSlice(a[0].Type(), 0, len(list)), list...), true
	}, inPlace("slices.Sort($1)"), atPrice(20))
}

// elements returns the elements of a slice.
func elements(s reflect.Value) []reflect.Value {
	out := make([]reflect.Value, s.Len())
	for i := range out {
		out[i] = s.Index(i)
	}
	return out
}

// compareValues is cmp.Compare for two values of one type that has an order.
func compareValues(a, b reflect.Value) int {
	switch {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.CanFloat():
		return cmp.Compare(a.Float(), b.Float())
	}
	return cmp.Compare(a.String(), b.String())
}

// joined copies slices of one type after each other.
func joined(first reflect.Value, more ...reflect.Value) reflect.Value {
	n := first.Len()
	for _, s := range more {
		n += s.Len()
	}
	out := reflect.AppendSlice(reflect.MakeSlice(first.Type(), 0, n), first)
	for _, s := range more {
		out = reflect.AppendSlice(out, s)
	}
	return out
}

// onlyInPlace marks a component without a form that is an expression: its argument is cloned first.
func onlyInPlace(c *Component) { c.place = -1 }

func atPrice(n int) trait { return func(c *Component) { c.price = n } }

func inside[T any](s []T, n int) bool { return 0 <= n && n <= len(s) }

func some[T any](s []T) bool { return len(s) > 0 }

func within[S ~string](s S, n int) bool { return 0 <= n && n <= len(s) }

func divides[T integer](_, b T) bool { return b != 0 }
