package securewrite

import (
	"math/rand/v2"
	"testing"

	original "github.com/beagle-go/beagle/suite/tasks/securewrite"
)

func TestExpert(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	data := make([]byte, 70_000)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	for n := range 5000 {
		block := data[rng.IntN(1000):][:n]
		if n > 4000 {
			block = data[:4000+rng.IntN(60_000)]
		}
		running := rng.Uint32()
		if n%50 == 0 {
			running = 0
		}
		header, total := SecureWrite(running, block)
		if wantHeader, want := original.SecureWrite(running, block); header != wantHeader || total != want {
			t.Fatalf("%d bytes behind %x: %x %x, want %x %x", len(block), running, header, total, wantHeader, want)
		}
	}
}
