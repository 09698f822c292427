package llm

import (
	"fmt"
	"math"
	"math/bits"
)

// Micros is money in millionths of a US dollar. Budgets count in it, so that sums are exact.
type Micros int64

// Dollars returns the amount for display and for rates.
func (m Micros) Dollars() float64 { return float64(m) / 1e6 }

// String returns the amount in dollars: to the cent if it is whole cents, and to the last millionth
// otherwise.
func (m Micros) String() string {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", -n // also for the least amount, which has no positive counterpart
	}
	if n%10_000 == 0 {
		return fmt.Sprintf("%s$%d.%02d", sign, n/1e6, n%1e6/1e4)
	}
	return fmt.Sprintf("%s$%d.%06d", sign, n/1e6, n%1e6)
}

// MicrosOf converts an amount in dollars and rounds up. NaN becomes 0. An amount that does not fit
// becomes the largest one of its sign.
func MicrosOf(dollars float64) Micros {
	v := math.Ceil(dollars*1e6 - 1e-6)
	switch {
	case math.IsNaN(v):
		return 0
	case v >= math.MaxInt64:
		return math.MaxInt64
	case v <= math.MinInt64:
		return math.MinInt64
	}
	return Micros(v)
}

// A Price is the price of tokens, in dollars per million.
type Price struct {
	In   float64 `json:"in"`
	Out  float64 `json:"out"`
	AsOf string  `json:"as_of,omitempty"` // the day of its look-up, or its source: "local", "given"

	// prompts of more tokens cost LongIn and LongOut; 0 if there is no such step
	LongFrom int     `json:"long_from,omitempty"`
	LongIn   float64 `json:"long_in,omitempty"`
	LongOut  float64 `json:"long_out,omitempty"`
}

// Known reports whether there is a price at all. A zero Price is unknown, which is not the same as
// free.
func (p Price) Known() bool { return p.AsOf != "" }

// Cost returns what tokens cost, rounded up to the millionth of a dollar.
func (p Price) Cost(u Usage) Micros {
	if p.LongFrom > 0 && u.In > p.LongFrom {
		p.In, p.Out = p.LongIn, p.LongOut
	}
	// A dollar per million tokens is a millionth of a dollar per token. So prices with six digits
	// after the point are whole picodollars.
	hiIn, loIn := bits.Mul64(uint64(max(u.In, 0)), pico(p.In))
	hiOut, loOut := bits.Mul64(uint64(max(u.Out, 0)), pico(p.Out))
	lo, carry := bits.Add64(loIn, loOut, 0)
	hi, _ := bits.Add64(hiIn, hiOut, carry)
	if hi >= 1e6 {
		return math.MaxInt64
	}
	q, rest := bits.Div64(hi, lo, 1e6)
	if rest > 0 {
		q++
	}
	return Micros(min(q, math.MaxInt64))
}

// Costs adds amounts up. A sum that does not fit stays at the largest amount.
func Costs(amounts ...Micros) Micros {
	sum := Micros(0)
	for _, m := range amounts {
		sum = saturatingSum(sum, m)
	}
	return sum
}

// saturatingSum returns the sum of two, or the end of the range if the sum lies beyond it. A budget
// that overflowed would start again.
func saturatingSum[T ~int64](a, b T) T {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < a:
		return math.MaxInt64
	case a < 0 && b < 0 && sum > a:
		return math.MinInt64
	}
	return sum
}

// pico returns a price in picodollars per token.
func pico(price float64) uint64 {
	if !(price > 0) {
		return 0
	}
	return uint64(min(math.Ceil(price*1e6-1e-6), 1e15))
}
