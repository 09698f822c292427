package intake

import (
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/datadog"
	"github.com/beagle-go/beagle/metricsd/deliver"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/intake/bus"
	"github.com/beagle-go/beagle/metricsd/intake/wire"
	"github.com/beagle-go/beagle/metricsd/queue"
)

// TestSketchesFromTheAgent sends distributions through the agent's aggregator and output to a
// running intake, and reads them from its queue. Bin by bin they are those that Datadog's agent
// makes of the same values.
func TestSketchesFromTheAgent(t *testing.T) {
	r := start(t, t.TempDir(), Options{Flush: time.Hour})
	q, err := queue.Open(t.TempDir(), 1<<24)
	if err != nil {
		t.Fatal(err)
	}
	o, err := datadog.New(datadog.Options{API: "v2", Compression: "zstd", Sketches: "all", Deliver: deliver.Options{
		URL: r.url,
	}}, q, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	a := aggregate.New(1, aggregate.DefaultLimits())
	want := map[string]wire.Distribution{}
	for name, kind := range map[string]dogstatsd.Type{
		"dist.a": dogstatsd.Distribution,
		"dist.b": dogstatsd.Distribution,
		"hist":   dogstatsd.Histogram,
		"took":   dogstatsd.Timing,
	} {
		values := []float64{0, -3, 5e8}
		for range 5000 {
			values = append(values, math.Exp(rng.NormFloat64()*3))
		}
		s := aggregate.Sample{
			Key:     rng.Uint64(),
			Context: aggregate.Context{Name: name, Host: "web-1", Tags: []string{"env:x", "é:1"}, Type: kind},
			Values:  values,
			Rate:    1,
		}
		a.Add(&s, 1_700_000_004)
		want[name] = wanted(values)
	}
	o.Points(a.Drain())
	o.Finish(t.Context())
	if s := o.Stats(); s.Sent != 1 || s.Refused != 0 {
		t.Fatalf("%+v", s)
	}
	r.eventually("there", func() bool { return len(r.names("prefix=dist.")) == 2 })
	got := queued(t, r.bus)
	if len(got) != 4 {
		t.Fatalf("%d series in the queue", len(got))
	}
	for _, s := range got {
		if s.Kind != wire.Sketch || s.Host != "web-1" || !slices.Equal(s.Tags, []string{"env:x", "é:1"}) ||
			len(s.Sketches) != 1 || !reflect.DeepEqual(s.Sketches[0], want[s.Metric]) {
			t.Errorf("got %+v\nwant %+v", s, want[s.Metric])
		}
	}
}

// wanted returns the sketch of the values by the rules of Datadog's agent: eps 1/128, min 1e-9.
// Sums are made in the order of the values, and so are exactly the aggregator's.
func wanted(values []float64) wire.Distribution {
	d := wire.Distribution{
		Time:  1_700_000_000,
		Min:   slices.Min(values),
		Max:   slices.Max(values),
		Count: int64(len(values)),
	}
	n := map[int32]uint32{}
	for _, v := range values {
		d.Sum += v
		key := int32(0)
		if v != 0 {
			key = int32(math.RoundToEven(math.Log(math.Abs(v))/math.Log1p(1.0/64))) + 1338
		}
		if v < 0 {
			key = -key
		}
		n[key]++
	}
	d.Average = d.Sum / float64(len(values))
	for k := range n {
		d.Keys = append(d.Keys, k)
	}
	slices.Sort(d.Keys)
	for _, k := range d.Keys {
		d.Counts = append(d.Counts, n[k])
	}
	return d
}

// queued reads the first message of a queue.
func queued(t *testing.T, b bus.Bus) (series []wire.Series) {
	t.Helper()
	enough := errors.New("enough")
	err := b.Read(t.Context(), nil, func(m bus.Message) (err error) {
		parcels, err := wire.Decode(m.Data)
		if err != nil {
			return err
		}
		for _, p := range parcels {
			series = append(series, p.Series...)
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	return series
}
