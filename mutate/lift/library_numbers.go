package lift

import (
	"cmp"
	"math"
	"math/bits"
	"unicode"
)

// init registers the functions on numbers.
func init() {
	// The arithmetic of each type comes first, then masks for the unsigned ones, and comparisons
	// for all that have an order.
	bitFunctions()
	numbers[int]()
	numbers[int64]()
	numbers[rune]()
	numbers[uint64]()
	numbers[uint32]()
	numbers[uint16]()
	numbers[uint]()
	numbers[byte]()
	masks[uint64]()
	masks[uint32]()
	masks[uint16]()
	masks[uint]()
	masks[byte]()
	scalars[int]()
	scalars[int64]()
	scalars[rune]()
	scalars[uint64]()
	scalars[uint32]()
	scalars[uint16]()
	scalars[uint]()
	scalars[byte]()
	scalars[float64]()
	scalars[string]()
	floats()
	conversions()
	truths()
	runes()
}

// bitFunctions registers package bits. For its two results, Mul64 has one component that gives the
// high word; the low one is a product.
func bitFunctions() {
	// Counts of bits.
	f1("bits.OnesCount", bits.OnesCount, scalar)
	f1("bits.OnesCount8", bits.OnesCount8, scalar)
	f1("bits.OnesCount16", bits.OnesCount16, scalar)
	f1("bits.OnesCount32", bits.OnesCount32, scalar)
	f1("bits.OnesCount64", bits.OnesCount64, scalar)
	f1("bits.Len", bits.Len, scalar)
	f1("bits.Len8", bits.Len8, scalar)
	f1("bits.Len16", bits.Len16, scalar)
	f1("bits.Len32", bits.Len32, scalar)
	f1("bits.Len64", bits.Len64, scalar)
	f1("bits.TrailingZeros", bits.TrailingZeros, scalar)
	f1("bits.TrailingZeros8", bits.TrailingZeros8, scalar)
	f1("bits.TrailingZeros16", bits.TrailingZeros16, scalar)
	f1("bits.TrailingZeros32", bits.TrailingZeros32, scalar)
	f1("bits.TrailingZeros64", bits.TrailingZeros64, scalar)
	f1("bits.LeadingZeros8", bits.LeadingZeros8, scalar)
	f1("bits.LeadingZeros16", bits.LeadingZeros16, scalar)
	f1("bits.LeadingZeros32", bits.LeadingZeros32, scalar)
	f1("bits.LeadingZeros64", bits.LeadingZeros64, scalar)
	// Bits in another order.
	f1("bits.Reverse8", bits.Reverse8, scalar)
	f1("bits.Reverse16", bits.Reverse16, scalar)
	f1("bits.Reverse32", bits.Reverse32, scalar)
	f1("bits.Reverse64", bits.Reverse64, scalar)
	f1("bits.ReverseBytes16", bits.ReverseBytes16, scalar)
	f1("bits.ReverseBytes32", bits.ReverseBytes32, scalar)
	f1("bits.ReverseBytes64", bits.ReverseBytes64, scalar)
	f2("bits.RotateLeft32", bits.RotateLeft32, scalar)
	f2("bits.RotateLeft64", bits.RotateLeft64, scalar)
	// The high word of a product.
	f2("bits.Mul64", func(a, b uint64) uint64 { hi, _ := bits.Mul64(a, b); return hi }, scalar, result(1, 2))
}

// scalars are the functions of values that have an order.
func scalars[T cmp.Ordered]() {
	f2("min", func(a, b T) T { return min(a, b) }, scalar, commutes)
	f2("max", func(a, b T) T { return max(a, b) }, scalar, commutes)
	f2("cmp.Compare", cmp.Compare[T], scalar)
	f2("$1 == $2", func(a, b T) bool { return a == b }, glue, commutes)
	f2("$1 < $2", func(a, b T) bool { return a < b }, glue)
}

// numbers are the operators of integers.
func numbers[T integer]() {
	f2("$1 + $2", func(a, b T) T { return a + b }, glue, commutes)
	f2("$1 - $2", func(a, b T) T { return a - b }, glue)
	f2("$1 * $2", func(a, b T) T { return a * b }, glue, commutes)
	p2("$1 / $2", divides[T], func(a, b T) T { return a / b }, glue)
	p2("$1 % $2", divides[T], func(a, b T) T { return a % b }, glue)
}

