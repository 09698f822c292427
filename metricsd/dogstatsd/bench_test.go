package dogstatsd_test

import (
	"bytes"
	"testing"

	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/load"
)

// BenchmarkMetric reads the lines of datagrams of 8 KB, with ten tags each, of 3,000 contexts in an
// order that does not repeat soon. As in the agent, a datagram has just been written to the buffer
// in which its lines are read.
func BenchmarkMetric(b *testing.B) {
	shape, err := load.Named("steady")
	if err != nil {
		b.Fatal(err)
	}
	g := load.NewGenerator(shape, 0, 1)
	datagrams, size, lines := make([][]byte, 256), 0, 0
	for i := range datagrams {
		datagrams[i] = bytes.Clone(g.Packet())
		size += len(datagrams[i])
		for line, rest := dogstatsd.NextLine(datagrams[i]); line != nil; line, rest = dogstatsd.NextLine(rest) {
			lines++
		}
	}
	p := dogstatsd.NewParser(0, 0)
	var m dogstatsd.Metric
	buffer := make([]byte, shape.Packet)
	b.SetBytes(int64(size / lines))
	b.ReportAllocs()
	var line, rest []byte
	for i := 0; b.Loop(); {
		if line, rest = dogstatsd.NextLine(rest); line == nil {
			n := copy(buffer, datagrams[i%len(datagrams)])
			line, rest = dogstatsd.NextLine(buffer[:n])
			i++
		}
		if err := p.Metric(line, &m); err != nil {
			b.Fatal(err)
		}
	}
}
