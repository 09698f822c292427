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

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// siteTime bounds the loading of the module's packages.
const siteTime = 20 * time.Second

// Callers finds the calls of the target in its module.
type Callers struct {
	target *beagle.Target
	opts   *Options
}

// CallSites counts the static calls of the target in its module, tests left
// out, and those among them that provably keep to the conditions: by constants,
// lengths, ranges, literals, and what the branches around the call say. It is a
// simple proof: a site that it does not follow counts as unproved.
func (cl *Callers) CallSites(ctx context.Context, conds []*Predicate) (proved, all int, err error) {
	ctx, cancel := context.WithTimeout(ctx, siteTime)
	defer cancel()
	pkgs, err := cl.loadCallers(ctx, cl.callers()...)
	if err != nil {
		return 0, 0, err
	}
	for _, p := range pkgs {
		// A package that did not load has no types to prove by.
		if p.TypesInfo == nil {
			continue
		}
		for _, f := range p.Syntax {
			for _, s := range cl.sitesIn(f, p.TypesInfo) {
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
func (cl *Callers) loadCallers(ctx context.Context, patterns ...string) ([]*packages.Package, error) {
	o := *cl.opts
	o.Dir = cl.target.Dir
	mode := packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax |
		packages.NeedTypes |
		packages.NeedTypesSizes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedExportFile
	return packages.Load(o.config(ctx, mode), patterns...)
}

// callers returns the packages that may call the target: its own, and those that import it.
func (cl *Callers) callers() []string {
	dirs := map[string]bool{cl.target.PkgDir: true}
	// An unexported function has no callers elsewhere.
	if ast.IsExported(cl.target.Name[strings.LastIndexByte(cl.target.Name, '.')+1:]) {
		quoted := `"` + cl.target.PkgPath + `"`
		for _, path := range cl.moduleFiles() {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			// A cheap look at the text comes before the loading.
			if mentions(path, quoted) {
				dirs[filepath.Dir(path)] = true
			}
		}
	}
	var out []string
	for _, d := range inorder.Keys(dirs) {
		if rel, err := filepath.Rel(cl.target.Dir, d); err == nil {
			out = append(out, "./"+filepath.ToSlash(rel))
		}
	}
	return out
}

// A callSite is one call of the target.
type callSite struct {
	callers *Callers
	info    *types.Info
	call    *ast.CallExpr
	args    []ast.Expr // the receiver first; nil for an argument that is not written out, as in F(g())
	path    []ast.Node // from the file down to the call
}

// sitesIn finds the calls in a file. It leaves out calls of the target by itself: their conditions
// follow from the outer calls.
func (cl *Callers) sitesIn(f *ast.File, info *types.Info) []*callSite {
	var out []*callSite
	var path []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			// The path to the node is kept by hand: Inspect says with nil that it goes back up.
			path = path[:len(path)-1]
			return true
		}
		path = append(path, n)
		if c, ok := n.(*ast.CallExpr); ok {
			if s := cl.siteOf(c, info); s != nil && !cl.throughTarget(path) {
				// The path goes on changing, so the site gets its own.
				s.path = slices.Clone(path)
				out = append(out, s)
			}
		}
		return true
	})
	return out
}

// throughTarget reports whether a path leads through the target's own declaration.
func (cl *Callers) throughTarget(path []ast.Node) bool {
	for _, n := range path {
		if d, ok := n.(*ast.FuncDecl); ok {
			f, ok := path[0].(*ast.File)
			return ok && f.Name.Name == cl.target.PkgName && syntax.DeclName(d) == cl.target.Name
		}
	}
	return false
}

// siteOf returns the call of the target that an expression is, with its arguments, or nil for other
// calls.
func (cl *Callers) siteOf(c *ast.CallExpr, info *types.Info) *callSite {
	fun, id := syntax.Called(c)
	if id == nil {
		return nil
	}
	fn, ok := info.Uses[id].(*types.Func)
	if !ok || fn.Pkg() == nil || fn.Pkg().Path() != cl.target.PkgPath || syntax.FuncName(fn) != cl.target.Name {
		return nil
	}
	// The receiver counts as the first argument, if the call names it.
	s := &callSite{callers: cl, info: info, call: c, args: make([]ast.Expr, len(cl.target.Params))}
	at := 0
	if fn.Signature().Recv() != nil {
		at = 1
		if sel, ok := fun.(*ast.SelectorExpr); ok {
			s.args[0] = sel.X
		}
	}
	// A variadic call has any number of arguments for its last parameter, which are left out.
	fixed := len(cl.target.Params) - at
	if cl.target.Variadic && !c.Ellipsis.IsValid() {
		fixed--
	} else if len(c.Args) != fixed {
		return s // the results of another call
	}
	for i := 0; i < fixed && i < len(c.Args); i++ {
		s.args[at+i] = c.Args[i]
	}
	return s
}

func (s *callSite) keeps(conds []*Predicate) bool {
	for _, p := range conds {
		if !s.proves(p) {
			return false
		}
	}
	return true
}

// proves reports whether a condition holds whenever the call is reached.
func (s *callSite) proves(p *Predicate) bool {
	expr, err := parser.ParseExpr(p.Text)
	if err != nil {
		return false
	}
	v := &prover{info: s.info, values: map[string]value{}, fn: s.function()}
	// The condition speaks of parameters; at this call they are its arguments.
	for i, param := range s.callers.target.Params {
		switch {
		// Arguments of a variadic parameter become a list, of which the length is known.
		case s.callers.target.Variadic && i == len(s.args)-1 && !s.call.Ellipsis.IsValid():
			v.values[param.Name] = value{list: true, length: int64(len(s.variadic()))}
		case s.args[i] != nil:
			v.values[param.Name] = value{expr: s.args[i]}
		}
	}
	v.facts = v.branchFacts(s.path)
	return v.holds(expr)
}

// function returns the body around the call; nil at package level.
func (s *callSite) function() ast.Node {
	for _, n := range slices.Backward(s.path) {
		switch n.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			return n
		}
	}
	return nil
}

// variadic returns the arguments that make up the last parameter.
func (s *callSite) variadic() []ast.Expr {
	fixed := len(s.callers.target.Params) - 1
	if s.callers.target.Recv != "" {
		fixed--
	}
	return s.call.Args[min(fixed, len(s.call.Args)):]
}

// moduleFiles returns the Go files of the module, up to a bound.
func (cl *Callers) moduleFiles() []string {
	const most = 5000
	var out []string
	filepath.WalkDir(cl.target.Dir, func(path string, d os.DirEntry, err error) error {
		switch {
		// A walk that fails, or goes on for too long, gives what it has found.
		case err != nil || len(out) > most:
			return filepath.SkipAll
		case d.IsDir() && path != cl.target.Dir &&
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
