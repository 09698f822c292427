package benchfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/beagle-go/beagle/internal/hotspots"
)

const loops = `package p

func BenchmarkX(b *testing.B) {
	for range 3 {
		prepare(target())
	}
	for _, c := range cases {
		b.Run(c, func(b *testing.B) {
			ready()
			for b.Loop() {
				other()
				target()
			}
		})
	}
}

func BenchmarkY(b *testing.B) {
	slow()
	for range b.N {
		more()
		target(b)
	}
}

func launch() {
	for !done {
		runN()
	}
}

func TestMain(m *testing.M) {
	for range 9 {
		warm(target())
	}
}
`

// TestPart counts what is in the loop of a closure and in that of another benchmark: neither the
// preparation, nor the collector, nor the loops around the closure, in package testing and in main.
func TestPart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x_test.go")
	if err := os.WriteFile(file, []byte(loops), 0o600); err != nil {
		t.Fatal(err)
	}
	line := func(text string) int64 {
		before, _, _ := strings.Cut(loops, text)
		return int64(1 + strings.Count(before, "\n"))
	}
	functions := map[string]*profile.Function{}
	frame := func(name string, line int64) profile.Line {
		if functions[name] == nil {
			functions[name] = &profile.Function{Name: name, Filename: file}
		}
		return profile.Line{Function: functions[name], Line: line}
	}
	closure, preparing, other := "p.BenchmarkX.func1", "p.BenchmarkX", "p.BenchmarkY"
	launch := frame("testing.(*B).launch", line("runN()"))
	p := &profile.Profile{}
	for _, s := range []struct {
		count int64
		leaf  []profile.Line // callers last
	}{
		{60, []profile.Line{frame("strings.Index", 1), frame("p.target", 1), frame(closure, line("target()\n\t\t\t}")), launch}},
		{20, []profile.Line{frame("p.other", 1), frame(closure, line("other()"))}},
		{500, []profile.Line{frame("p.ready", 1), frame(closure, line("ready()"))}},
		{30, []profile.Line{frame("p.target", 1), frame(preparing, line("prepare("))}},
		{10, []profile.Line{frame("p.target", 1), frame(other, line("target(b)")), launch}},
		{10, []profile.Line{frame("p.more", 1), frame(other, line("more()")), launch}},
		{900, []profile.Line{frame("p.slow", 1), frame(other, line("slow()")), launch}},
		{80, []profile.Line{frame("p.target", 1), frame("p.TestMain", line("warm(")), frame("main.main", 1)}},
		{700, []profile.Line{frame("runtime.gcBgMarkWorker", 1)}},
	} {
		sample := &profile.Sample{Value: []int64{s.count, 0}}
		for _, l := range s.leaf {
			sample.Location = append(sample.Location, &profile.Location{Line: []profile.Line{l}})
		}
		p.Sample = append(p.Sample, sample)
	}
	all := []*hotspots.Profile{{Pprof: p}}
	if got := part(all, []string{"p.target"}); got == nil || got.Share != 0.7 || got.Samples != 100 {
		t.Errorf("%+v, want 70 of 100", got)
	}
	if got := part(all, []string{"p.unknown"}); got != nil {
		t.Errorf("a target without a sample: %+v", got)
	}
}
