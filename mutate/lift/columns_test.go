package lift

import (
	"math"
	"reflect"
	"slices"
	"testing"
)

// TestColumns sends a column of each kind there and back.
func TestColumns(t *testing.T) {
	for _, col := range []any{
		[]bool{true, false}, []int{0, -1, math.MaxInt, math.MinInt}, []rune{'é', -1}, []uint8{0, 255},
		[]uint64{math.MaxUint64}, []float64{1.5, math.Inf(-1), math.Copysign(0, -1)}, []string{"", "a\xff\x00"},
		[][]byte{{1, 200}, {}}, [][]string{{"a", ""}, {}}, []int{},
	} {
		message := append(beaglePut(nil, reflect.ValueOf(col)), 7)
		got := reflect.New(reflect.TypeOf(col)).Elem()
		rest, ok := beagleGet(message, got)
		if !ok || len(rest) != 1 || !reflect.DeepEqual(got.Interface(), col) {
			t.Errorf("%v: got %v %v, rest %v", col, ok, got, rest)
		}
		for cut := range len(message) - 1 {
			if _, ok := beagleGet(message[:cut], got); ok {
				t.Errorf("%v: accepted after %d of %d bytes", col, cut, len(message)-1)
			}
		}
	}
	nan := reflect.New(reflect.TypeFor[[]float64]()).Elem()
	message := beaglePut(nil, reflect.ValueOf([]float64{math.NaN()}))
	if _, ok := beagleGet(message, nan); !ok || !math.IsNaN(nan.Index(0).Float()) {
		t.Error("NaN is lost")
	}
}

// FuzzColumns reads columns from a program that may write anything.
func FuzzColumns(f *testing.F) {
	f.Add([]byte{2, 1, 0, 3, 'a', 'b', 'c'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, message []byte) {
		for _, of := range []reflect.Type{
			reflect.TypeFor[[]string](), reflect.TypeFor[[][]byte](), reflect.TypeFor[[]int8](),
			reflect.TypeFor[[]float64](), reflect.TypeFor[[]bool](),
		} {
			col := reflect.New(of).Elem()
			rest, ok := beagleGet(message, col)
			if !ok {
				continue
			}
			// What was read is written and read again as it is.
			again := reflect.New(of).Elem()
			sent := beaglePut(nil, col)
			left, ok := beagleGet(sent, again)
			if !ok || len(left) > 0 || len(rest) > len(message) || col.Len() != again.Len() {
				t.Errorf("%v: %v became %v", of, col, again)
			}
		}
	})
}

// TestByReflection checks that components that work by reflection do what the functions do that
// they are named after.
func TestByReflection(t *testing.T) {
	nan, zero := math.NaN(), math.Copysign(0, -1)
	lists := [][]float64{{}, {1}, {2, 3, 1}, {2, nan, 1}, {nan}, {0, zero}, {zero, 0}, {zero, zero}, {0, 0}}
	agree(t, "slices.Max", lists, slices.Max)
	agree(t, "slices.Min", lists, slices.Min)
	texts := [][]string{{}, {"b"}, {"b", "c", "a"}, {"", "a"}, {"c", "c"}}
	agree(t, "slices.Max", texts, slices.Max)
	agree(t, "slices.Min", texts, slices.Min)
	for _, a := range lists {
		for _, b := range lists {
			got := make([]bool, 1)
			evaluate(t, "slices.Equal", got, [][]float64{a}, [][]float64{b})
			if want := slices.Equal(a, b); got[0] != want {
				t.Errorf("slices.Equal(%v, %v) is %v, want %v", a, b, got[0], want)
			}
		}
	}
}

// agree compares a component with a function that panics for an empty list.
func agree[T any](t *testing.T, name string, lists [][]T, f func([]T) T) {
	t.Helper()
	got := make([]T, len(lists))
	defined := evaluate(t, name, got, lists)
	typ := typeFor[T]()
	for i, list := range lists {
		switch {
		case (len(list) > 0) != (defined>>i&1 == 1):
			t.Errorf("%s(%v) has a value: %v", name, list, len(list) == 0)
		case len(list) > 0 && typ.equal(got[i:], []T{f(list)}, 1) == 0:
			t.Errorf("%s(%v) is %v, want %v", name, list, got[i], f(list))
		}
	}
}

// evaluate evaluates a component of the library on columns.
func evaluate(t *testing.T, name string, dst any, args ...any) (defined uint64) {
	t.Helper()
	for _, c := range all {
		if c.Name == name && c.Args[0].of == reflect.TypeOf(args[0]).Elem() {
			return c.eval(dst, args, 1<<reflect.ValueOf(dst).Len()-1)
		}
	}
	t.Fatalf("no component %s", name)
	return 0
}
