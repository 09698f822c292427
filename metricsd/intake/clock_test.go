package intake

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/intake/bus"
	"github.com/beagle-go/beagle/metricsd/intake/index"
	"github.com/beagle-go/beagle/metricsd/intake/wire"
)

// A clock that a test sets. Its times have no monotonic part, so that a jump is one.
type clock struct{ seconds atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.seconds.Store(1_800_000_000)
	return c
}

func (c *clock) now() time.Time       { return time.Unix(c.seconds.Load(), 0) }
func (c *clock) jump(d time.Duration) { c.seconds.Add(int64(d / time.Second)) }

// at opens a processor over a real queue and a real index. It does not run: the test calls its
// steps.
func at(t testing.TB, c *clock, o Options) *processor {
	t.Helper()
	b, err := bus.OpenNATS(t.Context(), bus.NATSOptions{Dir: t.TempDir(), Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	x, err := index.OpenPebble(index.PebbleOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close(); x.Close() })
	o.Now = c.now
	p := newProcessor(o.withDefaults(), b, x, slog.New(slog.DiscardHandler))
	if err := p.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

var jumps = []time.Duration{5 * time.Hour, -9 * time.Hour, 40 * 24 * time.Hour, -40 * 24 * time.Hour, -3 * time.Hour, 0}

// TestClockJumps posts to a running intake while its clock is set by hours and days.
func TestClockJumps(t *testing.T) {
	c := newClock()
	r := start(t, t.TempDir(), Options{Now: c.now, Flush: 50 * time.Millisecond})
	for i, d := range jumps {
		c.jump(d)
		for range 20 {
			r.post(body("app.jumps", "h", 3))
		}
		want := uint64(60 * (i + 1))
		r.eventually("counted", func() bool {
			var e []entryJSON
			r.get("/api/entries?name=app.jumps", &e)
			return len(e) == 1 && e[0].Points == want
		})
		name := "jump.n" + string(rune('a'+i))
		r.post(body(name, "h", 1))
		r.eventually("new names found", func() bool { return len(r.names("prefix="+name)) == 1 })
	}
}

// oneParcel returns a message with some points under a name of a customer.
func oneParcel(customer, name string, points int) batch {
	s := wire.Series{Metric: name, Kind: wire.Gauge, Points: make([]wire.Point, points)}
	return batch{bus.Message{}, []wire.Parcel{{Customer: customer, Series: []wire.Series{s}}}}
}

// TestNothingIsForgottenByAWrongClock checks rates and forgetting.
func TestNothingIsForgottenByAWrongClock(t *testing.T) {
	c := newClock()
	p := at(t, c, Options{Remember: 2 * time.Hour, Retention: 24 * time.Hour})
	read := int64(0)
	one := func(name string) { // ten points, written after a minute
		read++
		s := wire.Series{Metric: name, Kind: wire.Gauge, Points: make([]wire.Point, 10)}
		p.take(batch{bus.Message{Place: read}, []wire.Parcel{{Series: []wire.Series{s}}}})
		c.jump(time.Minute)
		p.flush(t.Context())
	}
	entry := func(name string) (index.Entry, bool) {
		e, ok, err := p.index.Get(t.Context(), "", index.Metric, name)
		if err != nil {
			t.Fatal(err)
		}
		return e, ok
	}
	one("kept")
	for i, d := range jumps {
		c.jump(d)
		p.forget(t.Context(), c.now())
		if _, ok := entry("kept"); !ok {
			t.Fatalf("after a jump by %v what was there is forgotten", d)
		}
		one("steady")
		e, _ := entry("steady")
		if e.Points != uint64(10*(i+1)) || e.At != c.now().Unix() {
			t.Errorf("after a jump by %v: %+v", d, e)
		}
		one("again") // the first rate after a jump may be wrong, the next is right
		if e, _ := entry("again"); e.Rate != 10.0/60 {
			t.Errorf("after a jump by %v the rate is %v", d, e.Rate)
		}
	}
	for range 50 { // two days at the right pace
		c.jump(epochLength)
		one("steady")
		c.jump(-time.Minute)
		p.forget(t.Context(), c.now())
	}
	if _, ok := entry("steady"); !ok {
		t.Error("what is seen all the time is forgotten")
	}
	if _, ok := entry("kept"); ok {
		t.Error("what was not seen for two days is kept")
	}
	if known, _ := p.history.Len(); known != 1 {
		t.Errorf("the history knows %d names, want the steady one", known)
	}
}
