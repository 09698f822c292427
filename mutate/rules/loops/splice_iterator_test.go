package loops

import (
	"maps"
	"slices"
	"testing"
)

// TestLibraryIterators compares the iterators that splice-iterator writes out with the library's.
func TestLibraryIterators(t *testing.T) {
	list := []string{"a", "b", "c"}
	table := map[string]int{"a": 1, "b": 2, "c": 3}
	for _, s := range [][]string{nil, list[:1], list} {
		if got, want := maps.Collect(slicesAll(s)), maps.Collect(slices.All(s)); !maps.Equal(got, want) {
			t.Errorf("slices.All(%v): got %v, want %v", s, got, want)
		}
		if got := slices.Collect(slicesValues(s)); !slices.Equal(got, s) {
			t.Errorf("slices.Values(%v): got %v", s, got)
		}
		var got, want []string
		var at, wantAt []int
		for i, v := range slicesBackward(s) {
			got, at = append(got, v), append(at, i)
		}
		for i, v := range slices.Backward(s) {
			want, wantAt = append(want, v), append(wantAt, i)
		}
		if !slices.Equal(got, want) || !slices.Equal(at, wantAt) {
			t.Errorf("slices.Backward(%v): got %v at %v, want %v at %v", s, got, at, want, wantAt)
		}
	}
	for _, m := range []map[string]int{nil, table} {
		if got := maps.Collect(mapsAll(m)); !maps.Equal(got, m) {
			t.Errorf("maps.All(%v): got %v", m, got)
		}
		if got, want := slices.Sorted(mapsKeys(m)), slices.Sorted(maps.Keys(m)); !slices.Equal(got, want) {
			t.Errorf("maps.Keys(%v): got %v, want %v", m, got, want)
		}
		if got, want := slices.Sorted(mapsValues(m)), slices.Sorted(maps.Values(m)); !slices.Equal(got, want) {
			t.Errorf("maps.Values(%v): got %v, want %v", m, got, want)
		}
	}
}

// TestLibraryIteratorsAreKnown fails when one of them has a form that the rule does not read.
func TestLibraryIteratorsAreKnown(t *testing.T) {
	for _, name := range []string{"slicesAll", "slicesValues", "slicesBackward", "mapsAll", "mapsKeys", "mapsValues"} {
		if libraryIterator(name) == nil {
			t.Errorf("%s is no iterator", name)
		}
	}
}
