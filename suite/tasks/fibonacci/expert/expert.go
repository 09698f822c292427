package fibonacci

// Fibonacci looks the number up: there are 94 that fit. Beyond them the plain
// way gives what is left of the number, as doubling does.
func Fibonacci(n int) uint64 {
	if uint(n) < uint(len(fibonacci)) {
		return fibonacci[n]
	}
	if n < 0 {
		return uint64(n)
	}
	return doubling(n)
}

var fibonacci = func() (f [94]uint64) {
	f[1] = 1
	for i := 2; i < len(f); i++ {
		f[i] = f[i-1] + f[i-2]
	}
	return f
}()

// doubling goes through the bits of n: F(2k) = F(k) (2 F(k+1) - F(k)) and
// F(2k+1) = F(k)² + F(k+1)².
func doubling(n int) uint64 {
	a, b := uint64(0), uint64(1)
	for bit := uint64(1) << 62; bit > 0; bit >>= 1 {
		a, b = a*(2*b-a), a*a+b*b
		if uint64(n)&bit != 0 {
			a, b = b, a+b
		}
	}
	return a
}
