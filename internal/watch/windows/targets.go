package windows

import (
	"cmp"
	"time"

	"github.com/beagle-go/beagle/internal/ledger"
	"github.com/beagle-go/beagle/internal/watch"
)

// settle is the number of windows after a change that show the rest of its function.
const settle = 6

// Targets watches the changes that a ledger says a service got, beside targets named by hand. The
// first windows after a win shipped show the rest of its function, which Targets then remembers.
func (a *Archive) Targets(changes []ledger.Change, service string, least float64) {
	for _, c := range changes {
		if c.Service != service || c.Reverted != "" || a.isNamed(c.Function) {
			continue
		}
		won, ok := a.state.Won[c.ID]
		if !ok {
			if won, ok = a.won(c); !ok {
				continue
			}
			a.state.Won[c.ID] = won
		}
		a.Watch.Targets = append(a.Watch.Targets, watch.Target{Function: c.Function, Source: won.Source, Go: won.Go,
			Won: won.Share, Least: least})
	}
}

func (a *Archive) isNamed(function string) bool {
	for _, t := range a.Watch.Targets {
		if t.Function == function {
			return true
		}
	}
	return false
}

// won reads the share of a function from the first windows after the day on which it shipped.
func (a *Archive) won(c ledger.Change) (out Won, ok bool) {
	day, err := time.Parse(time.DateOnly, c.Shipped)
	if err != nil {
		return out, false
	}
	hits, samples, n := int64(0), int64(0), 0
	for _, w := range a.Watch.Windows {
		if w.Start.Before(day.AddDate(0, 0, 1)) || n == settle {
			continue
		}
		n++
		samples += w.Samples
		out.Go = cmp.Or(out.Go, w.Go)
		for _, r := range w.Rows {
			if r.Function == c.Function {
				hits += r.Cumulative
				out.Source = cmp.Or(out.Source, r.Source)
			}
		}
	}
	if n < settle || hits == 0 {
		return out, false
	}
	out.Share = float64(hits) / float64(samples)
	return out, true
}
