package murmur3

import (
	"math/rand/v2"
	"testing"

	original "github.com/beagle-go/beagle/suite/tasks/murmur3"
)

func TestExpert(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 200 {
		for range 200 {
			data := make([]byte, n)
			for i := range data {
				data[i] = byte(rng.Uint32())
			}
			g1, g2 := Sum128(data)
			if w1, w2 := original.Sum128(data); g1 != w1 || g2 != w2 {
				t.Fatalf("%x: %x %x, want %x %x", data, g1, g2, w1, w2)
			}
		}
	}
}
