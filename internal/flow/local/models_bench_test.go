package local

import (
	"fmt"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/internal/rt"
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
// model and the evaluation, on average and for the last tenth of the candidates:
// a server that answers at once, an evaluator that takes no time; all else is
// real, HTTP and journals included. The server shares the process, and its work
// is in the figures. `go run ./bench/figures models` reads it.
func BenchmarkModels(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				benchmarkModels(b, n)
			}
		})
	}
}

func benchmarkModels(b *testing.B, n int) {
	server := llmtest.New(b, versions(0))
	s := spec(b, server.URL(), "test")
	s.Models.NoRules, s.Candidates = true, n
	k := newKnown(0, 2)
	k.alone = true
	var began, tenth time.Time
	var work time.Duration
	late := int64(0)
	begun := searching(func() { began, work = time.Now(), rt.ProcessCPU() })
	watch := func(e flow.Event) {
		begun(e)
		if e.Evaluated != nil && late == 0 && e.Evaluated.Candidates >= n*9/10 {
			tenth, late = time.Now(), k.count.Load()
		}
	}
	if _, err := k.driver(openStore(b, b.TempDir()), watch).Start(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	end, count := time.Now(), k.count.Load()
	b.ReportMetric(float64(count), "candidates")
	b.ReportMetric(ms(end.Sub(began))/float64(count), "ms/candidate")
	b.ReportMetric(ms(rt.ProcessCPU()-work)/float64(count), "cpu-ms/candidate")
	b.ReportMetric(ms(end.Sub(tenth))/float64(max(count-late, 1)), "ms/late-candidate")
}

// BenchmarkOneSecond searches with a model and an evaluation that take a second each, on two slots:
// 120 candidates a minute are the most.
func BenchmarkOneSecond(b *testing.B) {
	const candidates = 60
	for range b.N {
		server := llmtest.New(b, versions(time.Second))
		s := spec(b, server.URL(), "test")
		s.Models.NoRules, s.Candidates = true, candidates
		k := newKnown(time.Second, 2)
		var began time.Time
		if _, err := k.driver(openStore(b, b.TempDir()), searching(func() { began = time.Now() })).
			Start(b.Context(), s); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(k.count.Load())/time.Since(began).Minutes(), "candidates/min")
		if most := server.Stats().MostBusy; most > s.Models.InFlight {
			b.Fatalf("%d calls at once, %d allowed", most, s.Models.InFlight)
		}
	}
}
