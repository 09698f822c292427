package campaigns

import (
	"fmt"
	"sync"

	"github.com/beagle-go/beagle/internal/flow"
)

// While others wait, a search that has used vainShare of its budget, and has no version that looks
// promising times as good as the original, makes way for them. The screenings of a search share one
// link layout, whose luck alone is worth a few percent.
const (
	vainShare = 1.0 / 3
	promising = 1.05
)

// A promise follows the findings of a search.
type promise struct {
	next flow.Watcher

	mu     sync.Mutex
	begun  bool
	judged bool    // the search is over, and its finalists are measured
	best   float64 // screened ratio
}

// watch passes an event on.
func (p *promise) watch(e flow.Event) {
	p.mu.Lock()
	switch {
	case e.Evaluated != nil:
		p.begun = true
		for _, low := range e.Evaluated.Islands { // these are ratios' low ends
			p.best = max(p.best, low)
		}
		if b := e.Evaluated.Best; b != nil && b.Screen != nil {
			p.best = max(p.best, b.Screen.Point)
		}
	case e.Stage != nil:
		p.judged = p.judged || e.Stage.Name == "sift" || e.Stage.Name == "measure"
	}
	p.mu.Unlock()
	if p.next != nil {
		p.next(e)
	}
}

// vain reports whether the search has evaluated candidates and none looks fast. A search that still
// prepares is not in vain, since its repetition would prepare again. The measurement of finalists
// is not in vain either.
func (p *promise) vain() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun && !p.judged && p.best < promising
}

// String describes the promise.
func (p *promise) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.begun:
		return "has evaluated nothing yet"
	case p.best < promising:
		return "nothing looks better by 5 %"
	default:
		return fmt.Sprintf("its best looks about %.2fx", p.best)
	}
}
