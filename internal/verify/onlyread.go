package verify

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// onlyRead returns the unexported package variables that the package's text only reads: plain
// values, and elements of tables of plain values. It needs no analysis of functions, so it works
// for packages that are too large for one.
func (c *code) onlyRead(files []*ast.File) map[string]bool {
	read := map[string]bool{}
	literal := c.tables(files)
	for _, name := range c.pkg.Scope().Names() {
		v, ok := c.pkg.Scope().Lookup(name).(*types.Var)
		if ok && !v.Exported() && (literal[v] || !c.refers(v.Type())) {
			read[objectName(v)] = true
		}
	}
	for _, file := range files {
		var path []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				path = path[:len(path)-1]
				return true
			}
			if id, ok := n.(*ast.Ident); ok {
				if v, ok := c.info.Uses[id].(*types.Var); ok && v.Parent() == c.pkg.Scope() && !c.reads(id, path) {
					delete(read, objectName(v))
				}
			}
			path = append(path, n)
			return true
		})
	}
	return read
}

// tables returns the package variables that begin as a composite literal. No other variable leads
// to the memory of such a slice or map.
func (c *code) tables(files []*ast.File) map[*types.Var]bool {
	out := map[*types.Var]bool{}
	for _, file := range files {
		for _, d := range file.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				spec := spec.(*ast.ValueSpec)
				for i, value := range spec.Values {
					v, ok := c.info.Defs[spec.Names[min(i, len(spec.Names)-1)]].(*types.Var)
					if _, lit := ast.Unparen(value).(*ast.CompositeLit); ok && lit {
						out[v] = true
					}
				}
			}
		}
	}
	return out
}

// refers reports whether a variable of a type may share memory with another.
func (c *code) refers(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return !isPlain(t)
	case *types.Array:
		return c.refers(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if c.refers(f.Type()) {
				return true
			}
		}
		return false
	}
	return true
}

// reads reports whether a use of a variable only reads a plain value. path leads from the file to
// the parent of the use.
func (c *code) reads(e ast.Expr, path []ast.Node) bool {
	for i := len(path) - 1; i >= 0; i-- {
		switch p := path[i].(type) {
		case *ast.ParenExpr:
			e = p
		case *ast.IndexExpr:
			if p.X != e {
				return isPlain(c.info.TypeOf(e)) // the index of another list
			}
			e = p
		case *ast.SelectorExpr:
			s := c.info.Selections[p]
			if s == nil || s.Kind() != types.FieldVal || s.Indirect() {
				return false
			}
			e = p
		case *ast.RangeStmt:
			return p.X == e && plainElements(c.info.TypeOf(e))
		case *ast.CallExpr:
			if id, ok := ast.Unparen(p.Fun).(*ast.Ident); ok {
				if b, ok := c.info.Uses[id].(*types.Builtin); ok && (b.Name() == "len" || b.Name() == "cap") {
					return true
				}
			}
			return p.Fun != e && isPlain(c.info.TypeOf(e))
		case *ast.AssignStmt:
			return !slices.Contains(p.Lhs, e) && isPlain(c.info.TypeOf(e))
		case *ast.IncDecStmt:
			return false
		case *ast.UnaryExpr:
			return p.Op != token.AND && isPlain(c.info.TypeOf(e))
		default:
			return isPlain(c.info.TypeOf(e))
		}
	}
	return false
}

// isPlain reports whether values of a type hold no reference to memory that other code may write.
func isPlain(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() != types.UnsafePointer && b.Kind() != types.Invalid
}

func plainElements(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Array:
		return isPlain(u.Elem())
	case *types.Slice:
		return isPlain(u.Elem())
	case *types.Map:
		return isPlain(u.Key()) && isPlain(u.Elem())
	}
	return isPlain(t)
}
