// Package follow follows servers that report changes: first a list, then a stream with one JSON
// value on each line.
package follow

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/beagle-go/beagle/metricsd/wait"
)

// A Follower asks repeatedly, and counts failures. The zero value is ready.
type Follower struct {
	Name string // of the source, for the log
	Log  *slog.Logger
	// FirstPause and LastPause bound the pause after a failure; a second and a minute unless set.
	FirstPause, LastPause time.Duration

	up       atomic.Bool
	missed   atomic.Bool // a miss was logged since the last call of once
	failures atomic.Uint64
}

// Up reports whether the source answers, and how many requests failed or returned nonsense.
func (f *Follower) Up() (up bool, failures uint64) { return f.up.Load(), f.failures.Load() }

// Miss counts a failure of one item while the stream goes on. It logs the first after each call of
// once.
func (f *Follower) Miss(what string, err error) {
	f.failures.Add(1)
	if f.missed.CompareAndSwap(false, true) {
		f.Log.Warn("the stream of tags lacks a change; the next list brings it",
			"source", f.Name, "what", what, "error", err)
	}
}

// Run calls once until ctx is done. Once calls up when it has the whole list. If once returns no
// error, the stream has ended: Run calls it again, at once unless the stream was short. After a
// failure Run pauses, twice as long with each. Only after the source was up for longer than the
// pause does it begin with the first pause again, and log the next failure.
func (f *Follower) Run(ctx context.Context, once func(ctx context.Context, up func()) error) {
	first, last := f.FirstPause, f.LastPause
	if first == 0 {
		first = time.Second
	}
	if last == 0 {
		last = time.Minute
	}
	pause, told := first, false
	var proof *probation // since the source came up; nil while it is not
	defer func() { proof.end() }()
	for ctx.Err() == nil {
		began := time.Now()
		f.missed.Store(false)
		err := once(ctx, func() {
			// Up begins a probation: a source that fails soon after each start would otherwise
			// count as well each time, and would be asked, and logged, without a pause.
			f.up.Store(true)
			if proof == nil {
				proof = f.try(pause, told)
			}
		})
		// The end of a stream is normal. After a stream that ends at once, wait, so that it costs a
		// request a second and not a core.
		if err == nil || ctx.Err() != nil {
			wait.For(ctx, first-time.Since(began))
			continue
		}
		f.up.Store(false)
		f.failures.Add(1)
		// It was up for longer than the pause: this is a new failure, not the same one.
		if proof.end() {
			pause, told = first, false
		}
		proof = nil
		// Log once: a source that is down for a day has one line in the log, and the counter has
		// the rest.
		if !told {
			f.Log.Warn("the source of tags fails; what is known stays, trying again", "source", f.Name, "error", err)
			told = true
		}
		// Add chance, so that agents that lost the same server do not return in the same moment.
		wait.For(ctx, pause/2+rand.N(pause/2+1))
		pause = min(2*pause, last)
	}
	f.up.Store(false)
}

// A probation is the time in which a source must stay up before it counts as one that answers: a
// list alone proves nothing when each stream after it fails.
type probation struct {
	timer  *time.Timer
	passed chan struct{}
}

// try begins a probation. If the source's failure was logged, passing the probation logs its
// return.
func (f *Follower) try(length time.Duration, told bool) *probation {
	answers := func() { f.Log.Info("the source of tags answers", "source", f.Name) }
	if !told {
		answers()
	}
	t := &probation{passed: make(chan struct{})}
	t.timer = time.AfterFunc(length, func() {
		defer close(t.passed)
		if told {
			answers()
		}
	})
	return t
}

// end ends a probation, if there is one, and reports whether it was passed.
func (t *probation) end() bool {
	if t == nil || t.timer.Stop() {
		return false
	}
	<-t.passed
	return true
}

const (
	// MaxBody bounds an answer, and MaxLine one line of a stream.
	MaxBody = 64 << 20
	MaxLine = 4 << 20
)

// A StatusError is an answer with a status other than success.
type StatusError struct {
	Status int
	Text   string // the beginning of its body
}

func (e *StatusError) Error() string { return fmt.Sprintf("status %d: %s", e.Status, e.Text) }

// Open asks and returns the body of a successful answer; the caller closes it.
func Open(client *http.Client, r *http.Request) (io.ReadCloser, http.Header, error) {
	resp, err := client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
		return nil, nil, &StatusError{resp.StatusCode, string(bytes.TrimSpace(text))}
	}
	return resp.Body, resp.Header, nil
}

// ErrTooLong says that an answer, or a line, exceeds its bound.
var ErrTooLong = errors.New("the answer is too long")

// JSON reads a whole answer.
func JSON(body io.Reader, v any) error {
	text, err := io.ReadAll(io.LimitReader(body, MaxBody+1))
	if err != nil {
		return err
	}
	if len(text) > MaxBody {
		return ErrTooLong
	}
	return json.Unmarshal(text, v)
}

// Lines calls do with each line of a stream that is not empty, until the stream ends or do fails.
func Lines(stream io.Reader, do func(line []byte) error) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, MaxLine)
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			if err := do(line); err != nil {
				return err
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return ErrTooLong
	}
	return lines.Err()
}
