package kit_test

import (
	"math/rand/v2"
	"testing"

	"github.com/beagle-go/beagle/mutate/kit"
)

// firstBytes is what the helpers compute, byte after byte.
func firstBytes(b []byte) (word uint64) {
	for i := min(len(b), 8) - 1; i >= 0; i-- {
		word = word<<8 | uint64(b[i])
	}
	return word
}

func TestWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 24 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		s, want := string(b), firstBytes(b)
		for name, got := range map[string]uint64{
			"FirstBytes": kit.FirstBytes(b), "FirstBytesOf": kit.FirstBytesOf(s),
			"FirstBytesIn of bytes": kit.FirstBytesIn(b), "FirstBytesIn of a string": kit.FirstBytesIn(s),
		} {
			if got != want {
				t.Errorf("%s(%x) = %#x, want %#x", name, b, got, want)
			}
		}
		if n >= 8 && kit.Load64(s) != want {
			t.Errorf("%x: a word is not %#x", b, want)
		}
	}
}
