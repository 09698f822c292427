package historyset

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// messages are 4,096 messages of 20 to 220 points. Some series report often:
// about half the points of a message are of a series that was there.
var messages = makeMessages(4096)

func makeMessages(n int) [][]Point {
	rng := rand.New(rand.NewPCG(17, 18))
	messages := make([][]Point, n)
	for i := range messages {
		points := make([]Point, 20+rng.IntN(201))
		base := rng.Int32N(3_000_000)
		for j := range points {
			points[j] = Point{
				Metric: base + rng.Int32N(12),
				Host:   40_000 + rng.Int32N(int32(1+len(points)/20)),
				Value:  float64(rng.IntN(1000)),
			}
		}
		messages[i] = points
	}
	return messages
}

func TestFirst(t *testing.T) {
	points := []Point{{1, 2, 0}, {1, 2, 1}, {12, 0, 0}, {1, 20, 0}, {1, 2, 0}, {-1, 2, 0}, {2, 1, 0}}
	if got, want := First(points), []int{0, 2, 3, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("First = %v, want %v", got, want)
	}
	if got := First(nil); got != nil {
		t.Errorf("First(nil) = %v", got)
	}
}

func TestMessages(t *testing.T) {
	all, first := 0, 0
	for _, points := range messages {
		all += len(points)
		first += len(First(points))
	}
	if share := float64(first) / float64(all); share < 0.4 || share > 0.7 {
		t.Errorf("%.0f %% of the points are the first of their series", 100*share)
	}
}

func BenchmarkFirst(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		First(messages[i%len(messages)])
	}
}
