package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/cover"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/modcopy"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/internal/tail"
)

// The halves of a sample.
const (
	development = "development" // authors of rules may read it
	sealed      = "sealed"      // nobody reads these names: only totals are printed
)

// halfOf returns the half of a function. It hashes the names, so that the answer does not depend on
// what else is drawn.
func halfOf(module, function string) string {
	if hash := beagle.HashOf("field", module, function); hash[4] < '8' {
		return development
	}
	return sealed
}

// A function is one that a benchmark of its module exercises.
type function struct {
	module
	Spec string // as beagle takes it: "./pkg.T.Method"
}

func (f function) half() string { return halfOf(f.path, f.Spec) }

// key identifies a function in a file without its name.
func (f function) key() string { return beagle.HashOf("field function", f.path, f.version, f.Spec) }

// dir returns the function's package, relative to the module.
func (f function) dir() string {
	slash := strings.LastIndex(f.Spec, "/") + 1
	if slash == 0 {
		return "."
	}
	dir, _, _ := strings.Cut(f.Spec[slash:], ".")
	return f.Spec[:slash] + dir
}

// A drawer draws functions. It keeps its findings on each module, since benchmarks must run for
// them.
type drawer struct {
	dir  string // copies of modules, and drawn.jsonl
	seed uint64
	say  func(format string, args ...any)

	types bool // draw types, by their methods

	known map[string]drawnFunctions // by module and version
}

// drawnFunctions lists the functions that the benchmarks of a module exercise, or says why it
// cannot.
type drawnFunctions struct {
	Module    string   `json:"module"`
	Version   string   `json:"version"`
	Seed      uint64   `json:"seed"`
	Functions []string `json:"functions,omitempty"`
	Problem   string   `json:"problem,omitempty"`
}

func (d *drawer) file() string { return filepath.Join(d.dir, "drawn.jsonl") }

// open reads the findings of earlier draws.
func (d *drawer) open() error {
	d.known = map[string]drawnFunctions{}
	return readLines(d.file(), func(line []byte) error {
		var m drawnFunctions
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if m.Seed == d.seed {
			d.known[m.Module+"@"+m.Version] = m
		}
		return nil
	})
}

