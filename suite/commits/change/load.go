package change

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle/internal/exports"
	"github.com/beagle-go/beagle/internal/modcopy"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A decl is one package-level declaration: a function, a method, or one
// specification of a var, const or type declaration. Constants that count with
// iota stay together.
type decl struct {
	names []*ast.Ident // what it declares; a method has the key T.M only
	keys  []string     // the names, methods as T.M
	node  ast.Node     // *ast.FuncDecl, *ast.GenDecl or ast.Spec
	token token.Token  // FUNC, VAR, CONST or TYPE
	file  *ast.File
	text  string // printed without comments, to compare versions
}

// A pkg is one version of a package.
type pkg struct {
	fset  *token.FileSet
	name  string
	files []*ast.File
	decls []*decl
	byKey map[string]*decl
	types *types.Package // nil before check
	info  *types.Info
}

// listed is the go command's description of a package.
type listed struct {
	ImportPath, Name, Dir, Export string
	GoFiles, CgoFiles             []string
	DepOnly                       bool
	Error                         *struct{ Err string }
}

// load parses the files of a package that this platform compiles.
func load(ctx context.Context, dir, pattern string) (*pkg, error) {
	all, err := list(ctx, dir, pattern, false)
	if err != nil {
		return nil, err
	}
	return parse(&all[len(all)-1])
}

// loadTyped parses a package and type-checks it against its dependencies.
func loadTyped(ctx context.Context, dir, pattern string) (*pkg, error) {
	all, err := list(ctx, dir, pattern, true)
	if err != nil {
		return nil, err
	}
	p, err := parse(&all[len(all)-1])
	if err != nil {
		return nil, err
	}
	return p, p.check(all)
}

// list asks the go command for a package, and for its dependencies if they are needed; the package
// itself comes last.
func list(ctx context.Context, dir, pattern string, deps bool) ([]listed, error) {
	args := []string{"list", "-mod=mod", "-json=ImportPath,Name,Dir,Export,GoFiles,CgoFiles,DepOnly,Error"}
	if deps {
		args = append(args, "-export", "-deps")
	}
	out, err := modcopy.Go(ctx, dir, append(args, pattern)...)
	if err != nil {
		return nil, err
	}
	all, err := exports.Decode[listed](out)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s: no such package", pattern)
	}
	return all, err
}

// parse parses a package and indexes its declarations.
func parse(l *listed) (*pkg, error) {
	if len(l.CgoFiles) > 0 {
		return nil, fmt.Errorf("%s uses cgo", l.ImportPath)
	}
	p := &pkg{fset: token.NewFileSet(), name: l.Name, byKey: map[string]*decl{}}
	for _, name := range l.GoFiles {
		f, err := parser.ParseFile(p.fset, filepath.Join(l.Dir, name), nil,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, f)
		for _, d := range f.Decls {
			p.add(f, d)
		}
	}
	for _, d := range p.decls {
		for _, key := range d.keys {
			p.byKey[key] = d
		}
	}
	return p, nil
}

// add enters the declarations of one syntax node.
func (p *pkg) add(f *ast.File, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		key := syntax.DeclName(d)
		p.enter(&decl{names: []*ast.Ident{d.Name}, keys: []string{key}, node: d, token: token.FUNC, file: f})
	case *ast.GenDecl:
		if d.Tok == token.IMPORT {
			return
		}
		// Constants that count with iota stay together.
		if d.Tok == token.CONST && counts(d) {
			whole := &decl{node: d, token: d.Tok, file: f}
			for _, s := range d.Specs {
				whole.names = append(whole.names, s.(*ast.ValueSpec).Names...)
			}
			p.enter(whole)
			return
		}
		// Every other specification stands alone.
		for _, s := range d.Specs {
			one := &decl{node: s, token: d.Tok, file: f}
			if v, ok := s.(*ast.ValueSpec); ok {
				one.names = v.Names
			} else {
				one.names = []*ast.Ident{s.(*ast.TypeSpec).Name}
			}
			p.enter(one)
		}
	}
}

func (p *pkg) enter(d *decl) {
	if d.keys == nil {
		for _, n := range d.names {
			d.keys = append(d.keys, n.Name)
		}
	}
	var b strings.Builder
	if err := printer.Fprint(&b, token.NewFileSet(), uncommented(d.node)); err != nil {
		b.WriteString(err.Error()) // equal to no text
	}
	d.text = b.String()
	p.decls = append(p.decls, d)
}

// uncommented returns the node without its doc comment.
func uncommented(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.FuncDecl:
		c := *n
		c.Doc = nil
		return &c
	case *ast.GenDecl:
		c := *n
		c.Doc = nil
		return &c
	case *ast.ValueSpec:
		c := *n
		c.Doc, c.Comment = nil, nil
		return &c
	case *ast.TypeSpec:
		c := *n
		c.Doc, c.Comment = nil, nil
		return &c
	}
	return n
}

// counts reports whether a constant's value depends on its place in the group.
func counts(d *ast.GenDecl) bool {
	found := false
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			found = found || n.Name == "iota"
		case *ast.ValueSpec:
			found = found || len(n.Values) == 0
		}
		return !found
	})
	return found
}

// check type-checks the package with the compiled packages in all.
func (p *pkg) check(all []listed) error {
	compiled := exports.New(nil)
	for _, l := range all {
		if l.Export != "" {
			compiled.Add(l.ImportPath, l.Export)
		}
	}
	p.info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: compiled}
	var err error
	p.types, err = conf.Check(all[len(all)-1].ImportPath, p.fset, p.files, p.info)
	return err
}
