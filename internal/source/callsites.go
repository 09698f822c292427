package source

import (
	"context"
	"go/ast"
	"go/parser"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// siteTime bounds the loading of the module's packages.
const siteTime = 20 * time.Second

// CallSites counts the static calls of the target in its module, tests left
// out, and those among them that provably keep to the conditions: by constants,
// lengths, ranges, literals, and what the branches around the call say. It is a
// simple proof: a site that it does not follow counts as unproved.
func (u *Unit) CallSites(ctx context.Context, conds []*Predicate) (proved, all int, err error) {
	ctx, cancel := context.WithTimeout(ctx, siteTime)
	defer cancel()
	pkgs, err := u.loadCallers(ctx, u.callers()...)
	if err != nil {
		return 0, 0, err
	}
	for _, p := range pkgs {
		if p.TypesInfo == nil {
			continue
		}
		for _, f := range p.Syntax {
			for _, s := range u.sitesIn(f, p.TypesInfo) {
				all++
				if s.keeps(conds) {
					proved++
				}
			}
		}
	}
	return proved, all, nil
}

// loadCallers loads packages of the module with types.
func (u *Unit) loadCallers(ctx context.Context, patterns ...string) ([]*packages.Package, error) {
	o := u.opts
	o.Dir = u.Target.Dir
	mode := packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax |
		packages.NeedTypes |
		packages.NeedTypesSizes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedExportFile
	return packages.Load(o.config(ctx, mode), patterns...)
}

// callers are the packages that may call the target: its own, and those that
// import it.
func (u *Unit) callers() []string {
	dirs := map[string]bool{u.Target.PkgDir: true}
	if ast.IsExported(u.Target.Name[strings.LastIndexByte(u.Target.Name, '.')+1:]) {
		quoted := `"` + u.Target.PkgPath + `"`
		for _, path := range u.moduleFiles() {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			if mentions(path, quoted) {
				dirs[filepath.Dir(path)] = true
			}
		}
	}
	var out []string
	for _, d := range inorder.Keys(dirs) {
		if rel, err := filepath.Rel(u.Target.Dir, d); err == nil {
			out = append(out, "./"+filepath.ToSlash(rel))
		}
	}
	return out
}

// A site is one call of the target.
type site struct {
	u    *Unit
	info *types.Info
	call *ast.CallExpr
	args []ast.Expr // the receiver first; nil for an argument that is not written out, as in F(g())
	path []ast.Node // from the file down to the call
}

// sitesIn finds the calls in a file. The target itself calling itself is none:
// the conditions then are a matter of the calls from outside.
func (u *Unit) sitesIn(f *ast.File, info *types.Info) []*site {
	var out []*site
	var path []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		path = append(path, n)
		if c, ok := n.(*ast.CallExpr); ok {
			if s := u.siteOf(c, info); s != nil && !u.within(path) {
				s.path = slices.Clone(path)
				out = append(out, s)
			}
		}
		return true
	})
	return out
}

// within reports whether a path leads through the target's own declaration.
func (u *Unit) within(path []ast.Node) bool {
	for _, n := range path {
		if d, ok := n.(*ast.FuncDecl); ok {
			name := d.Name.Name
			if recv := syntax.Receiver(d); recv != "" {
				name = recv + "." + name
			}
			f, ok := path[0].(*ast.File)
			return ok && f.Name.Name == u.Target.PkgName && name == u.Target.Name
		}
	}
	return false
}

func (u *Unit) siteOf(c *ast.CallExpr, info *types.Info) *site {
	fun, id := syntax.Called(c)
	if id == nil {
		return nil
	}
	fn, ok := info.Uses[id].(*types.Func)
	if !ok || fn.Pkg() == nil || fn.Pkg().Path() != u.Target.PkgPath || syntax.FuncName(fn) != u.Target.Name {
		return nil
	}
	s := &site{u: u, info: info, call: c, args: make([]ast.Expr, len(u.Target.Params))}
	at := 0
	if fn.Signature().Recv() != nil {
		at = 1
		if sel, ok := fun.(*ast.SelectorExpr); ok {
			s.args[0] = sel.X
		}
	}
	fixed := len(u.Target.Params) - at
	if u.Target.Variadic && !c.Ellipsis.IsValid() {
		fixed--
	} else if len(c.Args) != fixed {
		return s // the results of another call
	}
	for i := 0; i < fixed && i < len(c.Args); i++ {
		s.args[at+i] = c.Args[i]
	}
	return s
}

func (s *site) keeps(conds []*Predicate) bool {
	for _, p := range conds {
		if !s.proves(p) {
			return false
		}
	}
	return true
}

// proves reports whether a condition holds whenever the call is reached.
func (s *site) proves(p *Predicate) bool {
	expr, err := parser.ParseExpr(p.Text)
	if err != nil {
		return false
	}
	v := &prover{info: s.info, values: map[string]value{}, fn: s.function()}
	for i, param := range s.u.Target.Params {
		switch {
		case s.u.Target.Variadic && i == len(s.args)-1 && !s.call.Ellipsis.IsValid():
			v.values[param.Name] = value{list: true, length: int64(len(s.variadic()))}
		case s.args[i] != nil:
			v.values[param.Name] = value{expr: s.args[i]}
		}
	}
	v.facts = v.around(s.path)
	return v.holds(expr)
}

// function is the body that the call stands in; nil at package level.
func (s *site) function() ast.Node {
	for _, n := range slices.Backward(s.path) {
		switch n.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			return n
		}
	}
	return nil
}

// variadic are the arguments that make up the last parameter.
func (s *site) variadic() []ast.Expr {
	fixed := len(s.u.Target.Params) - 1
	if s.u.Target.Recv != "" {
		fixed--
	}
	return s.call.Args[min(fixed, len(s.call.Args)):]
}

// moduleFiles are the Go files of the module, up to a bound.
func (u *Unit) moduleFiles() []string {
	const most = 5000
	var out []string
	filepath.WalkDir(u.Target.Dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil || len(out) > most:
			return filepath.SkipAll
		case d.IsDir() && path != u.Target.Dir &&
			(strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "vendor" ||
				d.Name() == "testdata"):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, ".go"):
			out = append(out, path)
		}
		return nil
	})
	return out
}

func mentions(path, text string) bool {
	b, err := os.ReadFile(path)
	return err == nil && strings.Contains(string(b), text)
}
