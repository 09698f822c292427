// Package deliver posts payloads over HTTP, each until it has been accepted.
//
// Every payload goes to a queue on disk first and is removed when it has been accepted. So an
// outage, a restart or a crash loses no payload within the queue's bound, and payloads go in their
// order. Payloads that are refused for good (400, 413) are dropped and counted: sending them again
// would block the others for ever. So is what goes to an optional path of which the receiver knows
// nothing (404, 405, 501). Anything else, a wrong key included, is tried again after a pause that
// doubles from 1 s to a minute.
//
// While the disk is full payloads wait in memory, up to 16 MB, the oldest are dropped first, and
// are posted from there once the queue is empty. Payloads that still wait there when the process
// ends are lost, and counted.
//
// Payloads say themselves how to post them: after a restart the configuration may be
// another. Where to, and the key, are the configuration's.
//
// # Limits
//
// Delivery is at least once: an answer may get lost on its way. Every payload has a key that
// it keeps for good, and which is sent as Idempotency-Key: a receiver that looks at it, as
// `metricsd intake` does, takes each once.
package deliver

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beagle-go/beagle/metricsd/expose"
	"github.com/beagle-go/beagle/metricsd/queue"
	"github.com/beagle-go/beagle/metricsd/wait"
)

// Options say where to post and how.
type Options struct {
	// URL is what stands before a payload's path.
	URL string
	// Header is sent with every payload.
	Header map[string]string
	// FirstPause and LastPause bound the pause before a payload is tried again.
	FirstPause, LastPause time.Duration
	// Timeout bounds one request.
	Timeout time.Duration
	// Optional are paths that not every receiver knows. Payloads that it answers there with 404,
	// 405 or 501 are dropped, counted, and logged once a path. On other paths these answers count
	// as a mistake in the configuration, and the payload is kept.
	Optional []string
}

// Form says how a payload is to be posted.
type Form struct{ Path, ContentType, Encoding string }

// Sender posts the payloads of one queue.
type Sender struct {
	options Options
	queue   *queue.Queue
	client  *http.Client
	log     *slog.Logger

	// unknown are the optional paths that the receiver has rejected as unknown. Only deliver uses
	// it.
	unknown map[string]bool

	mu    sync.Mutex
	held  [][]byte // payloads that the disk had no room for, the oldest first
	bytes int      // of held
	// posting says that the first of held is being posted: it must stay the first.
	posting bool
	waiting chan struct{} // receives after payloads have been held

	sent, retried, refused, lost atomic.Uint64
}

// Stats are a sender's counters.
type Stats struct {
	Sent, Retried, Refused, Lost uint64
	Held                         int // payloads that wait in memory
	Queue                        queue.Stats
}

// New checks the URL. Zero durations become 1 s, a minute and 10 s.
func New(o Options, q *queue.Queue, log *slog.Logger) (*Sender, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not a URL to post to; give one like http://127.0.0.1:8428", o.URL)
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
	// A redirect could carry the key to an unknown host.
	client := &http.Client{
		Timeout:       o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Sender{options: o, queue: q, client: client, log: log, unknown: make(map[string]bool),
		waiting: make(chan struct{}, 1)}, nil
}

// Put puts a payload into the queue. The first line on disk is its form and its key.
func (s *Sender) Put(f Form, body []byte) {
	payload := append(fmt.Appendf(nil, "%s\t%s\t%s\t%s\n", f.Path, f.ContentType, f.Encoding, rand.Text()), body...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.bytes = append(s.held, payload), s.bytes+len(payload)
	if err := s.settle(); err != nil {
		s.log.Error("payloads wait in memory", "payloads", len(s.held), "error", err)
	}
	for s.bytes > maxHeld && len(s.held) > s.firstWaiting() {
		s.lose(s.firstWaiting(), errors.New("no room on disk, nor in memory; make room or lower queue_bytes"))
	}
	if len(s.held) > 0 {
		select {
		case s.waiting <- struct{}{}:
		default:
		}
	}
}

// firstWaiting returns the index in held of the first payload that is not being posted; the lock is
// held.
func (s *Sender) firstWaiting() int {
	if s.posting {
		return 1
	}
	return 0
}

// maxHeld bounds the bytes that wait in memory.
const maxHeld = 16 << 20

// settle moves held payloads to the disk, until there is no room; the lock is held. It moves
// nothing while the first is being posted: that payload would be sent after newer ones, or twice.
func (s *Sender) settle() error {
	for len(s.held) > 0 && !s.posting {
		err := s.queue.Put(s.held[0])
		switch {
		case errors.Is(err, queue.ErrTooLarge):
			s.lose(0, err)
		case err != nil:
			return err
		default:
			s.release(0)
		}
	}
	return nil
}

func (s *Sender) release(i int) {
	s.bytes -= len(s.held[i])
	s.held = slices.Delete(s.held, i, i+1)
}

func (s *Sender) lose(i int, err error) {
	s.release(i)
	s.lost.Add(1)
	s.log.Error("a payload is lost", "error", err)
}

// Run delivers until ctx is done. It finishes a request under way: a request that was cut off might
// have been accepted, and would be sent twice.
func (s *Sender) Run(ctx context.Context) {
	pause := s.options.FirstPause
	for ctx.Err() == nil {
		empty, err := s.deliver()
		switch {
		case err != nil:
			s.retried.Add(1)
			s.log.Warn("not delivered; trying again", "pause", pause, "error", err)
			wait.For(ctx, pause/2+mathrand.N(pause/2+1))
			pause = min(2*pause, s.options.LastPause)
		case empty:
			select {
			case <-ctx.Done():
			case <-s.queue.Added():
			case <-s.waiting:
			}
		default:
			pause = s.options.FirstPause
		}
	}
}

// Finish delivers payloads until the first failure or the end of ctx; the rest stays on disk for
// the next start. Call it after Run.
func (s *Sender) Finish(ctx context.Context) {
	defer s.giveUp()
	for ctx.Err() == nil {
		if empty, err := s.deliver(); empty || err != nil {
			return
		}
	}
}

// giveUp tries the disk a last time and counts as lost the payloads that it does not take.
func (s *Sender) giveUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for err := s.settle(); len(s.held) > 0; {
		s.lose(0, err)
	}
}

// deliver tries the oldest payload. After an error it must be tried again.
func (s *Sender) deliver() (empty bool, _ error) {
	s.mu.Lock()
	s.settle() // Put has told of a failure
	s.mu.Unlock()
	payload, id, ok := s.queue.Oldest()
	if !ok {
		return s.deliverHeld()
	}
	if err := s.try(payload); err != nil {
		return false, err
	}
	return false, s.queue.Remove(id)
}

// deliverHeld tries the oldest payload in memory. Payloads on disk are older, and go first.
func (s *Sender) deliverHeld() (empty bool, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) == 0 {
		return true, nil
	}
	s.posting = true
	payload := s.held[0]
	s.mu.Unlock()
	err := s.try(payload)
	s.mu.Lock()
	s.posting = false
	if err == nil {
		s.release(0)
	}
	return false, err
}

