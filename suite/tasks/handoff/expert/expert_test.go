package handoff

import (
	"math/rand/v2"
	"testing"

	original "github.com/beagle-go/beagle/suite/tasks/handoff"
)

func TestExpert(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 1000 {
		points := make([]Point, n)
		for i := range points {
			points[i] = Point{Series: int32(rng.Uint32()), Value: rng.Int64()}
		}
		if got, want := Totals(points), original.Totals(points); got != want {
			t.Fatalf("Totals of %d points = %v, want %v", n, got, want)
		}
	}
}
