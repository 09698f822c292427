package main

import (
	"math"
	"testing"

	"github.com/beagle-go/beagle/internal/watch"
	"github.com/beagle-go/beagle/internal/watch/simulate"
)

// TestCount holds the tally to its rule: the first change point near the event, in the function
// that changed, is a find; all others are wrong.
func TestCount(t *testing.T) {
	changed := simulate.ChangedFunction(simulate.SlowDown)
	searches := []search{{function: changed}, {function: "another"}}
	for _, c := range []struct {
		name  string
		found [][]int
		event simulate.Event
		want  tally
	}{
		{"nothing", [][]int{nil, nil}, simulate.SlowDown, tally{}},
		{"the event", [][]int{{simulate.EventAt}, nil}, simulate.SlowDown, tally{found: 1}},
		{"late, yet near", [][]int{{simulate.EventAt + nearDistance}, nil}, simulate.SlowDown, tally{found: 1}},
		{"too late", [][]int{{simulate.EventAt + nearDistance + 1}, nil}, simulate.SlowDown, tally{wrong: 1}},
		{"twice", [][]int{{simulate.EventAt, simulate.EventAt + 1}, nil}, simulate.SlowDown, tally{found: 1, wrong: 1}},
		{"another function", [][]int{nil, {simulate.EventAt}}, simulate.SlowDown, tally{wrong: 1}},
		{"no event", [][]int{{simulate.EventAt}, nil}, simulate.Doubled, tally{wrong: 1}},
	} {
		var got tally
		if count(&got, searches, c.found, 0, c.event); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	// Days that a program learns from are cut off its series.
	var got tally
	count(&got, searches, [][]int{{simulate.EventAt - learnt*24}, nil}, 24, simulate.SlowDown)
	if got.found != 1 {
		t.Errorf("less the hour's mean the event is at %d of the rest, and was not found there",
			simulate.EventAt-learnt*24)
	}
}

func TestSearchesOf(t *testing.T) {
	const season = 2
	var windows []watch.Window
	for i := range learnt*season + 4 {
		large := int64(100 + 50*(i%season)) // its own season
		windows = append(windows, watch.Window{Samples: 1000, Rows: []watch.Row{
			{Function: "large", Flat: large}, {Function: "small", Flat: 4}, {Function: "never"},
		}})
	}
	plain := searchesOf(windows, 0)
	if len(plain) != 1 || plain[0].function != "large" || plain[0].Series[1] != 0.15 {
		t.Fatalf("got %+v, want the large function's shares alone", plain)
	}
	rest := searchesOf(windows, season)[0].Series
	if len(rest) != 4 {
		t.Fatalf("%d values are left of %d", len(rest), len(windows))
	}
	for _, x := range rest {
		if math.Abs(x-1) > 1e-9 {
			t.Errorf("%v is left of a series that is its season alone, want 1", rest)
		}
	}
}

func TestMeanError(t *testing.T) {
	s := series{Values: []float64{1, 2, 3, 4, 5}, Origins: []int{2, 3}}
	if got := meanError(s, [][]float64{{3, 3}, {6, 5}}); got != 0.75 {
		t.Errorf("got %v, want the mean of 0, 1, 2 and 0", got)
	}
}
