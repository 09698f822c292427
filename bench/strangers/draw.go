package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/modcopy"
	"github.com/beagle-go/beagle/internal/source"
)

// A function is a line of functions.txt.
type function struct {
	name, module, version, spec string // "A1", "example.com/m", "v1.2.3", "./pkg.Func"
}

func (f *function) String() string {
	return fmt.Sprintf("%s %s %s %s", f.name, f.module, f.version, f.spec)
}

// load reads functions.txt.
func load(root, set string) ([]function, error) {
	text, err := os.ReadFile(filepath.Join(root, "bench", "strangers", "functions.txt"))
	if err != nil {
		return nil, err
	}
	var out []function
	for line := range strings.Lines(string(text)) {
		w := strings.Fields(line)
		if len(w) == 4 && w[0] != "#" && (w[0] == set || strings.TrimRight(w[0], "0123456789") == set) {
			out = append(out, function{w[0], w[1], w[2], w[3]})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("functions.txt has no function %q: name a set (A, B, M) or a function (A3)", set)
	}
	return out, nil
}

// draw draws functions by a seed, at most one of a module, every fifth from the
// standard library. A function counts when it is of a size that a person can
// rewrite, its package's tests name it, and Beagle takes it as a target.
func draw(ctx context.Context, l *lab, f *flag.FlagSet, args []string) error {
	// Read the flags and the modules.
	seed := f.Uint64("seed", 14, "seed of the draw")
	sets := f.String("sets", "A=16,B=8,M=60", "names and sizes of the sets to draw")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := l.open(); err != nil {
		return err
	}
	modules, err := readModules(filepath.Join(l.root, "bench", "strangers", "modules.txt"))
	if err != nil {
		return err
	}
	// Shuffle the modules by the seed.
	rng := rand.New(rand.NewPCG(*seed, 1))
	rng.Shuffle(len(modules), func(i, j int) { modules[i], modules[j] = modules[j], modules[i] })
	d := &drawer{lab: l, rng: rng, modules: modules, packages: map[string]bool{}}
	fmt.Printf("# go run ./bench/strangers draw -seed %d -sets %s\n", *seed, *sets)
	// Draw the functions of each set.
	for part := range strings.SplitSeq(*sets, ",") {
		set, size, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(size)
		if err != nil {
			return fmt.Errorf("-sets %s: give NAME=SIZE", part)
		}
		for i := range n {
			fn, err := d.next(ctx)
			if err != nil {
				return err
			}
			fn.name = set + strconv.Itoa(i+1)
			fmt.Println(fn)
		}
	}
	return nil
}

func readModules(path string) ([]function, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var out []function
	for s := bufio.NewScanner(file); s.Scan(); {
		if w := strings.Fields(s.Text()); len(w) == 2 {
			out = append(out, function{module: w[0], version: w[1]})
		}
	}
	return out, nil
}

type drawer struct {
	*lab
	rng      *rand.Rand
	modules  []function // left
	packages map[string]bool
	drawn    int
}

// next draws one function.
func (d *drawer) next(ctx context.Context) (*function, error) {
	for ctx.Err() == nil {
		m := function{module: standard, version: "go"}
		if d.drawn%5 != 4 {
			if len(d.modules) == 0 {
				return nil, errors.New("the modules are used up: add some to modules.txt")
			}
			m, d.modules = d.modules[0], d.modules[1:]
		}
		dir, err := d.module(ctx, m.module, m.version)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		if fn := d.from(ctx, m, dir); fn != nil {
			d.drawn++
			return fn, nil
		}
		fmt.Fprintf(os.Stderr, "%s: no function to draw\n", m.module)
	}
	return nil, ctx.Err()
}

// tries bounds the functions of a module that are examined.
const tries = 6

func (d *drawer) from(ctx context.Context, m function, dir string) *function {
	specs := eligible(dir)
	d.rng.Shuffle(len(specs), func(i, j int) { specs[i], specs[j] = specs[j], specs[i] })
	n := 0
	for _, s := range specs {
		pkg, _, _ := strings.Cut(strings.TrimPrefix(s, "./"), ".")
		if m.module == standard && d.packages[pkg] {
			continue
		}
		if n++; n > tries {
			return nil
		}
		if _, err := source.Load(ctx, source.Options{Dir: dir, Spec: s, Env: []string{"GOWORK=off"}}); err != nil {
			fmt.Fprintf(os.Stderr, "%s %s: %v\n", m.module, s, err)
			continue
		}
		d.packages[pkg] = true
		m.spec = s
		return &m
	}
	return nil
}

// eligible lists the functions of a module that a draw may take, sorted.
func eligible(dir string) (specs []string) {
	files, _ := goFiles(dir)
	named := namesInTests(files)
	// Take the functions that the tests of their package name.
	for _, path := range files {
		pkg := filepath.Dir(path)
		if strings.HasSuffix(path, "_test.go") || named[pkg] == nil {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(f) || f.Name.Name == "main" {
			continue
		}
		rel, _ := filepath.Rel(dir, pkg)
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && named[pkg][fn.Name.Name] && suits(fset, fn) {
				if rel == "." {
					specs = append(specs, fn.Name.Name)
				} else {
					specs = append(specs, "./"+filepath.ToSlash(rel)+"."+fn.Name.Name)
				}
			}
		}
	}
	slices.Sort(specs)
	return slices.Compact(specs)
}

// namesInTests collects the identifiers of test files by their directory. A file that cannot be
// parsed has none.
func namesInTests(files []string) map[string]map[string]bool {
	named := map[string]map[string]bool{}
	for _, path := range files {
		if !strings.HasSuffix(path, "_test.go") {
			continue
		}
		pkg := filepath.Dir(path)
		if named[pkg] == nil {
			named[pkg] = map[string]bool{}
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for n := range ast.Preorder(f) {
			if id, ok := n.(*ast.Ident); ok {
				named[pkg][id.Name] = true
			}
		}
	}
	return named
}

func goFiles(dir string) (list []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && (name == "testdata" || name == "vendor" || name[0] == '.' || name[0] == '_'):
			return filepath.SkipDir
		case d.IsDir() && path != dir && modcopy.Exists(filepath.Join(path, "go.mod")):
			return filepath.SkipDir // a module of its own
		case strings.HasSuffix(name, ".go"):
			list = append(list, path)
		}
		return nil
	})
	return list, err
}

