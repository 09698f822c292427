package flow

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate"
)

// planted returns a mutator that adds a helper, and may fail on the way.
func planted(name string, fail func(function string)) *mutate.Mutator {
	return &mutate.Mutator{
		Name: name, Class: beagle.E0, Gain: 2,
		Find: func(p *mutate.Pass) []mutate.Site { fail("Find"); return []mutate.Site{{Node: p.Func, Label: "f"}} },
		Params: func(*mutate.Pass, mutate.Site) []mutate.Param {
			fail("Params")
			return []mutate.Param{{Label: "1"}, {Label: "2"}}
		},
		Rewrite: func(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
			fail("Rewrite")
			helper := p.Fresh("more")
			return []mutate.Edit{p.Insert(p.Func.Body.Lbrace+1, "\n_ = "+helper+"\n"),
				p.Insert(s.Node.End(), "\n\nfunc "+helper+"() {}\n")}, nil
		},
	}
}

// plantedSession returns a session with two mutators, of which one fails in a function.
func plantedSession(
	t *testing.T, u *source.Unit, s *store.Store, warn func(string), fail func(string),
) (*Activities, *session) {
	t.Helper()
	acts := &Activities{Store: s}
	watch := func(e Event) { warn(e.Warning) }
	mutators := []*mutate.Mutator{planted("bad", fail), planted("good", func(string) {})}
	x := newSession("abc", Spec{}, s, watch, u, &lab{ahead: func() {}}, mutators)
	x.inputs.hold(&beagle.Corpus{}, 0)
	x.rewriter.work.guard = &mutate.Guard{Time: 300 * time.Millisecond, Memory: 64 << 20}
	acts.sessions = map[string]*session{"abc": x}
	return acts, x
}

func plantedUnit(t *testing.T) *source.Unit {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "p"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod": "module planted\n\ngo 1.26\n",
		"p/p.go": "package p\n\nfunc F(n int) int { return n + 1 }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	u, err := source.Load(t.Context(), source.Options{Dir: dir, Spec: "./p.F"})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// ofBoth asks for each mutator on a parent, from an ID on.
func ofBoth(parent string, id int) []evolve.Proposal {
	return []evolve.Proposal{
		{ID: id, Parent: parent, Move: &beagle.Move{Mutator: "bad"}},
		{ID: id + 1, Parent: parent, Move: &beagle.Move{Mutator: "good"}, Then: []evolve.Wish{{Mutator: "bad"}}},
	}
}

// TestRuleFaults plants a mutator that panics, loops, or hoards in each of its
// functions. The run warns once and goes on without it; a process that resumes
// the run takes the same way without asking the mutator again.
func TestRuleFaults(t *testing.T) {
	u := plantedUnit(t)
	for _, function := range []string{"Find", "Params", "Rewrite"} {
		for name, fail := range map[string]func(stopped *atomic.Bool){
			"panics": func(*atomic.Bool) { panic("planted") },
			"loops": func(stopped *atomic.Bool) {
				for !stopped.Load() {
				}
			},
			"hoards": func(stopped *atomic.Bool) {
				var kept [][]byte
				for !stopped.Load() && len(kept) < 4<<10 {
					block := make([]byte, 1<<20)
					for i := 0; i < len(block); i += 4096 {
						block[i] = 1
					}
					kept = append(kept, block)
					time.Sleep(time.Millisecond)
				}
				runtime.KeepAlive(kept)
			},
		} {
			t.Run(function+" "+name, func(t *testing.T) {
				var stopped atomic.Bool
				defer stopped.Store(true)
				var calls atomic.Int32
				checkFaulty(t, u, function, func(in string) {
					if in == function {
						calls.Add(1)
						fail(&stopped)
					}
				}, &calls)
			})
		}
	}
}

func checkFaulty(t *testing.T, u *source.Unit, function string, fail func(string), calls *atomic.Int32) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var warnings []string
	warn := func(text string) { warnings = append(warnings, text) }
	acts, x := plantedSession(t, u, s, warn, fail)
	way := func(acts *Activities, x *session) (way []ProposalOutcome) {
		moves, _ := x.rewriter.moves(x.works.root)
		if err := x.rewriter.keepLaterFaults(); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{
			true:  4,
			false: 2,
		}[function == "Rewrite" && len(x.rewriter.faulty()) == 0]; len(moves) != want {
			t.Errorf("got %d moves, want %d: %v", len(moves), want, moves)
		}
		for id := 1; id < 9; id += 2 {
			made, err := acts.Propose(context.Background(), "abc", ofBoth(x.works.root.ID, id))
			if err != nil {
				t.Fatal(err)
			}
			way = append(way, made...)
		}
		return way
	}
	first := way(acts, x)
	for _, m := range first {
		if good := m.Proposal%2 == 0; good != (m.Candidate != "") || good && len(m.Steps) != 1 {
			t.Errorf("proposal %d: %+v", m.Proposal, m)
		}
	}
	if len(warnings) != 1 ||
		!strings.Contains(warnings[0], "the rule bad is off for the rest of this run: "+function+" ") {
		t.Errorf("got warnings %q, want one that names the rule and %s", warnings, function)
	}
	var kept []beagle.RuleFault
	if _, err := s.Load("abc", "faults", &kept); err != nil || len(kept) != 1 || kept[0].From != 1 ||
		kept[0].Function != function {
		t.Errorf("the store has %+v, %v", kept, err)
	}
	// Another process goes on with the run.
	before := calls.Load()
	acts, x = plantedSession(t, u, s, warn, fail)
	if err := x.rewriter.readFaults(0); err != nil {
		t.Fatal(err)
	}
	if again := way(acts, x); !reflect.DeepEqual(again, first) {
		t.Errorf("resumed, the run takes another way:\n%s\nfirst it took\n%s", text(again), text(first))
	}
	if len(warnings) != 1 || calls.Load() != before {
		t.Errorf("resumed, the run warns %q and calls the rule %d times more", warnings[1:], calls.Load()-before)
	}
}

