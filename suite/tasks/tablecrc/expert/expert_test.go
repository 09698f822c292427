package tablecrc

import (
	"math/rand/v2"
	"testing"

	original "github.com/beagle-go/beagle/suite/tasks/tablecrc"
)

func TestExpert(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 2000 {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		if got, want := Checksum(data), original.Checksum(data); got != want {
			t.Fatalf("%x: %x, want %x", data, got, want)
		}
	}
}
