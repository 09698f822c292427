package fibonacci

import "testing"

// most is the greatest n that is asked for: beyond it the plain way takes
// milliseconds.
const most = 26

func TestFibonacci(t *testing.T) {
	for n, want := range []uint64{0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55} {
		if got := Fibonacci(n); got != want {
			t.Errorf("Fibonacci(%d) = %d, want %d", n, got, want)
		}
	}
	for n := 2; n <= most; n++ {
		if Fibonacci(n) != Fibonacci(n-1)+Fibonacci(n-2) {
			t.Errorf("Fibonacci(%d) is not the sum of the two before it", n)
		}
	}
}

// BenchmarkFibonacci asks for every n equally often.
func BenchmarkFibonacci(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		Fibonacci(i % (most + 1))
	}
}