func text(v any) string {
	out, _ := json.MarshalIndent(v, "", "  ")
	return string(out)
}

// TestMovesOfAnotherRun checks that moves that an earlier run found without a
// rule are found again with it.
func TestMovesOfAnotherRun(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, x := plantedSession(t, plantedUnit(t), s, func(string) {}, func(string) {})
	if x.rewriter.lacks(nil) || !x.rewriter.lacks([]string{"bad"}) {
		t.Error("moves without a rule that works lack it, and no others do")
	}
	x.rewriter.faults.list = []beagle.RuleFault{{Rule: "bad"}}
	if x.rewriter.lacks([]string{"bad"}) {
		t.Error("moves without a rule that is off in this run lack nothing")
	}
}

// TestRuleFaultOfPreview: a rule that failed while the first generation was evaluated ahead is
// known to have failed as soon as the search has its verdicts.
func TestRuleFaultOfPreview(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var warnings []string
	warn := func(text string) { warnings = append(warnings, text) }
	fail := func(in string) {
		if in == "Find" {
			panic("planted")
		}
	}
	acts, x := plantedSession(t, plantedUnit(t), s, warn, fail)
	made, err := acts.Propose(t.Context(), "abc", ofBoth(x.works.root.ID, 1)[1:])
	if err != nil {
		t.Fatal(err)
	}
	c, err := x.works.candidate(made[0].Candidate)
	if err != nil {
		t.Fatal(err)
	}
	x.rewriter.moves(c)
	x.screener.preview.batch = &EvaluatedBatch{Candidates: []Evaluation{
		{Candidate: c.ID, Parents: c.Parents, Steps: c.Steps},
	}}
	out, err := x.screener.evaluate(t.Context(), []string{c.ID}, []string{c.ID}, nil)
	if err != nil || len(out.Candidates) != 1 {
		t.Fatal(out, err)
	}
	if got := x.rewriter.failed(); len(got) != 1 || got[0].Rule != "bad" || len(warnings) != 1 {
		t.Errorf("faults %+v, warnings %q", got, warnings)
	}
}
