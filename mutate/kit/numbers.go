package kit

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
