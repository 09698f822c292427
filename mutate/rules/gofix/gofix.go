// Package gofix holds the rewrites of the Go team: analyzers that suggest fixes, as mutators.
package gofix

import (
	"errors"
	"go/ast"
	"go/types"
	"reflect"
	"runtime"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/hostport"
	"golang.org/x/tools/go/analysis/passes/inline"
	"golang.org/x/tools/go/analysis/passes/modernize"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// Rules holds, as mutators, analyzers that Go 1.26's `go fix` registers. Each suggested fix of a
// diagnostic is a site. Most fixes make code newer rather than faster, but another rule, or the
// compiler, often recognises the newer form. Analyzers are left out whose fixes leave the machine
// code as it is (any, buildtag, plusbuild), change what no candidate holds (testingcontext,
// omitzero), or start a goroutine in a new way, which the judge's policy refuses (waitgroup).
var Rules = []*mutate.Mutator{
	goFix(modernize.FmtAppendfAnalyzer,
		"b := []byte(fmt.Sprintf(\"%d\", n))",
		"b := fmt.Appendf(nil, \"%d\", n)"),
	goFix(modernize.ForVarAnalyzer,
		"for _, x := range v {\n\tx := x\n\tuse(&x)\n}",
		"for _, x := range v {\n\tuse(&x)\n}"),
	goFix(hostport.Analyzer,
		"net.Dial(\"tcp\", fmt.Sprintf(\"%s:%d\", host, port))",
		"net.Dial(\"tcp\", net.JoinHostPort(host, strconv.Itoa(port)))"),
	goFix(inline.Analyzer,
		"//go:fix inline\nfunc old(x int) int { return new(x, 0) }\n\nn := old(1)",
		"n := new(1, 0)"),
	goFix(modernize.MapsLoopAnalyzer,
		"for k, v := range m {\n\tout[k] = v\n}",
		"maps.Copy(out, m)"),
	goFix(modernize.MinMaxAnalyzer,
		"x := a\nif a < b {\n\tx = b\n}",
		"x := max(a, b)"),
	goFix(modernize.NewExprAnalyzer,
		"func ptr(x int) *int { return &x }",
		"func ptr(x int) *int { return new(x) }"),
	goFix(modernize.RangeIntAnalyzer,
		"for i := 0; i < n; i++ {",
		"for i := range n {"),
	goFix(modernize.ReflectTypeForAnalyzer,
		"reflect.TypeOf(int(0))",
		"reflect.TypeFor[int]()"),
	goFix(modernize.SlicesContainsAnalyzer,
		"for _, x := range v {\n\tif x == want {\n\t\treturn true\n\t}\n}\nreturn false",
		"return slices.Contains(v, want)"),
	goFix(modernize.SlicesSortAnalyzer,
		"sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })",
		"slices.Sort(v)"),
	goFix(modernize.StdIteratorsAnalyzer,
		"for i := 0; i < t.NumField(); i++ {\n\tuse(t.Field(i))\n}",
		"for field := range t.Fields() {\n\tuse(field)\n}"),
	goFix(modernize.StringsBuilderAnalyzer,
		"s := \"\"\nfor _, w := range words {\n\ts += w\n}",
		"var s strings.Builder\nfor _, w := range words {\n\ts.WriteString(w)\n}"),
	goFix(modernize.StringsCutAnalyzer,
		"i := strings.Index(s, \"=\")\nif i >= 0 {\n\treturn s[:i]\n}",
		"before, _, ok := strings.Cut(s, \"=\")\nif ok {\n\treturn before\n}"),
	goFix(modernize.StringsCutPrefixAnalyzer,
		"if strings.HasPrefix(s, p) {\n\tuse(strings.TrimPrefix(s, p))\n}",
		"if after, ok := strings.CutPrefix(s, p); ok {\n\tuse(after)\n}"),
	goFix(modernize.StringsSeqAnalyzer,
		"for _, f := range strings.Split(s, \",\") {",
		"for f := range strings.SplitSeq(s, \",\") {"),
}

// goFixClasses holds the analyzers whose fixes are not exact. hostport mends IPv6 addresses, which
// changes behaviour, so it is advice.
var goFixClasses = map[string]beagle.Class{"hostport": beagle.E5}

// goFix makes a mutator from an analyzer, with an example of one of its fixes.
func goFix(a *analysis.Analyzer, before, after string) *mutate.Mutator {
	class, ok := goFixClasses[a.Name]
	// Most fixes change the spelling alone.
	if !ok {
		class = beagle.E0
	}
	doc, _, _ := strings.Cut(a.Doc, "\n")
	return &mutate.Mutator{
		Name: "fix-" + a.Name,
		Doc: "Applies `go fix -" + a.Name + "`: " + doc +
			". The newer form is often the one that other rules recognise; its analyzer decides where it is legal.",
		Example: mutate.Shows(before, after),
		Class:   class,
		Gain:    1.02,
		Find:    func(p *mutate.Pass) []mutate.Site { return Sites(p, a, p.File) },
		Rewrite: edit.Precomputed,
	}
}

// Sites runs an analyzer over one file and turns its fixes into sites. The file may be a
// copy of p.File with other comments.
func Sites(p *mutate.Pass, a *analysis.Analyzer, file *ast.File) []mutate.Site {
	r := &analysisRun{pass: p, file: file, info: withVersions(p, file), results: map[*analysis.Analyzer]any{}}
	if _, err := r.run(a); err != nil {
		return nil
	}
	var sites []mutate.Site
	for _, d := range r.found {
		for _, fix := range d.SuggestedFixes {
			n := nodeAt(file, d)
			if doubt := goFixDoubts[a.Name]; doubt != nil && doubt(p, n) {
				continue
			}
			if edits := fixEdits(p, fix); len(edits) > 0 {
				sites = append(sites, mutate.Site{Node: n, Label: fix.Message, Data: edits})
			}
		}
	}
	return sites
}

// withVersions returns the pass's type information with the file's language version. Analyzers need
// the version before they suggest anything newer.
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
		// An insertion has no end.
		end := e.End
		if !end.IsValid() {
			end = e.Pos
		}
		edits = append(edits, mutate.Edit{Start: p.Offset(e.Pos), End: p.Offset(end), New: string(e.NewText)})
	}
	return edits
}

