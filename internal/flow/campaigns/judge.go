package campaigns

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/benchfile"
	"github.com/beagle-go/beagle/internal/campaign"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/tail"
)

// test runs the tests of the target's package with the winner in it, by an overlay.
func (w *Work) test(ctx context.Context, t *beagle.CampaignTarget, u *source.Unit, r *beagle.Result) error {
	w.say("tests", "the package's own tests, with the winner")
	dir, err := scratch.New("campaign")
	if err != nil {
		return err
	}
	defer dir.Remove()
	texts := map[string]string{}
	for _, f := range r.Files {
		texts[filepath.Join(u.Target.Dir, filepath.FromSlash(f.Path))] = f.After
	}
	overlay, err := source.WriteOverlay(dir.Path, texts)
	if err != nil {
		return err
	}
	args := append([]string{"test", "-overlay=" + overlay}, source.TagFlags(w.Order.Spec.Tags)...)
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = u.Target.PkgDir
	out, err := cmd.CombinedOutput()
	t.Tests = "go test " + u.Target.PkgPath
	switch {
	case ctx.Err() != nil:
		t.State = beagle.CampaignRunning // its run is done, and gives its result again
		return ctx.Err()
	case err != nil:
		t.State = beagle.CampaignTests
		t.Reason = "the package's own tests fail with the winner: " + firstLines(out)
	}
	return nil
}

// maxReason bounds the part of a test's output that a state keeps.
const maxReason = 1000

func firstLines(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	text := strings.Join(lines[:min(len(lines), 4)], "; ")
	return tail.Short(text, maxReason)
}

// benchSeconds is the processor time of the profile of a winner's inputs.
const benchSeconds = 3

// compare compares production with the benchmark that measured a winner: its benchmark in place, or
// one of its inputs. If there can be none, the report says that its interval lacks that part.
func (w *Work) compare(
	ctx context.Context, s *campaign.State, t *beagle.CampaignTarget, u *source.Unit, r *beagle.Result,
) {
	below := s.Subtrees[t.Target]
	if w.Order.NoBench || below == nil {
		return
	}
	f := &benchfile.Fitter{
		Production: &hotspots.Subtree{Target: t.Target, Share: below.Share, Samples: below.Samples,
			Effective: below.Effective, Callees: below.Callees, Lines: below.Lines},
		Needed: 0.98, Seconds: benchSeconds, Say: func(text string) { w.Watch.Note("compare", text) },
	}
	var fit *beagle.BenchmarkFit
	var err error
	if r.InPlace != nil {
		fit, t.Part, err = inPlace(ctx, f, u, r.InPlace)
	} else {
		fit, err = w.withInputs(ctx, f, s, t)
	}
	if err != nil {
		w.Watch.Warn(fmt.Sprintf("%s: no benchmark is compared with production: %v", t.Target, err))
		return
	}
	worst := fit.Callees
	if fit.Lines.Estimate < worst.Estimate {
		worst = fit.Lines
	}
	t.Similarity = &worst
}

// inPlace compares production with the benchmarks in which versions took turns. If their whole
// loops were timed, it also states the target's share of their loops.
func inPlace(
	ctx context.Context, f *benchfile.Fitter, u *source.Unit, e *beagle.InPlace,
) (*beagle.BenchmarkFit, *beagle.BenchmarkPart, error) {
	if len(e.Timed) == 0 || !slices.Equal(e.Packages, []string{u.Target.PkgPath}) {
		return nil, nil, errors.New("it was timed in benchmarks of other packages")
	}
	b, err := benchfile.Build(ctx, u, &u.Target, "", "", "")
	if err != nil {
		return nil, nil, err
	}
	defer b.Close()
	var tops []string
	for _, name := range e.Timed {
		top, _, _ := strings.Cut(name, "/")
		tops = append(tops, regexp.QuoteMeta(top))
	}
	run, err := b.Profile(ctx, "^("+strings.Join(tops, "|")+")$", f.Seconds)
	if err != nil {
		return nil, nil, err
	}
	if len(e.Around) < len(e.Timed) {
		run.Part = nil
	}
	return f.Compare(run.Subtree), run.Part, nil
}

// withInputs compares production with a benchmark of a winner's inputs.
func (w *Work) withInputs(
	ctx context.Context, f *benchfile.Fitter, s *campaign.State, t *beagle.CampaignTarget,
) (*beagle.BenchmarkFit, error) {
	spec := w.Order.Spec
	spec.Dir, spec.Target, spec.CorpusFile = s.Dir, t.Target, t.Inputs
	g, err := flow.Gather(ctx, w.Store, spec, nil)
	if err != nil {
		return nil, err
	}
	plan, err := benchfile.Select(g.Unit, g.Corpus, benchfile.Options{Inputs: 256, Bytes: 96 << 10})
	if err != nil {
		return nil, err
	}
	return f.Measure(ctx, plan)
}