// order shuffles the modules of a list by the seed.
func (d *drawer) order(modules []module) []module {
	out := slices.Clone(modules)
	slices.SortFunc(out, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	rng := rand.New(rand.NewPCG(d.seed, 1))
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// draw draws at most per functions of a half from a module. The draw of one module does not depend
// on the others.
func (d *drawer) draw(ctx context.Context, m module, half string, per int) ([]function, error) {
	found, ok := d.known[m.path+"@"+m.version]
	if !ok { // another process may draw in the same directory
		if err := d.open(); err != nil {
			return nil, err
		}
		found, ok = d.known[m.path+"@"+m.version]
	}
	if !ok {
		d.say("%s: which functions its benchmarks exercise", m.path)
		found = drawnFunctions{Module: m.path, Version: m.version, Seed: d.seed}
		var err error
		if found.Functions, err = d.exercised(ctx, m); err != nil {
			found.Problem = err.Error()
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := appendLine(d.file(), found); err != nil {
			return nil, err
		}
		d.known[m.path+"@"+m.version] = found
	}
	if found.Problem != "" {
		return nil, errors.New(found.Problem)
	}
	if d.types {
		return pickTypes(m, found.Functions, half, per, d.seed), nil
	}
	return pick(m, found.Functions, half, per, d.seed), nil
}

// pickTypes takes at most per types of which benchmarks exercise a method. It leaves out a type
// whose exercised methods are in both halves.
func pickTypes(m module, specs []string, half string, per int, seed uint64) []function {
	halves := map[string]map[string]bool{}
	for _, s := range specs {
		f, dot := function{m, s}, strings.LastIndexByte(s, '.')
		if name := strings.TrimPrefix(strings.TrimPrefix(s, f.dir()), "."); !strings.Contains(name, ".") {
			continue // no method
		}
		if halves[s[:dot]] == nil {
			halves[s[:dot]] = map[string]bool{}
		}
		halves[s[:dot]][f.half()] = true
	}
	var out []function
	for _, s := range slices.Sorted(maps.Keys(halves)) {
		if of := halves[s]; len(of) == 1 && of[half] {
			out = append(out, function{m, s})
		}
	}
	slices.SortFunc(out, func(a, b function) int { return cmp.Compare(a.rank(seed), b.rank(seed)) })
	return out[:min(per, len(out))]
}

// pick takes at most per functions of a half from a list, by the seed.
func pick(m module, specs []string, half string, per int, seed uint64) []function {
	var out []function
	for _, s := range specs {
		if f := (function{m, s}); f.half() == half {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b function) int { return cmp.Compare(a.rank(seed), b.rank(seed)) })
	return out[:min(per, len(out))]
}

// rank orders the functions of a module by the seed.
func (f function) rank(seed uint64) string { return beagle.HashOf("field rank", seed, f.path, f.Spec) }

// Packages of a module whose benchmarks run.
const (
	triedPackages = 3
	usedPackages  = 2
)

// exercised lists functions that the benchmarks of a module exercise. It runs the benchmarks of
// some packages, drawn by the seed, and takes the functions that they cover.
func (d *drawer) exercised(ctx context.Context, m module) ([]string, error) {
	// Get a copy of the module.
	dir, err := modcopy.Get(ctx, filepath.Join(d.dir, "mod"), m.path, m.version)
	if err != nil {
		return nil, err
	}
	// List its packages with benchmarks, in an order that the seed decides.
	packages, err := benchmarked(dir)
	if err != nil {
		return nil, err
	}
	if len(packages) == 0 {
		return nil, errors.New("no package of it has a benchmark")
	}
	slices.SortFunc(packages, func(a, b string) int {
		return cmp.Compare(beagle.HashOf("field package", d.seed, m.path, a),
			beagle.HashOf("field package", d.seed, m.path, b))
	})
	// Run the benchmarks of some.
	var out []string
	var problem error
	used := 0
	for _, p := range packages[:min(len(packages), triedPackages)] {
		names, err := d.coveredFunctions(ctx, dir, p)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			problem = fmt.Errorf("benchmarks of %s: %w", p, err)
			continue
		}
		out = append(out, names...)
		if used++; used == usedPackages {
			break
		}
	}
	// Say why there are none.
	if used == 0 {
		return nil, problem
	}
	if len(out) == 0 {
		return nil, errors.New("its benchmarks exercise no function of their own package")
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// benchmarked lists the packages of a module that have benchmarks: "." or "./dir".
func benchmarked(root string) ([]string, error) {
	// Find test files with benchmarks, in this module alone.
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() && path != root && (name == "testdata" || strings.HasPrefix(name, ".") ||
			strings.HasPrefix(name, "_") || modcopy.Exists(filepath.Join(path, "go.mod"))) {
			return filepath.SkipDir
		}
		if e.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), "\nfunc Benchmark") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if rel != "." {
			rel = "./" + filepath.ToSlash(rel)
		}
		found[rel] = true
		return err
	})
	// Sort the packages.
	var out []string
	for p := range found {
		out = append(out, p)
	}
	slices.Sort(out)
	return out, err
}

// Limits of the benchmarks of a package.
const (
	ranBenchmarks = 12
	benchTime     = 10 * time.Second // of one
)

