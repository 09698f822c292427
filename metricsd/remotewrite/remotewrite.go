// Package remotewrite sends what a scrape would see by Prometheus' remote write
// protocol, version 1: to Prometheus, VictoriaMetrics, Mimir, Thanos and others.
//
// Every ten seconds all contexts go out with their totals and last values, under the
// names that package expose gives them. Package deliver sees to it that nothing is
// lost.
//
// # Limits
//
// A context that is silent is sent until it expires, as a scrape would see it. A
// count starts from zero when the agent restarts, which queries take for a reset.
package remotewrite

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/deliver"
	"github.com/beagle-go/beagle/metricsd/expose"
	"github.com/beagle-go/beagle/metricsd/queue"
)

// Options choose the receiver.
type Options struct {
	// Token is for the Authorization header, unless it is empty.
	Token string
	// Deliver's URL is the whole address, such as http://127.0.0.1:9090/api/v1/write.
	Deliver deliver.Options
}

// Output sends the states of every flush.
type Output struct {
	*deliver.Sender
	collisions atomic.Int64
}

// New checks the options.
func New(o Options, q *queue.Queue, log *slog.Logger) (*Output, error) {
	o.Deliver.Header = map[string]string{"X-Prometheus-Remote-Write-Version": "0.1.0"}
	if o.Token != "" {
		o.Deliver.Header["Authorization"] = "Bearer " + o.Token
	}
	s, err := deliver.New(o.Deliver, q, log)
	if err != nil {
		return nil, fmt.Errorf("remote_write.url: %w", err)
	}
	return &Output{Sender: s}, nil
}

// maxBody bounds a payload before compression.
const maxBody = 1 << 20

var form = deliver.Form{ContentType: "application/x-protobuf", Encoding: "snappy"}

// WantsEvents returns false: the protocol has no events.
func (o *Output) WantsEvents() bool { return false }

// Send puts the flush's states into the queue.
func (o *Output) Send(f aggregate.Flush) {
	var body []byte
	end := func() {
		if len(body) > 0 {
			o.Put(form, snappy.Encode(nil, body))
			body = body[:0]
		}
	}
	collisions := expose.Samples(f.States(), func(name string, labels []expose.Label, value float64) {
		body = appendSeries(body, name, labels, value, f.Time*1000)
		if len(body) >= maxBody {
			end()
		}
	})
	end()
	o.collisions.Store(int64(collisions))
}

// OwnMetrics writes the output's metrics about itself.
func (o *Output) OwnMetrics(p *expose.Page) {
	o.Sender.OwnMetrics(p, "remote_write")
	p.OwnGauge("metricsd_remote_write_collisions",
		"Series left out of the last flush: another one has their name and labels.",
		float64(o.collisions.Load()))
}

// The numbers of the fields in the messages WriteRequest, TimeSeries, Label and
// Sample.
const (
	fieldTimeseries = 1

	fieldLabels  = 1
	fieldSamples = 2

	fieldName      = 1
	fieldLabel     = 2
	fieldValue     = 1
	fieldTimestamp = 2
)

// appendSeries adds one series with one sample. The protocol wants all labels,
// the name among them, sorted.
func appendSeries(to []byte, name string, labels []expose.Label, value float64, milliseconds int64) []byte {
	all := append(slices.Clip(labels), expose.Label{Name: "__name__", Value: name})
	slices.SortFunc(all, func(a, b expose.Label) int { return strings.Compare(a.Name, b.Name) })
	var series []byte
	for _, l := range all {
		label := appendBytes(nil, fieldName, l.Name)
		series = appendBytes(series, fieldLabels, string(appendBytes(label, fieldLabel, l.Value)))
	}
	sample := protowire.AppendTag(nil, fieldValue, protowire.Fixed64Type)
	sample = protowire.AppendFixed64(sample, math.Float64bits(value))
	sample = protowire.AppendTag(sample, fieldTimestamp, protowire.VarintType)
	sample = protowire.AppendVarint(sample, uint64(milliseconds))
	return appendBytes(to, fieldTimeseries, string(appendBytes(series, fieldSamples, string(sample))))
}

func appendBytes(to []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), s)
}