// Sizes of the functions that are drawn: large enough to be worth a rewrite,
// small enough for a person to read.
const (
	minLines = 8
	maxLines = 70
)

// suits reports whether a function is of the right size and takes and returns
// plain values.
func suits(fset *token.FileSet, fn *ast.FuncDecl) bool {
	if fn.Recv != nil || fn.Body == nil || fn.Type.TypeParams != nil || fn.Type.Results == nil {
		return false
	}
	lines := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1
	if lines < minLines || lines > maxLines {
		return false
	}
	sequences := 0
	for _, p := range fn.Type.Params.List {
		if !plain(p.Type) {
			return false
		}
		if id, ok := p.Type.(*ast.Ident); !ok || id.Name == "string" {
			sequences++
		}
	}
	for _, r := range fn.Type.Results.List {
		if id, ok := r.Type.(*ast.Ident); !plain(r.Type) && !(ok && id.Name == "error") {
			return false
		}
	}
	return sequences > 0
}

// plain reports whether a type is a predeclared one, or a slice of them.
func plain(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.Ident:
		return strings.Contains(" string bool byte rune int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 "+
			"float64 ", " "+t.Name+" ")
	case *ast.ArrayType:
		return t.Len == nil && plain(t.Elt)
	case *ast.Ellipsis:
		return plain(t.Elt)
	}
	return false
}

func parseImports(path string) (list []string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, s := range f.Imports {
		p, _ := strconv.Unquote(s.Path.Value)
		list = append(list, p)
	}
	return list, nil
}

// show prints the original as a candidate file.
func show(ctx context.Context, l *lab, f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil || f.NArg() != 1 {
		return errors.Join(err, errors.New("name one function of functions.txt, as in: strangers show A1"))
	}
	if err := l.open(); err != nil {
		return err
	}
	list, err := load(l.root, f.Arg(0))
	if err != nil {
		return err
	}
	fn := list[0]
	dir, err := l.module(ctx, fn.module, fn.version)
	if err != nil {
		return err
	}
	u, err := source.Load(ctx, source.Options{Dir: dir, Spec: fn.spec, Env: []string{"GOWORK=off"}})
	if err != nil {
		return err
	}
	fmt.Printf("// %s, in %s\n%s", &fn, u.Target.File, u.Target.Source)
	return nil
}
