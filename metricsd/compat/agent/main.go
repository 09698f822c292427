// Command agent sends series and sketches by the Datadog Agent's own code: its serializer,
// compression and forwarder, of the version in go.mod. It prints what it has sent and runs until
// its input ends, since the forwarder works in the background.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"github.com/DataDog/datadog-agent/comp/core/config"
	forwarder "github.com/DataDog/datadog-agent/comp/forwarder/defaultforwarder/impl"
	compression "github.com/DataDog/datadog-agent/comp/serializer/metricscompression/impl"
	"github.com/DataDog/datadog-agent/pkg/config/model"
	"github.com/DataDog/datadog-agent/pkg/config/setup"
	"github.com/DataDog/datadog-agent/pkg/config/utils"
	"github.com/DataDog/datadog-agent/pkg/metrics"
	"github.com/DataDog/datadog-agent/pkg/serializer"
	"github.com/DataDog/datadog-agent/pkg/tagset"
	agentlog "github.com/DataDog/datadog-agent/pkg/util/log"
	"github.com/DataDog/datadog-agent/pkg/util/quantile"
)

// Sent is what was sent of one metric, in the receiver's form.
type Sent struct {
	Metric, Host, Kind string
	Tags               []string
	Interval           int64
	Values             []float64 // at Start and every ten seconds from then on
	Keys               []int32   // of a sketch
	Counts             []uint32
	Min, Max, Sum, Avg float64
	Count              int64
}

// start is the time of the first point of each series.
const start = 1_700_000_000

type component struct{ model.ReaderWriter }

func (component) StartTime() time.Time { return time.Unix(start, 0) }

var _ config.Component = component{}

func main() {
	// Read the flags.
	url := flag.String("url", "http://127.0.0.1:9126", "where to send")
	key := flag.String("key", "k", "API key")
	series := flag.Int("series", 5000, "how many series")
	sketches := flag.Int("sketches", 500, "how many sketches")
	v1 := flag.Bool("v1", false, "version 1 of the series API")
	compressor := flag.String("compressor", "zstd", "zstd, zlib or none")
	flag.Parse()
	// Set up the Agent's forwarder and serializer.
	c := component{setup.Datadog().(model.ReaderWriter)}
	c.Set("use_v2_api.series", !*v1, model.SourceAgentRuntime)
	c.Set("serializer_compressor_kind", *compressor, model.SourceAgentRuntime)
	l := agentlog.NewWrapper(2)
	options, err := forwarder.NewOptions(c, l, map[string][]utils.APIKeys{*url: {utils.NewAPIKeys("api_key", *key)}})
	if err != nil {
		log.Fatal(err)
	}
	f := forwarder.NewDefaultForwarder(c, l, options)
	if err := f.Start(); err != nil {
		log.Fatal(err)
	}
	s := serializer.NewSerializer(f, nil, compression.NewComponent(compression.Requires{Cfg: c}).Comp, c, l,
		"host-of-the-agent")
	// Send series and sketches.
	rng := rand.New(rand.NewPCG(1, 2))
	from, sent := makeSeries(rng, *series)
	if err := s.SendIterableSeries(from); err != nil {
		log.Fatal(err)
	}
	fromSketches, more := makeSketches(rng, *sketches)
	if err := s.SendSketch(fromSketches); err != nil {
		log.Fatal(err)
	}
	// Print what was sent, and go on until the input ends.
	if err := json.NewEncoder(os.Stdout).Encode(append(sent, more...)); err != nil {
		log.Fatal(err)
	}
	io.Copy(io.Discard, os.Stdin)
}

// A list is a source of series or sketches as the serializer reads them.
type list[T any] struct {
	items []T
	next  int
}

func (l *list[T]) MoveNext() bool     { l.next++; return l.next <= len(l.items) }
func (l *list[T]) WaitForValue() bool { return l.next < len(l.items) }
func (l *list[T]) Current() T         { return l.items[l.next-1] }
func (l *list[T]) Count() uint64      { return uint64(len(l.items)) }

func tagsOf(i int) []string {
	return []string{fmt.Sprint("pod:p", i%97), "env:prod", fmt.Sprint("n:", i)}
}

// makeSeries makes n random series, in the agent's form and as the receiver should see them.
func makeSeries(rng *rand.Rand, n int) (*list[*metrics.Serie], []Sent) {
	kinds := []metrics.APIMetricType{metrics.APIGaugeType, metrics.APICountType, metrics.APIRateType}
	from, sent := &list[*metrics.Serie]{}, []Sent{}
	for i := range n {
		s := Sent{
			Metric: fmt.Sprintf("agent.series%d", i),
			Host:   fmt.Sprint("web-", i%7),
			Kind:   kinds[i%3].String(),
			Tags:   tagsOf(i),
		}
		serie := &metrics.Serie{
			Name:  s.Metric,
			Host:  s.Host,
			MType: kinds[i%3],
			Tags:  tagset.CompositeTagsFromSlice(s.Tags),
		}
		if s.Kind != "gauge" {
			s.Interval, serie.Interval = 10, 10
		}
		for at := range 1 + rng.IntN(3) {
			v := math.Round(rng.ExpFloat64()*1e6) / 64
			s.Values = append(s.Values, v)
			serie.Points = append(serie.Points, metrics.Point{Ts: float64(start + 10*at), Value: v})
		}
		from.items, sent = append(from.items, serie), append(sent, s)
	}
	return from, sent
}

// makeSketches makes n random sketches, in the agent's form and as the receiver should see them.
func makeSketches(rng *rand.Rand, n int) (*list[metrics.Distribution], []Sent) {
	from, sent := &list[metrics.Distribution]{}, []Sent{}
	for i := range n {
		var values quantile.Agent
		for range 1 + rng.IntN(2000) {
			values.Insert(math.Exp(rng.NormFloat64()*3), 1)
		}
		sketch := values.Finish()
		k, counts := sketch.Cols()
		b := sketch.Basic
		s := Sent{Metric: fmt.Sprintf("agent.sketch%d", i), Host: "web-1", Kind: "sketch", Tags: tagsOf(i), Keys: k,
			Counts: counts,
			Min:    b.Min, Max: b.Max, Sum: b.Sum, Avg: b.Avg, Count: b.Cnt}
		series := &metrics.SketchSeries{DistributionMetadata: metrics.DistributionMetadata{
			Name:     s.Metric,
			Host:     s.Host,
			Tags:     tagset.CompositeTagsFromSlice(s.Tags),
			Interval: 10,
		},
			Points: []metrics.SketchPoint{{Sketch: sketch, Ts: start}}}
		from.items, sent = append(from.items, series), append(sent, s)
	}
	return from, sent
}
