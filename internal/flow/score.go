package flow

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/audit"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/inplace"
	"github.com/beagle-go/beagle/internal/sandbox"
)

// ParseScore reads a ranking in the form of --score: "time", "allocs", "bytes", or a mix such as
// "time=0.7,allocs=0.3".
func ParseScore(text string, into *beagle.Score) error {
	weights, err := parseWeights(text)
	if err != nil {
		return err
	}
	into.Time, into.Allocs, into.Bytes = 0, 0, 0
	for _, w := range weights {
		switch w.name {
		case "time":
			into.Time = w.weight
		case "allocs":
			into.Allocs = w.weight
		case "bytes":
			into.Bytes = w.weight
		default:
			return fmt.Errorf("no score %q: give time, allocs, bytes, or a mix such as time=0.7,allocs=0.3", w.name)
		}
	}
	if into.TimeAlone() {
		into.Time = 0 // the default has one form
	}
	return nil
}

// ParseBenchmarks reads the benchmarks of a score in the form of --bench: "BenchmarkParse" or
// "BenchmarkParse=3,BenchmarkFormat=1".
func ParseBenchmarks(text string, into *beagle.Score) error {
	weights, err := parseWeights(text)
	if err != nil {
		return err
	}
	into.Benchmarks = nil
	for _, w := range weights {
		switch name := w.name[strings.LastIndex(w.name, ".")+1:]; {
		case !strings.HasPrefix(name, "Benchmark"):
			return fmt.Errorf("%q is not a benchmark: give names such as BenchmarkParse=3,BenchmarkFormat=1", w.name)
		case strings.Contains(name, "/"):
			return fmt.Errorf("%q is a sub-benchmark: name the whole, whose parts share its weight", w.name)
		}
		into.Benchmarks = append(into.Benchmarks, beagle.ScoreBenchmark{Name: w.name, Weight: w.weight})
	}
	return nil
}

type namedWeight struct {
	name   string
	weight float64
}

// parseWeights reads names with weights, and makes the weights add up to 1.
func parseWeights(text string) ([]namedWeight, error) {
	var out []namedWeight
	sum := 0.0
	for part := range strings.SplitSeq(text, ",") {
		name, value, given := strings.Cut(strings.TrimSpace(part), "=")
		w := namedWeight{name, 1}
		if given {
			var err error
			if w.weight, err = strconv.ParseFloat(value, 64); err != nil || !(w.weight > 0) || math.IsInf(w.weight, 0) {
				return nil, fmt.Errorf("%q is not a weight: give a number above 0", value)
			}
		}
		switch {
		case name == "":
			return nil, errors.New("a name is missing")
		case slices.ContainsFunc(out, func(o namedWeight) bool { return o.name == name }):
			return nil, fmt.Errorf("%s is there twice", name)
		}
		out, sum = append(out, w), sum+w.weight
	}
	for i := range out {
		out[i].weight = math.Round(1e4*out[i].weight/sum) / 1e4 // rounded as printed, so that it can be read back
	}
	return out, nil
}

// A benchmarkEvidence is the evidence of a run whose score names benchmarks: another evidence
// decides on the behaviour of a version, and the benchmarks on its speed.
type benchmarkEvidence struct {
	evidence
	timer placeTimer
}

// observe runs the benchmarks first, so that faults in them show early.
func (b *benchmarkEvidence) observe(ctx context.Context, pr *preparer) error {
	found, err := b.find(ctx)
	if err != nil {
		return err
	}
	findings, err := b.unsound(ctx, found)
	if err != nil {
		return err
	}
	if err := b.evidence.observe(ctx, pr); err != nil {
		return err
	}
	b.tell()
	pr.ready.noteFindings(findings)
	return nil
}

func (b *benchmarkEvidence) restore(ctx context.Context, ready *Prepared) error {
	if err := b.evidence.restore(ctx, ready); err != nil {
		return err
	}
	if _, err := b.find(ctx); err != nil {
		return err
	}
	b.tell()
	return nil
}

