package dogstatsd_test

import (
	"bytes"
	"testing"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/contextkey"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/load"
)

// BenchmarkMetric reads the lines of datagrams of 8 KB, with ten tags each, of 3,000 contexts in an
// order that does not repeat soon. As in the agent, a datagram is written to the buffer just before
// its lines are read. Each line is added up before the next is read: that work evicts the parser's
// tables from the fastest caches.
func BenchmarkMetric(b *testing.B) {
	shape, err := load.Named("steady")
	if err != nil {
		b.Fatal(err)
	}
	g := load.NewGenerator(shape, 0, 1)
	datagrams, size, lines := make([][]byte, 2048), 0, 0
	for i := range datagrams {
		datagrams[i] = bytes.Clone(g.Packet())
		size += len(datagrams[i])
		for line, rest := dogstatsd.NextLine(datagrams[i]); line != nil; line, rest = dogstatsd.NextLine(rest) {
			lines++
		}
	}
	p, keys, sums := dogstatsd.NewParser(0, 0), contextkey.NewGenerator(0), aggregate.New(2, aggregate.Limits{})
	var m dogstatsd.Metric
	var sample aggregate.Sample
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
		key, tags := keys.KeyHashed(m.Name, "host", m.Tags, p.TagHashes())
		sample = aggregate.Sample{
			Key: key, Context: aggregate.Context{Name: m.Name, Host: "host", Tags: tags, Type: m.Type},
			Values: m.Values, SetValue: m.SetValue, Rate: m.Rate, Timestamp: m.Timestamp,
		}
		sums.Add(&sample, 0)
	}
}
