package capture

import "github.com/beagle-go/beagle/internal/special"

// A Share tells how often a condition held, of independent samples.
type Share struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"` // 95 %, by Wilson
	High  float64 `json:"high"`
}

// shareOf returns the share of yes in n samples with its interval. Without samples the interval is
// 0 to 1.
func shareOf(yes, n uint64) Share {
	if n == 0 {
		return Share{Share: 0.5, Low: 0, High: 1}
	}
	p := float64(yes) / float64(n)
	low, high := special.Wilson(p, float64(n))
	s := Share{Share: p, Low: max(0, low), High: min(1, high)}
	if yes == 0 {
		s.Low = 0
	}
	if yes == n {
		s.High = 1
	}
	return s
}
