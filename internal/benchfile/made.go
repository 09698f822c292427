package benchfile

import (
	"path/filepath"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/corpus"
)

// Describe describes the plan's benchmark.
func (p *Plan) Describe(fit *beagle.BenchmarkFit) *beagle.ProductionBenchmark {
	t, through := &p.For.Target, ""
	if p.through() {
		through = p.Unit.Target.Spec()
	}
	m := &beagle.ProductionBenchmark{
		Target: beagle.TargetRef{Spec: t.Spec(), ID: t.ID(), Module: t.Module, Signature: t.Signature, Dir: t.Dir,
			File: filepath.ToSlash(DisplayPath(t, t.File)), Line: t.Line, TypeArgs: t.TypeArgs},
		Through: through, Benchmarks: p.Benchmarks(),
		Sources: append([]string{}, p.Corpus.Sources...), Calls: p.Corpus.Calls,
		Distinct: p.Distinct, Inputs: p.Inputs(), Rule: p.Rule, State: p.state(), Fit: fit, Notes: p.Notes,
		Groups: []beagle.BenchmarkGroup{}, Extremes: []string{},
	}
	for _, g := range p.Groups {
		m.Groups = append(m.Groups, beagle.BenchmarkGroup{Name: g.Name, Share: g.Share, Weight: g.Weight,
			Distinct: g.Distinct, Inputs: len(g.Inputs)})
	}
	for _, x := range p.Extremes {
		m.Extremes = append(m.Extremes, x.Name)
	}
	return m
}

// Records returns the benchmark's inputs as a corpus, with the calls that they stand for.
func (p *Plan) Records() []beagle.Record {
	var out []beagle.Record
	for _, g := range p.Groups {
		for _, in := range g.Inputs {
			r := in.Record
			r.Weight = p.Corpus.Calls * g.Weight * in.Share
			if r.Weight > 0 {
				out = append(out, r)
			}
		}
	}
	return corpus.Merge(out)
}
