// Package handoff adds points up in a goroutine of its own, to which they are
// handed one by one.
package handoff

// A Point is a sample of a series.
type Point struct {
	Series int32
	Kind   uint8
	Time   int64
	Value  int64
}

// shards is how many totals are kept.
const shards = 16

// Totals returns the sum of the values of each shard of series.
func Totals(points []Point) [shards]int64 {
	queue := make(chan Point, 64)
	go func() {
		for _, p := range points {
			queue <- p
		}
		close(queue)
	}()
	var totals [shards]int64
	for p := range queue {
		totals[uint32(p.Series)%shards] += p.Value
	}
	return totals
}
