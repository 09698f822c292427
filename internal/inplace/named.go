package inplace

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/gotool"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/inplace/live"
	"github.com/beagle-go/beagle/internal/sandbox"
)

// A Named is a benchmark that the user chose, found.
type Named struct {
	Package string // import path whose tests hold it
	Name    string // declared: "BenchmarkParse"
	Leaves  int    // sub-benchmarks that are timed; 1 for itself
}

// Use makes the benchmarks that a score names those in which versions are timed, and the place good
// for nothing else: it stands for Survey and Choose. A benchmark that is not there, that does not
// reach the target, or that cannot be timed, is a [beagle.UsageError].
func (p *Place) Use(ctx context.Context, original string, chosen []beagle.ScoreBenchmark, cpu int) ([]Named, error) {
	homes, deps, err := p.declared(ctx)
	if err != nil {
		return nil, err
	}
	// Find each benchmark, and the packages that declare them.
	wanted := make([]Named, len(chosen))
	for i, b := range chosen {
		if wanted[i], err = homes.find(p.u.Target.PkgPath, b.Name); err != nil {
			return nil, err
		}
	}
	p.suites, p.survey = nil, &Program{}
	p.read = deps
	// Build the suites of these packages.
	for _, home := range homes {
		var names []string
		for _, w := range wanted {
			if w.Package == home.pkg.ImportPath {
				names = append(names, w.Name)
			}
		}
		if len(names) > 0 {
			if err := p.useSuite(ctx, home.pkg, original, names); err != nil {
				return nil, err
			}
		}
	}
	// Choose the leaves in which versions take turns.
	p.watch("the benchmarks of the score, with the original")
	for i := range wanted {
		if err := p.useTimed(ctx, &wanted[i], homes, chosen[i].Weight, cpu); err != nil {
			return nil, err
		}
	}
	return wanted, nil
}

// A home is a package whose tests can reach the target, with the benchmarks that it declares.
type home struct {
	pkg     *gotool.Listed
	names   []string
	stopped map[string]bool // benchmarks that stop their timer in a loop

	mentions map[string][]string // by function of the test files: the functions that it may call, by name
}

type homes []home

// declared returns the packages of the module whose tests reach the target: its own, and those that
// import it. deps are the directories that their tests may read.
func (p *programs) declared(ctx context.Context) (homes, []string, error) {
	own, deps, err := p.tools.TargetPackage(ctx, &p.u.Target)
	if err != nil {
		return nil, nil, err
	}
	others, err := p.tools.Importers(ctx, &p.u.Target)
	if err != nil {
		return nil, nil, err
	}
	read := p.tools.Readable(&p.u.Target, deps)
	var out homes
	// Keep the packages with benchmarks. Tests of far packages may read more directories.
	for _, pkg := range append([]*gotool.Listed{own}, others...) {
		h := newHome(pkg)
		if len(h.names) > 0 {
			out = append(out, h)
		}
	}
	if far := slices.DeleteFunc(slices.Clone(others), func(o *gotool.Listed) bool {
		return !slices.ContainsFunc(out, func(h home) bool { return h.pkg == o })
	}); len(far) > 0 {
		if deps, err = p.tools.Deps(ctx, &p.u.Target, far); err != nil {
			return nil, nil, err
		}
		read = append(read, p.tools.Readable(&p.u.Target, deps)...)
		inorder.Sort(read)
		read = slices.Compact(read)
	}
	return out, read, nil
}

func newHome(pkg *gotool.Listed) home {
	h := home{pkg: pkg, stopped: map[string]bool{}, mentions: map[string][]string{}}
	for _, name := range slices.Concat(pkg.TestGoFiles, pkg.XTestGoFiles) {
		h.add(filepath.Join(pkg.Dir, name))
	}
	return h
}

// add reads the benchmarks of a test file. One that does not parse is left to the compiler.
func (h *home) add(path string) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		for n := range ast.Preorder(fn.Body) {
			if id, ok := n.(*ast.Ident); ok {
				h.mentions[fn.Name.Name] = append(h.mentions[fn.Name.Name], id.Name)
			}
		}
		if fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Benchmark") || fn.Type.Params.NumFields() != 1 {
			continue
		}
		h.names = append(h.names, fn.Name.Name)
		h.stopped[fn.Name.Name] = stopsInLoop(fn.Body)
	}
}

// Parallel names the benchmarks that are timed and call RunParallel, or a function of their test
// files that may.
func (p *programs) Parallel() (out []string) {
	for _, s := range p.suites {
		h := newHome(s.pkg)
		for _, t := range s.timed {
			if h.leadsTo(topTest(t.name), "RunParallel") {
				out = append(out, t.name)
			}
		}
	}
	return out
}

// leadsTo reports whether a function of the test files mentions a name, itself or by others there.
func (h *home) leadsTo(from, name string) bool {
	seen, next := map[string]bool{}, []string{from}
	for len(next) > 0 {
		at := next[0]
		if next = next[1:]; at == name {
			return true
		}
		if !seen[at] {
			seen[at], next = true, append(next, h.mentions[at]...)
		}
	}
	return false
}

// stopsInLoop reports whether a loop stops the benchmark's timer: then the time between the calls
// does not count.
func stopsInLoop(body *ast.BlockStmt) bool {
	found := false
	stops := func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "StopTimer" {
			found = true
		}
		return !found
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			ast.Inspect(n.Body, stops)
		case *ast.RangeStmt:
			ast.Inspect(n.Body, stops)
		}
		return !found
	})
	return found
}

