package harness

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

// BenchmarkBatch builds batches around the normaliser of the included
// example and replays each version once. ms/cand is the price of a candidate;
// its parts are those of Binary, and run/cand is the replay of one call in the
// sandbox.
func BenchmarkBatch(b *testing.B) {
	_, here, _, _ := runtime.Caller(0)
	u, err := source.Load(b.Context(), source.Options{
		Dir:  filepath.Join(filepath.Dir(here), "../.."),
		Spec: "./examples/tags.NormalizeTagArbTagValue",
	})
	if err != nil {
		b.Fatal(err)
	}
	box, err := sandbox.New(sandbox.Options{})
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	builder, err := NewBuilder(b.Context(), u, box, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("NewBuilder: %v", time.Since(start).Round(time.Millisecond))
	f := &fixture{u, box, builder}
	start = time.Now()
	f.build(b, Link{FuncAlign: 64})
	b.Logf("first batch, with the main package: %v", time.Since(start).Round(time.Millisecond))
	calls := records(b, struct{ A0 string }{"env:prod"})
	for _, k := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("K=%d", k), func(b *testing.B) { f.batches(b, k, calls) })
	}
}

func (f *fixture) batches(b *testing.B, k int, calls map[string]string) {
	var prepare, compile, link, inspect, run time.Duration
	for round := 0; b.Loop(); round++ {
		var candidates []string
		for i := range k {
			candidates = append(candidates,
				strings.Replace(f.u.Target.Source, "= 200", fmt.Sprintf("= %d", 200+1000*round+i), 1))
		}
		bin := f.build(b, Link{FuncAlign: 64}, candidates...)
		prepare, compile, link, inspect = prepare+bin.Prepare, compile+bin.Compile, link+bin.LinkTime,
			inspect+bin.Inspect
		start := time.Now()
		for i := range k {
			q := rt.Request{Replay: &rt.Replay{Variant: i + 1, Records: []string{"records"}}}
			if exit, err := bin.Run(b.Context(), f.box, &q, nil, RunOptions{CPU: -1, Files: calls}); exit != nil ||
				err != nil {
				b.Fatal(exit, err)
			}
		}
		run += time.Since(start)
		b.StopTimer()
		bin.Remove()
		b.StartTimer()
	}
	per := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(b.N) / float64(k) }
	b.ReportMetric(per(prepare+compile+link), "build-ms/cand")
	b.ReportMetric(per(prepare), "prepare-ms/cand")
	b.ReportMetric(per(compile), "compile-ms/cand")
	b.ReportMetric(per(link), "link-ms/cand")
	b.ReportMetric(per(inspect), "inspect-ms/cand")
	b.ReportMetric(per(run), "run-ms/cand")
	b.ReportMetric(0, "ns/op")
}