// nodeAt returns the smallest node that holds the diagnostic.
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

// An analysisRun runs one analyzer, and the analyzers that it requires, over one file. It knows
// only facts that the run itself exports.
type analysisRun struct {
	pass    *mutate.Pass
	file    *ast.File
	info    *types.Info
	results map[*analysis.Analyzer]any
	facts   map[types.Object][]analysis.Fact
	found   []analysis.Diagnostic
}

// run runs a after its prerequisites. An analyzer may meet source that its authors did not expect,
// so its panic means only that there is no site.
func (r *analysisRun) run(a *analysis.Analyzer) (result any, err error) {
	if result, ok := r.results[a]; ok {
		return result, nil
	}
	// Results of prerequisites are kept, since several analyzers share them.
	for _, need := range a.Requires {
		if r.results[need], err = r.required(need); err != nil {
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

// required returns the result of an analyzer that others require. All of them build on the same few
// indices of the file.
func (r *analysisRun) required(a *analysis.Analyzer) (any, error) {
	if r.file != r.pass.File {
		return r.run(a)
	}
	known := r.pass.Once(a, func() any {
		result, err := r.run(a)
		return requirement{result, err}
	}).(requirement)
	return known.result, known.err
}

type requirement struct {
	result any
	err    error
}

// analysisPass makes the pass of an analyser on the candidate file. Reports are collected, and
// facts on objects come from the run; the modernizers used here need no facts on packages.
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
