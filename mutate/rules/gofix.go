package rules

import (
	"errors"
	"go/ast"
	"go/types"
	"reflect"
	"runtime"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildtag"
	"golang.org/x/tools/go/analysis/passes/hostport"
	"golang.org/x/tools/go/analysis/passes/inline"
	"golang.org/x/tools/go/analysis/passes/modernize"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// GoFixes are the analyzers that Go 1.26's `go fix` registers, as mutators:
// each suggested fix of a diagnostic is a site. Most of them make code newer
// rather than faster; they are in the pool because a newer form is often the
// one that another rule, or the compiler, recognises.
var GoFixes = []*mutate.Mutator{
	goFix(modernize.AnyAnalyzer),
	goFix(buildtag.Analyzer),
	goFix(modernize.FmtAppendfAnalyzer),
	goFix(modernize.ForVarAnalyzer),
	goFix(hostport.Analyzer),
	goFix(inline.Analyzer),
	goFix(modernize.MapsLoopAnalyzer),
	goFix(modernize.MinMaxAnalyzer),
	goFix(modernize.NewExprAnalyzer),
	goFix(modernize.OmitZeroAnalyzer),
	goFix(modernize.PlusBuildAnalyzer),
	goFix(modernize.RangeIntAnalyzer),
	goFix(modernize.ReflectTypeForAnalyzer),
	goFix(modernize.SlicesContainsAnalyzer),
	goFix(modernize.SlicesSortAnalyzer),
	goFix(modernize.StdIteratorsAnalyzer),
	goFix(modernize.StringsBuilderAnalyzer),
	goFix(modernize.StringsCutAnalyzer),
	goFix(modernize.StringsCutPrefixAnalyzer),
	goFix(modernize.StringsSeqAnalyzer),
	goFix(modernize.TestingContextAnalyzer),
	goFix(modernize.WaitGroupGoAnalyzer),
}

// goFixClasses holds the analyzers whose fixes are not exact: hostport mends
// IPv6 addresses, which is a change of behaviour, so it is advice.
var goFixClasses = map[string]beagle.Class{"hostport": beagle.E5}

// goFix makes a mutator of an analyzer.
func goFix(a *analysis.Analyzer, pictures ...string) *mutate.Mutator {
	class, ok := goFixClasses[a.Name]
	if !ok {
		class = beagle.E0
	}
	doc, _, _ := strings.Cut(a.Doc, "\n")
	return &mutate.Mutator{
		Name:    "fix-" + a.Name,
		Doc:     "Applies `go fix -" + a.Name + "`: " + doc + ". The newer form is often the one that other rules recognise; its analyzer decides where it is legal.",
		Before:  pictures[0],
		After:   pictures[1],
		Class:   class,
		Gain:    1.02,
		Find:    func(p *mutate.Pass) []mutate.Site { return analyzerSites(p, a, p.File) },
		Rewrite: precomputed,
	}
}

// analyzerSites runs an analyzer over one file of the pass, which may be a
// copy of p.File with other comments, and turns its fixes into sites.
func analyzerSites(p *mutate.Pass, a *analysis.Analyzer, file *ast.File) []mutate.Site {
	r := &analysisRun{pass: p, file: file, info: withVersions(p, file), results: map[*analysis.Analyzer]any{}}
	if _, err := r.run(a); err != nil {
		return nil
	}
	var sites []mutate.Site
	for _, d := range r.found {
		for _, fix := range d.SuggestedFixes {
			if strings.Contains(fix.Message, "behavior change") {
				continue // omitzero offers one fix that is exact and one that is not
			}
			if edits := fixEdits(p, fix); len(edits) > 0 {
				sites = append(sites, mutate.Site{Node: nodeAt(file, d), Label: fix.Message, Data: edits})
			}
		}
	}
	return sites
}

// withVersions is the pass's type information with the language version of
// the file, which analyzers need before they suggest anything newer.
func withVersions(p *mutate.Pass, file *ast.File) *types.Info {
	info := *p.Info
	version := info.FileVersions[p.File]
	if version == "" && p.Target != nil && p.Target.Go != "" {
		version = "go" + p.Target.Go
	}
	info.FileVersions = map[*ast.File]string{file: version}
	return &info
}

func fixEdits(p *mutate.Pass, fix analysis.SuggestedFix) []mutate.Edit {
	var edits []mutate.Edit
	for _, e := range fix.TextEdits {
		end := e.End
		if !end.IsValid() {
			end = e.Pos
		}
		edits = append(edits, mutate.Edit{Start: offset(p, e.Pos), End: offset(p, end), New: string(e.NewText)})
	}
	return edits
}

// nodeAt is the smallest node that holds the diagnostic.
func nodeAt(file *ast.File, d analysis.Diagnostic) ast.Node {
	var found ast.Node = file
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil || n.Pos() > d.Pos || n.End() < max(d.Pos, d.End) {
			return false
		}
		found = n
		return true
	})
	return found
}

// An analysisRun drives one analyzer and what it requires over one file. It
// knows no facts but those that the run itself exports.
type analysisRun struct {
	pass    *mutate.Pass
	file    *ast.File
	info    *types.Info
	results map[*analysis.Analyzer]any
	facts   map[types.Object][]analysis.Fact
	found   []analysis.Diagnostic
}

// run runs a after its prerequisites. Analyzers are other people's code on
// sources that they were not written for, so a panic in one means no site.
func (r *analysisRun) run(a *analysis.Analyzer) (result any, err error) {
	if result, ok := r.results[a]; ok {
		return result, nil
	}
	for _, need := range a.Requires {
		if r.results[need], err = r.run(need); err != nil {
			return nil, err
		}
	}
	defer func() {
		if recover() != nil {
			err = errors.New(a.Name + " panicked")
		}
	}()
	return a.Run(r.analysisPass(a))
}

func (r *analysisRun) analysisPass(a *analysis.Analyzer) *analysis.Pass {
	return &analysis.Pass{
		Analyzer:          a,
		Fset:              r.pass.Fset,
		Files:             []*ast.File{r.file},
		Pkg:               r.pass.Pkg,
		TypesInfo:         r.info,
		TypesSizes:        types.SizesFor("gc", runtime.GOARCH),
		Report:            func(d analysis.Diagnostic) { r.found = append(r.found, d) },
		ResultOf:          r.results,
		ReadFile:          func(string) ([]byte, error) { return r.pass.Src, nil },
		ImportObjectFact:  r.importFact,
		ExportObjectFact:  r.exportFact,
		ImportPackageFact: func(*types.Package, analysis.Fact) bool { return false },
		ExportPackageFact: func(analysis.Fact) {},
		AllObjectFacts:    func() []analysis.ObjectFact { return nil },
		AllPackageFacts:   func() []analysis.PackageFact { return nil },
	}
}

func (r *analysisRun) exportFact(obj types.Object, fact analysis.Fact) {
	if r.facts == nil {
		r.facts = map[types.Object][]analysis.Fact{}
	}
	r.facts[obj] = append(r.facts[obj], fact)
}

func (r *analysisRun) importFact(obj types.Object, fact analysis.Fact) bool {
	for _, known := range r.facts[obj] {
		if reflect.TypeOf(known) == reflect.TypeOf(fact) {
			reflect.ValueOf(fact).Elem().Set(reflect.ValueOf(known).Elem())
			return true
		}
	}
	return false
}
