package flow

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/tail"
)

// A gain on most inputs may hide a loss on others. So the judge times finalists on each class of
// inputs alone, too, and the search briefly times what looks faster on the common classes.
const (
	classTime    = 60 * time.Millisecond // of timing, for one version on one class in one layout
	classLayouts = 3
	maxClasses   = 12
	commonClass  = 0.10 // least share of the calls at which a class may not become slower at all
	ruinous      = 0.5  // ratio below which no class may fall, however rare

	// classes that a search times: the rarest of the common ones, which the figure for all inputs
	// shows least
	searchClasses = 3
	searchTime    = screenTime / 4 // of timing, for one version on one class
)

// byClass measures the faster finalists on each class of inputs, and takes back the decision where
// a class pays for it.
func (m *meter) byClass(ctx context.Context, cs []beagle.Candidate, ms []beagle.Measurement) error {
	var idx []int
	for i := range ms {
		if ms[i].Faster {
			idx = append(idx, i)
		}
	}
	if m.lab.builder == nil || len(m.spec.Score.Benchmarks) > 0 {
		return nil // the benchmarks were the classes
	}
	classes, err := corpus.InputClasses(m.inputs.corpus())
	if err != nil || len(classes) == 0 || len(idx) == 0 {
		return err
	}
	// The rarer a class, the less the figure for all inputs shows it.
	inorder.By(classes, func(a, b corpus.InputClass) int { return cmp.Compare(a.Share, b.Share) })
	classes = classes[:min(len(classes), maxClasses)]
	m.watch.Stage("measure",
		fmt.Sprintf("%s on each of %d classes of inputs", tail.Plural(len(idx), "finalist"), len(classes)))
	faster := make([]beagle.Candidate, len(idx))
	for v, i := range idx {
		faster[v] = cs[i]
	}
	bin, err := m.lab.buildWithOriginal(ctx, harness.Link{FuncAlign: 64}, faster...)
	if err != nil {
		return err
	}
	defer bin.Remove()
	found := make([][][]beagle.Ratio, len(classes)) // class, layout, variant
	for layout := range classLayouts {
		if layout > 0 {
			if bin, err = m.lab.builder.Relink(ctx, bin,
				harness.Link{FuncAlign: 64, Layout: m.spec.Seed + uint64(layout)}); err != nil {
				return err
			}
		}
		if err := m.timeClasses(ctx, bin, classes, len(idx), found); err != nil {
			return err
		}
	}
	for v, i := range idx {
		for k, class := range classes {
			if found[k] == nil {
				continue
			}
			r := beagle.InputClassRatio{Name: class.Name, Share: class.Share, Ratio: acrossLayouts(found[k], v)}
			ms[i].InputClasses = append(ms[i].InputClasses, r)
		}
		if why := payingClass(ms[i].InputClasses); why != "" {
			ms[i].Faster, ms[i].Why = false, why
		}
	}
	return nil
}

// timeClasses times all versions of a program on each class, and adds to found. It adds nothing to
// a class on all of whose calls the original panics.
func (m *meter) timeClasses(
	ctx context.Context, bin *harness.Binary, classes []corpus.InputClass, n int, found [][][]beagle.Ratio,
) error {
	all, sets := make([]int, n), make([][]beagle.Record, len(classes))
	for i := range all {
		all[i] = i + 1
	}
	for k, class := range classes {
		sets[k] = class.Records
	}
	// Time all versions on all classes in one process, while nothing disturbs it.
	m.lab.timing.Lock()
	defer m.lab.timing.Unlock()
	budget := classTime * time.Duration(n+1)
	ratios, err := bench.ScreenSets(ctx, m.lab.bench, bin, all, m.inputs.corpus(), sets, budget)
	if err != nil {
		return err
	}
	for k := range classes {
		if ratios[k] == nil {
			continue
		}
		if found[k] == nil {
			found[k] = make([][]beagle.Ratio, n)
		}
		for v, r := range ratios[k] {
			found[k][v] = append(found[k][v], r)
		}
	}
	return nil
}

// acrossLayouts returns a version's ratio on a class over all layouts: the median, and the interval
// that holds all their intervals.
func acrossLayouts(byVersion [][]beagle.Ratio, v int) beagle.Ratio {
	rs := slices.Clone(byVersion[v])
	inorder.By(rs, func(a, b beagle.Ratio) int { return cmp.Compare(a.Point, b.Point) })
	out := rs[len(rs)/2]
	for _, r := range rs {
		out.Low, out.High = min(out.Low, r.Low), max(out.High, r.High)
	}
	return out
}

// payingClass names the class that pays for the gain of the others; it is empty if no class pays
// too much.
func payingClass(classes []beagle.InputClassRatio) string {
	for _, c := range classes {
		switch {
		case c.Ratio.Point == 0:
			return fmt.Sprintf("it cannot be timed on %s", c.Name)
		case c.Share >= commonClass && c.Ratio.High < 1 || c.Ratio.High < ruinous:
			return fmt.Sprintf("it is slower on a class of inputs, %s (%.0f %% of the calls): %s",
				c.Name, 100*c.Share, c.Ratio.Spelled())
		}
	}
	return ""
}

// lossWarnings warn of the rarer classes that pay for the gain.
func lossWarnings(classes []beagle.InputClassRatio) []string {
	var out []string
	for _, c := range classes {
		if c.Ratio.High < 1 {
			out = append(out,
				fmt.Sprintf("slower on %.2g %% of the calls (%s): %s", 100*c.Share, c.Name, c.Ratio.Spelled()))
		}
	}
	return out
}
