package inject

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
)

// Options say what to instrument and how the go command is called.
type Options struct {
	Dir   string   // where the go command runs; "" is the current directory
	Specs []string // "./pkg.Func", "import/path.Func" or "pkg.Type.Method"
	Flags []string // build flags that decide which files belong to a package: -tags, -mod, ...
	// Skip leaves functions out that cannot be instrumented; otherwise they end the build.
	Skip bool
	// TypeArgs chooses the instantiation of a generic function whose calls are captured. The types
	// are as the package writes them.
	TypeArgs func(ctx context.Context, spec string) ([]string, error)
	// Versions are the versions of one function of the build; nil for none.
	Versions *Versions
}

// A function is one that is to be instrumented.
type function struct {
	spec     string
	pkg      *packages.Package
	file     *ast.File
	path     string // of the file
	decl     *ast.FuncDecl
	instance instance // of a generic function
}

// name returns the site's name: import path, type and function.
func (f *function) name() string {
	return f.pkg.PkgPath + "." + syntax.DeclName(f.decl)
}

const mode = packages.LoadSyntax | packages.NeedModule

// load reads packages as the build will.
func (o *Options) load(ctx context.Context, mode packages.LoadMode, patterns ...string) ([]*packages.Package, error) {
	c := &packages.Config{Context: ctx, Mode: mode, Dir: o.Dir, BuildFlags: o.Flags, Env: os.Environ()}
	return packages.Load(c, patterns...)
}

// resolve finds a function by its specification.
func (o *Options) resolve(ctx context.Context, loaded map[string]*packages.Package, spec string) (*function, error) {
	var missing, said []string
	for _, r := range o.readings(spec) {
		// Load the package of this interpretation.
		p := loaded[r.pattern]
		if p == nil {
			pkgs, err := o.load(ctx, mode, r.pattern)
			if err != nil {
				return nil, &beagle.UsageError{What: fmt.Sprintf("--probe %s: %v", spec, err),
					Remedy: "make `go build` work there first"}
			}
			if len(pkgs) != 1 || len(pkgs[0].CompiledGoFiles) == 0 {
				missing = append(missing, r.pattern)
				continue
			}
			p = pkgs[0]
			loaded[r.pattern] = p
		}
		if len(p.Errors) > 0 {
			return nil, &beagle.UsageError{What: fmt.Sprintf("--probe %s: %s does not compile: %v", spec, p.PkgPath,
				p.Errors[0]), Remedy: "make `go build` work there first"}
		}
		// Find the function in it, or say why it is not there.
		if f := find(p, r.name); f != nil {
			f.spec = spec
			return f, nil
		}
		said = append(said, fmt.Sprintf("%s declares no %s", p.PkgPath, r.name))
	}
	if len(said) == 0 {
		said = []string{"no package " + strings.Join(missing, " or ")}
	}
	return nil, &beagle.UsageError{What: fmt.Sprintf("--probe %s: %s", spec, strings.Join(slices.Compact(said), "; ")),
		Remedy: "name a function as ./pkg.Func, import/path.Func or import/path.Type.Method"}
}

// An interpretation is one way to understand a specification.
type interpretation struct{ pattern, name string }

// readings lists the ways to split a specification: a dot may belong to the path or to a method.
func (o *Options) readings(spec string) (all []interpretation) {
	spec, _ = syntax.CutTypeArgs(spec)
	spec = strings.NewReplacer("(", "", ")", "", "*", "").Replace(spec)
	slash := strings.LastIndex(spec, "/") + 1
	parts := strings.Split(spec[slash:], ".")
	for n := 1; n <= 2 && n <= len(parts); n++ {
		name := strings.Join(parts[len(parts)-n:], ".")
		path := spec[:slash] + strings.Join(parts[:len(parts)-n], ".")
		if name == "" || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") {
			continue
		}
		path = strings.TrimSuffix(path, "/")
		if found, err := filepath.Glob(filepath.Join(o.Dir, path, "*.go")); err == nil && len(found) > 0 &&
			!filepath.IsAbs(path) {
			path = "./" + filepath.ToSlash(filepath.Clean(path))
		}
		if path != "" {
			all = append(all, interpretation{path, name})
		}
	}
	return all
}

// find looks a function or method up in the files of a package.
func find(p *packages.Package, name string) *function {
	typ, short, ok := strings.Cut(name, ".")
	if !ok {
		typ, short = "", name
	}
	for _, file := range p.Syntax {
		for _, d := range file.Decls {
			d, ok := d.(*ast.FuncDecl)
			if ok && d.Name.Name == short && syntax.Receiver(d) == typ {
				return &function{pkg: p, file: file, path: filename(p.Fset, file), decl: d}
			}
		}
	}
	return nil
}

// filename returns the file's own path, whatever //line directives say.
func filename(fset *token.FileSet, f *ast.File) string {
	return fset.PositionFor(f.Package, false).Filename
}
