package beagle_test

import (
	"slices"
	"testing"

	"github.com/beagle-go/beagle"
)

func TestSpread(t *testing.T) {
	var list []beagle.Record
	for i := range 10 {
		list = append(list, beagle.Record{Weight: float64(i)})
	}
	for n, want := range map[int][]float64{0: nil, 1: {0}, 3: {0, 3, 6}, 10: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
		11: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		var got []float64
		for _, r := range beagle.Spread(list, n) {
			got = append(got, r.Weight)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d of 10: got %v, want %v", n, got, want)
		}
	}
}
