package campaigns

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
)

// TestPromise: a search in which nothing looks faster has a third of its turn, and one that found
// something, still prepares, or measures its finalists, has all of it. Others see all events.
func TestPromise(t *testing.T) {
	for _, c := range []struct {
		name  string
		found [][]float64 // of the islands, after each generation
		best  float64     // as the estimate has it
		stage string      // that follows
		most  float64     // seconds that the search may take
	}{
		{"nothing", [][]float64{{0, 1.01}, {1.02, 1.01}}, 1.03, "models", 20},
		{"something", [][]float64{{0, 1.01}, {1.07, 1.01}}, 1.08, "", 60},
		{"something, within a wide interval", [][]float64{{0, 1.01}, {1.02, 1.01}}, 1.2, "", 60},
		{"something that is lost again", [][]float64{{1.07}, {1}}, 1, "", 60},
		{"it prepares", nil, 0, "corpus", 60},
		{"its finalists are sifted", [][]float64{{1.02}}, 1.03, "sift", 60},
		{"its finalists are measured", [][]float64{{1.02}}, 1.03, "measure", 60},
	} {
		synctest.Test(t, func(t *testing.T) {
			seen, start := 0, time.Now()
			l := &Local{Used: func() float64 { return time.Since(start).Seconds() }, ctx: t.Context()}
			p := &promise{next: func(flow.Event) { seen++ }}
			for _, islands := range c.found {
				best := &beagle.Attempt{Screen: &beagle.Ratio{Point: c.best}}
				p.watch(flow.Event{Evaluated: &flow.EvaluatedEvent{Islands: islands, Best: best}})
			}
			flow.Watcher(p.watch).Stage(c.stage, "")
			ctx, end := l.bounded(60, p.vain)
			defer end()
			<-ctx.Done()
			if took := time.Since(start).Seconds(); took < c.most || took > c.most+2 || seen != len(c.found)+1 {
				t.Errorf("%s: the turn took %v s, want %v; %d events of %d", c.name, took, c.most, seen, len(c.found))
			}
		})
	}
}
