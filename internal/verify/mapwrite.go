package verify

import (
	"go/ast"
	"go/token"
	"go/types"
)

// mapWrites refuses to write to a map that may be the caller's. Memory that is
// written and put back shows, since arguments lie where nothing can be written;
// maps do not lie there, and one whose entry is stored again as it was, or
// from which an absent key is removed, looks untouched and ends the program of
// a caller that reads it meanwhile. Only maps of the types that the target
// receives can be the caller's, other than those that the function made.
func mapWrites(c *code, report func(ast.Node, string, string, string)) {
	received := receivedMaps(c)
	if len(received) == 0 {
		return
	}
	made := madeMaps(c)
	written := func(at ast.Node, m ast.Expr) {
		t := c.info.TypeOf(m)
		if t == nil || !isReceived(t, received) {
			return
		}
		if id, ok := ast.Unparen(m).(*ast.Ident); ok && made[c.info.ObjectOf(id)] {
			return
		}
		report(at, "map write "+t.Underlying().String(), "a write to a map that may be the caller's",
			"others may read it meanwhile, and the original does not write to it")
	}
	element := func(e ast.Expr) {
		if ix, ok := ast.Unparen(e).(*ast.IndexExpr); ok && isMap(c.info.TypeOf(ix.X)) {
			written(e, ix.X)
		}
	}
	ast.Inspect(c.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				element(l)
			}
		case *ast.IncDecStmt:
			element(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				element(n.Key)
				if n.Value != nil {
					element(n.Value)
				}
			}
		case *ast.CallExpr:
			fn := c.callee(n)
			writes := fn != nil && (objectName(fn) == "maps.Copy" || objectName(fn) == "maps.DeleteFunc" || objectName(fn) == "maps.Insert")
			if len(n.Args) > 0 && (writes || isBuiltinCall(c, n, "delete") || isBuiltinCall(c, n, "clear")) {
				written(n, n.Args[0])
			}
		}
		return true
	})
}

func isReceived(t types.Type, received []types.Type) bool {
	for _, r := range received {
		if isMap(t) && types.Identical(r, t.Underlying()) {
			return true
		}
	}
	return false
}

// receivedMaps are the types of maps to which the target's receiver and
// arguments may lead.
func receivedMaps(c *code) []types.Type {
	var out, seen []types.Type
	var visit func(t types.Type)
	visit = func(t types.Type) {
		for _, s := range seen {
			if types.Identical(s, t) {
				return
			}
		}
		seen = append(seen, t)
		switch u := t.Underlying().(type) {
		case *types.Map:
			out = append(out, u)
			visit(u.Key())
			visit(u.Elem())
		case *types.Struct:
			for f := range u.Fields() {
				visit(f.Type())
			}
		case interface{ Elem() types.Type }:
			visit(u.Elem())
		}
	}
	sig := c.info.Defs[c.fn.Name].(*types.Func).Signature()
	if sig.Recv() != nil {
		visit(sig.Recv().Type())
	}
	for p := range sig.Params().Variables() {
		visit(p.Type())
	}
	return out
}

// madeMaps are the local variables that never hold any but a map made by the
// function itself.
func madeMaps(c *code) map[types.Object]bool {
	made := make(map[types.Object]bool)
	other := make(map[types.Object]bool)
	note := func(l, r ast.Expr) {
		id, ok := ast.Unparen(l).(*ast.Ident)
		if !ok || !isMap(c.info.TypeOf(l)) {
			return
		}
		obj := c.info.ObjectOf(id)
		if makesMap(c, r) {
			made[obj] = true
		} else {
			other[obj] = true
		}
	}
	ast.Inspect(c.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				if len(n.Rhs) == len(n.Lhs) {
					note(l, n.Rhs[i])
				} else {
					note(l, n.Rhs[0])
				}
			}
		case *ast.ValueSpec:
			for i, id := range n.Names {
				note(id, initialiser(n, i))
			}
		case *ast.UnaryExpr:
			if id, ok := ast.Unparen(n.X).(*ast.Ident); ok && n.Op == token.AND {
				other[c.info.ObjectOf(id)] = true
			}
		case *ast.FuncDecl:
			for _, list := range []*ast.FieldList{n.Recv, n.Type.Params} {
				notMade(c, list, other)
			}
		case *ast.FuncLit:
			notMade(c, n.Type.Params, other)
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok && c.info.ObjectOf(id) != nil {
					other[c.info.ObjectOf(id)] = true
				}
			}
		}
		return true
	})
	for obj := range other {
		delete(made, obj)
	}
	return made
}

func notMade(c *code, list *ast.FieldList, other map[types.Object]bool) {
	if list == nil {
		return
	}
	for _, f := range list.List {
		for _, id := range f.Names {
			other[c.info.ObjectOf(id)] = true
		}
	}
}

// makesMap reports whether e is a new map, or none at all.
func makesMap(c *code, e ast.Expr) bool {
	if e == nil {
		return true
	}
	e = ast.Unparen(e)
	if _, ok := e.(*ast.CompositeLit); ok || isBuiltinCall(c, e, "make") || c.info.Types[e].IsNil() {
		return true
	}
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := c.callee(call)
	return fn != nil && (objectName(fn) == "maps.Clone" || objectName(fn) == "maps.Collect")
}
