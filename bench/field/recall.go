package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/types"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules"
	"github.com/beagle-go/beagle/mutate/rules/gofix"
)

// A recall counts the functions in which each rule finds a place.
type recall struct {
	root, dir string
	per       int
	write     bool
	names     string // rules named by -rule, whose places are printed
	compile   bool   // type-check the versions of these places
	looking   module // the module under way
	checker   *typeChecker

	modules, packages, functions int
	rules                        []*mutate.Mutator
	hits                         map[string]int
	failed                       []string // modules that could not be read
	faults                       map[string]int

	program    string // hash of this command
	keptCounts *shelf[moduleCounts]
}

func (r *recall) flags(f *flag.FlagSet) {
	f.StringVar(&r.root, "root", ".", "root of Beagle's repository")
	f.StringVar(&r.dir, "dir", "", "keep downloads' go.mod files and the counts of each module here, and go on "+
		"with what it holds; the default is a scratch directory")
	f.IntVar(&r.per, "per", 8, "packages of a module, drawn by a seed")
	f.BoolVar(&r.write, "write", false, "write mutate/rules/recall.txt, which 'beagle explain' shows")
	f.StringVar(&r.names, "rule", "", "count only these `rules`, with commas between, and print their places in "+
		"functions of the development half")
	f.BoolVar(&r.compile, "compile", false, "with -rule, also type-check the version of each place, and print what is "+
		"wrong with it")
}

// standard stands for the standard library in the list of modules.
const standard = "std"

// A module is a line of the list.
type module struct{ path, version string }

// run counts in every module where each rule applies, and writes mutate/rules/recall.txt.
func (r *recall) run(ctx context.Context) error {
	// Read the modules and choose the rules.
	list, err := readModules(filepath.Join(r.root, "bench", "strangers", "modules.txt"))
	if err == nil {
		r.rules, err = r.only()
	}
	if err != nil {
		return err
	}
	if r.dir == "" {
		if r.dir, err = os.MkdirTemp("", "field"); err != nil {
			return err
		}
		defer os.RemoveAll(r.dir)
	}
	// Count in each module, or take an earlier count.
	r.hits, r.faults = map[string]int{}, map[string]int{}
	if err := r.keep(); err != nil {
		return err
	}
	for i, m := range append(list, module{standard, runtime.Version()}) {
		if err := r.counts(ctx, m); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "\r%d of %d modules, %d packages, %d functions ", i+1, len(list)+1,
			r.packages, r.functions)
	}
	// Print the table, and save it if a flag says so.
	fmt.Fprintln(os.Stderr)
	if r.functions == 0 {
		return fmt.Errorf("no module could be read: %s", strings.Join(r.failed, "; "))
	}
	if err := r.print(os.Stdout); err != nil || !r.write {
		return err
	}
	return r.save(filepath.Join(r.root, "mutate", "rules", "recall.txt"))
}

// readModules reads a list of modules with their versions.
func readModules(path string) ([]module, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: run it in the root of the repository, or name that with -root", err)
	}
	defer file.Close()
	var out []module
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if w := strings.Fields(lines.Text()); len(w) == 2 {
			out = append(out, module{w[0], w[1]})
		}
	}
	return out, lines.Err()
}

// module counts functions in some packages of a module.
func (r *recall) module(ctx context.Context, m module) error {
	r.looking = m
	conf, err := r.place(ctx, m)
	if err != nil {
		return err
	}
	pattern, per := m.path+"/...", r.per
	if m.path == standard {
		pattern, per = standard, per*8 // it is as large as many
	}
	loaded, err := loadSome(conf, pattern, rand.New(rand.NewPCG(16, uint64(len(m.path)))), per)
	if err != nil {
		return err
	}
	if len(loaded) == 0 {
		return errors.New("no package of it can be listed")
	}
	r.modules++
	for _, p := range loaded {
		if len(p.Errors) == 0 && p.TypesInfo != nil {
			r.count(p)
		}
	}
	return nil
}

// loadSome loads up to n packages of a pattern that are no programs, with their types.
func loadSome(conf *packages.Config, pattern string, draw *rand.Rand, n int) ([]*packages.Package, error) {
	conf.Mode = packages.NeedName | packages.NeedFiles
	all, err := packages.Load(conf, pattern)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range all {
		if len(p.Errors) == 0 && len(p.GoFiles) > 0 && p.Name != "main" && !strings.Contains(p.PkgPath, "testdata") {
			names = append(names, p.PkgPath)
		}
	}
	slices.Sort(names)
	draw.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	if names = names[:min(len(names), n)]; len(names) == 0 {
		return nil, nil
	}
	conf.Mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
		packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes
	return packages.Load(conf, names...)
}