// try posts a payload; without an error it has been accepted, or refused for good.
func (s *Sender) try(payload []byte) error {
	err := s.post(payload)
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		s.refused.Add(1)
		s.tell(refused)
	case err != nil:
		return err
	default:
		s.sent.Add(1)
	}
	return nil
}

// tell logs a refusal; for an unknown path only once, since every flush would repeat it.
func (s *Sender) tell(refused *refusedError) {
	switch {
	case refused.unknown == "":
		s.log.Error("a payload was refused for good and is dropped", "error", refused)
	case !s.unknown[refused.unknown]:
		s.unknown[refused.unknown] = true
		s.log.Warn("the receiver does not know this path; what goes there is dropped and counted, turn it off", "path",
			refused.unknown, "error", refused)
	}
}

// refusedError is an answer that another attempt would not change.
type refusedError struct {
	status  string
	unknown string // the optional path that the receiver does not know
}

func (e *refusedError) Error() string { return e.status }

// post sends a payload of the queue. A repeated request has the same idempotency key.
func (s *Sender) post(payload []byte) error {
	form, body, _ := bytes.Cut(payload, []byte("\n"))
	parts := strings.Split(string(form), "\t")
	if len(parts) != 4 {
		return &refusedError{status: "a payload in the queue is of no known form"}
	}
	request, err := http.NewRequest(http.MethodPost, s.options.URL+parts[0], bytes.NewReader(body))
	if err != nil {
		return &refusedError{status: err.Error()}
	}
	request.Header.Set("Content-Type", parts[1])
	request.Header.Set("User-Agent", "metricsd")
	request.Header.Set("Idempotency-Key", parts[3])
	if parts[2] != "" {
		request.Header.Set("Content-Encoding", parts[2])
	}
	for name, value := range s.options.Header {
		request.Header.Set(name, value)
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return s.judge(answer, parts[0])
}

// judge returns a *refusedError if the request must not be repeated, and another error if it may.
func (s *Sender) judge(answer *http.Response, path string) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 256))
	status := fmt.Sprintf("%s %q", answer.Status, text)
	switch {
	case answer.StatusCode/100 == 2:
		return nil
	case answer.StatusCode == http.StatusBadRequest, answer.StatusCode == http.StatusRequestEntityTooLarge:
		return &refusedError{status: status}
	case slices.Contains(unknownPath, answer.StatusCode) && slices.Contains(s.options.Optional, path):
		return &refusedError{status, path}
	}
	return errors.New(status)
}

// unknownPath are the answers of a receiver that does not know a path.
var unknownPath = []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}

// Stats returns the counters and the queue's.
func (s *Sender) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{s.sent.Load(), s.retried.Load(), s.refused.Load(), s.lost.Load(), len(s.held), s.queue.Stats()}
}

// OwnMetrics writes the sender's metrics about itself; name tells senders apart.
func (s *Sender) OwnMetrics(p *expose.Page, name string) {
	stats := s.Stats()
	for _, m := range []struct {
		name, kind, help string
		value            float64
	}{
		{"payloads_sent_total", "counter", "Payloads accepted.", float64(stats.Sent)},
		{"retries_total", "counter", "Attempts that failed and are made again.", float64(stats.Retried)},
		{"payloads_refused_total", "counter", "Payloads dropped because they were refused for good.",
			float64(stats.Refused)},
		{"payloads_lost_total", "counter", "Payloads that found no room on disk, nor in memory.", float64(stats.Lost)},
		{"held_payloads", "gauge", "Payloads that wait in memory because the disk is full.", float64(stats.Held)},
		{"queue_overflowed_total", "counter", "Payloads dropped, oldest first, because the queue was full.",
			float64(stats.Queue.Overflowed)},
		{"queue_damaged_total", "counter", "Payloads dropped because a checksum did not match.",
			float64(stats.Queue.Damaged)},
		{"queue_payloads", "gauge", "Payloads that wait on disk.", float64(stats.Queue.Items)},
		{"queue_bytes", "gauge", "Their bytes.", float64(stats.Queue.Bytes)},
	} {
		p.OwnMetric("metricsd_"+name+"_"+m.name, m.kind, m.help, expose.Value{Value: m.value})
	}
}
