package datadog

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/deliver"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/expose"
	"github.com/beagle-go/beagle/metricsd/queue"
)

// Options choose the form of payloads.
type Options struct {
	// API is "v1" or "v2", Compression "zlib", "deflate", "zstd" or "none".
	API, Compression string
	// Sketches is "none", "distributions" or "all": timings and histograms too.
	Sketches string
	// Events says to send events and service checks too.
	Events bool
	// Key goes with every payload, if it is not empty.
	Key string
	// Deliver's URL is the part before /api/v2/series.
	Deliver deliver.Options
}

// Output sends the points of every flush.
type Output struct {
	*deliver.Sender
	format      format
	compression compression
	sketched    map[dogstatsd.Type]bool
	events      bool
	unsendable  atomic.Uint64
}

// New checks the options.
func New(o Options, q *queue.Queue, log *slog.Logger) (*Output, error) {
	f, ok := formats[o.API]
	if !ok {
		return nil, fmt.Errorf("datadog.api is %q; give v1 or v2", o.API)
	}
	c, ok := compressions[o.Compression]
	if !ok {
		return nil, fmt.Errorf("datadog.compression is %q; give zlib, deflate, zstd or none", o.Compression)
	}
	types, err := sketched(o.Sketches)
	if err != nil {
		return nil, err
	}
	if o.Key != "" {
		o.Deliver.Header = map[string]string{"DD-API-KEY": o.Key}
	}
	// Not every receiver of series knows these.
	o.Deliver.Optional = []string{sketchForm.Path, eventForm.Path, checkForm.Path}
	s, err := deliver.New(o.Deliver, q, log)
	if err != nil {
		return nil, fmt.Errorf("datadog.url: %w", err)
	}
	return &Output{Sender: s, format: f, compression: c, sketched: types, events: o.Events}, nil
}

// WantsEvents reports whether events and service checks are sent.
func (o *Output) WantsEvents() bool { return o.events }

// Send puts the flush into the queue.
func (o *Output) Send(f aggregate.Flush) {
	o.Points(f.Points)
	if o.events {
		o.Events(f.Events, f.Checks)
	}
}

// Points packs points and puts the payloads into the queue.
func (o *Output) Points(points []aggregate.Point) {
	sketches, points := o.packSketches(points)
	o.post(sketchForm, sketches)
	bodies, unsendable := pack(o.format, points)
	o.unsendable.Add(uint64(unsendable))
	o.post(deliver.Form{Path: o.format.path, ContentType: o.format.contentType}, bodies)
}

func (o *Output) post(form deliver.Form, bodies [][]byte) {
	form.Encoding = o.compression.encoding
	for _, body := range bodies {
		o.Put(form, o.compression.compress(body))
	}
}

// OwnMetrics writes the output's metrics about itself.
func (o *Output) OwnMetrics(p *expose.Page) {
	o.Sender.OwnMetrics(p, "datadog")
	p.OwnCounter("metricsd_datadog_unsendable_values_total",
		"Values left out because they are not finite, and sketches of more values than one can hold.",
		o.unsendable.Load())
}
