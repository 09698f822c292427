package main

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/packages"
)

// uses records which declarations of a package use which others.
type uses struct {
	info     *types.Info
	mentions map[types.Object]map[ast.Node]bool // package-level objects -> declarations that mention them
}

func usesOf(p *packages.Package) *uses {
	u := &uses{p.TypesInfo, map[types.Object]map[ast.Node]bool{}}
	for _, f := range p.Syntax {
		for _, d := range f.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				if o := p.TypesInfo.Uses[id]; o != nil && o.Pkg() == p.Types {
					if u.mentions[o] == nil {
						u.mentions[o] = map[ast.Node]bool{}
					}
					u.mentions[o][d] = true
				}
				return true
			})
		}
	}
	return u
}

// candidate returns a file with the imports, a function, and the declarations that only it uses.
func (u *uses) candidate(f *ast.File, fn *ast.FuncDecl) *ast.File {
	in := map[ast.Node]bool{fn: true}
	for grown := true; grown; {
		grown = false
		for _, d := range f.Decls {
			if !in[d] && u.only(d, in) {
				in[d], grown = true, true
			}
		}
	}
	out := *f
	out.Decls = nil
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); in[d] || ok && g.Tok == token.IMPORT {
			out.Decls = append(out.Decls, d)
		}
	}
	return &out
}

// only reports whether a declaration is used, and only by the given ones.
func (u *uses) only(d ast.Decl, in map[ast.Node]bool) bool {
	// List the objects that the declaration declares.
	var objects []types.Object
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			return false
		}
		objects = append(objects, u.info.Defs[d.Name])
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					objects = append(objects, u.info.Defs[name])
				}
			case *ast.TypeSpec:
				objects = append(objects, u.info.Defs[s.Name])
			default:
				return false
			}
		}
	}
	// Every use must be among the given declarations.
	for _, o := range objects {
		if o == nil || o.Exported() || len(u.mentions[o]) == 0 {
			return false
		}
		for user := range u.mentions[o] {
			if user != d && !in[user] {
				return false
			}
		}
	}
	return len(objects) > 0
}
