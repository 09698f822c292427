package flow

import (
	"math"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inplace"
)

// TestScoreReadsBack checks that what a run prints of its score means the same score.
func TestScoreReadsBack(t *testing.T) {
	for _, x := range []struct{ score, bench, text string }{
		{"time", "", "time"}, {"allocs", "", "allocs"}, {"bytes=5", "", "bytes"},
		{"time=7,allocs=3", "", "time=0.7,allocs=0.3"}, {"time,allocs,bytes", "", "time=0.3333,allocs=0.3333,bytes=0.3333"},
		{"", "BenchmarkA", "time in BenchmarkA"},
		{"allocs", "x.org/m.BenchmarkA=3, BenchmarkB", "allocs in x.org/m.BenchmarkA=0.75,BenchmarkB=0.25"},
	} {
		var s, again beagle.Score
		read(t, &s, x.score, x.bench)
		if s.String() != x.text {
			t.Errorf("%q, %q is %q, want %q", x.score, x.bench, s, x.text)
		}
		read(t, &again, s.Quantity(), s.Where())
		if again.String() != x.text || s.IsZero() != (x.text == "time") {
			t.Errorf("%q reads back as %q", s, again)
		}
	}
}

func read(t *testing.T, s *beagle.Score, score, bench string) {
	t.Helper()
	if score != "" {
		if err := ParseScore(score, s); err != nil {
			t.Fatal(err)
		}
	}
	if bench != "" {
		if err := ParseBenchmarks(bench, s); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBadScores(t *testing.T) {
	var s beagle.Score
	for text, want := range map[string]string{
		"": "missing", "speed": "no score", "time=0": "above 0", "time=-1": "above 0", "time=NaN": "above 0",
		"time=Inf": "above 0", "allocs=a": "above 0", "time,time=2": "twice", "time,,bytes": "missing",
	} {
		if err := ParseScore(text, &s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--score %q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"Parse": "not a benchmark", "BenchmarkX/sub": "sub-benchmark", "BenchmarkX=1,BenchmarkX": "twice",
	} {
		if err := ParseBenchmarks(text, &s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--bench %q: %v, want %q", text, err, want)
		}
	}
}

// TestScoreOf checks the weighted geometric mean.
func TestScoreOf(t *testing.T) {
	s := beagle.Score{Time: 0.5, Allocs: 0.5}
	r := s.Of(beagle.Ratio{Point: 4, Low: 1, High: 9}, beagle.Resources{Allocs: 8}, beagle.Resources{})
	if math.Abs(r.Point-6) > 1e-9 || math.Abs(r.Low-3) > 1e-9 || math.Abs(r.High-9) > 1e-9 {
		t.Errorf("%v, want 6 (3 to 9): the root of 9 times that of the time", r)
	}
	if time := (beagle.Ratio{Point: 2, Low: 1, High: 3}); (beagle.Score{}).Of(time, beagle.Resources{Allocs: 9},
		beagle.Resources{}) != time {
		t.Error("allocations count in the default score")
	}
}

// TestScoreIsWhatIsTimed: where benchmarks of a score decide on the speed, the evidence in place
// tells of no others.
func TestScoreIsWhatIsTimed(t *testing.T) {
	in := &inPlaceEvidence{placeTimer: placeTimer{place: new(inplace.Place)}}
	e := in.place.Evidence()
	e.Timed, e.Parallel, e.Untimed = []string{"BenchmarkA"}, []string{"BenchmarkA"}, "it is slow"
	(&benchmarkEvidence{evidence: in, timer: placeTimer{place: new(inplace.Place)}}).tell()
	if len(e.Timed) > 0 || len(e.Parallel) > 0 || e.Untimed != "" {
		t.Errorf("%+v", e)
	}
}
