package fibonacci

import "testing"

// most is the greatest n that is asked for. With every n up to 30 equally often
// a call costs on average what n = 25 costs.
const most = 30

func TestFibonacci(t *testing.T) {
	for n, want := range []uint64{0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55} {
		if got := Fibonacci(n); got != want {
			t.Errorf("Fibonacci(%d) = %d, want %d", n, got, want)
		}
	}
}

// BenchmarkFibonacci asks for every n equally often.
func BenchmarkFibonacci(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		Fibonacci(i % (most + 1))
	}
}
