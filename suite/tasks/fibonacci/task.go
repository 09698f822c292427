// Package fibonacci is the function that every language is shown with.
package fibonacci

// Fibonacci returns the nth Fibonacci number.
func Fibonacci(n int) uint64 {
	if n < 2 {
		return uint64(n)
	}
	return Fibonacci(n-1) + Fibonacci(n-2)
}
