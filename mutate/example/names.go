package example

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
)

// chooseNames gives the variables of After the names of their counterparts in the code, or new
// ones.
func (w *writer) chooseNames() {
	m := w.m
	// Collect which variables of the code stand for those of Before.
	old := map[string]*types.Var{} // by name in Before
	for obj, v := range m.locals {
		old[obj.Name()] = v
	}
	for obj, r := range m.loops {
		v := r.loop.Index
		if r.value {
			v = r.loop.Value
		}
		if v != nil && obj.Name() != "" {
			old[obj.Name()] = v
		}
	}
	// A variable of After that is an output takes the name of the variable that the output goes to.
	outputs := map[types.Object]*types.Var{}
	for k, e := range w.way.outputs {
		if id, ok := e.(*ast.Ident); ok {
			if v := w.outputVar(k); v != nil {
				outputs[w.way.rule.obj(id)] = v
			}
		}
	}
	// Any other takes the name of its counterpart in Before, if nothing else uses that one; else it
	// gets a new name.
	for id := range nodesOf[*ast.Ident](w.way.body) {
		obj, ok := w.way.rule.info.Defs[id].(*types.Var)
		if !ok || obj.Name() == "_" || obj.IsField() {
			continue
		}
		v := outputs[obj]
		if v == nil {
			v = old[obj.Name()]
			if v != nil && w.otherwiseUsed(v) {
				v = nil
			}
		}
		if v != nil {
			w.names[obj] = v.Name()
			continue
		}
		w.names[obj] = w.freshName(obj.Name())
	}
}

// outputVar returns the variable of the code that an output of Before stands for, or nil.
func (w *writer) outputVar(k int) *types.Var {
	id, ok := w.m.pair.before.outputs[k].(*ast.Ident)
	if !ok {
		return nil
	}
	if v := w.m.locals[w.m.pair.rule.obj(id)]; v != nil {
		return v
	}
	return w.m.places[id.Name]
}

// otherwiseUsed reports whether the matched code uses the name of v for something else.
func (w *writer) otherwiseUsed(v *types.Var) bool {
	roots := []ast.Node{w.m.Region()}
	if w.m.tail != nil {
		roots = append(roots, w.m.tail)
	}
	// The same name elsewhere in the match would get the new meaning, except behind a dot, where it
	// is a field.
	for _, root := range roots {
		for id := range nodesOf[*ast.Ident](root) {
			obj := w.m.Pass.Info.ObjectOf(id)
			if id.Name == v.Name() && obj != v && obj != nil {
				if f, ok := obj.(*types.Var); !ok || !f.IsField() {
					return true
				}
			}
		}
	}
	return false
}

// freshName returns a name that neither the file nor this edit has, the wished one if it is free.
func (w *writer) freshName(name string) string {
	for i := 1; ; i++ {
		try := name
		if i > 1 {
			try += strconv.Itoa(i)
		}
		if got := w.m.Pass.Fresh(try); got == try && !slices.Contains(w.fresh, try) {
			w.fresh = append(w.fresh, try)
			return try
		}
	}
}

// lookup returns the meaning of a name at the match.
func (w *writer) lookup(name string) types.Object {
	pos := w.m.Node.Pos()
	inner := w.m.Pass.Pkg.Scope().Innermost(pos)
	if inner == nil {
		return types.Universe.Lookup(name)
	}
	_, obj := inner.LookupParent(name, pos)
	return obj
}

// capture fails if the code declares a name that an argument mentions.
func (w *writer) capture(b *block, args []ast.Expr) {
	for _, a := range args {
		// The text of the argument moves into the code: what it mentions must mean the same there.
		for id := range nodesOf[*ast.Ident](a) {
			text, ok := w.ident(id)
			if !ok {
				continue
			}
			for _, n := range b.nodes() {
				for inner := range nodesOf[*ast.Ident](n) {
					if inner.Name == text && w.m.Pass.Info.Defs[inner] != nil {
						w.fail("the code hides " + text)
					}
				}
			}
		}
	}
}

// clash reports whether statements declare a name that code behind them may use: other statements
// of the match declare it too, or other code of the match means something else by it.
func (w *writer) clash(name string, b *block) bool {
	own := declaredNames(b.stmts)
	if len(own) == 0 {
		return false
	}
	// Other code of the match declares the name too, or means something else by it. One of two that
	// declare it needs a block.
	for other, o := range w.m.blocks {
		if other == name {
			continue
		}
		for id := range declaredNames(o.stmts) {
			if own[id] && name > other {
				return true
			}
		}
		if slices.ContainsFunc(o.nodes(), func(n ast.Node) bool { return w.usesFrom(n, o.nodes(), own) }) {
			return true
		}
	}
	// An expression or a place of the match has the name.
	for _, e := range w.m.exprs {
		if w.usesFrom(e, b.nodes(), own) {
			return true
		}
	}
	for _, v := range w.m.places {
		if own[v.Name()] {
			return true
		}
	}
	return false
}

// usesFrom reports whether a node uses one of some names for what no part of the given code
// declares.
func (w *writer) usesFrom(n ast.Node, code []ast.Node, names map[string]bool) bool {
	for id := range nodesOf[*ast.Ident](n) {
		obj := w.m.Pass.Info.Uses[id]
		if !names[id.Name] || obj == nil {
			continue
		}
		if v, ok := obj.(*types.Var); ok && v.IsField() {
			continue
		}
		if fn, ok := obj.(*types.Func); ok && fn.Signature().Recv() != nil {
			continue
		}
		if !slices.ContainsFunc(code, func(c ast.Node) bool { return c.Pos() <= obj.Pos() && obj.Pos() < c.End() }) {
			return true
		}
	}
	return false
}

// declaredNames holds the names that the statements of a list declare in it.
func declaredNames(list []ast.Stmt) map[string]bool {
	// Inner blocks have scopes of their own.
	out := map[string]bool{}
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			for _, l := range s.Lhs {
				if id, ok := l.(*ast.Ident); ok && s.Tok == token.DEFINE && id.Name != "_" {
					out[id.Name] = true
				}
			}
		case *ast.DeclStmt:
			for _, spec := range s.Decl.(*ast.GenDecl).Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						out[id.Name] = true
					}
				case *ast.TypeSpec:
					out[spec.Name.Name] = true
				}
			}
		}
	}
	return out
}

// importName returns the name of a package in the candidate.
func (w *writer) importName(path string) string {
	name, ok := w.imports[path]
	if ok {
		return name
	}
	name, edits := w.m.Pass.Import(path)
	if _, isPkg := w.lookup(name).(*types.PkgName); len(edits) == 0 && !isPkg || w.declares(name) {
		w.fail("the code gives " + name + " another meaning")
	}
	w.imports[path], w.paths = name, append(w.paths, path)
	return name
}
