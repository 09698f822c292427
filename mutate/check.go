package mutate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/exports"
	"github.com/beagle-go/beagle/internal/syntax"
)

// Check makes a Pass from a candidate that is a whole package and imports only the standard
// library, as tests and documentation need it. It names the target as [beagle.Target] does; ""
// means the first function of the file. The weight of every node is 1.
func Check(src, target string, facets *beagle.Facets) (*Pass, error) {
	p := &Pass{Src: []byte(src), Fset: token.NewFileSet(), Background: Background{Facets: facets}}
	if facets == nil {
		p.Facets = &beagle.Facets{}
	}
	p.Weight = func(ast.Node) float64 { return 1 }
	// Parse the candidate.
	f, err := parser.ParseFile(p.Fset, "candidate.go", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	p.File = f
	// Check its types, and keep all that rules ask about.
	p.Info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Implicits: map[ast.Node]types.Object{},
		Scopes: map[ast.Node]*types.Scope{}, Instances: map[*ast.Ident]types.Instance{},
	}
	conf := types.Config{Importer: std}
	if p.Pkg, err = conf.Check(f.Name.Name, p.Fset, []*ast.File{f}, p.Info); err != nil {
		return nil, err
	}
	// Find the target.
	for _, d := range Nodes[*ast.FuncDecl](p, nil) {
		if name := syntax.FuncName(p.Info.Defs[d.Name].(*types.Func)); p.Func == nil &&
			(target == "" || target == name) {
			p.Func = d
			p.Target = targetOf(p, name)
		}
	}
	if p.Func == nil {
		return nil, fmt.Errorf("no function %q in the source", target)
	}
	return p, nil
}

func targetOf(p *Pass, name string) *beagle.Target {
	t := &beagle.Target{PkgName: p.File.Name.Name, Name: name, Source: string(p.Src), Go: "1.26"}
	sig := p.Info.Defs[p.Func.Name].Type().(*types.Signature)
	if r := sig.Recv(); r != nil {
		t.Params = append(t.Params, param(p, r))
	}
	for v := range sig.Params().Variables() {
		t.Params = append(t.Params, param(p, v))
	}
	for v := range sig.Results().Variables() {
		t.Results = append(t.Results, param(p, v))
	}
	return t
}

func param(p *Pass, v *types.Var) beagle.Param {
	return beagle.Param{Name: v.Name(), Type: types.TypeString(v.Type(), types.RelativeTo(p.Pkg))}
}

// std imports export data of the standard library, once a process.
var std = exports.New(exports.Listed)
