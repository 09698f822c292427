package flow

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/gotool"
	"github.com/beagle-go/beagle/internal/source"
)

// A meter measures how fast versions are that behave as the original does.
type meter struct {
	setting
	inputs *inputs
}

// confirm makes the full measurement.
func (m *meter) confirm(
	ctx context.Context, cs []beagle.Candidate, tried int, budget time.Duration,
) ([]beagle.Measurement, error) {
	return m.lab.evidence.confirm(ctx, cs, tried, budget)
}

// blind measures a version by its times alone, even if its machine code is the
// original's. The seed decides layouts, orders and the fresh inputs.
func (m *meter) blind(ctx context.Context, c beagle.Candidate, seed uint64) (*beagle.Measurement, error) {
	fresh, told, err := m.inputs.drawFresh(ctx, seed)
	if err != nil {
		return nil, err
	}
	pgo, err := modulePGO(ctx, m.unit)
	if err != nil {
		return nil, err
	}
	ms, err := bench.Confirm(ctx, m.lab.bench, m.unit, []beagle.Candidate{c}, m.inputs.corpus(), 1, bench.Options{
		Budget: m.spec.Measure, MinGain: m.spec.MinGain, Blind: true, PGO: pgo, Seed: seed,
		Fresh: fresh, FreshGaps: told, Score: m.spec.Score, Brief: m.lab.brief,
	})
	if err != nil {
		return nil, err
	}
	return &ms[0], nil
}

// measuring names a measurement in the store: its subject, its method, and the profile that it
// builds on.
func (m *meter) measuring(ctx context.Context, kind string, what ...any) (string, error) {
	path, err := modulePGO(ctx, m.unit)
	if err != nil {
		return "", err
	}
	var profile []byte
	if path != "" {
		if profile, err = os.ReadFile(path); err != nil {
			return "", fmt.Errorf("reading the module's profile: %w; mend it or take it away", err)
		}
	}
	return beagle.HashOf(kind, append(what, m.spec.Measure, m.spec.MinGain, m.spec.Seed, bench.Rule, bench.Plan,
		profile)...), nil
}

// modulePGO returns the profile that production builds use, or "". GOFLAGS may name one, or switch
// it off. Otherwise go build takes it from the directory of the main package: of several in the
// module, the one nearest to the target counts.
func modulePGO(ctx context.Context, u *source.Unit) (string, error) {
	t := &u.Target
	tools, err := gotool.Find(ctx, u)
	if err != nil {
		return "", err
	}
	flag, err := tools.Flag("pgo")
	switch {
	case err != nil || flag == "off":
		return "", err
	case flag != "" && flag != "auto":
		return filepath.Abs(flag)
	}
	var found []string
	filepath.WalkDir(t.Dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // an unreadable directory holds no profile for us
		case d.IsDir() && path != t.Dir &&
			(strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "vendor" ||
				d.Name() == "testdata"):
			return fs.SkipDir
		case d.Name() == "default.pgo":
			found = append(found, path)
		}
		return nil
	})
	if len(found) == 0 {
		return "", nil
	}
	shared := func(path string) int { return len(commonPrefix(path, t.PkgDir)) }
	return slices.MaxFunc(found, func(a, b string) int {
		return cmp.Or(shared(a)-shared(b), len(b)-len(a))
	}), nil
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}
