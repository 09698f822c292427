package dogstatsd_test

import (
	"bytes"
	"testing"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/load"
)

// BenchmarkMetric reads lines of 1,000 contexts with ten tags each, in an order
// that does not repeat soon.
func BenchmarkMetric(b *testing.B) {
	g := load.NewGenerator(load.Shape{Contexts: 1000}, 0, 1)
	lines, size := make([][]byte, 8192), 0
	for i := range lines {
		lines[i] = bytes.Clone(g.Packet())
		size += len(lines[i])
	}
	p := dogstatsd.NewParser(0, 0)
	var m dogstatsd.Metric
	b.SetBytes(int64(size / len(lines)))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if err := p.Metric(lines[i%len(lines)], &m); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
