package source

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A Scope holds the declarations that a candidate may change with the target, and the rest of the
// package.
type Scope struct {
	of     *beagle.Target
	pkg    *Package
	target *piece   // of a group, one of its functions
	group  *group   // nil for a single function
	pieces []*piece // all that may change

	rest    []*ast.File     // without the scope and without bodies, except those that use a group
	bare    []*ast.File     // without the scope and without bodies
	declare map[string]bool // names that the rest declares
}

// decls lists the scope in the form of a [beagle.Target].
func (sc *Scope) decls() (out []beagle.Decl) {
	for _, p := range sc.pieces {
		for _, key := range p.keys() {
			out = append(out, beagle.Decl{Name: key, Kind: p.kind, File: p.file.path, Start: p.start, End: p.end})
		}
	}
	return out
}

// A usage lists the pieces and packages that a piece names.
type usage struct {
	pieces  map[*piece]bool
	imports map[string]string // local name -> path; a dot import is ".path" -> path
	cgo     bool
}

// A graph holds for each piece of the package the pieces that it uses and its users.
type graph struct {
	all    []*piece
	owner  map[types.Object]*piece
	uses   map[*piece]*usage
	usedBy map[*piece]map[*piece]bool
}

// newGraph reads the uses from the type checker's account.
func newGraph(files []*srcFile, pkg *types.Package, info *types.Info) *graph {
	g := &graph{owner: map[types.Object]*piece{}, uses: map[*piece]*usage{}, usedBy: map[*piece]map[*piece]bool{}}
	// Give objects their owners first: these identify the uses.
	for _, f := range files {
		for _, p := range pieces(f) {
			g.all = append(g.all, p)
			g.usedBy[p] = map[*piece]bool{}
			for _, n := range p.names {
				if obj := info.Defs[n]; obj != nil {
					g.owner[obj] = p
				}
			}
		}
	}
	for _, p := range g.all {
		g.uses[p] = g.usageOf(p, pkg, info)
		for q := range g.uses[p].pieces {
			g.usedBy[q][p] = true
		}
	}
	return g
}

// usageOf returns what a declaration uses: other declarations of the package, imports by name, and
// cgo.
func (g *graph) usageOf(p *piece, pkg *types.Package, info *types.Info) *usage {
	u := &usage{pieces: map[*piece]bool{}, imports: map[string]string{}}
	if p.kind == "import" {
		return u
	}
	var node ast.Node = p.decl
	if p.spec != nil {
		node = p.spec
	}
	selected := map[*ast.Ident]bool{}
	ast.Inspect(node, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			selected[sel.Sel] = true
		}
		id, ok := n.(*ast.Ident)
		if !ok || info.Uses[id] == nil {
			return true
		}
		switch obj := info.Uses[id].(type) {
		case *types.PkgName:
			u.imports[id.Name] = obj.Imported().Path()
			u.cgo = u.cgo || obj.Imported().Path() == "C"
		default:
			// A method or a field belongs to its type. A name without a qualifier from another
			// package comes from a dot import.
			if q := g.owner[syntax.Origin(obj)]; q != nil {
				u.pieces[q] = true
			} else if from := obj.Pkg(); from != nil && from != pkg && !selected[id] && obj.Parent() == from.Scope() {
				u.imports["."+from.Path()] = from.Path()
			}
			u.cgo = u.cgo || strings.HasPrefix(id.Name, "_Cfunc_") || strings.HasPrefix(id.Name, "_Ctype_")
		}
		return true
	})
	return u
}

// scope returns the pieces that may change with the target. It sorts them by their places, the
// target first. outside holds the names that other files than the compiled ones use.
func (g *graph) scope(target *piece, outside map[string]bool, dir string) []*piece {
	in := map[*piece]bool{target: true}
	var visit func(p *piece)
	visit = func(p *piece) {
		for q := range g.uses[p].pieces {
			if !in[q] && movable(q, outside, dir) && !g.uses[q].cgo {
				in[q] = true
				visit(q)
			}
		}
	}
	// Take all that the target reaches and that a candidate may move.
	visit(target)
	// Drop the pieces that other code uses too. Each drop may uncover another.
	for changed := true; changed; {
		changed = false
		for p := range in {
			if p != target && !isSubset(g.usedBy[p], in) {
				delete(in, p)
				changed = true
			}
		}
		if !changed {
			changed = g.dropClash([]*piece{target}, in)
		}
	}
	out := inOrder(maps.Keys(in), target)
	i := slices.Index(out, target)
	return slices.Insert(slices.Delete(out, i, i+1), 0, target)
}

// inOrder sorts pieces by their place, the target's file first.
func inOrder(ps iter.Seq[*piece], target *piece) []*piece {
	return inorder.Collect(ps, func(a, b *piece) int {
		if a.file != b.file && (a.file == target.file || b.file == target.file) {
			if a.file == target.file {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.file.path, b.file.path), cmp.Compare(a.start, b.start))
	})
}

func isSubset(users, in map[*piece]bool) bool {
	for p := range users {
		if !in[p] {
			return false
		}
	}
	return true
}

