package agent

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/load"
)

var datagrams = flag.Int("datagrams", 20_000, "how many datagrams TestMutatedDatagrams sends")

// TestMutatedDatagrams sends real traffic with bytes changed, cut and joined.
// Every line must be taken or counted as malformed, and memory stay in its bounds.
func TestMutatedDatagrams(t *testing.T) {
	for name, cache := range shapes {
		t.Run(name, func(t *testing.T) { testMutatedDatagrams(t, cache) })
	}
}

func testMutatedDatagrams(t *testing.T, cache int) {
	limits := aggregate.Limits{Contexts: 500, Bytes: 1 << 20, Timestamped: 100, SetExact: 8, Expiry: 3}
	in := NewIntake(aggregate.New(2, limits), "", 7)
	in.Cache = cache
	w, rng := in.Worker(), rand.New(rand.NewPCG(1, 2))
	g := load.NewGenerator(load.Shape{Contexts: 300, Packet: 1432, Malformed: 0.05, NewNames: 0.05}, 0, 1)
	var lines uint64
	for i := range *datagrams {
		datagram := mutate(rng, bytes.Clone(g.Packet()))
		for line := range bytes.SplitSeq(datagram, []byte("\n")) {
			if len(bytes.TrimSuffix(line, []byte("\r"))) > 0 {
				lines++
			}
		}
		now := int64(i / 100)
		w.Datagram(datagram, false, "fuzz", now)
		if i%1000 == 0 {
			in.Aggregator.Flush(now)
		}
	}
	c := &in.Counters
	if got := c.Metrics.Load() + c.Events.Load() + c.Checks.Load() + c.Malformed.Load(); got != lines {
		t.Errorf("%d lines were taken or counted as malformed, %d were sent", got, lines)
	}
	if s := in.Aggregator.Stats(); s.Contexts > limits.Contexts || s.Bytes > limits.Bytes || s.DroppedContexts == 0 {
		t.Errorf("out of bounds: %+v", s)
	}
}

// mutate changes a few bytes, most often to those that mean something.
func mutate(rng *rand.Rand, b []byte) []byte {
	const meaningful = ":|@#,\n\r_e{}scTgdhm0.-\xff\x00"
	for range rng.IntN(6) {
		b[rng.IntN(len(b))] = meaningful[rng.IntN(len(meaningful))]
	}
	if rng.IntN(4) == 0 {
		b = b[:rng.IntN(len(b))]
	}
	return b
}

// FuzzDatagram expects the same of any bytes.
func FuzzDatagram(f *testing.F) {
	f.Add([]byte("a:1|c|#b\n_e{1,1}:a|b\n_sc|a|0\nbroken"), false)
	f.Fuzz(func(t *testing.T, datagram []byte, truncated bool) {
		for _, cache := range shapes {
			in := NewIntake(aggregate.New(1, aggregate.Limits{Contexts: 10}), "", 7)
			in.Cache = cache
			w := in.Worker()
			for range 2 {
				w.Datagram(datagram, truncated, "fuzz", 0)
			}
			in.Aggregator.Drain()
			if in.Aggregator.Stats().Contexts > 10 {
				t.Error("out of bounds")
			}
		}
	})
}
