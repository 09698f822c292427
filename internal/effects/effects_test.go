package effects

import (
	"flag"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

var update = flag.Bool("update", false, "write what the analysis finds into testdata")

// mark begins the line of a comment that has a function's effects.
const mark = "// effects:"

// A study is a file whose functions were analysed.
type study struct {
	fset    *token.FileSet
	file    *ast.File
	pkg     *ssa.Package
	program *Program
}

const memory = "testdata/memory.go"

// studied builds the file and analyses all of its functions, once for all tests: it type-checks
// parts of the standard library from source.
var studied = sync.OnceValues(func() (*study, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, memory, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	conf := &types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	pkg, _, err := ssautil.BuildPackage(conf, fset, types.NewPackage("memory", ""), []*ast.File{file}, 0)
	if err != nil {
		return nil, err
	}
	p := NewProgram(pkg.Prog, func(f *ssa.Function) bool { return f.Pkg == pkg || f.Pkg == nil }, Standard())
	fns := functions(pkg, file)
	p.Values(append([]*ssa.Function{pkg.Func("init")}, fns...))
	p.Analyse(fns)
	return &study{fset, file, pkg, p}, nil
})

func open(t *testing.T) *study {
	t.Helper()
	s, err := studied()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// functions returns the functions that a file declares, in the order of its text.
func functions(pkg *ssa.Package, file *ast.File) (fns []*ssa.Function) {
	for _, d := range file.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			fns = append(fns, pkg.Func(d.Name.Name))
		}
	}
	return fns
}

// TestMemory holds the analysis to the comments of a file that has each way of sharing memory.
func TestMemory(t *testing.T) {
	s := open(t)
	text, err := os.ReadFile(memory)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, d := range s.file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		at := s.fset.Position(fn.Doc.End()).Line - 1
		want, ok := strings.CutPrefix(lines[at], mark)
		if !ok {
			t.Fatalf("%s: the comment of %s does not end with %q", memory, fn.Name.Name, mark)
		}
		got := "unknown"
		if found := s.program.SummaryOf(s.pkg.Func(fn.Name.Name)); found != nil {
			got = found.String()
		}
		if got != strings.TrimSpace(want) && !*update {
			t.Errorf("%s: %q, want %q", fn.Name.Name, got, strings.TrimSpace(want))
		}
		lines[at] = strings.TrimSpace(mark + " " + got)
	}
	if *update {
		if err := os.WriteFile(memory, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPlaces asks where the effects stand: that is what a refusal shows its reader.
func TestPlaces(t *testing.T) {
	s := open(t)
	for _, c := range []struct {
		function string
		of       func(*Effects) []Effect
		column   int // of the instruction, in the function's one line
	}{
		{"element", func(e *Effects) []Effect { return e.Writes }, len("func element(b []byte) { b") + 1},
		{"keeps", func(e *Effects) []Effect { return e.Stores }, len("func keeps(b []byte) { ") + 1},
		{"runs", func(e *Effects) []Effect { return e.Runs }, len("func runs(f func([]byte), b []byte) { f") + 1},
		{"panics", func(e *Effects) []Effect { return e.Panics }, len("func panics(x *node) { panic") + 1},
		{"same", func(e *Effects) []Effect { return e.Shares }, len("func ") + 1},
	} {
		list := c.of(s.program.Effects(s.pkg.Func(c.function)))
		if len(list) == 0 {
			t.Errorf("%s has no such effect", c.function)
			continue
		}
		if at := s.fset.Position(list[0].Pos); at.Column != c.column {
			t.Errorf("%s: the effect stands at column %d, want %d", c.function, at.Column, c.column)
		}
	}
}

// TestLimit holds the analysis to its limit of steps.
func TestLimit(t *testing.T) {
	s := open(t)
	p := NewProgram(s.pkg.Prog, func(f *ssa.Function) bool { return f.Pkg == s.pkg }, Standard())
	p.Limit = 10
	defer func() {
		if got := recover(); got != TooLong {
			t.Errorf("the analysis ended with %v, want %q", got, TooLong)
		}
	}()
	p.Analyse(functions(s.pkg, s.file))
	t.Error("the analysis of all functions took at most ten steps")
}

// TestCoarse holds what the table leaves out: fields, and variables that only their package sees.
func TestCoarse(t *testing.T) {
	s := open(t)
	for name, want := range map[string]string{
		"field": "w:p0", "counts": "", "links": "k:p0<d1 k:p0<p1 w:p0", "part": "r0:d0", "loops": "w:d0 w:p0",
	} {
		f := s.pkg.Func(name)
		if got := Coarse(s.program.SummaryOf(f), f.Signature).String(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
