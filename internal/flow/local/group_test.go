package local

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/mutate/llm"
)

const history = `// Package hist keeps values.
package hist

import "container/list"

// A History keeps the last values that were added, the newest first.
type History struct {
	most   int
	values *list.List // of int
	counts map[int]int
}

// New makes a history of at most so many values.
func New(most int) *History {
	return &History{most: most, values: list.New(), counts: map[int]int{}}
}

// Add adds a value, and forgets the oldest one when there are too many.
func (h *History) Add(v int) {
	h.values.PushFront(v)
	h.counts[v]++
	if h.values.Len() > h.most {
		h.drop()
	}
}

func (h *History) drop() {
	v := h.values.Remove(h.values.Back()).(int)
	if h.counts[v]--; h.counts[v] == 0 {
		delete(h.counts, v)
	}
}

// Len is how many values there are.
func (h *History) Len() int { return h.values.Len() }

// Count is how often a value is in the history.
func (h *History) Count(v int) int { return h.counts[v] }

// Sum adds the values.
func (h *History) Sum() int {
	sum := 0
	for e := h.values.Front(); e != nil; e = e.Next() {
		sum += e.Value.(int)
	}
	return sum
}

// Newest are the last n values, the newest first.
func (h *History) Newest(n int) []int {
	var out []int
	for e := h.values.Front(); e != nil && len(out) < n; e = e.Next() {
		out = append(out, e.Value.(int))
	}
	return out
}
`

const historyTests = `package hist

import (
	"slices"
	"testing"
)

func TestHistory(t *testing.T) {
	h := New(3)
	for i, v := range []int{1, 2, 3, 2} {
		h.Add(v)
		if h.Len() != min(i+1, 3) {
			t.Errorf("%d values after %d", h.Len(), i+1)
		}
	}
	if h.Sum() != 7 || h.Count(2) != 2 || h.Count(1) != 0 {
		t.Errorf("sum %d, 2 is there %d times, 1 %d times", h.Sum(), h.Count(2), h.Count(1))
	}
	for n, want := range [][]int{nil, {2}, {2, 3}, {2, 3, 2}, {2, 3, 2}} {
		if got := h.Newest(n); !slices.Equal(got, want) {
			t.Errorf("newest %d: %v", n, got)
		}
	}
	h.Newest(2)[0] = 9
	if h.Sum() != 7 || h.Newest(1)[0] != 2 {
		t.Errorf("a caller changed the history: %v", h.Newest(3))
	}
}

var sink int

func BenchmarkHistory(b *testing.B) {
	h := New(200)
	for i := 0; i < b.N; i++ {
		h.Add(i % 37)
		sink += h.Sum() + len(h.Newest(10)) + h.Count(3) + h.Len()
	}
}
`

// ring is another layout: the values stand in one list, the newest last, and their sum is kept.
const ring = `// A History keeps values.
type History struct {
	most   int
	values []int
	sum    int
	counts map[int]int
}

func New(most int) *History {
	return &History{most: most, counts: map[int]int{}}
}

func (h *History) Add(v int) {
	h.values = append(h.values, v)
	h.counts[v]++
	h.sum += v
	if len(h.values) > h.most {
		v := h.values[0]
		if h.counts[v]--; h.counts[v] == 0 {
			delete(h.counts, v)
		}
		h.sum -= v
		h.values = h.values[1:]
	}
}

func (h *History) Len() int { return len(h.values) }

func (h *History) Count(v int) int { return h.counts[v] }

func (h *History) Sum() int { return h.sum }

func (h *History) Newest(n int) []int {
	var out []int
	for i := len(h.values) - 1; i >= 0 && len(out) < n; i-- {
		out = append(out, h.values[i])
	}
	return out
}
`

// leak gives callers the memory of the history itself.
var leak = strings.NewReplacer(
	"append(h.values, v)", "append([]int{v}, h.values...)",
	"v := h.values[0]", "v := h.values[h.most]",
	"h.values = h.values[1:]", "h.values = h.values[:h.most]",
	"var out []int\n\tfor i := len(h.values) - 1; i >= 0 && len(out) < n; i-- {\n\t\tout = append(out, h.values[i])\n"+
		"\t}\n"+
		"\treturn out", "return h.values[:min(n, len(h.values))]",
).Replace(ring)

func answer(code string) llmtest.Reply {
	return llmtest.Reply{Text: "Keep the values in a list.\n\n```go\n" + code + "```\n"}
}

