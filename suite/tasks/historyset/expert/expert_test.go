package historyset

import (
	"math/rand/v2"
	"slices"
	"testing"

	original "github.com/beagle-go/beagle/suite/tasks/historyset"
)

func TestExpert(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 4_000 {
		points := make([]Point, rng.IntN(300))
		many := 1 + rng.Int32N(40)
		for i := range points {
			points[i] = Point{Metric: rng.Int32N(many) - 3, Host: rng.Int32N(many) - 3}
			if rng.IntN(20) == 0 {
				points[i].Metric = int32(rng.Uint32())
			}
		}
		got, want := First(points), original.First(points)
		if !slices.Equal(got, want) || (got == nil) != (want == nil) {
			t.Fatalf("First(%v) = %v, want %v", points, got, want)
		}
	}
}
