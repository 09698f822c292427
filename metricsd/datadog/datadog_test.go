package datadog

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/deliver"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/expose"
	"github.com/beagle-go/beagle/metricsd/queue"
)

func output(t *testing.T, url, dir, api, compression string) *Output {
	t.Helper()
	q, err := queue.Open(dir, 1<<24)
	if err != nil {
		t.Fatal(err)
	}
	o, err := New(Options{Key: "secret", API: api, Compression: compression, Sketches: "none",
		Deliver: deliver.Options{URL: url, FirstPause: time.Millisecond, LastPause: 5 * time.Millisecond}}, q,
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func count(name string, value float64) aggregate.Point {
	return aggregate.Point{
		Context: aggregate.Context{Name: name, Host: "web", Tags: []string{"env:<prod>", "é"}, Type: dogstatsd.Count},
		Time:    1700000000,
		Value:   value,
	}
}

// distribution makes the point that the aggregator makes of these values.
func distribution(values ...float64) aggregate.Point {
	a := aggregate.New(1, aggregate.Limits{})
	a.Add(&aggregate.Sample{Context: aggregate.Context{Name: "d", Type: dogstatsd.Distribution},
		Values: values, Rate: 1}, 0)
	return a.Drain()[0]
}

func TestBothVersionsAndAllCompressions(t *testing.T) {
	for api := range formats {
		for compression := range compressions {
			in := newIntake(t)
			o := output(t, in.URL+"/", t.TempDir(), api, compression)
			gauge := count("g", 0.5)
			gauge.Type, gauge.Host, gauge.Tags = dogstatsd.Gauge, "", nil
			o.Points([]aggregate.Point{count("c", 3), gauge})
			o.Finish(t.Context())
			want := []series{{"c", "web", []string{"env:<prod>", "é"}, true, 1700000000, 3},
				{"g", "", nil, false, 1700000000, 0.5}}
			if !reflect.DeepEqual(in.received, want) {
				t.Errorf("%s %s: got %+v", api, compression, in.received)
			}
			if in.headers[0].Get("DD-API-KEY") != "secret" {
				t.Error("the key is missing")
			}
		}
	}
}

func TestSummaries(t *testing.T) {
	in := newIntake(t)
	o := output(t, in.URL, t.TempDir(), "v2", "zstd")
	o.Points([]aggregate.Point{distribution(1, 2, 3, 4)})
	o.Finish(t.Context())
	got := in.sums()
	for name, want := range map[string]float64{"d.count": 4, "d.sum": 10, "d.avg": 2.5, "d.min": 1, "d.max": 4,
		"d.median": 2} {
		if math.Abs(got[name]-want) > 0.02*want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if len(got) != 8 {
		t.Errorf("%d series, want 8: %v", len(got), got)
	}
}

func TestWhatIsNotFiniteIsLeftOut(t *testing.T) {
	in := newIntake(t)
	o := output(t, in.URL, t.TempDir(), "v1", "none")
	o.Points([]aggregate.Point{count("over", math.Inf(1)), count("c", 1)})
	o.Finish(t.Context())
	if got := in.sums(); len(got) != 1 || got["c"] != 1 || o.unsendable.Load() != 1 {
		t.Errorf("got %v, %d unsendable", got, o.unsendable.Load())
	}
}

func TestLargeFlushesAreSplit(t *testing.T) {
	points := make([]aggregate.Point, 30_000)
	for i := range points {
		points[i] = count(fmt.Sprint("metric.number.", i), 1)
	}
	for api, f := range formats {
		bodies, _ := pack(f, points)
		if len(bodies) < 2 {
			t.Errorf("%s: %d bodies", api, len(bodies))
		}
		for _, b := range bodies {
			if len(b) > maxBody+1024 || len(compressZlib(b)) > 500_000 {
				t.Errorf("%s: a body of %d bytes", api, len(b))
			}
		}
	}
}

// TestNothingIsLost checks that every count arrives once despite an outage and a restart, whatever
// version and compression the new start is configured with.
func TestNothingIsLost(t *testing.T) {
	in, dir := newIntake(t), t.TempDir()
	in.answer(http.StatusServiceUnavailable)
	first := output(t, in.URL, dir, "v1", "zlib")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { first.Run(ctx); close(done) }()
	for range 5 {
		first.Points([]aggregate.Point{count("c", 1)})
	}
	waitFor(t, "a retry", func() bool { return first.Stats().Retried > 2 })
	stop()
	<-done
	first.Finish(t.Context())

	second := output(t, in.URL, dir, "v2", "zstd")
	second.Points([]aggregate.Point{count("c", 10)})
	in.answer(http.StatusAccepted)
	ctx, stop = context.WithCancel(t.Context())
	done = make(chan struct{})
	go func() { second.Run(ctx); close(done) }()
	waitFor(t, "delivery", func() bool { return in.sums()["c"] == 15 })
	second.Points([]aggregate.Point{count("c", 100)}) // Run waits and wakes up
	waitFor(t, "delivery", func() bool { return in.sums()["c"] == 115 })
	// The receiver has the last payload before the sender has its answer.
	waitFor(t, "the last answer", func() bool { return second.Stats().Queue.Items == 0 })
	stop()
	<-done
	if s := second.Stats(); s.Queue.Items != 0 || s.Sent != 7 {
		t.Errorf("%+v", s)
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 6000 { // a minute: machines may be busy
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

func TestOptionsAreChecked(t *testing.T) {
	url := deliver.Options{URL: "http://x"}
	for want, o := range map[string]Options{
		"datadog.url":         {Deliver: deliver.Options{URL: "api.datadoghq.eu"}, API: "v2", Compression: "zstd", Sketches: "all"},
		"datadog.api":         {Deliver: url, API: "v3", Compression: "zstd"},
		"datadog.compression": {Deliver: url, API: "v2", Compression: "lz4"},
		"datadog.sketches":    {Deliver: url, API: "v2", Compression: "none", Sketches: "some"},
	} {
		if _, err := New(o, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestOwnMetrics(t *testing.T) {
	var p expose.Page
	output(t, "http://127.0.0.1:1", t.TempDir(), "v2", "none").OwnMetrics(&p)
	var out strings.Builder
	p.WriteTo(&out)
	if !strings.Contains(out.String(), "metricsd_datadog_queue_payloads 0") {
		t.Error(out.String())
	}
}
