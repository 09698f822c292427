package lift

import (
	"hash/maphash"
	"math"
	"reflect"
	"slices"
)

// maxSize bounds a value in bytes or elements: components that grow their input
// must not feed each other without end.
const maxSize = 4 << 10

// maxExamples is the number of examples of a search: one machine word masks them.
const maxExamples = 64

// A Type is a type of the grammar. A column of it holds one value an example.
type Type struct {
	Name string // as Go spells it
	id   uint64
	of   reflect.Type

	// The hot operations of a search are compiled for each type. The others go by reflection.
	hash  func(col any, mask uint64) (sum, small uint64) // small masks the values within maxSize
	equal func(a, b any, mask uint64) uint64             // masks the examples that agree
	draw  func(g *drawer) any

	slice  bool // nil and empty differ in Go, and are equal here
	number bool
}

// make makes a column of n values.
func (t *Type) make(n int) any { return reflect.MakeSlice(reflect.SliceOf(t.of), n, n).Interface() }

// pick makes a column of some rows of another.
func (t *Type) pick(col any, at []int) any {
	from, out := reflect.ValueOf(col), reflect.ValueOf(t.make(len(at)))
	for i, k := range at {
		out.Index(i).Set(from.Index(k))
	}
	return out.Interface()
}

// same reports whether two rows of a column are equal.
func (t *Type) same(col any, i, k int) bool {
	return t.equal(t.pick(col, []int{i}), t.pick(col, []int{k}), 1) == 1
}

// key returns the hash of a row.
func (t *Type) key(col any, i int) uint64 {
	sum, _ := t.hash(t.pick(col, []int{i}), 1)
	return sum
}

// add appends a column to another, which may be nil.
func (t *Type) add(col, more any) any {
	if col == nil {
		col = reflect.Zero(reflect.SliceOf(t.of)).Interface()
	}
	return reflect.AppendSlice(reflect.ValueOf(col), reflect.ValueOf(more)).Interface()
}

func (t *Type) set(col any, i int, v any) { reflect.ValueOf(col).Index(i).Set(reflect.ValueOf(v)) }

func (t *Type) holds(v any) bool { return reflect.TypeOf(v) == t.of }

func (t *Type) element(col any, i int) any { return reflect.ValueOf(col).Index(i).Interface() }

func (t *Type) length(col any) int { return reflect.ValueOf(col).Len() }

var (
	types   = map[string]*Type{}
	byGo    = map[reflect.Type]*Type{}
	seedFor = maphash.MakeSeed()
)

// kind tells how to hash, compare and measure values of one type.
type kind[T any] struct {
	hash  func(T) uint64
	equal func(a, b T) bool
	size  func(T) int
	draw  func(g *drawer) T
}

func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// newType registers a type with its operations on columns.
func newType[T any](name string, k kind[T]) *Type {
	t := &Type{Name: name, of: reflect.TypeFor[T]()}
	// Columns are compared row by row. A mask says which rows count.
	t.hash = func(col any, mask uint64) (sum, small uint64) {
		for i, v := range col.([]T) {
			if mask>>i&1 == 0 {
				continue
			}
			if k.size != nil && k.size(v) > maxSize {
				continue
			}
			small |= 1 << i
			sum = mix(sum+uint64(i), k.hash(v))
		}
		return sum, small
	}
	t.equal = func(a, b any, mask uint64) (same uint64) {
		x, y := a.([]T), b.([]T)
		for i := range x {
			if mask>>i&1 == 1 && k.equal(x[i], y[i]) {
				same |= 1 << i
			}
		}
		return same
	}
	t.draw = func(g *drawer) any { return k.draw(g) }
	t.enter()
	return t
}

// enter adds a type to the grammar.
func (t *Type) enter() {
	t.id = hashString(t.Name)
	form := t.of.Kind()
	t.slice = form == reflect.Slice
	t.number = !t.slice && form != reflect.Bool && form != reflect.String
	types[t.Name], byGo[t.of] = t, t
}

// typeFor returns the type of the grammar that a Go type has; nil for none.
func typeFor[T any]() *Type { return byGo[reflect.TypeFor[T]()] }

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

func newInteger[T integer](name string) *Type {
	return newType(name, kind[T]{
		hash:  func(v T) uint64 { return mix(1, uint64(v)) },
		equal: func(a, b T) bool { return a == b },
		draw:  func(g *drawer) T { return T(g.integer(int(reflect.TypeFor[T]().Size()) * 8)) },
	})
}

