package bench

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
)

// A Place times versions where no records can: inside the user's own benchmarks. Each benchmark is
// a window of its timings.
type Place interface {
	// Build links versions, the original first, in a layout. failed are those that the compiler
	// refused.
	Build(ctx context.Context, vs []harness.Variant, layout uint64) (p PlaceProgram, failed map[int]string, err error)
	Relink(ctx context.Context, p PlaceProgram, layout uint64) (PlaceProgram, error)
	// Time alternates the versions for the given budget. failure says how a process ended without a
	// result.
	Time(ctx context.Context, p PlaceProgram, versions []int, budget time.Duration, seed uint64) (
		t *rt.Timing, failure string, err error)
	// Windows are the benchmarks.
	Windows() []Window
}

// A Window is a benchmark with its share of the time of all.
type Window struct {
	Name  string
	Share float64
}

// A PlaceProgram is a linked test binary, or one for each version.
type PlaceProgram interface {
	Path() string // "" where each version has a binary of its own
	Remove()
}

// ConfirmIn does what [Confirm] does in a place. It speaks of the benchmarks only: there are no
// held-out and no fresh inputs, no processes apart, and no profile. A ratio for each benchmark is
// among the input classes.
func ConfirmIn(
	ctx context.Context, p Place, u *source.Unit, cs []beagle.Candidate, tried int, o Options,
) ([]beagle.Measurement, error) {
	if len(cs) == 0 {
		return nil, nil
	}
	// The same confirmer measures, with another rig: it runs the user's benchmarks.
	l := &placeRig{place: p, u: u, n: copiesOf(len(cs))}
	l.copies("original", u.Target.Source)
	for _, x := range cs {
		l.copies(x.ID, x.Source)
	}
	defer l.close()
	m := newConfirmer(l, len(cs), o.defaults())
	m.inPlace = true
	m.sets = inputSets("benchmarks", "", "")
	out, err := m.run(ctx, tried)
	if err != nil {
		return nil, err
	}
	// The ratios by benchmark take the place of the input classes.
	for i, t := range m.finalists {
		if t.fail == "" {
			out[i].InputClasses = l.byBenchmark(m, t)
		}
	}
	return out, nil
}

// ScreenIn does what [Screen] does in a place, with the options' budget, seed and score.
func ScreenIn(ctx context.Context, p Place, g PlaceProgram, idx []int, o Options) ([]beagle.Ratio, error) {
	if len(idx) == 0 {
		return nil, nil
	}
	run := func(ctx context.Context, q *rt.Time) (*rt.TimeReply, string, error) {
		t, failure, err := p.Time(ctx, g, q.Variants, time.Duration(q.Sets[0].Budget), q.Seed)
		if err != nil || failure != "" {
			return nil, failure, err
		}
		return &rt.TimeReply{Sets: []rt.Timing{*t}}, "", nil
	}
	return screen(ctx, run, idx, rt.Time{Sets: []rt.TimeSet{{}}, Seed: o.Seed}, o.Budget, o.Score)
}

// A placeRig builds and times in a place.
type placeRig struct {
	place    Place
	u        *source.Unit
	n        int // copies of each version
	variants []harness.Variant

	mu          sync.Mutex
	built       []PlaceProgram
	keptTimings []keptTiming
}

// A keptTiming is one timing with the versions in it.
type keptTiming struct {
	im       image
	variants []int
	timing   *rt.Timing
}

// A placeImage is a test binary with the addresses of its versions.
type placeImage struct {
	p      PlaceProgram
	layout uint64
	aligns map[int]int
}

func (im *placeImage) seed() uint64 { return im.layout }

func (im *placeImage) align(v int) int {
	if a, ok := im.aligns[v]; ok {
		return a
	}
	return -1
}

func (l *placeRig) copies(id, src string) {
	for range l.n {
		l.variants = append(l.variants, harness.Variant{ID: id, Source: src})
	}
}

func (l *placeRig) close() {
	for _, p := range l.built {
		p.Remove()
	}
}

func (l *placeRig) image(p PlaceProgram, layout uint64) (image, error) {
	if p.Path() == "" {
		return &placeImage{p: p, layout: layout}, nil
	}
	aligns, err := entries(p.Path(), l.u.Target.PkgPath, l.u.Target.Name)
	return &placeImage{p, layout, aligns}, err
}