// masks are the operators on bits.
func masks[T integer]() {
	f2("$1 & $2", func(a, b T) T { return a & b }, glue, commutes)
	f2("$1 | $2", func(a, b T) T { return a | b }, glue, commutes)
	f2("$1 ^ $2", func(a, b T) T { return a ^ b }, glue, commutes)
	f1("^$1", func(a T) T { return ^a }, glue)
	p2("$1 << $2", func(a T, n int) bool { return n >= 0 }, func(a T, n int) T { return a << n }, glue)
	p2("$1 >> $2", func(a T, n int) bool { return n >= 0 }, func(a T, n int) T { return a >> n }, glue)
}

// floats registers arithmetic on floats. Addition and multiplication commute, even though they do
// not associate.
func floats() {
	f2("$1 + $2", func(a, b float64) float64 { return a + b }, glue, commutes)
	f2("$1 - $2", func(a, b float64) float64 { return a - b }, glue)
	f2("$1 * $2", func(a, b float64) float64 { return a * b }, glue, commutes)
	f2("$1 / $2", func(a, b float64) float64 { return a / b }, glue)
	f1("math.Abs", math.Abs, scalar)
	f1("math.Ceil", math.Ceil, scalar)
	f1("math.Floor", math.Floor, scalar)
	f1("math.Trunc", math.Trunc, scalar)
	f1("math.Round", math.Round, scalar)
	f1("math.RoundToEven", math.RoundToEven, scalar)
	f1("math.Sqrt", math.Sqrt, scalar)
	f1("math.IsNaN", math.IsNaN, scalar)
	f2("math.Max", math.Max, scalar)
	f2("math.Min", math.Min, scalar)
	f2("math.Mod", math.Mod, slow)
	f2("math.Copysign", math.Copysign, scalar)
	f1("math.Float64bits", math.Float64bits, scalar)
	f1("math.Float64frombits", math.Float64frombits, scalar)
	f1("math.Signbit", math.Signbit, scalar)
}

// conversions registers the conversions between numbers. From a float they are defined only where
// the result is exact on all machines.
func conversions() {
	f1("uint64($1)", func(a int) uint64 { return uint64(a) }, glue)
	f1("uint32($1)", func(a int) uint32 { return uint32(a) }, glue)
	f1("uint($1)", func(a int) uint { return uint(a) }, glue)
	f1("byte($1)", func(a int) byte { return byte(a) }, glue)
	f1("rune($1)", func(a int) rune { return rune(a) }, glue)
	f1("int64($1)", func(a int) int64 { return int64(a) }, glue)
	f1("float64($1)", func(a int) float64 { return float64(a) }, glue)
	f1("int($1)", func(a uint64) int { return int(a) }, glue)
	f1("int($1)", func(a uint32) int { return int(a) }, glue)
	f1("int($1)", func(a uint16) int { return int(a) }, glue)
	f1("int($1)", func(a uint) int { return int(a) }, glue)
	f1("int($1)", func(a byte) int { return int(a) }, glue)
	f1("int($1)", func(a rune) int { return int(a) }, glue)
	f1("int($1)", func(a int64) int { return int(a) }, glue)
	p1("int($1)", func(a float64) bool { return math.Abs(a) < 1<<52 }, func(a float64) int { return int(a) }, glue)
	f1("rune($1)", func(a byte) rune { return rune(a) }, glue)
	f1("byte($1)", func(a rune) byte { return byte(a) }, glue)
	f1("uint64($1)", func(a uint32) uint64 { return uint64(a) }, glue)
	f1("uint64($1)", func(a int64) uint64 { return uint64(a) }, glue)
	f1("int64($1)", func(a uint64) int64 { return int64(a) }, glue)
	f1("uint32($1)", func(a uint64) uint32 { return uint32(a) }, glue)
	f1("uint16($1)", func(a int) uint16 { return uint16(a) }, glue)
}

func truths() {
	f1("!$1", func(a bool) bool { return !a }, glue)
	f2("$1 && $2", func(a, b bool) bool { return a && b }, glue, commutes)
	f2("$1 || $2", func(a, b bool) bool { return a || b }, glue, commutes)
}

func runes() {
	f1("unicode.IsDigit", unicode.IsDigit)
	f1("unicode.IsNumber", unicode.IsNumber)
	f1("unicode.IsLetter", unicode.IsLetter)
	f1("unicode.IsSpace", unicode.IsSpace)
	f1("unicode.IsUpper", unicode.IsUpper)
	f1("unicode.IsLower", unicode.IsLower)
	f1("unicode.IsPunct", unicode.IsPunct)
	f1("unicode.IsControl", unicode.IsControl)
	f1("unicode.IsPrint", unicode.IsPrint)
	f1("unicode.ToLower", unicode.ToLower)
	f1("unicode.ToUpper", unicode.ToUpper)
}
