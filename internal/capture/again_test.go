package capture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/beagle-go/beagle/probe/wire"
)

// TestAgain tells values that come in runs from values that are only frequent: 1,000 values, each
// ten calls in a row, of which every fifth call is captured.
func TestAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var inRuns, mixed Pulled
	for i := range 20_000 {
		value := i / 10 % 1000
		if i%5 == 0 {
			e := wire.Event{Seq: uint64(i), Time: int64(1000 * i), Args: fmt.Append(nil, value)}
			inRuns.Events = append(inRuns.Events, e)
			e.Args = fmt.Append(nil, r.IntN(1000))
			mixed.Events = append(mixed.Events, e)
		}
	}
	r.Shuffle(len(inRuns.Events), func(i, j int) { // goroutines finish in any order
		inRuns.Events[i], inRuns.Events[j] = inRuns.Events[j], inRuns.Events[i]
	})
	var c repetition
	c.see(inRuns, 0, 5)
	got := c.facets()
	if len(got) != len(lags) || got[0].Calls != 5 || math.Abs(got[0].Share-0.5) > 0.01 || got[1].Share != 0 ||
		math.Abs(got[0].Chance-0.001) > 0.0005 {
		t.Errorf("in runs: %+v", got)
	}
	var d repetition
	d.see(mixed, 0, 5)
	for _, a := range d.facets() {
		if a.Low > 0.003 || a.High < a.Chance {
			t.Errorf("mixed: %+v", a)
		}
	}
	if d.see(Pulled{}, 0, 1); len((&repetition{}).facets()) != 0 {
		t.Error("something is said of no calls")
	}
}
