package fibonacci

import (
	"testing"

	original "github.com/beagle-go/beagle/suite/tasks/fibonacci"
)

// TestExpert: from 94 on the original takes longer than anybody waits, but its recurrence still
// says what it would give.
func TestExpert(t *testing.T) {
	for n := -3; n < 22; n++ {
		if got, want := Fibonacci(n), original.Fibonacci(n); got != want {
			t.Errorf("Fibonacci(%d) = %d, want %d", n, got, want)
		}
	}
	for n := 2; n < 2000; n++ {
		if Fibonacci(n) != Fibonacci(n-1)+Fibonacci(n-2) {
			t.Errorf("Fibonacci(%d) is not the sum of the two before it", n)
		}
	}
}
