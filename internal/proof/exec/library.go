package exec

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/exports"
)

// A Library has the bodies of the standard library's small functions, and the
// models of others. It may be used from several goroutines.
type Library struct {
	dir string // where the go command runs

	mu      sync.Mutex
	own     map[string]*ssa.Function // of the models
	listed  map[string]*listed       // nil until the go command was asked
	listErr error
	pkgs    map[string]map[string]*ssa.Function
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// readable are the packages whose bodies are looked at. Others do input and
// output, keep state, or are more than can be followed.
var readable = []string{"bytes", "cmp", "encoding/binary", "encoding/hex", "errors", "hash/adler32", "hash/crc32",
	"internal/bytealg",
	"internal/byteorder", "internal/stringslite", "math", "math/bits", "strconv", "strings", "unicode", "unicode/utf16",
	"unicode/utf8"}

// NewLibrary returns the library of the toolchain that the go command in dir
// uses.
func NewLibrary(dir string) *Library {
	return &Library{dir: dir, pkgs: map[string]map[string]*ssa.Function{}}
}

// model returns the function that stands for a function of the library, or nil.
func (l *Library) model(fn *ssa.Function) *ssa.Function {
	if name := models[fn.String()]; name != "" {
		return l.named(name)
	}
	return nil
}

func (l *Library) helper(name string) *ssa.Function { return l.named("models." + name) }

// named returns a model by its name. Models are Go functions that stand for those of the library.
func (l *Library) named(name string) *ssa.Function {
	l.mu.Lock()
	defer l.mu.Unlock()
	// All models are one file, which is built once.
	if l.own == nil {
		fset := token.NewFileSet()
		// The text is part of this program, so an error in it is a fault of ours.
		f, err := parser.ParseFile(fset, "models.go", modelText, 0)
		if err != nil {
			panic(err)
		}
		pkg, info, err := check(fset, "models", []*ast.File{f}, nil)
		if err != nil {
			panic(err)
		}
		_, sp := build(fset, pkg, []*ast.File{f}, info)
		l.own = functions(sp)
	}
	fn := l.own[name]
	if fn == nil {
		panic("exec: no model " + name)
	}
	return fn
}

// check type-checks the files of a package with all that the SSA form asks for. Sizes are of one
// platform: the machine asks for the bits of int itself.
func check(
	fset *token.FileSet, path string, files []*ast.File, imp types.Importer,
) (*types.Package, *types.Info, error) {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
		Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes:     map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{}}
	conf := types.Config{Importer: imp, Sizes: types.SizesFor("gc", "amd64")}
	pkg, err := conf.Check(path, fset, files, info)
	return pkg, info, err
}

// functions returns the functions and methods of a package, by name.
func functions(p *ssa.Package) map[string]*ssa.Function {
	out := map[string]*ssa.Function{}
	// Methods belong to the types of the package.
	for _, m := range p.Members {
		switch m := m.(type) {
		case *ssa.Function:
			out[m.String()] = m
		case *ssa.Type:
			n, ok := m.Type().(*types.Named)
			if !ok {
				continue
			}
			for i := range n.NumMethods() {
				if f := p.Prog.FuncValue(n.Method(i)); f != nil {
					out[f.String()] = f
				}
			}
		}
	}
	return out
}

// body finds the body of a standard function, or nil.
func (l *Library) body(ctx context.Context, fn *ssa.Function) *ssa.Function {
	if fn.Pkg == nil {
		return nil
	}
	path := fn.Pkg.Pkg.Path()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.pkgs[path]; !ok {
		if l.ask(ctx) != nil {
			return nil
		}
		l.pkgs[path] = l.load(path)
	}
	return l.pkgs[path][fn.String()]
}

// ask has the go command list the readable packages, once. A call that ctx ended
// says nothing of the toolchain, and the next one asks again.
func (l *Library) ask(ctx context.Context) error {
	if l.listed != nil || l.listErr != nil {
		return l.listErr
	}
	ctx, stop := context.WithTimeout(ctx, listTime)
	defer stop()
	all, err := list(ctx, l.dir)
	if err != nil && ctx.Err() != nil {
		return err
	}
	l.listed, l.listErr = all, err
	return err
}

// load builds the functions of a package of the library from its source. It returns nil if the
// source is not there or not readable for us.
func (l *Library) load(path string) map[string]*ssa.Function {
	p := l.listed[path]
	ok := false
	// Only packages on the list are known to be plain code, without assembly or tricks of the
	// runtime.
	for _, r := range readable {
		ok = ok || r == path
	}
	if p == nil || !ok {
		return nil
	}
	// The source is that of the toolchain in use, which is what the program will run with.
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil
		}
		files = append(files, f)
	}
	pkg, info, err := check(fset, path, files, l.importer())
	if err != nil {
		return nil
	}
	_, sp := build(fset, pkg, files, info)
	return functions(sp)
}

// importer reads the export data of the packages that the library knows.
func (l *Library) importer() types.Importer {
	return exports.New(func(path string) (string, error) {
		q := l.listed[path]
		if q == nil || q.Export == "" {
			return "", fmt.Errorf("no export data of %s", path)
		}
		return q.Export, nil
	})
}

// FromText makes a program of a file that imports only packages that the library reads. An empty
// target is the first function.
func (l *Library) FromText(text, target string) (*Program, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "text.go", text, parser.SkipObjectResolution)
	// The text of a rule's example mostly needs no import.
	if err != nil {
		return nil, err
	}
	// Imports need their export data, which the go command finds.
	var imp types.Importer
	if len(f.Imports) > 0 {
		l.mu.Lock()
		err := l.ask(context.Background())
		l.mu.Unlock()
		if err != nil {
			return nil, err
		}
		imp = l.importer()
	}
	pkg, info, err := check(fset, f.Name.Name, []*ast.File{f}, imp)
	if err != nil {
		return nil, err
	}
	fn := findFunc(f, info, target)
	if fn == nil {
		return nil, fmt.Errorf("the text has no function %s", target)
	}
	return Build(fset, pkg, []*ast.File{f}, info, fn)
}

// findFunc returns the function or method of that name, or the first function of the file.
func findFunc(f *ast.File, info *types.Info, target string) *types.Func {
	for _, d := range f.Decls {
		// A method is named with its receiver's type.
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		// A method is asked for as Type.Method, whether or not its receiver is a pointer.
		name := fn.Name.Name
		if fn.Recv != nil && len(fn.Recv.List) == 1 {
			t := fn.Recv.List[0].Type
			if star, ok := t.(*ast.StarExpr); ok {
				t = star.X
			}
			if id, ok := t.(*ast.Ident); ok {
				name = id.Name + "." + name
			}
		}
		if target == "" || name == target {
			return info.Defs[fn.Name].(*types.Func)
		}
	}
	return nil
}

// listTime bounds the go command, which compiles what its cache lacks.
const listTime = time.Minute

// list asks the go command where the readable packages are.
func list(ctx context.Context, dir string) (map[string]*listed, error) {
	// go list compiles the export data where that is missing, and says where the sources are.
	c := exec.CommandContext(ctx, "go",
		append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}, readable...)...)
	c.Dir = dir
	c.WaitDelay = time.Second // compilers may hold the pipe
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go list of the standard library: %w", err)
	}
	all, err := exports.Decode[*listed](out)
	if err != nil {
		return nil, err
	}
	byPath := map[string]*listed{}
	for _, p := range all {
		byPath[p.ImportPath] = p
	}
	return byPath, nil
}
