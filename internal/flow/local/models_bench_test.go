package local

import (
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/llmtest"
)

// searching tells when the search begins.
func searching(begun func()) flow.Watcher {
	return func(e flow.Event) {
		if e.Stage != nil && e.Stage.Name == "search" {
			begun()
		}
	}
}

// BenchmarkModels says what a candidate that a model writes costs besides the
// model and the evaluation: a server that answers at once, an evaluator that
// takes no time; all else is real, HTTP and journals included. Run it with
// -benchtime=500x, =2000x and =10000x to see the growth.
func BenchmarkModels(b *testing.B) {
	server := llmtest.New(b, versions(0))
	s := spec(b, server.URL(), "test")
	s.Models.NoRules = true
	s.Candidates = max(b.N, 4)
	k := newKnown(0, 2)
	k.alone = true
	started := time.Now()
	var prepared, work time.Duration
	driver := k.driver(openStore(b, b.TempDir()), searching(func() { prepared, work = time.Since(started), processorTime() }))
	b.ResetTimer()
	if _, err := driver.Start(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(k.count.Load()) }
	b.ReportMetric(each(time.Since(started)-prepared), "ms/candidate")
	b.ReportMetric(each(processorTime()-work), "cpu-ms/candidate")
}

// BenchmarkOneSecond is a model that takes a second and an evaluation that
// takes a second, on two slots: 120 candidates a minute are the most.
func BenchmarkOneSecond(b *testing.B) {
	const candidates = 60
	for range b.N {
		server := llmtest.New(b, versions(time.Second))
		s := spec(b, server.URL(), "test")
		s.Models.NoRules, s.Candidates = true, candidates
		k := newKnown(time.Second, 2)
		var began time.Time
		if _, err := k.driver(openStore(b, b.TempDir()), searching(func() { began = time.Now() })).Start(b.Context(), s); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(k.count.Load())/time.Since(began).Minutes(), "candidates/min")
		if most := server.Stats().MostBusy; most > s.Models.InFlight {
			b.Fatalf("%d calls at once, %d allowed", most, s.Models.InFlight)
		}
	}
}
