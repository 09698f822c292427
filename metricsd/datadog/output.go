package datadog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/expose"
	"github.com/beagle-go/beagle/metricsd/queue"
)

// Options say where to send and how.
type Options struct {
	// URL is what stands before /api/v2/series.
	URL, APIKey string
	// API is "v1" or "v2", Compression "zlib", "deflate", "zstd" or "none".
	API, Compression string
	// FirstPause and LastPause bound the pause before a payload is tried again.
	FirstPause, LastPause time.Duration
	// Timeout bounds one request.
	Timeout time.Duration
}

// Output sends the points of every flush.
type Output struct {
	options     Options
	format      format
	compression compression
	queue       *queue.Queue
	client      *http.Client
	log         *slog.Logger
	stats       counters
}

type counters struct {
	sent, retried, refused, lost, unsendable atomic.Uint64
}

// New checks the options. Zero durations become 1 s, a minute and 10 s.
func New(o Options, q *queue.Queue, log *slog.Logger) (*Output, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("datadog.url is %q; give one like https://api.datadoghq.eu", o.URL)
	}
	f, ok := formats[o.API]
	if !ok {
		return nil, fmt.Errorf("datadog.api is %q; give v1 or v2", o.API)
	}
	c, ok := compressions[o.Compression]
	if !ok {
		return nil, fmt.Errorf("datadog.compression is %q; give zlib, deflate, zstd or none", o.Compression)
	}
	for _, d := range []struct {
		to    *time.Duration
		value time.Duration
	}{{&o.FirstPause, time.Second}, {&o.LastPause, time.Minute}, {&o.Timeout, 10 * time.Second}} {
		if *d.to == 0 {
			*d.to = d.value
		}
	}
	o.URL = strings.TrimSuffix(o.URL, "/")
	// A redirect would carry the key to who knows where.
	client := &http.Client{Timeout: o.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Output{options: o, format: f, compression: c, queue: q, client: client, log: log}, nil
}

// Send packs the points and puts the payloads into the queue.
func (o *Output) Send(points []aggregate.Point) {
	bodies, unsendable := pack(o.format, points)
	o.stats.unsendable.Add(uint64(unsendable))
	for _, body := range bodies {
		// The first line says what the rest is: after a restart the
		// configuration may be another.
		payload := []byte(o.options.API + " " + o.compression.encoding + "\n")
		payload = append(payload, o.compression.compress(body)...)
		if err := o.queue.Put(payload); err != nil {
			o.stats.lost.Add(1)
			o.log.Error("a payload is lost", "error", err)
		}
	}
}

// Run delivers until ctx is done. A request under way is finished: cut off it might
// have been accepted, and would be sent twice.
func (o *Output) Run(ctx context.Context) {
	pause := o.options.FirstPause
	for ctx.Err() == nil {
		empty, err := o.deliver()
		switch {
		case err != nil:
			o.stats.retried.Add(1)
			o.log.Warn("not delivered; trying again", "pause", pause, "error", err)
			wait(ctx, pause/2+rand.N(pause/2+1))
			pause = min(2*pause, o.options.LastPause)
		case empty:
			select {
			case <-ctx.Done():
			case <-o.queue.Added():
			}
		default:
			pause = o.options.FirstPause
		}
	}
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Finish delivers what it can until the first failure or the end of ctx; the
// rest stays on disk for the next start. Call it after Run.
func (o *Output) Finish(ctx context.Context) {
	for ctx.Err() == nil {
		if empty, err := o.deliver(); empty || err != nil {
			return
		}
	}
}

// deliver tries the oldest payload. An error means that it is to be tried again.
func (o *Output) deliver() (empty bool, _ error) {
	payload, id, ok := o.queue.Oldest()
	if !ok {
		return true, nil
	}
	err := o.post(payload)
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		o.stats.refused.Add(1)
		o.log.Error("a payload was refused for good and is dropped", "error", err)
	case err != nil:
		return false, err
	default:
		o.stats.sent.Add(1)
	}
	return false, o.queue.Remove(id)
}

// refusedError is an answer that sending again would not change.
type refusedError struct{ status string }

func (e *refusedError) Error() string { return e.status }

func (o *Output) post(payload []byte) error {
	kind, body, _ := bytes.Cut(payload, []byte("\n"))
	api, encoding, _ := strings.Cut(string(kind), " ")
	f, ok := formats[api]
	if !ok {
		return &refusedError{fmt.Sprintf("a payload in the queue is of the unknown kind %q", kind)}
	}
	request, err := http.NewRequest(http.MethodPost, o.options.URL+f.path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", f.contentType)
	request.Header.Set("User-Agent", "metricsd")
	if encoding != "" {
		request.Header.Set("Content-Encoding", encoding)
	}
	if o.options.APIKey != "" {
		request.Header.Set("DD-API-KEY", o.options.APIKey)
	}
	answer, err := o.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return judge(answer)
}

func judge(answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 256))
	status := fmt.Sprintf("%s %q", answer.Status, text)
	switch {
	case answer.StatusCode/100 == 2:
		return nil
	case answer.StatusCode == http.StatusBadRequest, answer.StatusCode == http.StatusRequestEntityTooLarge:
		return &refusedError{status}
	}
	return errors.New(status)
}

// Own writes the output's metrics about itself.
func (o *Output) Own(p *expose.Page) {
	q := o.queue.Stats()
	for _, m := range []struct {
		name, kind, help string
		value            float64
	}{
		{"payloads_sent_total", "counter", "Payloads accepted.", float64(o.stats.sent.Load())},
		{"retries_total", "counter", "Attempts that failed and are made again.", float64(o.stats.retried.Load())},
		{"payloads_refused_total", "counter", "Payloads dropped because they were refused for good.", float64(o.stats.refused.Load())},
		{"payloads_lost_total", "counter", "Payloads that could not be put on disk.", float64(o.stats.lost.Load())},
		{"unsendable_values_total", "counter", "Values left out because they are not finite.", float64(o.stats.unsendable.Load())},
		{"queue_overflowed_total", "counter", "Payloads dropped, oldest first, because the queue was full.", float64(q.Overflowed)},
		{"queue_damaged_total", "counter", "Payloads dropped because a checksum did not match.", float64(q.Damaged)},
		{"queue_payloads", "gauge", "Payloads that wait on disk.", float64(q.Items)},
		{"queue_bytes", "gauge", "Their bytes.", float64(q.Bytes)},
	} {
		p.Own("metricsd_datadog_"+m.name, m.kind, m.help, expose.Value{Value: m.value})
	}
}
