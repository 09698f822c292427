package source

import (
	"go/ast"
	"go/token"
	"slices"
)

// buildRest prepares the package without the scope for many type checks.
func (sc *Scope) buildRest() {
	sc.declare = map[string]bool{}
	drop := sc.replacedDecls()
	// Keep the parts of each file that other declarations can see. Candidates are checked against
	// these, thousands of times.
	for _, f := range sc.pkg.files {
		g := *f.ast
		g.Decls, g.Comments = nil, nil
		for _, d := range f.ast.Decls {
			if d = visibleParts(d, drop); d != nil {
				g.Decls = append(g.Decls, d)
			}
		}
		sc.bare = append(sc.bare, &g)
	}
	sc.rest = sc.bare
	if sc.group != nil {
		sc.rest = sc.withUsers(drop)
	}
	// The names of the rest are taken.
	for _, p := range sc.pkg.graph.all {
		if !slices.Contains(sc.pieces, p) && p.recv == "" {
			for _, n := range p.names {
				sc.declare[n.Name] = true
			}
		}
	}
}

// replacedDecls returns the declarations of the package that each version replaces.
func (sc *Scope) replacedDecls() map[ast.Node]bool {
	drop := map[ast.Node]bool{}
	for _, s := range sc.pieces {
		if s.spec != nil {
			drop[s.spec] = true
		} else {
			drop[s.decl] = true
		}
	}
	return drop
}

// visibleParts reduces a declaration of the rest to the parts that other declarations can see, or
// returns nil.
func visibleParts(d ast.Decl, drop map[ast.Node]bool) ast.Decl {
	switch d := d.(type) {
	// Bodies do not matter to others, and init has no name.
	case *ast.FuncDecl:
		if drop[d] || d.Recv == nil && (d.Name.Name == "init" || d.Name.Name == "_") {
			return nil
		}
		g := *d
		g.Body = nil
		return &g
	case *ast.GenDecl:
		if drop[d] {
			return nil
		}
		// Without variables nothing becomes shorter.
		if d.Tok != token.VAR && len(drop) == 0 {
			return d
		}
		g := *d
		g.Specs = nil
		for _, s := range d.Specs {
			if !drop[s] {
				g.Specs = append(g.Specs, leanSpec(s, d.Tok))
			}
		}
		return &g
	}
	return d
}

// leanSpec replaces the value of a variable by its type where the syntax
// shows it: tables can be long.
func leanSpec(s ast.Spec, tok token.Token) ast.Spec {
	v, ok := s.(*ast.ValueSpec)
	if !ok || tok != token.VAR || len(v.Values) == 0 {
		return s
	}
	w := *v
	if v.Type != nil {
		w.Values = nil
		return &w
	}
	// Several names may take their values from one call.
	if len(v.Values) != 1 || len(v.Names) != 1 {
		return s
	}
	// The type is written at the literal. An array of open length has it in its elements.
	switch x := ast.Unparen(v.Values[0]).(type) {
	case *ast.CompositeLit:
		w.Type = x.Type
	case *ast.FuncLit:
		w.Type = x.Type
	case *ast.UnaryExpr:
		if lit, ok := x.X.(*ast.CompositeLit); ok && x.Op == token.AND {
			w.Type = &ast.StarExpr{Star: x.OpPos, X: lit.Type}
			if openArray(lit.Type) {
				w.Type = nil
			}
		}
	}
	if w.Type == nil || openArray(w.Type) {
		return s
	}
	w.Values = nil
	return &w
}

// openArray reports whether t is [...]T. Only its value gives the length.
func openArray(t ast.Expr) bool {
	a, ok := t.(*ast.ArrayType)
	if !ok {
		return false
	}
	_, ok = a.Len.(*ast.Ellipsis)
	return ok
}

// Rest returns the package's files without the scope and without bodies. Callers must not change
// them.
func (sc *Scope) Rest() []*ast.File { return sc.bare }

// keepUsers notes which declarations of the rest use the scope: they are type-checked with every
// version, bodies included.
func (sc *Scope) keepUsers() {
	in := setOf(sc.pieces)
	for _, p := range sc.pkg.graph.all {
		if in[p] || p.kind == "import" {
			continue
		}
		for q := range sc.pkg.graph.uses[p].pieces {
			// A method uses its receiver's type by its head alone.
			if in[q] || sc.group.types[q.recv] != nil {
				sc.group.kept = append(sc.group.kept, p.decl)
				break
			}
		}
	}
}

// withUsers returns the rest of the package, with the bodies of the declarations that use a group.
// So the type checker rejects a version that breaks its users.
func (sc *Scope) withUsers(drop map[ast.Node]bool) []*ast.File {
	var out []*ast.File
	for _, f := range sc.pkg.files {
		g := *f.ast
		g.Decls, g.Comments = nil, nil
		// A declaration that uses the group keeps its body, and all others are reduced.
		for _, d := range f.ast.Decls {
			whole := slices.Contains(sc.group.kept, ast.Node(d)) && !drop[d]
			if gen, ok := d.(*ast.GenDecl); ok {
				whole = whole && !slices.ContainsFunc(gen.Specs, func(s ast.Spec) bool { return drop[s] })
			}
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && (fn.Name.Name == "init" || fn.Name.Name == "_") {
				whole = false
			}
			if !whole {
				d = visibleParts(d, drop)
			}
			if d != nil {
				g.Decls = append(g.Decls, d)
			}
		}
		out = append(out, &g)
	}
	return out
}

// withoutScope returns the package's files without the declarations that a version replaces.
func (sc *Scope) withoutScope() []*ast.File {
	drop := sc.replacedDecls()
	var out []*ast.File
	for _, f := range sc.pkg.files {
		g := *f.ast
		g.Decls, g.Comments = nil, nil
		for _, d := range f.ast.Decls {
			if drop[d] {
				continue
			}
			// A block keeps those of its parts that the version does not replace.
			if group, ok := d.(*ast.GenDecl); ok {
				kept := *group
				kept.Specs = nil
				for _, s := range group.Specs {
					if !drop[s] {
						kept.Specs = append(kept.Specs, s)
					}
				}
				if len(kept.Specs) == 0 && len(group.Specs) > 0 {
					continue
				}
				d = &kept
			}
			g.Decls = append(g.Decls, d)
		}
		out = append(out, &g)
	}
	return out
}
