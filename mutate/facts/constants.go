package facts

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle/mutate"
)

// This file says which constants have the same value wherever the code is built.

// WrittenOut reports whether code can write a constant as its value. A constant of another package
// or file may differ between systems.
func WrittenOut(p *mutate.Pass, e ast.Expr) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, e) {
		switch obj := p.Info.Uses[id].(type) {
		case *types.PkgName:
			return false
		case *types.Const:
			if v := constantOf(p, obj); v == nil || !WrittenOut(p, v) {
				return false
			}
		}
	}
	return true
}

// SameEverywhere reports whether the constants in code have the same values on all systems, so that
// code can rely on them: the candidate declares them, or unicode/utf8 does.
func SameEverywhere(p *mutate.Pass, n ast.Node) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, n) {
		c, ok := p.Info.Uses[id].(*types.Const)
		if !ok || c.Pkg() == nil || c.Pkg().Path() == "unicode/utf8" {
			continue
		}
		if c.Pkg() != p.Pkg || c.Pos() < p.File.FileStart || p.File.FileEnd < c.Pos() {
			return false
		}
		if v := constantOf(p, c); v != nil && !SameEverywhere(p, v) {
			return false
		}
	}
	return true
}

// constantOf returns the value that the candidate declares a constant with, or nil.
func constantOf(p *mutate.Pass, c *types.Const) ast.Expr {
	for _, spec := range mutate.Nodes[*ast.ValueSpec](p, nil) {
		for i, id := range spec.Names {
			if p.Info.Defs[id] == c && len(spec.Values) == len(spec.Names) {
				return spec.Values[i]
			}
		}
	}
	return nil
}
