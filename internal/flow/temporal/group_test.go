package temporal

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/fleet"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

const tallyText = `package p

// A Tally keeps numbers.
type Tally struct {
	all []int
}

// Add adds a number.
func (t *Tally) Add(n int) {
	t.all = append(t.all, n)
}

// Sum adds them up.
func (t *Tally) Sum() int {
	sum := 0
	for _, n := range t.all {
		sum += n
	}
	return sum
}

// Len is how many there are.
func (t *Tally) Len() int {
	return len(t.all)
}
`

const tallyTests = `package p

import "testing"

func TestTally(t *testing.T) {
	var all Tally
	for n := range 9 {
		all.Add(n)
	}
	if all.Sum() != 36 || all.Len() != 9 {
		t.Errorf("the sum of %d numbers is %d", all.Len(), all.Sum())
	}
}

var sink int

func BenchmarkTally(b *testing.B) {
	var all Tally
	for n := range 500 {
		all.Add(n)
	}
	for b.Loop() {
		sink += all.Sum() + all.Len()
	}
}
`

// tallied is the type with another layout: the sum is kept.
const tallied = "type Tally struct {\n\tn, sum int\n}\n\n" +
	"func (t *Tally) Add(n int) {\n\tt.n++\n\tt.sum += n\n}\n\n" +
	"func (t *Tally) Sum() int {\n\treturn t.sum\n}\n\nfunc (t *Tally) Len() int {\n\treturn t.n\n}\n"

// TestGroupRun has models write versions of a type with its methods on a real server, whose only
// worker is killed: the layout that behaves is told from one that does not, as in one process.
func TestGroupRun(t *testing.T) {
	f := newFleet(t, "127.0.0.1")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/p\n\ngo 1.26\n", "p.go": tallyText, "p_test.go": tallyTests,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	models := &llmtest.Server{Idempotent: true, Script: llmtest.InTurn(
		llmtest.Reply{Text: "Count once.\n\n```go\n" + strings.Replace(tallied, "t.n++", "t.n = 1", 1) + "```\n"},
		llmtest.Reply{Text: "Keep the sum.\n\n```go\n" + tallied + "```\n"})}
	models.StartFor(t)
	m, err := llm.ParseModel("test@" + models.URL() + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	m.Price = llm.Price{In: 3, Out: 15, AsOf: "given"}
	spec := flow.Defaults()
	spec.Dir, spec.Target, spec.Candidates, spec.Measure = dir, ".Tally", 4, 2*time.Second
	spec.Models.Ask, spec.Models.NoRules, spec.Models.InFlight = []llm.Model{m}, true, 1
	spec.Models.Caps = llm.Caps{Calls: 2, Money: 100_000_000}
	if err := spec.Validate(); err != nil {
		t.Fatal(err)
	}
	r := role{Kinds: fleet.Kinds, Class: "test"}
	worker := f.worker(r)
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	run := f.follow(ctx, "group", spec)
	s := openAt(f.home())
	waitFor(t, run, func() bool { return len(evaluations(f.home())) >= 1 })
	guest := strings.Replace("package p\n\n"+tallied, "sum += n", "sum = t.sum + n", 1)
	if _, err := s.Submit("group", store.Submission{ID: "guest", Source: guest, At: time.Now()}); err != nil {
		t.Error(err)
	}
	kill(worker)
	f.worker(r)
	<-run.done
	if run.err != nil {
		logs, _ := filepath.Glob(filepath.Join(f.dir, "temporal.test-*.log"))
		for _, name := range logs {
			text, _ := os.ReadFile(name)
			t.Logf("%s:\n%s", name, text)
		}
		t.Fatal(run.err)
	}
	got := run.result
	if got.InPlace == nil || !got.InPlace.Group || got.Statuses[beagle.Wrong] == 0 || got.Statuses[beagle.Equal] == 0 {
		t.Errorf("%+v, %v", got.InPlace, got.Statuses)
	}
	reasons := ""
	for _, a := range got.Attempts {
		reasons += a.Reason + "\n"
	}
	if !strings.Contains(reasons, "the sum of 1 numbers is 36") {
		t.Errorf("no version falls at its tests:\n%s", reasons)
	}
	if fate, taken := flow.FateOf(s, "group", "guest"); taken && fate.Verdict.Status != beagle.Equal {
		t.Errorf("the guest: %+v", fate)
	}
	// Whether the gain can be shown hangs on what else the machine does.
	t.Logf("%s: %s", got.Outcome, got.Why)
	if got.Outcome == beagle.Improved && !strings.Contains(got.Patch, "+\tn, sum int") {
		t.Errorf("the patch:\n%s", got.Patch)
	}
}