func (l *placeRig) build(ctx context.Context, _ string, layout uint64) (image, map[int]string, error) {
	p, failed, err := l.place.Build(ctx, l.variants, layout)
	if err != nil {
		return nil, nil, err
	}
	l.built = append(l.built, p)
	byCandidate := map[int]string{}
	for v, why := range failed {
		byCandidate[v/l.n-1] = why
	}
	im, err := l.image(p, layout)
	return im, byCandidate, err
}

func (l *placeRig) relink(ctx context.Context, like image, layouts []uint64) ([]image, error) {
	var out []image
	for _, layout := range layouts {
		p, err := l.place.Relink(ctx, like.(*placeImage).p, layout)
		if err != nil {
			return nil, err
		}
		im, err := l.image(p, layout)
		if err != nil {
			return nil, err
		}
		out = append(out, im)
	}
	return out, nil
}

func (l *placeRig) time(ctx context.Context, im image, q *rt.Time) (*rt.TimeReply, string, error) {
	var budget int64
	for _, s := range q.Sets {
		budget += s.Budget
	}
	t, failure, err := l.place.Time(ctx, im.(*placeImage).p, q.Variants, time.Duration(budget), q.Seed)
	if err != nil || failure != "" {
		return nil, failure, err
	}
	l.mu.Lock()
	l.keptTimings = append(l.keptTimings, keptTiming{im, slices.Clone(q.Variants), t})
	l.mu.Unlock()
	return &rt.TimeReply{Sets: []rt.Timing{*t}}, "", nil
}

var errOnlyJoint = errors.New("a place has no processes apart and makes no profile")

func (l *placeRig) timeApart(context.Context, image, [2]*rt.Time) ([2]*rt.TimeReply, string, error) {
	return [2]*rt.TimeReply{}, "", errOnlyJoint
}

func (l *placeRig) profile(context.Context, image, *rt.Time) (string, error) { return "", errOnlyJoint }

// sameCode compares texts, since two versions in one test binary have names of their own in their
// code.
func (l *placeRig) sameCode(candidate int) bool {
	return l.variants[0].Source == l.variants[l.n*(1+candidate)].Source
}

func (l *placeRig) discard(im image) {} // the binaries share a directory, which close removes

// byBenchmark compares a candidate with the original in each benchmark alone, over all layouts.
func (l *placeRig) byBenchmark(m *confirmer, f *finalist) []beagle.InputClassRatio {
	// With one benchmark the whole is all there is to say.
	windows := l.place.Windows()
	if len(windows) < 2 {
		return nil
	}
	// Compare the candidate in each benchmark as over all inputs, and combine the layouts.
	found := make([][]Estimate, len(windows))
	for w := range windows {
		for _, k := range l.keptTimings {
			t := only1(k.timing, w)
			q := &rt.Time{Variants: k.variants}
			pairs := compareCopies(beagle.Score{}, k.im, q, t, intersect(q.Variants, m.originals()),
				intersect(q.Variants, f.copies))
			if r, ok := stratify(k.im.seed(), pairs); ok {
				found[w] = append(found[w], r.est)
			}
		}
	}
	return ratiosOf(windows, found)
}

// ratiosOf returns the ratios in benchmarks by their layouts. One in which a version is slower
// refuses it, so the intervals hold for all benchmarks at once: each alone would lie below 1 by
// chance in 2.5 % of cases, and one of ten in 19 %.
func ratiosOf(windows []Window, found [][]Estimate) []beagle.InputClassRatio {
	var out []beagle.InputClassRatio
	for w, of := range windows {
		// A single layout has no interval.
		if c := Combine(found[w]); c.N > 1 && !math.IsInf(c.SE, 1) {
			out = append(out, beagle.InputClassRatio{Name: of.Name, Share: of.Share, Ratio: c.among(len(windows))})
		}
	}
	return out
}

// only1 returns the rounds of one window.
func only1(t *rt.Timing, w int) *rt.Timing {
	out := &rt.Timing{Calls: t.Calls, Passes: t.Passes, Windows: 1, Wall: make([][]int64, len(t.Wall)),
		CPU: make([][]int64, len(t.Wall))}
	for r, at := range t.Window {
		if at != w {
			continue
		}
		out.Window = append(out.Window, 0)
		for v := range t.Wall {
			out.Wall[v] = append(out.Wall[v], t.Wall[v][r])
			if r < len(t.CPU[v]) {
				out.CPU[v] = append(out.CPU[v], t.CPU[v][r])
			}
		}
	}
	return out
}
