package exec

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// A Program is a type-checked package in SSA form, and one function of it.
type Program struct {
	Target *ssa.Function

	pkg *ssa.Package
	pos *token.FileSet
}

// Build makes a program of a package with all its bodies.
func Build(
	fset *token.FileSet, pkg *types.Package, files []*ast.File, info *types.Info, target *types.Func,
) (p *Program, err error) {
	// The SSA builder panics on code that it does not know, newer than itself.
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("the SSA form of %s could not be made: %v", pkg.Path(), r)
		}
	}()
	prog, sp := build(fset, pkg, files, info)
	// A function in assembly has no blocks, and a generic one no body that runs.
	fn := prog.FuncValue(target)
	switch {
	case fn == nil || fn.Blocks == nil:
		return nil, fmt.Errorf("%s has no body", target.FullName())
	case fn.TypeParams().Len() > 0:
		return nil, fmt.Errorf("%s is generic", target.FullName())
	}
	return &Program{Target: fn, pkg: sp, pos: fset}, nil
}

// build makes the SSA form of a package. Imported packages are there by their types only.
func build(fset *token.FileSet, pkg *types.Package, files []*ast.File, info *types.Info) (*ssa.Program, *ssa.Package) {
	prog := ssa.NewProgram(fset, ssa.InstantiateGenerics)
	made := map[*types.Package]bool{pkg: true}
	var imports func(p *types.Package)
	imports = func(p *types.Package) {
		// Types of imports are enough to build; bodies come from the library, when they are called.
		for _, q := range p.Imports() {
			if !made[q] {
				made[q] = true
				prog.CreatePackage(q, nil, nil, true)
				imports(q)
			}
		}
	}
	imports(pkg)
	sp := prog.CreatePackage(pkg, files, info, false)
	sp.Build()
	return prog, sp
}

// Line returns the line of a position.
func (p *Program) Line(pos token.Pos) int { return p.pos.Position(pos).Line }

// Params returns the types of the function's parameters, the receiver first.
func (p *Program) Params() []types.Type {
	var out []types.Type
	for _, v := range p.Target.Params {
		out = append(out, v.Type())
	}
	return out
}
