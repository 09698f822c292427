package main

import (
	"math/rand/v2"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{4, 1}, 2.5},
		{[]float64{9, 1, 2}, 2},
		{[]float64{9, 1, 2, 4}, 3},
	} {
		if got := median(c.of); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.of, got, c.want)
		}
	}
}

// TestInterval draws samples whose median is 0, and counts how many intervals hold it.
func TestInterval(t *testing.T) {
	const draws = 4000
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{8, 9, 20, 41} {
		held := 0
		for range draws {
			v := make([]float64, n)
			for i := range v {
				v[i] = rng.ExpFloat64() - rng.ExpFloat64()
			}
			if low, high := interval(v); low <= 0 && 0 <= high {
				held++
			}
		}
		if share := float64(held) / draws; share < 0.94 || share == 1 {
			t.Errorf("%d values: %.3f of the intervals hold the median, want 0.95 or a little more", n, share)
		}
	}
	if low, high := interval([]float64{5, 1, 3}); low != 1 || high != 5 {
		t.Errorf("of three values the interval is %v to %v, want their range", low, high)
	}
}
