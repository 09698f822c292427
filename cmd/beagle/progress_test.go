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
