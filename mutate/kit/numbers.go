package kit

import "strconv"

// Unsigned are the types of numbers below which a mask is a remainder.
type Unsigned interface {
	~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// Integer are the integer types.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | Unsigned
}

// Exact are the ordered types without NaN.
type Exact interface{ Integer | ~string }

// Mod is x % n, without a division when n is a power of two.
func Mod[T Unsigned](x, n T) T {
	if n != 0 && n&(n-1) == 0 {
		return x & (n - 1)
	}
	return x % n
}

// BoolToInt is 1 for true. It compiles to one instruction, without a branch.
func BoolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ParseShort is strconv.ParseFloat(s, 64). It reads up to 15 characters of digits, with at most one
// point among them, by itself.
func ParseShort(s string) (float64, error) {
	n, scale, digits := uint64(0), 0.0, 0
	for i := 0; i < len(s) && len(s) <= 15; i++ {
		if d := s[i] - '0'; d <= 9 {
			n, scale, digits = n*10+uint64(d), scale*10, digits+1
		} else if s[i] == '.' && scale == 0 {
			scale = 1
		} else {
			return strconv.ParseFloat(s, 64)
		}
	}
	switch {
	case digits == 0:
		return strconv.ParseFloat(s, 64)
	case scale == 0:
		return float64(n), nil
	}
	return float64(n) / scale, nil // both are exact
}
