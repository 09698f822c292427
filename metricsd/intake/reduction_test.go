package intake

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/agent"
	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/datadog"
	"github.com/beagle-go/beagle/metricsd/deliver"
	"github.com/beagle-go/beagle/metricsd/intake/bus"
	"github.com/beagle-go/beagle/metricsd/intake/wire"
	"github.com/beagle-go/beagle/metricsd/load"
	"github.com/beagle-go/beagle/metricsd/queue"
)

// flushed returns an agent's posts of ten seconds under traffic of a shape in which every context
// appears. The agent's own workers and output make them, and the intake's own readers read them.
func flushed(t testing.TB, shape load.Shape) (series []wire.Series) {
	t.Helper()
	a := aggregate.New(1, aggregate.Limits{})
	w := agent.NewIntake(a, "web-1", 7).Worker()
	g := load.NewGenerator(shape, 0, 1)
	for quiet := 0; quiet < 100; quiet++ { // until no more contexts come
		before := a.Stats().Contexts
		for range 100 {
			w.Datagram(bytes.Clone(g.Packet()), false, "udp", 0)
		}
		if a.Stats().Contexts > before {
			quiet = 0
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		read := wire.SeriesV2
		if r.URL.Path == "/api/beta/sketches" {
			read = wire.SketchesV1
		}
		some, err := read(body, wire.DefaultLimits())
		if err != nil {
			t.Error(err)
		}
		series = append(series, some...)
	}))
	defer server.Close()
	q, err := queue.Open(t.TempDir(), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	o, err := datadog.New(datadog.Options{API: "v2", Compression: "none", Sketches: "distributions",
		Deliver: deliver.Options{URL: server.URL}}, q, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	o.Points(a.Drain())
	o.Finish(t.Context())
	return series
}

// lone makes the hardest traffic: each name is in one series.
func lone(n int) (series []wire.Series) {
	for i := range n {
		series = append(series, wire.Series{
			Metric: fmt.Sprintf("lone%d", i),
			Kind:   wire.Gauge,
			Points: []wire.Point{{Value: 1}},
		})
	}
	return series
}

// steady gives a processor over a real index the same series every ten seconds of its clock, and
// calls its steps as the running one does.
func steady(t testing.TB, series []wire.Series, hours float64, flush time.Duration) *processor {
	c := newClock()
	p := at(t, c, Options{Names: 1 << 20, Flush: flush})
	place := int64(0)
	for second := 0; float64(second) < hours*3600; second += aggregate.BucketSeconds {
		now := c.now().Unix()
		for i := range series {
			for j := range series[i].Points {
				series[i].Points[j].Time = now
			}
			for j := range series[i].Sketches {
				series[i].Sketches[j].Time = now
			}
		}
		for some := range slices.Chunk(series, batchSeries) {
			place++
			p.take(batch{bus.Message{Place: place}, []wire.Parcel{{Series: some}}})
		}
		p.tellNews(t.Context())
		c.jump(aggregate.BucketSeconds * time.Second)
		if c.now().Sub(p.since) >= p.options.Flush {
			p.flush(t.Context())
		}
		if c.now().Sub(p.forgot) >= epochLength {
			p.forget(t.Context(), c.now())
		}
	}
	p.flush(t.Context())
	return p
}

// TestSteadyStreamIsWrittenRarely runs a quarter of an hour of that.
func TestSteadyStreamIsWrittenRarely(t *testing.T) {
	p := steady(t, flushed(t, load.Shape{Contexts: 500, Packet: 8192}), 0.25, 0)
	if seen, written := p.counts.touches.Load(), p.counts.writes.Load(); written == 0 || seen < 100*written {
		t.Errorf("%d names seen, %d entries written; want a hundredth", seen, written)
	}
}

// BenchmarkWriteReduction counts how many names are seen for each that is written, over simulated
// hours: without a history each would be written. Run it with -benchtime 1x.
func BenchmarkWriteReduction(b *testing.B) {
	for _, test := range []struct {
		shape string
		hours float64
		flush time.Duration
	}{{"steady", 2, 5 * time.Minute}, {"many", 1, 5 * time.Minute}, {"lone", 6, 5 * time.Minute},
		{"lone", 6, 20 * time.Minute}} {
		b.Run(fmt.Sprintf("%s/flush=%v", test.shape, test.flush), func(b *testing.B) {
			for range b.N {
				series := lone(3000)
				if shape, err := load.Named(test.shape); err == nil {
					series = flushed(b, shape)
				}
				p := steady(b, series, test.hours, test.flush)
				known, _ := p.history.Len()
				b.ReportMetric(float64(p.counts.touches.Load())/float64(p.counts.writes.Load()), "seen/write")
				b.ReportMetric(float64(len(series)), "series")
				b.ReportMetric(float64(known), "names")
				b.ReportMetric(test.hours, "hours")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
