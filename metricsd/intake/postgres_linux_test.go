//go:build !embedded

package intake

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/intake/bus"
	"github.com/beagle-go/beagle/metricsd/intake/index"
	"github.com/beagle-go/beagle/metricsd/intake/index/pgtest"
)

// TestKilledDatabase kills PostgreSQL at random moments, while senders post and the processor
// writes as often as it can. The senders notice nothing, and in the end every point is counted,
// once.
func TestKilledDatabase(t *testing.T) {
	server := pgtest.Start(t)
	b, err := bus.OpenNATS(t.Context(), bus.NATSOptions{Dir: t.TempDir(), Bytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	x, err := index.OpenPostgres(t.Context(), server.Address)
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, Options{Flush: time.Millisecond}, b, x)
	ctx, stop := context.WithCancel(t.Context())
	var sent atomic.Uint64
	var senders sync.WaitGroup
	for s := range 3 {
		senders.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if got := r.status("POST", "/api/v1/series",
					body(fmt.Sprintf("killed.s%d.n%d", s, i%50), "h", 2)); got != 202 {
					t.Errorf("a sender was answered %d", got)
				}
				sent.Add(2)
			}
		})
	}
	kills := 5
	if testing.Short() {
		kills = 1
	}
	for range kills {
		time.Sleep(200*time.Millisecond + rand.N(300*time.Millisecond))
		server.Kill()
		time.Sleep(rand.N(200 * time.Millisecond))
		server.Run()
	}
	stop()
	senders.Wait()
	counted := func() uint64 {
		e, _, err := x.Get(t.Context(), "", index.App, "killed")
		if err != nil {
			t.Fatal(err)
		}
		return e.Points
	}
	r.eventually("counted", func() bool { return counted() >= sent.Load() })
	r.post(body("settled", "", 1))
	before := r.processor.counts.flushes.Load()
	r.eventually("written twice", func() bool { return r.processor.counts.flushes.Load() >= before+2 })
	if got := counted(); got != sent.Load() {
		t.Errorf("%d points sent, %d counted", sent.Load(), got)
	}
	t.Logf("%d kills, %d points sent, %d counted, %d writings failed", kills, sent.Load(), counted(),
		r.processor.counts.failures.Load())
}
