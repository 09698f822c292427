package main

import "testing"

func TestMedian(t *testing.T) {
	for want, of := range map[float64][]float64{3: {3}, 2: {5, 1, 2}, 2.5: {4, 1, 2, 3}} {
		if got := median(of); got != want {
			t.Errorf("the median of %v is %v, want %v", of, got, want)
		}
	}
}
