package agent

import (
	"bytes"
	"fmt"
	"runtime"
	"syscall"
	"testing"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/load"
)

// BenchmarkDatagram times what a worker does with a datagram: read its lines, make the keys,
// aggregate. It makes packets beforehand, and enough of them that the processor learns neither a
// packet nor the order of contexts. All contexts are known before the clock starts, as in an agent
// that has run for a minute. Every 500,000 messages a bucket ends and is flushed, as at 50,000
// messages a second.
func BenchmarkDatagram(b *testing.B) {
	for _, contexts := range []int{1000, 60_000} {
		for _, packet := range []int{0, 1432, 8192} {
			for name, cache := range shapes {
				b.Run(fmt.Sprintf("contexts=%d/packet=%d/%s", contexts, packet, name), func(b *testing.B) {
					benchmarkDatagram(b, load.Shape{Contexts: contexts, Packet: packet}, cache)
				})
			}
		}
	}
}

const messagesPerBucket = 500_000

func benchmarkDatagram(b *testing.B, shape load.Shape, cache int) {
	g := load.NewGenerator(shape, 0, 1)
	var packets [][]byte
	for g.Totals().Messages < 4*shape.Contexts {
		packets = append(packets, bytes.Clone(g.Packet()))
	}
	in := NewIntake(aggregate.New(2, aggregate.DefaultLimits()), "web-1", 7)
	in.Cache = cache
	w := in.Worker()
	now, next := int64(0), uint64(messagesPerBucket)
	take := func(packet []byte) {
		w.Datagram(packet, false, "udp", now)
		if w.Counters.Metrics.Load() >= next {
			now += aggregate.BucketSeconds
			next += messagesPerBucket
			w.Aggregator.Flush(now)
		}
	}
	for range 3 {
		for _, p := range packets {
			take(p)
		}
	}
	before, began := w.Counters.Metrics.Load(), processorTime(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		take(packets[i%len(packets)])
		i++
	}
	messages := w.Counters.Metrics.Load() - before
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(messages), "ns/message")
	b.ReportMetric(float64(processorTime(b)-began)/float64(messages), "cpu-ns/message")
	if w.Counters.Malformed.Load() > 0 {
		b.Fatal("lines were malformed")
	}
}

// processorTime returns the processor time of this process in nanoseconds: other load disturbs it
// less than wall time.
func processorTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkContextBytes reports the heap that a context of a count with ten tags takes when there
// are 100,000 of them: strings, maps and the cache of lines.
func BenchmarkContextBytes(b *testing.B) {
	for name, cache := range shapes {
		b.Run(name, func(b *testing.B) { benchmarkContextBytes(b, cache) })
	}
}

func benchmarkContextBytes(b *testing.B, cache int) {
	const contexts = 100_000
	for b.Loop() {
		before := heap()
		in := NewIntake(aggregate.New(2, aggregate.DefaultLimits()), "web-1", 7)
		in.Cache = cache
		w := in.Worker()
		for i := range 2 * contexts {
			pod := i % contexts / 7
			w.Datagram(fmt.Appendf(nil,
				"service.checkout.request.%d:1|c|#env:prod,service:checkout,version:v2.1,"+
					"pod_name:checkout-7d9f8b6c5-x%05d,"+
					"kube_namespace:checkout-prod,cluster:eu1-2,zone:eu-west-1b,team:checkout-core,"+
					"image_tag:2026.11.%d,canary",
				i%contexts%7, pod, pod%28), false, "udp", 0)
		}
		b.ReportMetric(float64(heap()-before)/contexts, "B/context")
		if n := w.Aggregator.Stats().Contexts; n != contexts {
			b.Fatalf("%d contexts, want %d", n, contexts)
		}
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
