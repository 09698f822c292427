package murmur3

import (
	"fmt"
	"testing"
)

// TestVectors checks vectors of the reference implementation, taken from the Go packages that were
// checked against it.
func TestVectors(t *testing.T) {
	for _, test := range []struct {
		in     string
		h1, h2 uint64
	}{
		{"", 0, 0},
		{"hello", 0xcbd8a7b341bd9b02, 0x5b1e906a48ae1d19},
		{"hello, world", 0x342fac623a5ebc8e, 0x4cdcbc079642414d},
		{"19 Jan 2038 at 3:14:07 AM", 0xb89e5988b737affc, 0x664fc2950231b2cb},
		{"The quick brown fox jumps over the lazy dog.", 0xcd99481f9ee902c9, 0x695da1a38987b6e7},
	} {
		h1, h2 := Sum128(test.in, 0)
		if h1 != test.h1 || h2 != test.h2 {
			t.Errorf("%q: %#x %#x, want %#x %#x", test.in, h1, h2, test.h1, test.h2)
		}
		if Sum64(test.in, 0) != test.h1 {
			t.Errorf("%q: Sum64 is not the first half", test.in)
		}
	}
}

func TestEveryLengthAndSeedCounts(t *testing.T) {
	const text = "abcdefghijklmnopqrstuvwxyz0123456789abcdefghij"
	seen := make(map[uint64]string)
	for seed := range uint64(3) {
		for n := 1; n <= len(text); n++ {
			h := Sum64(text[:n], seed)
			what := fmt.Sprint(n, " bytes, seed ", seed)
			if was, ok := seen[h]; ok {
				t.Errorf("%s collides with %s", what, was)
			}
			seen[h] = what
		}
	}
}

var inputs = []string{"env:prod", "pod_name:checkout-7d9f8b6c5-x2x4k", "kube_namespace:payments", "zone:eu1"}

func BenchmarkSum64(b *testing.B) {
	n := 0
	for _, in := range inputs {
		n += len(in)
	}
	b.SetBytes(int64(n))
	var h uint64
	for b.Loop() {
		for _, in := range inputs {
			h = Sum64(in, h)
		}
	}
	if h == 0 {
		b.Log("the hash came out zero")
	}
}
