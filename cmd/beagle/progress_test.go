package main

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
)

// A generation that brings nothing new prints nothing new.
func TestProgressSaysThingsOnce(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out, false)
	event := func(n int) flow.Event {
		return flow.Event{Evaluated: &flow.EvaluatedEvent{Candidates: n, Budget: 30, Statuses: map[beagle.Status]int{beagle.Equal: n}}}
	}
	for _, n := range []int{4, 4, 4, 5} {
		p.watch(event(n))
	}
	if got := strings.Count(out.String(), "\n"); got != 2 || !strings.Contains(out.String(), "5 of 30 candidates (5 equal)") {
		t.Errorf("%d lines:\n%s", got, &out)
	}
}

// What is called the best never becomes worse while the search goes on.
func TestBestGoesUp(t *testing.T) {
	var log flow.Log
	var told []string
	for i, r := range []beagle.Ratio{{Point: 1.6, Low: 1.1, High: 2.4}, {Point: 1.3, Low: 1.2, High: 1.4}, {Point: 1.9, Low: 1.0, High: 3}, {Point: 1.4, Low: 1.35, High: 1.5}} {
		log.Add([]flow.Evaluated{{Candidate: string(rune('a' + i)), Verdict: beagle.Verdict{Status: beagle.Equal, Screen: &r}}}, nil, flow.Split{}, 0)
		_, best, _ := strings.Cut(oneLine(&flow.EvaluatedEvent{Candidates: i + 1, Budget: 9, Best: log.Best()}), ", ")
		told = append(told, strings.TrimSuffix(best, ": "))
	}
	if got := strings.Join(told, ", "); got != "best at least 1.10x, best at least 1.20x, best at least 1.20x, best at least 1.35x" {
		t.Error(got)
	}
}