// dropClash removes one piece whose imports clash with those of the others, and reports whether it
// found one. It never removes the target's own pieces.
func (g *graph) dropClash(roots []*piece, in map[*piece]bool) bool {
	names, paths := map[string]string{}, map[string]string{}
	// A clash is one name for two packages, or one package under two names.
	clash := func(p *piece) bool {
		for name, path := range g.uses[p].imports {
			if got, ok := names[name]; ok && got != path {
				return true
			}
			if got, ok := paths[path]; ok && got != name {
				return true
			}
		}
		for name, path := range g.uses[p].imports {
			names[name], paths[path] = path, name
		}
		return false
	}
	// The roots come first, and then the others in a fixed order.
	for _, p := range roots {
		clash(p)
	}
	for _, p := range inOrder(maps.Keys(in), roots[0]) {
		if !slices.Contains(roots, p) && clash(p) {
			delete(in, p)
			return true
		}
	}
	return false
}

// movable reports whether a scope may hold the piece.
func movable(p *piece, outside map[string]bool, dir string) bool {
	// A method stays with its type, and an import with its file.
	if p.recv != "" || p.kind == "type" || p.kind == "import" || filepath.Dir(p.file.path) != dir {
		return false
	}
	for _, n := range p.names {
		// Names that other code may use, or that Go calls, stay.
		if n.IsExported() || n.Name == "_" || n.Name == "init" || n.Name == "main" || outside[n.Name] {
			return false
		}
	}
	if f, ok := p.decl.(*ast.FuncDecl); ok && (f.Recv != nil || f.Body == nil) {
		return false
	}
	// Directives tie a declaration to its place.
	if g, ok := p.decl.(*ast.GenDecl); ok && strings.Contains(commentText(g.Doc), "//go:embed") {
		return false
	}
	return !strings.Contains(p.doc(), "//go:embed") && !strings.Contains(p.doc(), "//export ")
}

func commentText(c *ast.CommentGroup) string {
	var b strings.Builder
	if c != nil {
		for _, line := range c.List {
			b.WriteString(line.Text + "\n")
		}
	}
	return b.String()
}

var (
	asmName  = regexp.MustCompile(`·(\w+)`)
	linkname = regexp.MustCompile(`(?m)^//go:linkname\s+(\w+)`)
)

// constancy holds which variables of a package never change, and which code may change them.
type constancy struct {
	unchanged map[string]bool     // see Package.Unchanged
	setOnce   map[string]ast.Expr // see syntax.Watch.SetOnce
	lookers   map[string][]bool   // see syntax.Watch.Lookers
}

// Unchanged names the variables of the package that always hold their initial values: see
// [syntax.Unchanged]. It leaves out the variables that tests or files of other build configurations
// mention.
func (pkg *Package) Unchanged() map[string]bool { return pkg.watch().unchanged }

// watch returns which variables never change, and computes it once.
func (pkg *Package) watch() *constancy {
	pkg.watching.Do(func() {
		w, seen := syntax.NewWatch(asts(pkg.files), pkg.info), &pkg.constancy
		seen.unchanged, seen.lookers = w.Unchanged(pkg.Types), w.Lookers()
		seen.setOnce = w.SetOnce(asts(pkg.files), pkg.Types)
		for name := range outsideNames(pkg.Dir, pkg.Name, pkg.files) {
			delete(seen.unchanged, name)
			delete(seen.setOnce, name)
		}
	})
	return &pkg.constancy
}

// unchangedIn names the variables that a candidate does not change. A candidate has no bodies of
// the rest's functions; the package has them.
func (pkg *Package) unchangedIn(f *File) map[string]bool {
	lookers := pkg.watch().lookers
	w := syntax.NewWatch([]*ast.File{f.AST}, f.Info)
	w.Beyond = func(fn *types.Func, i int) bool {
		all := lookers[syntax.FuncName(fn)]
		return fn.Pkg() == f.Types && i < len(all) && all[i]
	}
	return w.Unchanged(f.Types)
}

// outsideNames returns the package-level names that test files, files of other build
// configurations, assembly or directives may use. The type checker cannot read those files in this
// configuration, so outsideNames takes their free identifiers.
func outsideNames(dir, pkgName string, compiled []*srcFile) map[string]bool {
	out := map[string]bool{}
	known := map[string]bool{}
	// Files that are compiled may still export names by directives.
	for _, f := range compiled {
		known[f.path] = true
		for _, m := range linkname.FindAllStringSubmatch(f.text, -1) {
			out[m[1]] = true
		}
	}
	// Assembly names functions by their symbols.
	asm, _ := filepath.Glob(filepath.Join(dir, "*.s"))
	for _, path := range asm {
		text, _ := os.ReadFile(path)
		for _, m := range asmName.FindAllStringSubmatch(string(text), -1) {
			out[m[1]] = true
		}
	}
	// All other files are tests, or belong to other systems.
	gofiles, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, path := range gofiles {
		if !known[path] {
			freeNames(path, pkgName, out)
		}
	}
	return out
}

// freeNames adds the identifiers that a file uses and does not declare. It skips files of another
// package, such as external tests: they cannot name anything unexported.
func freeNames(path, pkgName string, out map[string]bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	f, _ := parser.ParseFile(token.NewFileSet(), path, text, 0)
	if f == nil || f.Name.Name != pkgName {
		return
	}
	for _, id := range f.Unresolved {
		out[id.Name] = true
	}
	// A file for another platform may declare the name too: then the
	// declaration here is one of a pair.
	if !strings.HasSuffix(path, "_test.go") {
		for name := range f.Scope.Objects {
			out[name] = true
		}
	}
}
