package intake

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/intake/bus"
	"github.com/beagle-go/beagle/metricsd/intake/index"
	"github.com/beagle-go/beagle/metricsd/intake/wire"
)

// forgetful is a real queue whose answers get lost: it takes messages and, on demand, reports that
// it did not.
type forgetful struct {
	bus.Bus
	lose atomic.Int64 // answers, from now on
}

func (f *forgetful) Publish(ctx context.Context, data []byte) error {
	err := f.Bus.Publish(ctx, data)
	if f.lose.Add(-1) >= 0 {
		return errors.Join(err, errors.New("the answer got lost"))
	}
	return err
}

// startForgetful opens an intake over such a queue.
func startForgetful(t *testing.T, dir string) (*running, *forgetful) {
	t.Helper()
	b, err := bus.OpenNATS(t.Context(), bus.NATSOptions{Dir: filepath.Join(dir, "queue"), Bytes: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	x, err := index.OpenPebble(index.PebbleOptions{Dir: filepath.Join(dir, "index")})
	if err != nil {
		t.Fatal(err)
	}
	f := &forgetful{Bus: b}
	return run(t, Options{Flush: 50 * time.Millisecond}, f, x), f
}

// counted waits until a metric has the given number of points.
func (r *running) counted(metric string, want uint64) {
	r.t.Helper()
	var last []entryJSON
	r.eventually(fmt.Sprintf("%d points counted under %s", want, metric), func() bool {
		r.get("/api/entries?name="+metric, &last)
		return len(last) == 1 && last[0].Points == want
	})
}

// settled is counted, but also checks that the count stays when everything sent has been processed.
func (r *running) settled(metric string, want uint64) {
	r.t.Helper()
	r.post(body("settled", "", 1))
	before := r.processor.counts.flushes.Load()
	r.eventually("written twice", func() bool { return r.processor.counts.flushes.Load() >= before+2 })
	r.counted(metric, want)
}

func TestARepeatedRequestCountsOnce(t *testing.T) {
	for name, test := range map[string]struct {
		header  []string
		known   bool // the intake recognises the repetition of an acknowledged request
		restart bool
	}{
		"nothing said":         {},
		"a key":                {header: []string{"Idempotency-Key", "k"}, known: true},
		"a key, restart":       {header: []string{"Idempotency-Key", "k"}, known: true, restart: true},
		"the agent":            {header: []string{"User-Agent", "datadog-agent/7.70.0"}, known: true},
		"the agent, restarted": {header: []string{"User-Agent", "datadog-agent/7.70.0"}, known: true, restart: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r, queue := startForgetful(t, dir)
			post := func(want int) {
				t.Helper()
				if got := r.status("POST", "/api/v1/series", body("app.once", "h", 5), test.header...); got != want {
					t.Fatalf("answered %d, want %d", got, want)
				}
			}
			queue.lose.Store(2)
			post(http.StatusServiceUnavailable)
			post(http.StatusServiceUnavailable)
			if test.restart {
				r.stop()
				r, _ = startForgetful(t, dir)
			}
			post(http.StatusAccepted)
			r.settled("app.once", 5)
			post(http.StatusAccepted)
			want := map[bool]uint64{true: 5, false: 10}[test.known]
			r.settled("app.once", want)
			if got := r.status("POST", "/api/v1/series", body("app.once", "other", 2),
				test.header...); got != http.StatusAccepted {
				t.Errorf("another body: answered %d", got)
			}
			r.settled("app.once", want+2)
		})
	}
}

// TestPartsOfALargeRequestCountOnce sends a request that becomes several messages. The queue has
// taken some of them when the answer is 503.
func TestPartsOfALargeRequestCountOnce(t *testing.T) {
	r, queue := startForgetful(t, t.TempDir())
	var large bytes.Buffer
	large.WriteString(`{"series":[`)
	const series = 14_000
	for i := range series {
		if i > 0 {
			large.WriteByte(',')
		}
		fmt.Fprintf(&large, `{"metric":"app.large","tags":["%s"],"points":[[1700000000,1]]}`,
			strings.Repeat("x", 700)+fmt.Sprint(i%10))
	}
	large.WriteString(`]}`)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(large.Bytes())
	w.Close()
	post := func() int { return r.status("POST", "/api/v1/series", packed.Bytes(), "Content-Encoding", "gzip") }
	queue.lose.Store(1)
	if got := post(); got != http.StatusServiceUnavailable {
		t.Fatalf("answered %d", got)
	}
	if got := post(); got != http.StatusAccepted {
		t.Fatalf("answered %d", got)
	}
	r.settled("app.large", series)
	if n := r.processor.counts.repeated.Load(); n == 0 {
		t.Error("nothing was repeated: the test shows nothing")
	}
}

// TestSendersThatSayTheSame checks that two senders may send equal bodies at the same time; each
// repeats its own.
func TestSendersThatSayTheSame(t *testing.T) {
	var u unanswered
	request, _ := http.NewRequest("POST", "/api/v1/series", nil)
	one, failed := u.identify(request, "", []byte("same"))
	other, failedToo := u.identify(request, "", []byte("same"))
	if one == other {
		t.Fatal("what is under way was taken for a repetition")
	}
	failed()
	failedToo()
	again, _ := u.identify(request, "", []byte("same"))
	andAgain, _ := u.identify(request, "", []byte("same"))
	third, _ := u.identify(request, "", []byte("same"))
	if again != one || andAgain != other || third == one || third == other {
		t.Error("repetitions did not get the IDs of what they repeat")
	}
	for i := range 3 * maxUnanswered {
		_, failed := u.identify(request, "", fmt.Append(nil, i))
		failed()
	}
	if len(u.ids) > maxUnanswered || len(u.oldest) > maxUnanswered {
		t.Errorf("%d and %d are remembered", len(u.ids), len(u.oldest))
	}
}

func TestRepeatsAreBounded(t *testing.T) {
	r := newRepeats(100, nil)
	id := func(i int) (id wire.ID) { binary.LittleEndian.PutUint64(id[:], uint64(i)+1); return id }
	var stored []index.Group
	for i := range 1000 {
		if r.isRepeat(id(i)) {
			t.Fatalf("%d was never seen", i)
		}
		if !r.isRepeat(id(i)) || i > 60 && !r.isRepeat(id(i-60)) {
			t.Fatalf("at %d: what was counted lately is not known", i)
		}
		if r.isFull() || i%7 == 0 {
			g, before := r.group()
			r.noteWritten(g, before)
			stored = append(stored, g)
			for stored[0].Number < before {
				stored = stored[1:]
			}
		}
		if len(r.known) > 125 {
			t.Fatalf("at %d: %d are known", i, len(r.known))
		}
	}
	if again := newRepeats(100, stored); !again.isRepeat(id(990)) || again.isRepeat(id(0)) {
		t.Error("after a restart others are known")
	}
	for range 2 {
		if r.isRepeat(wire.ID{}) {
			t.Error("what nobody named was taken for a repetition")
		}
	}
}

// forgetfulIndex is a real index whose answers get lost.
type forgetfulIndex struct {
	index.Index
	lose atomic.Int64
}

func (f *forgetfulIndex) Apply(ctx context.Context, c index.Change) error {
	err := f.Index.Apply(ctx, c)
	if len(c.Read) > 0 && f.lose.Add(-1) >= 0 {
		return errors.Join(err, errors.New("the answer got lost"))
	}
	return err
}

// TestALostAnswerOfTheIndex makes changes that are written and not acknowledged, while more is
// counted.
func TestALostAnswerOfTheIndex(t *testing.T) {
	b, err := bus.OpenNATS(t.Context(), bus.NATSOptions{Dir: t.TempDir(), Bytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	x, err := index.OpenPebble(index.PebbleOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	f := &forgetfulIndex{Index: x}
	r := run(t, Options{Flush: 20 * time.Millisecond}, b, f)
	for range 2 {
		f.lose.Store(2)
		r.post(body("app.lost", "h", 5))
		r.eventually("lost", func() bool { return f.lose.Load() < 1 })
		r.post(body("app.lost", "h", 5))
		r.eventually("settled", func() bool { return f.lose.Load() < 0 })
	}
	r.settled("app.lost", 20)
	if n := r.processor.counts.failures.Load(); n < 4 {
		t.Errorf("%d answers got lost, want 4", n)
	}
}
