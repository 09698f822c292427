package agent

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/beagle-go/beagle/metricsd/config"
)

func frameOf(lines string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(lines))), lines...)
}

// TestConnectionsShareWorkers opens many connections that have sent something and may send again.
// Each holds the buffer for its frame and a goroutine, and no parser's strings. Timers and earlier
// code take memory meanwhile, so the least of three rounds counts: what a connection holds is in
// each of them.
func TestConnectionsShareWorkers(t *testing.T) {
	const connections, goroutine = 64, 32 << 10
	c := testConfig(t)
	a, stop := runAgent(t, c)
	defer stop()
	each := math.MaxInt
	for round := range 3 {
		before := inUse()
		for i := range connections {
			dial(t, a, "unix").Write(frameOf("a:1|c|#k:v"))
			waitFor(t, func() string {
				if n := a.Counters.Metrics.Load(); n != uint64(round*connections+i+1) {
					return fmt.Sprintf("%d lines were taken", n)
				}
				return ""
			})
		}
		each = min(each, (inUse()-before)/connections)
		t.Logf("%d bytes a connection", each)
	}
	if limit := c.Listen.PacketSize + goroutine; each > limit {
		t.Errorf("%d bytes a connection, want at most %d", each, limit)
	}
	if n := a.stream.Connections(); n != 3*connections {
		t.Errorf("%d connections are open", n)
	}
}

// inUse returns the bytes of heap and stacks in use.
func inUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// TestInternerMissesAreShown checks that the page counts new strings over all workers, and does not
// count known ones.
func TestInternerMissesAreShown(t *testing.T) { inShapes(t, testInternerMisses) }

func testInternerMisses(t *testing.T, c config.Config) {
	a := startAgentWith(t, c)
	conn := dial(t, a, "udp")
	for range 3 {
		conn.Write([]byte("a:1|c|#k:v\nb:1|c|#k:v"))
	}
	waitFor(t, func() string {
		return missing(scrape(t, a), []string{`b_total{k="v"} 3`, "metricsd_interner_misses_total 3"})
	})
	dial(t, a, "unix").Write(frameOf("c:1|c"))
	waitFor(t, func() string {
		return missing(scrape(t, a), []string{"c_total 1", "metricsd_interner_misses_total 4"})
	})
}