// coveredFunctions runs some benchmarks of a package, drawn by the seed, for a few iterations each.
// It lists the functions that every iteration of one of them runs: each further iteration calls
// them once more. A function that only prepares a benchmark is called as often as before.
func (d *drawer) coveredFunctions(ctx context.Context, dir, pkg string) ([]string, error) {
	// Build the package's tests with counters.
	scratch, err := os.MkdirTemp("", "field-cover-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	binary := filepath.Join(scratch, "package.test")
	build := exec.CommandContext(ctx, "go", "test", "-mod=mod", "-c", "-covermode=atomic", "-o", binary, pkg)
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off")
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, complaint(string(said)))
	}
	// List its benchmarks, in an order that the seed decides.
	at := filepath.Join(dir, pkg)
	listed, err := output(ctx, at, binary, "-test.list", "^Benchmark")
	if err != nil {
		return nil, err
	}
	names := slices.DeleteFunc(strings.Fields(listed), func(s string) bool {
		return !strings.HasPrefix(s, "Benchmark")
	})
	rank := func(name string) string { return beagle.HashOf("field benchmark", d.seed, pkg, name) }
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	// Run some of them, and take the functions that do their work.
	var out []string
	var problem error
	ended := 0
	for _, name := range names[:min(len(names), ranBenchmarks)] {
		once, err := countCalls(ctx, at, binary, name, iterations)
		var twice []*cover.Profile
		if err == nil {
			twice, err = countCalls(ctx, at, binary, name, 2*iterations)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			problem = fmt.Errorf("%s: %w", name, err)
			continue
		}
		found, err := workers(at, pkg, once, twice)
		if err != nil {
			return nil, err
		}
		ended++
		out = append(out, found...)
	}
	if ended == 0 {
		return nil, problem
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// countCalls runs a benchmark for some iterations, and returns how often each block of the package
// ran.
func countCalls(ctx context.Context, dir, binary, name string, iterations int) ([]*cover.Profile, error) {
	profile := filepath.Join(filepath.Dir(binary), name)
	_, err := output(ctx, dir, binary, "-test.run", "^$", "-test.bench", "^"+name+"$", "-test.benchtime",
		fmt.Sprint(iterations, "x"), "-test.coverprofile", profile)
	profiles, parseErr := cover.ParseProfiles(profile)
	if parseErr != nil || len(profiles) == 0 {
		return nil, cmp.Or(err, parseErr, errors.New("no profile"))
	}
	return profiles, os.Remove(profile) // the next run may leave none
}

// output runs a program for a while, and returns what it prints.
func output(ctx context.Context, dir, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, benchTime)
	defer cancel()
	c := exec.CommandContext(ctx, path, args...)
	c.Dir, c.WaitDelay = dir, time.Second
	said, err := c.Output()
	return string(said), err
}

// complaint returns the end of a go command's output, on one line.
func complaint(output string) string { return strings.ReplaceAll(tail.Last(output, 2), "\n", "; ") }

// Functions that count as doing the benchmarks' work.
const (
	leastStatements = 4 // smaller ones are inlined, and no profile shows them
	iterations      = 5 // of each benchmark, and then twice as many
)

// workers lists the functions of a package that each iteration of a benchmark ran at least once.
// The second profile counted twice as many iterations as the first.
func workers(dir, pkg string, once, twice []*cover.Profile) ([]string, error) {
	var out []string
	for i, p := range twice {
		path := filepath.Join(dir, filepath.Base(p.FileName))
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if ast.IsGenerated(f) || f.Name.Name == "main" {
			continue
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || fn.Name.Name == "init" || fn.Name.Name == "_" {
				continue
			}
			statements, calls := countsOf(p, fset, fn)
			_, before := countsOf(once[i], fset, fn) // profiles of one program list the same blocks
			if statements >= leastStatements && calls-before >= iterations {
				out = append(out, specOf(pkg, fn))
			}
		}
	}
	return out, nil
}

// countsOf returns how many statements a function has, and how often a profile counted its calls.
func countsOf(p *cover.Profile, fset *token.FileSet, fn *ast.FuncDecl) (statements, calls int) {
	from, to := fset.Position(fn.Body.Lbrace), fset.Position(fn.Body.Rbrace)
	calls = -1
	for _, b := range p.Blocks { // in the order of the file
		if !after(b.StartLine, b.StartCol, from) || after(b.StartLine, b.StartCol, to) {
			continue
		}
		if statements += b.NumStmt; calls < 0 {
			calls = b.Count
		}
	}
	return statements, calls
}

// after reports whether a line and column lie at a position or after it.
func after(line, col int, p token.Position) bool {
	return line > p.Line || line == p.Line && col >= p.Column
}

// specOf returns a function as beagle's command line takes it.
func specOf(pkg string, fn *ast.FuncDecl) string {
	if pkg == "." {
		return syntax.DeclName(fn)
	}
	return pkg + "." + syntax.DeclName(fn)
}