// groupSpec returns the spec of a run on the type of a module that is made for it.
func groupSpec(t *testing.T, url string) flow.Spec {
	t.Helper()
	s := flow.Defaults()
	s.Dir, s.Target = t.TempDir(), ".History"
	for name, text := range map[string]string{
		"go.mod": "module example.com/hist\n\ngo 1.24\n", "hist.go": history, "hist_test.go": historyTests,
	} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := llm.ParseModel("test@" + url + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	s.Models.Ask, s.Models.Offline, s.Models.NoRules = []llm.Model{m}, true, true
	s.Measure, s.Models.InFlight = 2*time.Second, 1
	return s
}

// unjudged are stages that measure no finalist: each layout of each version of a group is a link of
// the tests.
type unjudged struct{ *flow.Activities }

func (unjudged) Judge(context.Context, string, flow.Field) (*flow.Conclusion, error) {
	return &flow.Conclusion{Why: "nobody judged"}, nil
}

// TestGroup checks that a model can change a type's fields and all methods at once, that the faster
// layout wins where finalists are judged, which is in one of three runs, and what becomes of
// versions that others could tell from the original.
func TestGroup(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and times versions")
	}
	changed := func(old, new string) llmtest.Reply { return answer(strings.Replace(ring, old, new, 1)) }
	traps := []struct {
		why   string // what its line says
		reply llmtest.Reply
	}{
		{"the signature of History.Len changed", changed("Len() int { return len(h.values) }", "Len() int64 { return 1 }")},
		{"the exported methods of History changed", answer(ring + "\nfunc (h *History) Max() int { return h.most }\n")},
		{"the exported fields of History changed", changed("most   int", "most   int\n\tMore   int")},
		{"the original only reads it", changed("return h.sum }", "h.most += 0; return h.sum }")},
		// seen by one of the other methods alone
		{"sum 5, 2 is there", changed("return h.sum }", "return h.sum - h.counts[2] }")},
		// another meaning of what an accessor gives
		{"3 values after 2", changed("return len(h.values) }", "return len(h.counts) + h.counts[2] }")},
		{"a caller changed the history", answer(leak)},
		{"does not declare History.Count", llmtest.Reply{Text: "Leave it out.\n\n<<<<<<< SEARCH\n" + count +
			"=======\n>>>>>>> REPLACE\n"}},
	}
	var replies []llmtest.Reply
	for _, trap := range traps {
		replies = append(replies, trap.reply)
	}
	var mu sync.Mutex
	var said strings.Builder // in questions too: a reply that makes no version is mended at once
	next := llmtest.InTurn(append(replies, answer(ring))...)
	server := llmtest.New(t, func(c llmtest.Call) *llmtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		said.WriteString(c.Question())
		return next(c)
	})
	s := groupSpec(t, server.URL())
	s.Candidates, s.Models.Caps.Calls = 6, 12
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	d := &Driver{Store: openStore(t, t.TempDir()), Watch: func(e flow.Event) {
		if e.Evaluated != nil {
			mu.Lock()
			defer mu.Unlock()
			said.WriteString(strings.Join(e.Evaluated.Replies, "\n"))
		}
	}}
	if !sampletest.OneIn(t, 3) { // the others judge no finalist
		d.wrap = func(a *flow.Activities) activities { return unjudged{a} }
	}
	r, err := d.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, trap := range traps {
		if !strings.Contains(said.String(), trap.why) {
			t.Errorf("no reply ends with %q", trap.why)
		}
	}
	if !strings.Contains(said.String(), "They are one target and may change together") {
		t.Error("no question says what may change")
	}
	if r.InPlace == nil || !r.InPlace.Group || r.Statuses[beagle.Equal] == 0 {
		t.Errorf("the other layout is not among those that behave: %+v, %v", r.InPlace, r.Statuses)
	}
	// Whether its gain can be shown hangs on what else the machine does.
	t.Logf("%s: %s", r.Outcome, r.Why)
	if r.Outcome == beagle.Improved && !strings.Contains(r.Patch, "+\tvalues []int") {
		t.Errorf("the patch:\n%s", r.Patch)
	}
}

// count is a method of the original, as a model removes it.
const count = "// Count is how often a value is in the history.\n" +
	"func (h *History) Count(v int) int { return h.counts[v] }\n"

// TestSurveyAgain checks that a worker whose survey of the tests was canceled makes it again before
// it judges a version.
func TestSurveyAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("runs tests of a module")
	}
	sampletest.Rarely(t, 2)
	s := groupSpec(t, "http://127.0.0.1:1")
	s.Models, s.NoMeasure = flow.Models{}, true
	home := openStore(t, t.TempDir())
	first := &flow.Activities{Store: home, Watch: func(flow.Event) {}}
	defer first.Close()
	if _, err := first.Prepare(t.Context(), "r", s); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	second := &flow.Activities{Store: home, Watch: func(e flow.Event) {
		if e.Stage != nil && e.Stage.Name == "survey" {
			cancel()
		}
	}}
	defer second.Close()
	if _, err := second.Describe(ctx, "r"); err == nil {
		t.Error("a survey that was canceled is taken for one")
	}
	wrong := strings.Replace(ring, "return h.sum }", "return h.sum - h.counts[2] }", 1)
	v, err := second.JudgeSource(t.Context(), "r", "package hist\n\n"+wrong, "wrong.go")
	if err != nil {
		t.Fatal(err)
	}
	if v.Status != beagle.Wrong || v.Stage != "tests" {
		t.Errorf("%s at %s: %s", v.Status, v.Stage, v.Reason)
	}
}
