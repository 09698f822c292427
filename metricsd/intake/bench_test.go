package intake

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/intake/bus"
	"github.com/beagle-go/beagle/metricsd/intake/wire"
)

// BenchmarkChannel hands metrics of 48 bytes from one goroutine to the next through
// one and three stages, one by one and in batches: the step that made Datadog's
// intake nearly six times as fast. Figures are for one metric.
func BenchmarkChannel(b *testing.B) {
	type metric [6]uint64
	for _, stages := range []int{1, 3} {
		for _, size := range []int{1, 8, 32, 128} {
			b.Run(fmt.Sprintf("stages=%d/batch=%d", stages, size), func(b *testing.B) {
				first := make(chan []metric, 256)
				last := first
				for range stages {
					in, out := last, make(chan []metric, 256)
					go func() {
						for batch := range in {
							out <- batch
						}
						close(out)
					}()
					last = out
				}
				done := make(chan uint64)
				go func() {
					sum := uint64(0)
					for batch := range last {
						for i := range batch {
							sum += batch[i][0]
						}
					}
					done <- sum
				}()
				batch := make([]metric, size)
				for i := 0; i < b.N; i += size {
					first <- batch
				}
				close(first)
				<-done
			})
		}
	}
}

// BenchmarkProcessor counts the series of messages of 128: nearly all names known,
// as in a steady stream.
func BenchmarkProcessor(b *testing.B) {
	p := newProcessor(Options{Names: 1 << 20}.withDefaults(), nil, nil, slog.New(slog.DiscardHandler))
	p.read = map[int32]int64{}
	var batches []batch
	for m := range 64 {
		var series []wire.Series
		for i := range 128 {
			series = append(series, wire.Series{
				Metric: fmt.Sprintf("service%d.request.latency", (m*128+i)%600), Host: fmt.Sprintf("web-%02d", i%40), Kind: wire.Gauge,
				Tags: []string{"env:prod", fmt.Sprintf("region:eu-%d", i%3), fmt.Sprintf("pod:%d", i%500), "team:checkout"}, Points: []wire.Point{{Time: 1700000000, Value: 1}},
			})
		}
		batches = append(batches, batch{bus.Message{Place: int64(m)}, series})
	}
	n := 0
	for b.Loop() {
		p.take(batches[n%len(batches)])
		p.news = p.news[:0]
		n++
	}
	b.ReportMetric(float64(b.Elapsed())/float64(time.Nanosecond)/float64(n*128), "ns/series")
}