// tell makes the evidence in place time the benchmarks of the score.
func (b *benchmarkEvidence) tell() {
	if in, ok := b.evidence.(*inPlaceEvidence); ok {
		e := in.place.Evidence()
		e.Timed, e.Around = b.timer.place.Benchmarks()
		e.Parallel, e.Untimed = b.timer.place.Parallel(), ""
	}
}

// find finds the benchmarks.
func (b *benchmarkEvidence) find(ctx context.Context) ([]inplace.Named, error) {
	l, score := b.timer.lab, b.timer.spec.Score
	var err error
	b.timer.place, err = inplace.New(ctx, l.unit, l.box, filepath.Join(l.dir, "score"),
		func(what string) { b.timer.watch.Stage("score", what) })
	if err != nil {
		return nil, err
	}
	found, err := b.timer.place.Use(ctx, l.root.Source, score.Benchmarks, sandbox.LastCPU())
	if err == nil {
		b.timer.watch.Note("score", score.String())
	}
	return found, err
}

// unsound warns of the mistakes that an audit finds in the benchmarks.
func (b *benchmarkEvidence) unsound(ctx context.Context, found []inplace.Named) ([]beagle.Finding, error) {
	var out []beagle.Finding
	var packages []string
	for _, n := range found {
		packages = append(packages, n.Package)
	}
	inorder.Sort(packages)
	t := &b.timer.lab.unit.Target
	r, err := audit.Run(ctx, audit.Options{Dir: t.Dir, Patterns: slices.Compact(packages), Tags: t.Tags})
	if err != nil {
		b.timer.watch.Warn("the benchmarks of the score were not audited: " + reasonOf(err))
		return nil, ctx.Err()
	}
	for _, f := range r.Findings {
		if !slices.ContainsFunc(found, func(n inplace.Named) bool { return n.Name == f.Benchmark }) {
			continue
		}
		out = append(out, beagle.Finding{
			Code: f.Rule, Figure: fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Benchmark, f.Reason), Remedy: f.Remedy,
		})
		b.timer.watch.Warn(fmt.Sprintf("%s: %s. %s", f.Rule, out[len(out)-1].Figure, f.Remedy))
	}
	return out, nil
}

func (b *benchmarkEvidence) confirm(
	ctx context.Context, cs []beagle.Candidate, tried int, budget time.Duration,
) ([]beagle.Measurement, error) {
	return b.timer.confirm(ctx, cs, tried, budget)
}

func (b *benchmarkEvidence) sift(
	ctx context.Context, cs []beagle.Candidate, pairs [][2]int, rounds int,
) (*bench.Sifting, error) {
	return b.timer.sift(ctx, cs, pairs, rounds)
}

func (b *benchmarkEvidence) assemble(ctx context.Context, cs []beagle.Candidate) (candidateProgram, error) {
	t, err := b.evidence.assemble(ctx, cs)
	if err != nil {
		return nil, err
	}
	return &benchmarkProgram{candidateProgram: t, timer: b.timer, cs: cs}, nil
}

// A benchmarkProgram is a program that shows how versions behave and, later, another one that times
// them.
type benchmarkProgram struct {
	candidateProgram
	timer placeTimer
	cs    []beagle.Candidate
}

// screen builds the remaining versions into the tests of the benchmarks.
func (t *benchmarkProgram) screen(ctx context.Context, versions []int, budget time.Duration) ([]beagle.Ratio, error) {
	if len(versions) == 0 {
		return nil, nil
	}
	// Build the original and the remaining versions into the tests.
	root := t.timer.lab.root
	vs := []inplace.Version{{ID: root.ID, Source: root.Source}}
	for _, v := range versions {
		vs = append(vs, inplace.Version{ID: t.cs[v-1].ID, Source: t.cs[v-1].Source})
	}
	g, err := t.timer.place.BuildStarting(ctx, vs)
	if err != nil {
		return nil, err
	}
	defer g.Remove()
	var built []int
	for i := range versions {
		if g.Failed[i+1] == "" {
			built = append(built, i+1)
		}
	}
	// Time those that compile.
	ratios, err := t.timer.screen(ctx, g, built, budget)
	if err != nil {
		return nil, err
	}
	out := make([]beagle.Ratio, len(versions))
	for i, at := range built {
		out[at-1] = ratios[i]
	}
	return out, nil
}

