package inplace

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
)

// lockedFiles have a quick test of a target that holds a lock, and one that takes long.
var lockedFiles = map[string]string{
	"sum.go": `package place

import "sync"

type Sum struct {
	mu sync.Mutex
	n  int
}

func (s *Sum) Add(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 {
		return -1
	}
	s.n += n
	return s.n
}
`,
	"sum_test.go": `package place

import (
	"testing"
	"time"
)

func TestAdd(t *testing.T) {
	var s Sum
	if s.Add(1)+s.Add(2) != 4 {
		t.Error("no sum")
	}
}

func TestLess(t *testing.T) {
	var s Sum
	time.Sleep(700 * time.Millisecond)
	if s.Add(-3) != -1 {
		t.Error("less than nothing")
	}
}

func BenchmarkAdd(b *testing.B) {
	var s Sum
	for b.Loop() {
		s.Add(1)
	}
}
`,
}

// TestQuick gives a version the quickest tests while a search goes on, where these notice a target
// that does nothing, and all tests when it leads.
func TestQuick(t *testing.T) {
	for name, c := range map[string]struct {
		files func(string) string
		brief bool
	}{
		"the quick test notices": {strings.Clone, true},
		"the long one alone does": {func(text string) string {
			return strings.Replace(text, "s.Add(1)+s.Add(2) != 4", "s.Add(1)+s.Add(2) > 9", 1)
		}, false},
	} {
		dir := module(t, map[string]string{
			"sum.go": lockedFiles["sum.go"], "sum_test.go": c.files(lockedFiles["sum_test.go"])})
		u, p, e := place(t, dir, "./.Sum.Add")
		if e.Within != beagle.ByRuns || p.brief != c.brief || slices.Contains(p.suites[0].quick, "TestLess") {
			t.Fatalf("%s: by %s, quick tests %q alone: %t", name, e.Within, p.suites[0].quick, p.brief)
		}
		if p.suites[0].quickTook == 0 {
			t.Errorf("%s: how long the quick tests take is not known", name)
		}
		wrong, err := u.Reader.Normalize(strings.Replace(u.Target.Source, "return -1", "return -2", 1))
		if err != nil {
			t.Fatal(name, err)
		}
		cand := beagle.NewCandidate(wrong, nil, nil)
		g, err := p.Build(t.Context(), []Version{{"original", u.Target.Source}, {cand.ID, cand.Source}}, Link{})
		if err != nil {
			t.Fatal(name, err)
		}
		quick, err := p.Quick(t.Context(), g, 1, cand)
		if err != nil || quick.OK() != c.brief {
			t.Errorf("%s: quick: %+v, %v", name, quick, err)
		}
		if v, err := p.Behaves(t.Context(), g, 1, cand); err != nil || v.Status != beagle.Wrong {
			t.Errorf("%s: all tests: %+v, %v", name, v, err)
		}
		g.Remove()
	}
}

const dependentTest = `package place

import (
	"testing"
	"time"
)

var shared *Sum

func TestA(t *testing.T) {
	time.Sleep(700 * time.Millisecond)
	shared = &Sum{}
	if shared.Add(1) != 1 {
		t.Error("no sum")
	}
}

func TestB(t *testing.T) {
	if shared.Add(1) != 2 {
		t.Error("no sum")
	}
}

func BenchmarkAdd(b *testing.B) {
	var s Sum
	for b.Loop() {
		s.Add(1)
	}
}
`

// TestQuickAlone gives a version all tests when the quickest fail without the long one before them:
// the original's own text, too, would be wrong.
func TestQuickAlone(t *testing.T) {
	dir := module(t, map[string]string{"sum.go": lockedFiles["sum.go"], "sum_test.go": dependentTest})
	u, p, _ := place(t, dir, "./.Sum.Add")
	if !slices.Equal(p.suites[0].quick, []string{"TestB"}) {
		t.Fatalf("quick tests %q", p.suites[0].quick)
	}
	wrong, err := u.Reader.Normalize(strings.Replace(u.Target.Source, "s.n += n", "s.n += n + 1", 1))
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.Build(t.Context(), []Version{
		{"original", u.Target.Source}, {"same", u.Target.Source}, {"wrong", wrong}}, Link{})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{u.Target.Source, wrong} {
		v, err := p.Quick(t.Context(), g, i+1, beagle.NewCandidate(text, nil, nil))
		if err != nil || v.OK() != (i == 0) {
			t.Errorf("version %d: %+v, %v", i+1, v, err)
		}
	}
}

// TestQuickBound ends a run of the quickest tests long before one of all tests: a version may keep
// its caller in a loop.
func TestQuickBound(t *testing.T) {
	s := &suite{took: 40 * time.Second}
	if got := s.quickTimeLimit(); got != s.timeLimit() {
		t.Errorf("before the quickest tests ran: %v", got)
	}
	s.quickTook = 300 * time.Millisecond
	if got := s.quickTimeLimit(); got != 8*time.Second {
		t.Errorf("after they took %v: %v", s.quickTook, got)
	}
	s.took, s.quickTook = time.Second, 10*time.Second
	if got := s.quickTimeLimit(); got != s.timeLimit() {
		t.Errorf("longer than all tests: %v", got)
	}
}
