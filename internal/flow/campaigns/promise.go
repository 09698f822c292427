package campaigns

import (
	"fmt"
	"slices"
	"sync"

	"github.com/beagle-go/beagle/internal/flow"
)

// While others wait, a search that has had vainShare of its turn, and no version that looks
// promising times as fast as the original, has had its turn. The screenings of a search share one
// link layout, whose luck alone is worth a few percent.
const (
	vainShare = 1.0 / 3
	promising = 1.05
)

// A promise follows what a search finds.
type promise struct {
	next flow.Watcher

	mu    sync.Mutex
	begun bool
	best  float64 // screened ratio
}

// watch passes an event on.
func (p *promise) watch(e flow.Event) {
	if e.Evaluated != nil {
		p.mu.Lock()
		p.begun, p.best = true, max(p.best, slices.Max(append(e.Evaluated.Islands, 0)))
		p.mu.Unlock()
	}
	if p.next != nil {
		p.next(e)
	}
}

// vain reports whether candidates were evaluated, and none looks fast. A search that still prepares
// is not in vain: it would begin again.
func (p *promise) vain() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun && p.best < promising
}

// String says what was found.
func (p *promise) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.begun:
		return "has evaluated nothing yet"
	case p.best < promising:
		return "nothing looks faster by 5 %"
	default:
		return fmt.Sprintf("its best looks about %.2fx", p.best)
	}
}
