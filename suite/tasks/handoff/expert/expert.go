package handoff

// Totals hands the points over in batches, which are parts of the message
// itself: a channel's lock is taken once for many points.
func Totals(points []Point) [shards]int64 {
	const batch = 128
	queue := make(chan []Point, 4)
	go func() {
		rest := points
		for ; len(rest) > batch; rest = rest[batch:] {
			queue <- rest[:batch]
		}
		queue <- rest
		close(queue)
	}()
	var totals [shards]int64
	for part := range queue {
		for i := range part {
			totals[uint32(part[i].Series)%shards] += part[i].Value
		}
	}
	return totals
}
