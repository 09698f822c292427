package tagascii

import (
	"math/rand/v2"
	"testing"

	original "github.com/beagle-go/beagle/suite/tasks/tagascii"
)

// TestExpert: texts over few letters come near every rule of the format.
func TestExpert(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const letters = "abz:9/-._`{@[;,^A\x80é\x00\xff"
	for range 100_000 {
		b := make([]byte, rng.IntN(30))
		few := 1 + rng.IntN(len(letters))
		for i := range b {
			b[i] = letters[rng.IntN(few)]
			if rng.IntN(6) == 0 {
				b[i] = '_'
			}
		}
		check(t, string(b))
	}
	for n := 190; n < 210; n++ {
		b := make([]byte, n)
		for i := range b {
			b[i] = 'a'
		}
		check(t, string(b))
		b[n-2] = '_'
		check(t, string(b))
	}
}

func check(t *testing.T, tag string) {
	t.Helper()
	if got, want := isNormalizedASCIITag(tag), original.Normalized(tag); got != want {
		t.Fatalf("%q: %t, want %t", tag, got, want)
	}
}
