package intake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/beagle-go/beagle/metricsd/disk"
	"github.com/beagle-go/beagle/metricsd/intake/bus"
	"github.com/beagle-go/beagle/metricsd/intake/customer"
	"github.com/beagle-go/beagle/metricsd/intake/wire"
	"github.com/beagle-go/beagle/metricsd/web"
)

// A door receives the posts of senders.
type door struct {
	token   string                        // the operator's
	keys    atomic.Pointer[customer.Keys] // the customers'; nil without any; may be changed
	bounds  atomic.Pointer[Bounds]        // may be changed
	batcher *batcher
	reading atomic.Int64 // requests
	log     *slog.Logger
	unanswered
	told    atomic.Int64 // when an unknown key was last logged
	failing atomic.Bool  // the last body could not be queued, and the log says so

	accepted, refused, tooLarge, denied, busy, full, ignored atomic.Uint64
	bytes                                                    atomic.Uint64
}

func newDoor(o Options, b *batcher, log *slog.Logger) *door {
	d := &door{token: o.Token, batcher: b, log: log}
	d.bounds.Store(&o.Bounds)
	return d
}

type reader func(body []byte, l wire.Limits) ([]wire.Series, error)

// handle adds the paths that agents post to. The path tells versions apart. Clients without
// protobuf send the second version as JSON.
func (d *door) handle(mux *http.ServeMux) {
	mux.Handle("POST /api/v1/series", d.take(func(*http.Request) reader { return wire.SeriesV1 }))
	mux.Handle("POST /api/v2/series", d.take(func(r *http.Request) reader {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			return wire.SeriesV2JSON
		}
		return wire.SeriesV2
	}))
	mux.Handle("POST /api/beta/sketches", d.take(func(*http.Request) reader { return wire.SketchesV1 }))
	// Accept and ignore the agent's other posts, since it keeps and repeats those that are refused.
	for _, path := range []string{"/api/v1/check_run", "/api/v1/events", "/api/v1/metadata", "/intake/",
		"/api/v2/host_metadata", "/api/v1/collector"} {
		mux.Handle("POST "+path, d.admitKnown(d.ignore))
	}
	mux.Handle("GET /api/v1/validate", d.admitKnown(func(w http.ResponseWriter, _ *http.Request, _ caller) {
		web.JSON(w, http.StatusOK, map[string]bool{"valid": true})
	}))
}

// take answers when the series of a body are safe.
func (d *door) take(choose func(*http.Request) reader) http.Handler {
	return d.admitKnown(func(w http.ResponseWriter, r *http.Request, c caller) {
		// Limits may change while a request runs; the request keeps its first ones.
		bounds := d.bounds.Load()
		defer d.reading.Add(-1)
		if d.reading.Add(1) > int64(bounds.Requests) { // bodies are large
			d.busy.Add(1)
			writeRetry(w, fmt.Errorf("the intake reads %d requests already, its limit; retry later", bounds.Requests))
			return
		}
		body, err := wire.Open(r.Body, r.Header.Get("Content-Encoding"), bounds.Limits)
		if err != nil {
			d.refuse(w, fmt.Errorf("the body cannot be read: %w", err))
			return
		}
		series, err := choose(r)(body, bounds.Limits)
		// Accept only whole bodies: half of a refused body would count twice when the client
		// repeats it.
		if err != nil {
			d.refuse(w, err)
			return
		}
		d.bytes.Add(uint64(len(body)))
		// The ID lets the processor recognise a request that it has counted already.
		id, failed := d.identify(r, c.customer, body)
		// Answer after the queue has the request. After an error the queue may have it too, so keep
		// the ID for the repetition that the client is asked for.
		if err := d.batcher.put(r.Context(), id, c.customer, series); err != nil {
			failed()
			d.full.Add(1)
			writeRetry(w, d.notQueued(err))
			return
		}
		d.failing.Store(false)
		d.accepted.Add(1)
		web.JSON(w, http.StatusAccepted, map[string]any{"status": "ok", "errors": []string{}})
	})
}

// notQueued answers a sender whose request could not be queued. The error itself names directories
// and hosts, so it goes to the log, once until a request is queued again.
func (d *door) notQueued(err error) error {
	if !errors.Is(err, context.Canceled) && !d.failing.Swap(true) {
		d.log.Error("requests are refused", "error", err)
	}
	switch {
	case errors.Is(err, bus.ErrFull):
		return errors.New("the queue is full: the processor cannot keep up, /metrics shows which stage; retry later")
	case errors.Is(err, disk.ErrFull):
		return errors.New("the intake's disk is full (its log says where); make room and retry")
	case errors.Is(err, errStopping):
		return errStopping
	}
	return errors.New("the queue refuses writes, the intake's log says why; retry later")
}

func (d *door) refuse(w http.ResponseWriter, err error) {
	if errors.Is(err, wire.ErrTooLarge) {
		d.tooLarge.Add(1)
		web.Fail(w, http.StatusRequestEntityTooLarge, err)
		return
	}
	d.refused.Add(1)
	web.Fail(w, http.StatusBadRequest, err)
}

// ignore reads and drops a body within the bound.
func (d *door) ignore(w http.ResponseWriter, r *http.Request, _ caller) {
	most := d.bounds.Load().Limits.Body
	if n, err := io.Copy(io.Discard, io.LimitReader(r.Body, most+1)); err != nil || n > most {
		d.refuse(w, fmt.Errorf("%w: the body is longer than %d bytes", wire.ErrTooLarge, most))
		return
	}
	d.ignored.Add(1)
	web.JSON(w, http.StatusAccepted, map[string]string{"status": "ok"})
}

// writeRetry writes an answer that makes every sender retry.
func writeRetry(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", "1")
	web.Fail(w, http.StatusServiceUnavailable, err)
}
