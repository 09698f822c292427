package agent

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/config"
	"github.com/beagle-go/beagle/metricsd/expose"
)

// points is a sink that keeps everything.
type points struct {
	mu  sync.Mutex
	all []aggregate.Point
}

func (p *points) Send(f aggregate.Flush) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, f.Points...)
}

func (p *points) OwnMetrics(*expose.Page) {}

func (p *points) WantsEvents() bool { return false }

// TestClockJumps sends to a running agent while its clock is set by hours: every count
// comes out once, in a bucket of the time that the clock showed, and no context expires.
func TestClockJumps(t *testing.T) { inShapes(t, testClockJumps) }

func testClockJumps(t *testing.T, c config.Config) {
	c.Limits.Expiry = 3
	var sink points
	a, err := New(c, slog.New(slog.DiscardHandler), &sink)
	if err != nil {
		t.Fatal(err)
	}
	var seconds atomic.Int64
	seconds.Store(1_800_000_003)
	a.now = func() time.Time { return time.Unix(seconds.Load(), 0) }
	stop := runOpened(t, a)
	defer stop()
	conn := dial(t, a, "unixgram")
	want := map[int64]float64{}
	for i, jump := range []time.Duration{0, 5 * time.Hour, -9 * time.Hour, -40 * 24 * time.Hour, 90 * 24 * time.Hour,
		time.Second} {
		now := seconds.Add(int64(jump / time.Second))
		want[now-now%10] += float64(i + 1)
		fmt.Fprintf(conn, "a:%d|c\nb:1|g", i+1)
		waitFor(t, func() string {
			if a.Counters.Metrics.Load() < uint64(2*(i+1)) {
				return "the lines"
			}
			return ""
		})
		a.send(a.Aggregator.Flush(a.now().Unix()))
		if n := a.Aggregator.Stats().Contexts; n != 2 {
			t.Errorf("after a jump by %v: %d contexts", jump, n)
		}
	}
	stop()
	got := map[int64]float64{}
	for _, p := range sink.all {
		if p.Name == "a" {
			got[p.Time] += p.Value
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTheNextFlushIsNeverFar(t *testing.T) {
	for _, now := range []time.Time{{}, time.Unix(-1, 0), time.Unix(0, 0), time.Unix(1_800_000_000, 0),
		time.Unix(1_800_000_009, 999_999_999), time.Unix(1<<40, 1)} {
		if d := untilNextBucket(now); d <= 0 || d > 10*time.Second {
			t.Errorf("at %v the next flush is in %v", now, d)
		}
	}
}
