package windows

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/watch"
)

// A Stretch is a time between two multiples of the window's length, with its profiles. It becomes a
// window when it is over.
type Stretch struct {
	Begins  time.Time             `json:"begins"`
	Seconds float64               `json:"seconds"` // that were profiled, over all profiles
	Busy    float64               `json:"busy"`    // seconds of processor time in them
	Window  watch.Window          `json:"window"`
	Rows    map[string]*watch.Row `json:"rows"`
	Callers map[string]int64      `json:"callers"` // samples behind the caller that is known, by function
}

// Options say how profiles become windows.
type Options struct {
	Service  string
	Length   time.Duration
	Go       string // toolchain of the profiled program, "" when unknown
	Checkout *hotspots.Checkout
}

// leastRow is the share of a profile below which a function is left out: it could not be a finding.
const leastRow = 0.0005

// add enters a profile.
func (s *Stretch) add(p *hotspots.Profile, o Options) {
	samples := p.Samples()
	w := &s.Window
	w.Service, w.Samples = o.Service, w.Samples+samples
	w.Build, w.Go = cmp.Or(p.Build, w.Build), cmp.Or(o.Go, w.Go)
	s.Seconds += p.Seconds
	s.Busy += p.Total() / 1e9
	for _, t := range hotspots.Tallies(p, o.Checkout) {
		if float64(t.Cumulative) < leastRow*float64(samples) {
			break // the largest come first
		}
		s.row(t)
	}
}

func (s *Stretch) row(t hotspots.Tally) {
	r := s.Rows[t.Function]
	if r == nil {
		r = &watch.Row{Function: t.Function}
		s.Rows[t.Function] = r
	}
	r.Flat += t.Flat
	r.Cumulative += t.Cumulative
	r.Source = cmp.Or(t.Text, r.Source)
	if t.Caller != "" && t.Cumulative > s.Callers[t.Function] {
		r.Caller, s.Callers[t.Function] = t.Caller, t.Cumulative
	}
}

// window returns the stretch in the form of package watch. It has the stretch's own bounds:
// profiles of several instances begin and end at any time within it.
func (s *Stretch) window(length time.Duration) watch.Window {
	w := s.Window
	w.Start, w.End = s.Begins, s.Begins.Add(length)
	for _, r := range s.Rows {
		w.Rows = append(w.Rows, *r)
	}
	inorder.By(w.Rows, func(a, b watch.Row) int { return cmp.Compare(a.Function, b.Function) })
	if s.Seconds > 0 {
		w.Cores = s.Busy / s.Seconds
	}
	return w
}

// Take enters profiles that were not read before, in the order of their time. It returns how many
// were new. An error names a profile that has no place in time.
func (a *Archive) Take(all []*hotspots.Profile, o Options) (taken int, err error) {
	all = slices.DeleteFunc(slices.Clone(all), func(p *hotspots.Profile) bool { return p.Kind != hotspots.CPU })
	for _, p := range all {
		if p.Start.IsZero() || p.Seconds <= 0 {
			return taken, fmt.Errorf("%s says neither when it was taken nor for how long: a window needs both",
				p.Source)
		}
	}
	inorder.By(all, func(p, q *hotspots.Profile) int { return p.Start.Compare(q.Start) })
	for _, p := range all {
		name := cmp.Or(p.Instance, p.Group)
		if p.Instance == "" && p.Group == p.Source {
			name = "file" // a file of its own is one of a series of files
		}
		if p.Start.Before(a.state.Read[name].Add(-time.Second)) || p.Start.Before(a.state.Closed.Add(-time.Second)) {
			continue
		}
		a.state.Read[name] = p.Start.Add(time.Duration(p.Seconds * float64(time.Second)))
		a.stretch(p.Start, o.Length).add(p, o)
		taken++
	}
	return taken, nil
}

// stretch returns the open stretch that holds a time.
func (a *Archive) stretch(at time.Time, length time.Duration) *Stretch {
	begins := at.UTC().Truncate(length)
	for _, s := range a.state.Open {
		if s.Begins.Equal(begins) {
			return s
		}
	}
	s := &Stretch{Begins: begins, Rows: map[string]*watch.Row{}, Callers: map[string]int64{}}
	a.state.Open = append(a.state.Open, s)
	return s
}

// takeFinished takes the stretches that can get no more profiles out of the open ones: their time
// has passed. A profile belongs to the stretch in which it begins.
func (a *Archive) takeFinished(now time.Time, length time.Duration) (done []*Stretch) {
	inorder.By(a.state.Open, func(s, t *Stretch) int { return s.Begins.Compare(t.Begins) })
	for len(a.state.Open) > 0 && !now.Before(a.state.Open[0].Begins.Add(length)) {
		done = append(done, a.state.Open[0])
		a.state.Open = a.state.Open[1:]
	}
	return done
}
