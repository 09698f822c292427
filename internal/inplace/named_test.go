package inplace

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/source"
)

var counted = map[string]string{
	"join.go": `package place

// Join joins words with spaces.
func Join(words []string) string {
	s := ""
	for i, w := range words {
		if i > 0 {
			s += " "
		}
		s += w
	}
	return s
}

func Other(n int) int { return n + 1 }
`,
	"join_test.go": `package place

import "testing"

var words = []string{"one", "two", "three", "four"}

func BenchmarkJoin(b *testing.B) {
	b.Run("two", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			Join(words[:2])
		}
	})
	b.Run("four", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			Join(words)
		}
	})
	b.Run("none", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			Other(i)
		}
	})
}

func BenchmarkOther(b *testing.B) {
	for i := 0; i < b.N; i++ {
		Other(i)
	}
}

func BenchmarkStops(b *testing.B) {
	for i := 0; i < b.N; i++ {
		b.StopTimer()
		list := append([]string(nil), words...)
		b.StartTimer()
		Join(list)
	}
}

func BenchmarkTogether(b *testing.B) { together(b) }

func together(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			Join(words)
		}
	})
}

func BenchmarkFails(b *testing.B) { Join(words); b.Fatal("no") }

func BenchmarkOnce(b *testing.B) {
	for range 100 {
		Join(words)
	}
}
`,
	"user/user.go": "package user\n\nimport \"example.com/place\"\n\nfunc Use(w []string) int { return len(place.Join(w)) }\n",
	"user/user_test.go": `package user

import "testing"

func BenchmarkUse(b *testing.B) {
	for i := 0; i < b.N; i++ {
		Use([]string{"a", "b", "c"})
	}
}

func BenchmarkOther(b *testing.B) {
	for i := 0; i < b.N; i++ {
		Use([]string{"a"})
	}
}
`,
}

// named returns a place for Join.
func named(t *testing.T) (*source.Unit, *Place) {
	t.Helper()
	return newPlace(t, source.Options{Dir: module(t, counted), Spec: "./.Join"})
}

func TestUse(t *testing.T) {
	u, p := named(t)
	chosen := []beagle.ScoreBenchmark{
		{Name: "BenchmarkJoin", Weight: 0.5}, {Name: "BenchmarkStops", Weight: 0.3},
		{Name: "example.com/place/user.BenchmarkUse", Weight: 0.2},
	}
	found, err := p.Use(t.Context(), u.Target.Source, chosen, -1)
	if err != nil {
		t.Fatal(err)
	}
	if found[0].Leaves != 2 || found[2].Package != "example.com/place/user" {
		t.Errorf("found %+v", found)
	}
	windows := p.Clock(-1, false).Windows()
	want := []bench.Window{{Name: "BenchmarkJoin/two", Share: 0.25}, {Name: "BenchmarkJoin/four", Share: 0.25},
		{Name: "BenchmarkStops", Share: 0.3}, {Name: "BenchmarkUse", Share: 0.2}}
	if len(windows) != len(want) {
		t.Fatalf("windows %+v", windows)
	}
	for i, w := range want {
		if windows[i].Name != w.Name || math.Abs(windows[i].Share-w.Share) > 1e-9 {
			t.Errorf("window %d is %+v, want %+v", i, windows[i], w)
		}
	}
	if all := p.timed(); all[0].inside || !all[2].inside || all[3].inside {
		t.Errorf("only the calls of BenchmarkStops are timed alone: %+v", all)
	}
}

// TestUseInParallel names a benchmark that runs in parallel by a function of its own.
func TestUseInParallel(t *testing.T) {
	u, p := named(t)
	chosen := []beagle.ScoreBenchmark{{Name: "BenchmarkTogether", Weight: 0.5}, {Name: "BenchmarkStops", Weight: 0.5}}
	if _, err := p.Use(t.Context(), u.Target.Source, chosen, -1); err != nil {
		t.Fatal(err)
	}
	if got := p.Parallel(); len(got) != 1 || got[0] != "BenchmarkTogether" {
		t.Errorf("in parallel: %q", got)
	}
}

// TestUseCounts checks that allocations are counted to the last one.
func TestUseCounts(t *testing.T) {
	u, p := named(t)
	chosen := []beagle.ScoreBenchmark{{Name: "BenchmarkJoin", Weight: 1}}
	if _, err := p.Use(t.Context(), u.Target.Source, chosen, -1); err != nil {
		t.Fatal(err)
	}
	faster, err := u.Reader.Normalize(u.Reader.Complete(`package place

import "strings"

func Join(words []string) string { return strings.Join(words, " ") }
`))
	if err != nil {
		t.Fatal(err)
	}
	c := p.Clock(-1, true)
	vs := []harness.Variant{{ID: "o", Source: u.Target.Source}, {ID: "j", Source: faster}}
	g, failed, err := c.Build(t.Context(), vs, 0)
	if err != nil || len(failed) > 0 {
		t.Fatal(failed, err)
	}
	timing, failure, err := c.Time(t.Context(), g, []int{0, 1}, 600*time.Millisecond, 1)
	if err != nil || failure != "" {
		t.Fatal(failure, err)
	}
	// Two words take 2 allocations, four take 6: 4 in the mean. strings.Join takes 1.
	if a := timing.Allocs; math.Abs(a[0]-4) > 0.01 || math.Abs(a[1]-1) > 0.01 {
		t.Errorf("%v allocations a call, want 4 and 1", a)
	}
}

func TestUseRefuses(t *testing.T) {
	for name, want := range map[string][]string{
		"BenchmarkNone":           {"no such benchmark", "BenchmarkJoin, BenchmarkOther, BenchmarkStops", "user.BenchmarkUse"},
		"BenchmarkOther":          {"does not reach example.com/place.Join"},
		"BenchmarkOnce":           {"cannot be timed: BenchmarkOnce gives no slice", "loop over b.N"},
		"BenchmarkFails":          {"does not run to its end"},
		"elsewhere.BenchmarkJoin": {"no such benchmark"},
	} {
		t.Run(name, func(t *testing.T) {
			u, p := named(t)
			_, err := p.Use(t.Context(), u.Target.Source, []beagle.ScoreBenchmark{{Name: name, Weight: 1}}, -1)
			var usage *beagle.UsageError
			if !errors.As(err, &usage) {
				t.Fatalf("error %v", err)
			}
			for _, w := range want {
				if !strings.Contains(usage.What+usage.Remedy, w) {
					t.Errorf("%q; %q lacks %q", usage.What, usage.Remedy, w)
				}
			}
		})
	}
}

// TestUseSmall times a version that the compiler would inline against one that it would not.
func TestUseSmall(t *testing.T) {
	u, p := named(t)
	chosen := []beagle.ScoreBenchmark{{Name: "BenchmarkJoin", Weight: 1}}
	if _, err := p.Use(t.Context(), u.Target.Source, chosen, -1); err != nil {
		t.Fatal(err)
	}
	small, err := u.Reader.Normalize(u.Reader.Complete(
		"package place\n\nfunc Join(words []string) string { return words[0] }\n"))
	if err != nil {
		t.Fatal(err)
	}
	ms, err := bench.ConfirmIn(t.Context(), p.Clock(-1, false), u, []beagle.Candidate{{ID: "small", Source: small}}, 1,
		bench.Options{Budget: 2 * time.Second, Seed: 1})
	if err != nil || !ms[0].Faster || len(ms[0].Layouts) < 9 {
		t.Errorf("%+v, %v", ms, err)
	}
}
