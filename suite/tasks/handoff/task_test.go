package handoff

import (
	"math/rand/v2"
	"testing"
)

// messages are 4,096 messages of 10 to 400 points.
var messages = makeMessages(4096)

func makeMessages(n int) [][]Point {
	rng := rand.New(rand.NewPCG(19, 20))
	messages := make([][]Point, n)
	for i := range messages {
		points := make([]Point, 10+rng.IntN(391))
		for j := range points {
			points[j] = Point{
				Series: rng.Int32(),
				Kind:   uint8(rng.IntN(4)),
				Time:   1_700_000_000 + int64(i),
				Value:  rng.Int64N(1000),
			}
		}
		messages[i] = points
	}
	return messages
}

func TestTotals(t *testing.T) {
	for _, points := range messages[:64] {
		var want [shards]int64
		for _, p := range points {
			want[p.Series%shards] += p.Value
		}
		if got := Totals(points); got != want {
			t.Fatalf("Totals = %v, want %v", got, want)
		}
	}
	if got := Totals(nil); got != [shards]int64{} {
		t.Errorf("Totals(nil) = %v", got)
	}
}

func BenchmarkTotals(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		Totals(messages[i%len(messages)])
	}
}