// classes returns nothing here: each benchmark has a say when versions are confirmed.
func (t *benchmarkProgram) classes(
	_ context.Context, versions []int, _ time.Duration,
) ([][]beagle.InputClassRatio, error) {
	return make([][]beagle.InputClassRatio, len(versions)), nil
}

// A placeTimer times versions in the benchmarks of a place.
type placeTimer struct {
	setting
	place *inplace.Place
}

// confirm is the full measurement.
func (p *placeTimer) confirm(
	ctx context.Context, cs []beagle.Candidate, tried int, budget time.Duration,
) ([]beagle.Measurement, error) {
	p.lab.timing.Lock()
	defer p.lab.timing.Unlock()
	ms, err := bench.ConfirmIn(ctx, p.clock(), p.lab.unit, cs, tried, bench.Options{
		Budget: budget, MinGain: p.spec.MinGain, Seed: p.spec.Seed, Score: p.spec.Score, Brief: p.lab.brief,
	})
	if err != nil {
		return nil, err
	}
	names, _ := p.place.Benchmarks()
	for i := range ms {
		ms[i].Notes = append(ms[i].Notes, "timed in the benchmarks "+strings.Join(names, ", "))
		if p.lab.unit.Scope.Group() {
			ms[i].Notes = append(ms[i].Notes, "the figures count an iteration of these benchmarks as a call")
		}
		for _, c := range ms[i].InputClasses {
			if ms[i].Faster && c.Ratio.High < bench.Least(p.spec.Score) {
				ms[i].Faster = false
				ms[i].Why = fmt.Sprintf("it is slower in %s: %s", c.Name, c.Ratio.Spelled())
			}
		}
	}
	return ms, nil
}

// sift compares candidates over layouts.
func (p *placeTimer) sift(
	ctx context.Context, cs []beagle.Candidate, pairs [][2]int, rounds int,
) (*bench.Sifting, error) {
	p.lab.timing.Lock()
	defer p.lab.timing.Unlock()
	return bench.SiftIn(ctx, p.clock(), p.lab.unit, cs, pairs, bench.Options{
		Budget: placeTimes * bench.SiftTime(len(cs)), Rounds: rounds, Seed: p.spec.Seed ^ siftSeed, Score: p.spec.Score,
		Brief: p.lab.brief,
	})
}

// placeTimes is the factor by which a screening takes longer in place, since benchmarks do other
// work, too.
const placeTimes = 4

// screen compares versions of a program. The caller holds the lab's timing lock.
func (p *placeTimer) screen(
	ctx context.Context, g *inplace.Program, versions []int, budget time.Duration,
) ([]beagle.Ratio, error) {
	return bench.ScreenIn(ctx, p.clock(), p.place.Timed(g), versions, bench.Options{
		Budget: placeTimes * budget, Seed: p.spec.Seed, Score: p.spec.Score,
	})
}

// clock counts exactly if the counts decide.
func (p *placeTimer) clock() bench.Place {
	return p.place.Clock(sandbox.LastCPU(), !p.spec.Score.TimeAlone())
}

// scoreKey names the score in the keys of the store: "" for the default. It includes the text of
// the module, since benchmarks depend on it.
func (n *inputs) scoreKey() string {
	s := n.spec.Score
	if s.IsZero() {
		return ""
	}
	text := ""
	if len(s.Benchmarks) > 0 {
		text = n.works.run
		if key, ok := n.recordingKey(); ok {
			text = key.Corpus + os.Getenv("GOFLAGS")
		}
	}
	return beagle.HashOf("score", s, text)
}

// gains describes the gain of a winner to people.
func (s *Spec) gains(m *beagle.Measurement) string {
	fast := fmt.Sprintf("At least %.2f times as fast", m.Corrected.Low)
	if s.Score.TimeAlone() {
		return fast
	}
	return fmt.Sprintf("%.4g instead of %.4g allocations and %.4g instead of %.4g bytes a call, and at least "+
		"%.2f times as fast (%.2f by %s)", m.Best.Allocs, m.Baseline.Allocs, m.Best.Bytes, m.Baseline.Bytes,
		m.Corrected.Low,
		m.Score.Point, s.Score.Quantity())
}
