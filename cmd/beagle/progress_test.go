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

// TestProgressGoesOn checks that a slow stage says that it goes on, and what it builds, until the
// next event.
func TestProgressGoesOn(t *testing.T) {
	out := &lockedBuilder{}
	p := newProgress(out, false)
	p.live = true // says it each second
	p.watch(flow.Event{Stage: &flow.StageEvent{Name: "build", Detail: "example.com/m"}})
	for strings.Count(out.String(), "still, for") < 2 {
		time.Sleep(time.Millisecond)
	}
	p.watch(flow.Event{Warning: "not the end of the stage"})
	for said := strings.Count(out.String(), "still, for"); strings.Count(out.String(), "still, for") == said; {
		time.Sleep(time.Millisecond)
	}
	p.watch(flow.Event{Stage: &flow.StageEvent{Name: "search", Detail: "60 candidates"}})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beat != nil || p.lines != 0 || !strings.Contains(out.String(), "example.com/m") {
		t.Errorf("a word is due while the search goes on:\n%s", out)
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
