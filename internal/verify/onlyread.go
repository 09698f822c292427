package verify

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/effects"
	"github.com/beagle-go/beagle/internal/syntax"
)

// unexported holds for variables that no other package names.
func unexported(v *types.Var) bool { return !v.Exported() }

// onlyRead returns the package variables of a kind that the package's text only reads: plain
// values, elements of tables of plain values, and what methods answer that only read. It needs no
// analysis of functions, so it works for packages that are too large for one.
func (c *typedText) onlyRead(files []*ast.File, kind func(*types.Var) bool) map[string]bool {
	// Begin with all variables of the kind that share no memory.
	read := map[string]bool{}
	literal := c.tables(files)
	for _, name := range c.pkg.Scope().Names() {
		v, ok := c.pkg.Scope().Lookup(name).(*types.Var)
		if ok && kind(v) && (literal[v] || !c.refers(v.Type())) {
			read[objectName(v)] = true
		}
	}
	// Drop those that some use may change. path holds the ancestors of the current node.
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

// tables returns the package variables that begin as a composite literal, or as the result of a
// library function on texts. No other variable leads to the memory of such a slice or map.
func (c *typedText) tables(files []*ast.File) map[*types.Var]bool {
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
					if ok && (c.ownLiteral(value) || c.makes(value)) {
						out[v] = true
					}
				}
			}
		}
	}
	return out
}

// ownLiteral reports whether an expression is a composite literal, and so is each list and map in
// it: none belongs to another variable.
func (c *typedText) ownLiteral(e ast.Expr) bool {
	lit, ok := ast.Unparen(e).(*ast.CompositeLit)
	if !ok {
		return false
	}
	for _, e := range lit.Elts {
		if kv, keyed := e.(*ast.KeyValueExpr); keyed {
			e = kv.Value
		}
		_, literal := ast.Unparen(e).(*ast.CompositeLit)
		tv := c.info.Types[e]
		if literal && !c.ownLiteral(e) || !literal && !tv.IsNil() && lists(tv.Type) && !c.copies(e) {
			return false
		}
	}
	return true
}

// copies reports whether an expression is a conversion of a text, such as []byte("ab").
func (c *typedText) copies(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	return ok && c.info.Types[call.Fun].IsType() && isPlain(c.info.TypeOf(call.Args[0]))
}

// lists reports whether a value is a slice or a map, or holds one.
func lists(t types.Type) bool {
	return holds(t, nil, func(t types.Type, _ []types.Type) bool { return lists(t) }, func(t types.Type) bool {
		return syntax.Is[*types.Slice](t) || syntax.Is[*types.Map](t)
	})
}

// refers reports whether a variable of a type may share memory with another.
func (c *typedText) refers(t types.Type) bool {
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
func (c *typedText) reads(e ast.Expr, path []ast.Node) bool {
	// Walk up from the use. Parts of the variable stay parts; anything else decides.
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
			if s != nil && s.Kind() == types.MethodVal && isNeverChanged(s.Recv()) {
				return c.asks(p, path[:i])
			}
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
			return p.Fun != e && (isPlain(c.info.TypeOf(e)) || c.lends(e, p))
		case *ast.AssignStmt:
			return !slices.Contains(p.Lhs, e) && c.plainRead(e)
		case *ast.IncDecStmt:
			return false
		case *ast.UnaryExpr:
			return p.Op != token.AND && isPlain(c.info.TypeOf(e))
		default:
			return c.plainRead(e)
		}
	}
	return false
}

// plainRead reports whether the value of an expression is plain, with or without a map's ok.
func (c *typedText) plainRead(e ast.Expr) bool {
	t := c.info.TypeOf(e)
	if pair, ok := t.(*types.Tuple); ok && pair.Len() == 2 {
		t = pair.At(0).Type()
	}
	return isPlain(t)
}

// lends reports whether a call hands an expression to a library function that neither writes, keeps
// nor returns it.
func (c *typedText) lends(e ast.Expr, call *ast.CallExpr) bool {
	fn, at := c.callee(call), slices.Index(call.Args, e)
	if fn == nil || at < 0 || fn.Signature().Recv() != nil || call.Ellipsis.IsValid() {
		return false
	}
	if s := fn.Signature(); s.Variadic() && at >= s.Params().Len()-1 {
		return false
	}
	return leaves(objectName(fn), at)
}

// makes reports whether an expression is a call of a library function that makes an immutable
// value.
func (c *typedText) makes(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || !isNeverChanged(c.info.TypeOf(e)) {
		return false
	}
	fn := c.callee(call)
	return fn != nil && fn.Pkg() != nil && fn.Signature().Recv() == nil &&
		slices.Contains([]string{"regexp", "strings"}, fn.Pkg().Path())
}

// isNeverChanged reports whether a type is one of the library whose values never change once made,
// except by methods that asks does not know.
func isNeverChanged(t types.Type) bool {
	p, ok := t.(*types.Pointer)
	if !ok {
		return false
	}
	n, ok := p.Elem().(*types.Named)
	return ok && n.Obj().Pkg() != nil && immutable[objectName(n.Obj())]
}

// immutable are types of values that several goroutines may use at once, since their methods only
// read them.
var immutable = set("regexp.Regexp strings.Replacer")

// asks reports whether a method of the library is called that writes nothing of its receiver and
// returns nothing of it. path leads to the parent of the method's name.
func (c *typedText) asks(method *ast.SelectorExpr, path []ast.Node) bool {
	call, ok := path[len(path)-1].(*ast.CallExpr)
	if !ok || call.Fun != method {
		return false
	}
	return leaves(objectName(c.info.Uses[method.Sel]), 0)
}

// leaves reports whether a function of the library leaves an argument as it is: it writes, keeps
// and returns nothing of it, and hands nothing of it to code that it runs. A method's receiver is
// argument 0. The line of a whole package, such as runtime, was not written with each function's
// arguments in mind.
func leaves(name string, arg int) bool {
	s := effects.Standard().Functions[name]
	of := func(r effects.Ref) bool {
		return r.Kind == effects.Shared || (r.Kind == effects.Top || r.Kind == effects.Deep) && r.Param == arg
	}
	runs := func(r effects.Run) bool { return of(r.Code) || of(r.Arg) }
	if s == nil || len(s.Stores) > 0 || slices.ContainsFunc(s.Writes, of) || slices.ContainsFunc(s.Runs, runs) {
		return false
	}
	for _, list := range s.Results {
		if slices.ContainsFunc(list, func(r effects.Result) bool { return of(r.Ref) }) {
			return false
		}
	}
	return true
}

// isPlain reports whether values of a type hold no reference to memory that other code may write.
func isPlain(t types.Type) bool {
	if t == nil {
		return false
	}
	kind := syntax.Kind(t)
	return kind != types.UnsafePointer && kind != types.Invalid
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
