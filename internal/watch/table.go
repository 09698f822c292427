package watch

import (
	"cmp"
	"slices"

	"github.com/beagle-go/beagle/internal/inorder"
)

// A series is the samples of something in some windows.
type series struct{ hits, samples []float64 }

func (s *series) add(hits, samples float64) {
	s.hits = append(s.hits, hits)
	s.samples = append(s.samples, samples)
}

// ratio returns the share over the windows [from, to).
func ratio(s series, from, to int) float64 {
	return sum(s.hits[from:to]) / max(1, sum(s.samples[from:to]))
}

// seriesOf reads a number of samples from each window.
func seriesOf(windows []Window, hits func(*Window) int64) series {
	var s series
	for i := range windows {
		s.add(float64(hits(&windows[i])), float64(windows[i].Samples))
	}
	return s
}

// A table holds windows function by function.
type table struct {
	windows []Window
	n       int
	samples []float64
	flat    map[string]series
	caller  map[string]string // the last that is known
}

func tabulate(windows []Window) *table {
	t := &table{windows: windows, n: len(windows), flat: map[string]series{}, caller: map[string]string{}}
	for i := range windows {
		t.samples = append(t.samples, float64(windows[i].Samples))
	}
	for i := range windows {
		for _, r := range windows[i].Rows {
			s, ok := t.flat[r.Function]
			if !ok {
				s = series{make([]float64, t.n), t.samples}
				t.flat[r.Function] = s
			}
			s.hits[i] = float64(r.Flat)
			if r.Caller != "" {
				t.caller[r.Function] = r.Caller
			}
		}
	}
	return t
}

// largeFunctions lists the functions with a share of the samples, by name.
func (t *table) largeFunctions(share float64) []string {
	out := inorder.Keys(t.flat)
	least := share * sum(t.samples)
	return slices.DeleteFunc(out, func(f string) bool { return sum(t.flat[f].hits) < least })
}

func (t *table) cumulative(function string) series {
	return seriesOf(t.windows, func(w *Window) int64 { return w.row(function).Cumulative })
}

func (t *table) ofPackage(name string) series {
	whole := series{make([]float64, t.n), t.samples}
	for f, s := range t.flat {
		if PackageOf(f) == name {
			for i, hits := range s.hits {
				whole.hits[i] += hits
			}
		}
	}
	return whole
}

// commonFactor returns the factor by which shares changed in general at a shift: the median over
// the other functions, weighted by their samples.
func (t *table) commonFactor(share float64, s shift) float64 {
	type change struct{ factor, weight float64 }
	var all []change
	total := 0.0
	for _, f := range t.largeFunctions(share) {
		before, after := ratio(t.flat[f], 0, s.at), ratio(t.flat[f], s.at, t.n)
		if f != s.function && before > 0 && after > 0 {
			all = append(all, change{after / before, before})
			total += before
		}
	}
	inorder.By(all, func(a, b change) int { return cmp.Compare(a.factor, b.factor) })
	passed := 0.0
	for _, c := range all {
		if passed += c.weight; passed >= total/2 {
			return c.factor
		}
	}
	return 1
}