// place returns how to load packages of a module, and where it lies in the module cache.
func (r *recall) place(ctx context.Context, m module) (*packages.Config, error) {
	conf := &packages.Config{Context: ctx, Env: append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "CGO_ENABLED=0")}
	if m.path == standard {
		conf.Dir, conf.Env = r.dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
		return conf, os.WriteFile(filepath.Join(r.dir, "go.mod"), []byte("module field\n\ngo 1.26\n"), 0o644)
	}
	c := exec.CommandContext(ctx, "go", "mod", "download", "-json", m.path+"@"+m.version)
	c.Dir, c.Env = r.dir, conf.Env
	out, err := c.Output()
	var got struct{ Dir, Error string }
	if jerr := json.Unmarshal(out, &got); jerr != nil || got.Dir == "" {
		return nil, fmt.Errorf("download: %s %v", got.Error, cmp.Or(err, jerr))
	}
	files := filepath.Join(r.dir, strings.ReplaceAll(m.path, "/", "_"))
	if err := os.MkdirAll(files, 0o755); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(got.Dir, "go.mod")); err != nil {
		// Read a module that has no go.mod through one that needs it.
		conf.Dir = files
		needs := fmt.Sprintf("module field\n\ngo 1.26\n\nrequire %s %s\n", m.path, m.version)
		return conf, os.WriteFile(filepath.Join(files, "go.mod"), []byte(needs), 0o644)
	}
	// The module cache is read-only: complete go.sum in a copy.
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(got.Dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(files, name), text, 0o644)
		}
		if err != nil && name == "go.mod" {
			return nil, err
		}
	}
	conf.Dir, conf.BuildFlags = got.Dir, []string{"-modfile=" + filepath.Join(files, "go.mod")}
	return conf, nil
}

// count asks every rule about every function of a package.
func (r *recall) count(p *packages.Package) {
	r.packages++
	uses := usesOf(p)
	unchanged := syntax.Unchanged(p.Syntax, p.Types, p.TypesInfo)
	others := passesOf(p, unchanged)
	if r.compile {
		r.checker = newTypeChecker(p)
	}
	for _, f := range p.Syntax {
		src := fileText(p, f)
		if src == nil {
			continue
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || len(fn.Body.List) == 0 || generic(p.TypesInfo, fn) {
				continue
			}
			r.functions++
			r.ask(&mutate.Pass{
				Src: src, Fset: p.Fset, File: uses.candidate(f, fn), Pkg: p.Types, Info: p.TypesInfo, Func: fn,
				Background: mutate.Background{Guard: new(mutate.Guard), Unchanged: unchanged, Elsewhere: others},
			})
		}
	}
}

// fileText returns the text of a file, or nil for a file that a tool generated.
func fileText(p *packages.Package, f *ast.File) []byte {
	src, err := os.ReadFile(p.Fset.Position(f.FileStart).Filename)
	if err != nil || len(src) != int(f.FileEnd-f.FileStart) {
		return nil
	}
	return src
}

// passesOf shows the functions of a package to the rules that look at another one.
func passesOf(p *packages.Package, unchanged map[string]bool) func(string) *mutate.Pass {
	declared := map[string]*mutate.Pass{}
	for _, f := range p.Syntax {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			if obj, ok := p.TypesInfo.Defs[fn.Name].(*types.Func); ok {
				declared[syntax.FuncName(obj)] = &mutate.Pass{
					Fset: p.Fset, File: f, Pkg: p.Types, Info: p.TypesInfo, Func: fn,
					Background: mutate.Background{Unchanged: unchanged},
				}
			}
		}
	}
	return func(name string) *mutate.Pass {
		q := declared[name]
		if q != nil && q.Src == nil {
			if q.Src = fileText(p, q.File); q.Src == nil {
				return nil
			}
			q = mutate.InPlace(q)
		}
		return q
	}
}