// newSlice registers the slices of a type, whose hash and equality it takes.
func newSlice[T any](name string, hash func(T) uint64, equal func(a, b T) bool, draw func(g *drawer) []T) *Type {
	return newType(name, kind[[]T]{
		hash: func(v []T) uint64 {
			// The length is part of the hash, so that a slice and its beginning differ.
			h := mix(3, uint64(len(v)))
			for _, x := range v {
				h = mix(h, hash(x))
			}
			return h
		},
		equal: func(a, b []T) bool { return slices.EqualFunc(a, b, equal) },
		size:  func(v []T) int { return len(v) },
		draw:  draw,
	})
}

func hashInteger[T integer](v T) uint64  { return uint64(v) }
func equalAny[T comparable](a, b T) bool { return a == b }
func hashString(v string) uint64         { return maphash.String(seedFor, v) }
func hashFloat(v float64) uint64         { return mix(2, floatBits(v)) }
func equalFloat(a, b float64) bool       { return floatBits(a) == floatBits(b) }
func integers[T integer](g *drawer) []T {
	return drawSlice(g, func() T { return T(g.integer(bitsOf[T]())) })
}
func bitsOf[T any]() int { return int(reflect.TypeFor[T]().Size()) * 8 }

// sumOf returns the size of a list of strings.
func sumOf(list []string) int {
	n := len(list)
	for _, s := range list {
		n += len(s)
	}
	return n
}

// floatBits tells numbers apart as Go programs can: zeros by their sign, and all
// NaN are one.
func floatBits(v float64) uint64 {
	if v != v {
		return 0x7ff8000000000001
	}
	return math.Float64bits(v)
}

func hashBool(v bool) uint64 {
	if v {
		return 5
	}
	return 7
}

var _ = newTypes() // before the components, which init functions register

// newTypes registers the types of the grammar with the operations of their columns: hash and
// equality tell values apart, size bounds what a term may make, and draw makes inputs.
func newTypes() bool {
	// Types of one value.
	newType("bool", kind[bool]{hash: hashBool, equal: equalAny[bool], draw: (*drawer).bool})
	newInteger[int]("int")
	newInteger[int8]("int8")
	newInteger[int16]("int16")
	newInteger[int32]("rune")
	newInteger[int64]("int64")
	newInteger[uint]("uint")
	newInteger[uint8]("byte")
	newInteger[uint16]("uint16")
	newInteger[uint32]("uint32")
	newInteger[uint64]("uint64")
	newType("float64", kind[float64]{hash: hashFloat, equal: equalFloat, draw: (*drawer).float})
	// Texts, and lists of them.
	newType("string", kind[string]{
		hash: hashString, equal: equalAny[string], size: func(v string) int { return len(v) }, draw: (*drawer).string,
	})
	newType("[]byte", kind[[]byte]{
		hash:  func(v []byte) uint64 { return maphash.Bytes(seedFor, v) },
		equal: func(a, b []byte) bool { return string(a) == string(b) },
		size:  func(v []byte) int { return len(v) },
		draw:  func(g *drawer) []byte { return []byte(g.string()) },
	})
	newType("[]string", kind[[]string]{
		hash: func(v []string) uint64 {
			h := mix(3, uint64(len(v)))
			for _, x := range v {
				h = mix(h, hashString(x))
			}
			return h
		},
		equal: func(a, b []string) bool { return slices.Equal(a, b) },
		size:  sumOf,
		draw:  func(g *drawer) []string { return drawSlice(g, g.string) },
	})
	// Other lists are told apart by their elements.
	newSlice("[]int", hashInteger[int], equalAny[int], integers[int])
	newSlice("[]rune", hashInteger[int32], equalAny[int32], func(g *drawer) []rune { return []rune(g.string()) })
	newSlice("[]int64", hashInteger[int64], equalAny[int64], integers[int64])
	newSlice("[]uint16", hashInteger[uint16], equalAny[uint16], integers[uint16])
	newSlice("[]uint32", hashInteger[uint32], equalAny[uint32], integers[uint32])
	newSlice("[]uint64", hashInteger[uint64], equalAny[uint64], integers[uint64])
	newSlice("[]bool", hashBool, equalAny[bool], func(g *drawer) []bool { return drawSlice(g, g.bool) })
	newSlice("[]float64", hashFloat, equalFloat, func(g *drawer) []float64 { return drawSlice(g, g.float) })
	return true
}