// find looks a benchmark up by its name, which may begin with the import path of its package. The
// target's own package comes first.
func (hs homes) find(own, name string) (Named, error) {
	path, short := "", name
	if i := strings.LastIndex(name, ".Benchmark"); i >= 0 {
		path, short = name[:i], name[i+1:]
	}
	var found []Named
	for _, h := range hs {
		if slices.Contains(h.names, short) && (path == "" || path == h.pkg.ImportPath) {
			found = append(found, Named{Package: h.pkg.ImportPath, Name: short})
		}
	}
	switch {
	case len(found) == 0:
		return Named{}, &beagle.UsageError{What: "--bench " + name + ": there is no such benchmark",
			Remedy: hs.remedy(own)}
	case len(found) > 1 && found[0].Package != own:
		return Named{}, &beagle.UsageError{
			What:   fmt.Sprintf("--bench %s: %s and %s have it", name, found[0].Package, found[1].Package),
			Remedy: fmt.Sprintf("say which: --bench %s.%s", found[0].Package, short),
		}
	}
	return found[0], nil
}

// maxListed bounds the benchmarks that a message names.
const maxListed = 20

// remedy lists the benchmarks that there are.
func (hs homes) remedy(own string) string {
	var names []string
	for _, h := range hs {
		for _, n := range h.names {
			if h.pkg.ImportPath != own {
				n = h.pkg.ImportPath + "." + n
			}
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return "no package whose tests reach the function declares a benchmark: write one that calls it in a loop"
	}
	if more := len(names) - maxListed; more > 0 {
		names = append(names[:maxListed], fmt.Sprintf("and %d more", more))
	}
	return "there are " + strings.Join(names, ", ")
}

// useSuite builds the tests of a package with the original and its copy.
func (p *Place) useSuite(ctx context.Context, pkg *gotool.Listed, original string, names []string) error {
	kept := p.suites
	s := &suite{pkg: pkg, bench: names}
	p.suites = []*suite{s}
	defer func() { p.suites = append(kept, s) }()
	g, err := p.pair(ctx, original)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return &beagle.UsageError{
			What:   fmt.Sprintf("the tests of %s do not build in place: %v", pkg.ImportPath, err),
			Remedy: "mend them, or leave --bench out",
		}
	}
	p.survey.paths = append(p.survey.paths, g.paths[0])
	return nil
}

const (
	namedTime = "20ms"          // of each benchmark, to see whether it calls the target
	namedWall = 2 * time.Minute // that a benchmark with its set-up may take for that
	// that take turns when finalists are measured: a benchmark has to give each a slice
	maxVersions = 12
)

// useTimed makes the leaves of a benchmark those in which versions take turns. They share its
// weight.
func (p *Place) useTimed(ctx context.Context, w *Named, hs homes, weight float64, cpu int) error {
	i := slices.IndexFunc(p.suites, func(s *suite) bool { return s.pkg.ImportPath == w.Package })
	bad := func(why, remedy string) error {
		return &beagle.UsageError{What: fmt.Sprintf("--bench %s %s", w.Name, why), Remedy: remedy}
	}
	// Run the benchmark once. It may need the walls of a test.
	whole, err := p.runCounting(ctx, i, w.Name)
	if err == nil && len(whole.leaves) == 0 && p.profile == sandbox.Run {
		p.profile = sandbox.Test // it may need a process or a loopback network
		whole, err = p.runCounting(ctx, i, w.Name)
	}
	if err != nil {
		return err
	}
	if len(whole.leaves) == 0 {
		return bad("does not run to its end: "+describeEnd(whole), "mend it: 'go test -bench "+w.Name+"' must pass")
	}
	// Keep the leaves that call the target from one goroutine.
	var leaves []timedBenchmark
	for _, leaf := range whole.leaves {
		r, err := p.runCounting(ctx, i, leaf)
		if err != nil {
			return err
		}
		seen := lastSeen(r.lines)
		switch {
		case seen.Calls == 0:
			continue
		case seen.Concurrent:
			return bad("calls "+p.u.Target.Name+" from several goroutines at once, so that versions cannot take turns",
				"name one that calls it from one goroutine at a time")
		}
		leaves = append(leaves, timedBenchmark{suite: i, name: leaf, inside: seen.Nested > 0 || hs.stops(w)})
	}
	if len(leaves) == 0 {
		return bad("does not reach "+p.u.Target.Spec(),
			"name one that calls it, or leave --bench out; "+hs.remedy(p.u.Target.PkgPath))
	}
	// Time each leaf once, to see that it can be timed.
	c := &clock{Place: p, cpu: cpu}
	for k := range leaves {
		leaves[k].weight = weight / float64(len(leaves))
		probe, err := c.probe(ctx, p.survey, leaves[k])
		if err != nil {
			return err
		}
		if probe.failure != "" {
			return bad("cannot be timed: "+probe.failure,
				"let it call the function in a loop over b.N, or name another one")
		}
	}
	w.Leaves = len(leaves)
	p.suites[i].timed = append(p.suites[i].timed, leaves...)
	return nil
}

// runCounting runs a benchmark with the original, and counts the calls.
func (p *Place) runCounting(ctx context.Context, suite int, name string) (*ran, error) {
	return p.run(ctx, p.survey, job{suite: suite, bench: exactly(name), time: namedTime, threads: 1, wall: namedWall,
		plan: live.Plan{Mode: live.Count}})
}

// stops reports whether a benchmark stops its timer in a loop.
func (hs homes) stops(w *Named) bool {
	return slices.ContainsFunc(hs, func(h home) bool { return h.pkg.ImportPath == w.Package && h.stopped[w.Name] })
}