// generic reports whether a function or its receiver has type parameters: Beagle
// takes instances of such functions, which a package alone does not show.
func generic(info *types.Info, fn *ast.FuncDecl) bool {
	f, ok := info.Defs[fn.Name].(*types.Func)
	return !ok || f.Signature().TypeParams().Len() > 0 || f.Signature().RecvTypeParams().Len() > 0
}

// ask counts the rules that find a place in a function.
func (r *recall) ask(p *mutate.Pass) {
	p = mutate.InPlace(p)
	p.Facets = favourable(p.Target)
	for _, m := range r.rules {
		if found := mutate.Choices(p, m); len(found) > 0 {
			r.hits[m.Name]++
			r.show(p, m, found)
		}
	}
	for _, f := range p.Guard.Faults() {
		r.faults[fmt.Sprintf("%s %s at %s on %s", f.Mutator, f.Reason, placeIn(f.Stack),
			p.Fset.Position(p.Func.Pos()))]++
	}
}

// placeIn returns the innermost place of a stack in the rules.
func placeIn(stack string) string {
	for line := range strings.Lines(stack) {
		if _, at, ok := strings.Cut(line, "/mutate/rules/"); ok {
			at, _, _ = strings.Cut(at, " ")
			return "mutate/rules/" + strings.TrimSpace(at)
		}
	}
	return "a place outside of the rules"
}

// ownRules returns the rules written here, without those of Go's own tools.
func ownRules() []*mutate.Mutator {
	return slices.DeleteFunc(slices.Clone(rules.All), func(m *mutate.Mutator) bool {
		return slices.Contains(gofix.Rules, m)
	})
}

// favourable returns facets under which rules that depend on the inputs are likely to apply.
func favourable(t *beagle.Target) *beagle.Facets { return mutate.Favourable(t) }

// rare is the share of functions below which a rule counts as rare.
const rare = 1.0 / 2000

// print prints the table, the most frequent rule first.
func (r *recall) print(w io.Writer) error {
	// Sort the rules by their counts.
	names := make([]string, 0, len(r.rules))
	for _, m := range r.rules {
		names = append(names, m.Name)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Or(r.hits[b]-r.hits[a], cmp.Compare(a, b)) })
	// Print a row for each.
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	none, few := 0, 0
	fmt.Fprintln(t, "rule\tfunctions\tper thousand\t")
	for _, n := range names {
		mark := ""
		switch share := float64(r.hits[n]) / float64(r.functions); {
		case r.hits[n] == 0:
			none++
			mark = "never"
		case share < rare:
			few++
			mark = "rare"
		}
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%s\n", n, r.hits[n], 1000*float64(r.hits[n])/float64(r.functions), mark)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	// Print the totals, and what could not be counted.
	fmt.Fprintf(w,
		"\n%d functions of %d packages in %d modules; of %d rules %d find nothing, and %d are rarer than 1 in 2,000\n",
		r.functions, r.packages, r.modules, len(names), none, few)
	for _, f := range r.failed {
		fmt.Fprintln(w, "left out:", f)
	}
	for _, f := range slices.Sorted(maps.Keys(r.faults)) {
		fmt.Fprintf(w, "failed: %s (%d times)\n", f, r.faults[f])
	}
	return nil
}

// save writes the table for 'beagle explain', whole or not at all. When only some rules were
// counted, it writes their lines, if the table counts the same functions.
func (r *recall) save(path string) error {
	head := fmt.Sprintf("# go run ./bench/field recall -write\n%d functions %d packages %d modules\n", r.functions,
		r.packages, r.modules)
	// If only some rules were counted, keep the lines of the others.
	counted, rules := map[string]string{}, r.rules
	if r.names != "" {
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(string(old), head) {
			return fmt.Errorf("%s counts other functions than these %d of %d modules: count all rules, or all modules",
				path, r.functions, r.modules)
		}
		for line := range strings.Lines(string(old[len(head):])) {
			name, n, _ := strings.Cut(strings.TrimSpace(line), " ")
			counted[name] = n
		}
		rules = ownRules()
	}
	// Enter the new counts.
	for _, m := range r.rules {
		counted[m.Name] = fmt.Sprint(r.hits[m.Name])
	}
	// Write the table, whole or not at all.
	var b strings.Builder
	b.WriteString(head)
	for _, m := range rules {
		if n, ok := counted[m.Name]; ok {
			fmt.Fprintf(&b, "%s %s\n", m.Name, n)
		}
	}
	return scratch.Replace(path, []byte(b.String()), 0o644)
}
