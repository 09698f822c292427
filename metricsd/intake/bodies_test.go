package intake

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime"
	"testing"

	"github.com/beagle-go/beagle/metricsd/intake/bus"
)

// sink is a queue that keeps nothing.
type sink struct{ bus.Bus }

func (sink) Publish(context.Context, []byte) error { return nil }

// TestHundredThousandBodies posts bodies of all kinds with bytes changed, cut out and doubled. The
// intake must accept each, or refuse it with a reason, and its memory must not grow.
func TestHundredThousandBodies(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 5_000
	}
	w := newBatcher(sink{})
	defer w.close()
	d := newDoor(Options{}.withDefaults(), w, slog.New(slog.DiscardHandler))
	mux := http.NewServeMux()
	d.handle(mux)
	seeds := [][]byte{manyNames(1), body("a.b", "h", 3, "t:x"), {}, []byte("{}"), {10, 4, 18, 2, 'a', 'b'},
		bytes.Repeat([]byte{10, 2, 18, 0}, 50)}
	paths := []string{"/api/v1/series", "/api/v2/series", "/api/beta/sketches", "/api/v1/check_run", "/intake/"}
	encodings := []string{"", "", "", "deflate", "gzip", "zstd", "br"}
	rng := rand.New(rand.NewPCG(7, 7))
	seen := map[int]int{}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		b := spoil(rng, seeds[rng.IntN(len(seeds))])
		r, _ := http.NewRequest("POST", paths[rng.IntN(len(paths))], bytes.NewReader(b))
		r.Header.Set("Content-Encoding", encodings[rng.IntN(len(encodings))])
		if rng.IntN(2) == 0 {
			r.Header.Set("Content-Type", "application/json")
		}
		a := &answer{header: http.Header{}}
		mux.ServeHTTP(a, r)
		seen[a.status]++
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	for status := range seen {
		if status != 202 && status != 400 && status != 413 {
			t.Errorf("%d bodies were answered with %d", seen[status], status)
		}
	}
	if seen[202] == 0 || seen[400] == 0 {
		t.Errorf("answers: %v", seen)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("the heap grew by %d MB", grown>>20)
	}
	t.Logf("answers: %v", seen)
}

// spoil changes a few places of a body.
func spoil(rng *rand.Rand, body []byte) []byte {
	b := bytes.Clone(body)
	for range rng.IntN(5) {
		if len(b) == 0 {
			return []byte{byte(rng.Uint32())}
		}
		i := rng.IntN(len(b))
		switch rng.IntN(4) {
		case 0:
			b[i] = byte(rng.Uint32())
		case 1:
			b = b[:i]
		case 2:
			b = append(b[:i], b[min(len(b), i+rng.IntN(20)):]...)
		case 3:
			b = append(b[:i], append(bytes.Clone(b[i:min(len(b), i+50)]), b[i:]...)...)
		}
	}
	return b
}
