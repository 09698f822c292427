package flow

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/audit"
	"github.com/beagle-go/beagle/internal/corpus"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/source"
)

// auditedCalls is the number of iterations of a benchmark that record its inputs.
const auditedCalls = "1000x"

// AuditInputs compares what a benchmark of the target's package passes to the target with recorded
// calls, those of spec.CorpusFile.
func AuditInputs(ctx context.Context, spec Spec, benchmarks []string) (*audit.Report, error) {
	u, err := source.Load(ctx, source.Options{Dir: spec.Dir, Spec: spec.Target, Tags: spec.Tags})
	if err != nil {
		return nil, err
	}
	// Production's inputs are those of the file.
	records, err := corpus.Load(u, spec.CorpusFile)
	if err != nil {
		return nil, err
	}
	production, err := corpus.Observed(u, records, corpus.Observations{})
	if err != nil {
		return nil, err
	}
	theirs, err := inputsOf(&production.Facets, records)
	if err != nil {
		return nil, err
	}
	out := &audit.Report{Findings: []audit.Mistake{}}
	// Record those of each benchmark, and compare.
	for _, name := range benchmarks {
		at, err := placeOf(u, name)
		if err != nil {
			return nil, err
		}
		made, err := inputsOfBenchmark(ctx, u, spec, name)
		if err != nil {
			return nil, err
		}
		ours, err := inputsOf(&production.Facets, made)
		if err != nil {
			return nil, err
		}
		out.Benchmarks++
		out.Findings = append(out.Findings, audit.CompareInputs(at, ours, theirs)...)
	}
	return out, nil
}

// inputsOfBenchmark runs a benchmark with a target that records its calls.
func inputsOfBenchmark(
	ctx context.Context, u *source.Unit, spec Spec, name string,
) ([]beagle.Record, error) {
	box, err := sandbox.New(sandbox.Options{Require: spec.Sandbox == "require"})
	if err != nil {
		return nil, err
	}
	dir, err := scratch.New("audit")
	if err != nil {
		return nil, err
	}
	defer dir.Remove()
	// Record the calls of the benchmark alone.
	got, err := corpus.Capture(ctx, u, box, dir.Path, corpus.CaptureOptions{Budget: captureTime, Benchmark: name,
		BenchTime: auditedCalls})
	switch {
	case err != nil:
		return nil, err
	case len(got.Records) == 0:
		why := "it does not call it"
		if text := strings.Join(append(got.Failures, got.Why...), "; "); text != "" {
			why = text
		}
		return nil, &beagle.UsageError{What: fmt.Sprintf("no call of %s by %s was recorded: %s", u.Target.Spec(), name,
			why), Remedy: "name a benchmark of its package that calls it"}
	}
	return got.Records, nil
}

// inputsOf sums up records. It divides both sides by the facets of one, so that groups of one name
// are the same.
func inputsOf(facets *beagle.Facets, records []beagle.Record) (in audit.Inputs, err error) {
	records = corpus.Merge(records)
	groups, err := corpus.Strata(facets, records)
	if err != nil {
		return in, err
	}
	in.Distinct, in.Groups = len(records), map[string]float64{}
	for _, r := range records {
		in.Bytes += len(r.Args)
	}
	for _, g := range groups {
		in.Groups[g.Name] = g.Share
	}
	return in, nil
}

// placeOf finds a benchmark in the test files of the target's package.
func placeOf(u *source.Unit, name string) (audit.Mistake, error) {
	files, err := filepath.Glob(filepath.Join(u.Target.PkgDir, "*_test.go"))
	if err != nil {
		return audit.Mistake{}, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return audit.Mistake{}, err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
		if err != nil {
			continue // the build says it
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.Name == name {
				at := set.Position(d.Name.Pos())
				if short, err := filepath.Rel(u.Target.Dir, file); err == nil {
					file = filepath.ToSlash(short)
				}
				return audit.Mistake{Benchmark: name, File: file, Line: at.Line, Column: at.Column}, nil
			}
		}
	}
	return audit.Mistake{}, &beagle.UsageError{What: fmt.Sprintf("%s has no benchmark %s", u.Target.PkgPath, name),
		Remedy: "name one that go test -bench . lists, without the part after a slash"}
}
