package main

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
)

// TestProgressSaysThingsOnce checks that a generation that brings nothing new prints nothing new.
func TestProgressSaysThingsOnce(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out, false)
	event := func(n int) flow.Event {
		return flow.Event{
			Evaluated: &flow.EvaluatedEvent{Candidates: n, Budget: 30, Statuses: map[beagle.Status]int{
				beagle.Equal: n,
			}},
		}
	}
	for _, n := range []int{4, 4, 4, 5} {
		p.watch(event(n))
	}
	if got := strings.Count(out.String(), "\n"); got != 2 ||
		!strings.Contains(out.String(), "5 of 30 candidates (5 equal)") {
		t.Errorf("%d lines:\n%s", got, &out)
	}
}

// TestBest checks that the best goes by the lower bound, and no version that measured slower than
// the original is the best.
func TestBest(t *testing.T) {
	var log flow.Log
	var told []string
	for i, r := range []beagle.Ratio{{Point: 0.95, Low: 0.86, High: 1.1}, {Point: 1, Low: 0.99, High: 1.01},
		{Point: 1.02, Low: 0.7, High: 1.2}, {Point: 1.6, Low: 1.1, High: 2.4}, {Point: 1.3, Low: 1.2, High: 1.4},
		{Point: 1.9, Low: 1.0, High: 3}, {Point: 1.4, Low: 1.35, High: 1.5}} {
		e := flow.Evaluation{Candidate: string(rune('a' + i))}
		e.Verdict = beagle.Verdict{Status: beagle.Equal, Screen: &r}
		log.Add([]flow.Evaluation{e}, nil, flow.Split{}, 0)
		_, best, _ := strings.Cut(oneLine(&flow.EvaluatedEvent{Candidates: i + 1, Budget: 9, Best: log.Best()}), ", ")
		told = append(told, strings.TrimSuffix(best, ": "))
	}
	if got := strings.Join(told, ", "); got != "none faster yet, none faster yet, best about 1.02x, best about "+
		"1.60x, best about 1.30x, best about 1.30x, best about 1.40x" {
		t.Error(got)
	}
}

// TestProgressGoesOn checks that a stage says that it goes on, and what it does, until the next
// event, and that the work after a result goes on without a name.
func TestProgressGoesOn(t *testing.T) {
	out := &lockedBuilder{}
	p := newProgress(out, false)
	p.live = true // says it each second
	heard := func(what string) {
		t.Helper()
		for said := strings.Count(out.String(), what); strings.Count(out.String(), what) == said; {
			time.Sleep(time.Millisecond)
		}
	}
	p.watch(flow.Event{Stage: &flow.StageEvent{Name: "measure", Detail: "3 finalists"}})
	heard("measure  still at work, for 1s: 3 finalists")
	p.watch(flow.Event{Warning: "not the end of the stage"})
	heard("measure  still at work")
	if !strings.Contains(out.String(), "\r\x1b[1A\x1b[J") { // from the line's beginning: ^C may stand there
		t.Errorf("the line is not cleared whole: %q", out)
	}
	flow.Watcher(p.watch).Note("corpus", "6660 inputs")
	heard("         still at work, for 1s\n")
	if strings.Contains(out.String(), "for 1s: 6660") {
		t.Errorf("a result goes on:\n%s", out)
	}
	p.pause()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beat != nil || p.lines != 0 {
		t.Errorf("a line is due while others print:\n%s", out)
	}
}

// TestProgressGenerations checks that a search in a file says that it goes on from its last news,
// and that nothing follows the end.
func TestProgressGenerations(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out, false)
	p.watch(flow.Event{Stage: &flow.StageEvent{Name: "search", Detail: "60 candidates"}})
	search := p.beat
	p.watch(flow.Event{Evaluated: &flow.EvaluatedEvent{Candidates: 4, Budget: 30}})
	news := p.beat
	p.watch(flow.Event{Evaluated: &flow.EvaluatedEvent{Candidates: 4, Budget: 30}})
	if search == nil || news == nil || news == search || p.beat != news {
		t.Error("the time does not run from the last news")
	}
	p.stop()
	p.watch(flow.Event{Stage: &flow.StageEvent{Name: "verify"}})
	if p.beat != nil {
		t.Error("a line is due after the end")
	}
}

// TestProgressPassing checks that what a terminal shows in passing reaches a file now and then.
func TestProgressPassing(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out, false)
	p.note("Profiling for 5m0s")
	p.passing("1 of 60 slices")
	p.noted = p.noted.Add(-beatPlain)
	p.passing("3 of 60 slices")
	p.passing("4 of 60 slices")
	p.noted = p.noted.Add(-beatPlain) // the second line comes after twice the time
	p.passing("5 of 60 slices")
	p.noted = p.noted.Add(-beatPlain)
	p.passing("6 of 60 slices")
	if got := out.String(); got != "Profiling for 5m0s\n3 of 60 slices\n6 of 60 slices\n" {
		t.Error(got)
	}
	// A quiet command keeps those quiet that run within it.
	out.Reset()
	newProgress(newProgress(&out, true), false).passing("1 of 60 slices")
	if out.Len() > 0 {
		t.Errorf("a quiet command prints %q", &out)
	}
}

// TestProgressIsBounded checks that work of a day fills no file.
func TestProgressIsBounded(t *testing.T) {
	lines := 0
	for at, next := time.Duration(0), beatPlain; at < 24*time.Hour; at, next = at+next, rarer(next) {
		lines++
	}
	if lines > 300 {
		t.Errorf("a day has %d lines", lines)
	}
	if d := rarer(time.Hour); d != time.Hour {
		t.Errorf("after an hour comes %v", d)
	}
}

// A lockedBuilder is a builder for two goroutines.
type lockedBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuilder) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
