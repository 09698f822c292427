package llm

import (
	"fmt"
	"math"
	"math/bits"
)

// Micros is money in millionths of a US dollar. Budgets are kept in it, so
// that sums are exact.
type Micros int64

// Dollars is the amount for people and for rates.
func (m Micros) Dollars() float64 { return float64(m) / 1e6 }

// String is the amount in dollars, to the cent when it is whole cents and to
// the last millionth otherwise.
func (m Micros) String() string {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", -n // of the least one too, which has no positive of its own
	}
	if n%10_000 == 0 {
		return fmt.Sprintf("%s$%d.%02d", sign, n/1e6, n%1e6/1e4)
	}
	return fmt.Sprintf("%s$%d.%06d", sign, n/1e6, n%1e6)
}

// MicrosOf is an amount in dollars, rounded up. What is no number is nothing, and
// what is larger than there is room for is the largest amount, of either sign.
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

// A Price is what tokens cost, in dollars per million.
type Price struct {
	In   float64 `json:"in"`
	Out  float64 `json:"out"`
	AsOf string  `json:"as_of,omitempty"` // the day it was looked up, or where it is from: "local", "given"

	LongFrom int     `json:"long_from,omitempty"` // prompts of more tokens cost LongIn and LongOut; 0 when there is no such step
	LongIn   float64 `json:"long_in,omitempty"`
	LongOut  float64 `json:"long_out,omitempty"`
}

// Known reports whether there is a price at all: nothing is known of a zero
// Price, which is not the same as free.
func (p Price) Known() bool { return p.AsOf != "" }

// Cost is what tokens cost, rounded up to the millionth of a dollar.
func (p Price) Cost(u Usage) Micros {
	if p.LongFrom > 0 && u.In > p.LongFrom {
		p.In, p.Out = p.LongIn, p.LongOut
	}
	// A dollar per million tokens is a millionth of a dollar per token, so that
	// prices with six digits behind the point are whole picodollars.
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

// Costs adds amounts up; a sum that has no room stays at the largest amount.
func Costs(amounts ...Micros) Micros {
	sum := Micros(0)
	for _, m := range amounts {
		sum = added(sum, m)
	}
	return sum
}

// added is the sum of two, or the end of the range that it lies beyond: a budget
// that overflowed would begin anew.
func added[T ~int64](a, b T) T {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < a:
		return math.MaxInt64
	case a < 0 && b < 0 && sum > a:
		return math.MinInt64
	}
	return sum
}

// pico is a price in picodollars per token.
func pico(price float64) uint64 {
	if !(price > 0) {
		return 0
	}
	return uint64(min(math.Ceil(price*1e6-1e-6), 1e15))
}
