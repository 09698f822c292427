package source

import (
	"go/ast"
	"go/constant"
	"go/token"

	"github.com/beagle-go/beagle/internal/syntax"
	"go/types"
)

// TableBytes returns the memory of the tables that a candidate file keeps in package variables,
// constants and literals. A benchmark holds them in the cache; in a service they compete with the
// caller's data. known is false if the source does not show the size of some variable.
func (f *File) TableBytes() (total int64, known bool) {
	known = true
	for _, decl := range f.AST.Decls {
		switch d := decl.(type) {
		case *ast.GenDecl:
			// Types and imports have no memory.
			if d.Tok != token.VAR && d.Tok != token.CONST {
				continue
			}
			for _, spec := range d.Specs {
				vs := spec.(*ast.ValueSpec)
				for i, name := range vs.Names {
					n, ok := VariableBytes(f.AST, f.Info, f.Info.Defs[name], valueOf(vs, i))
					total, known = total+n, known && ok
				}
			}
		case *ast.FuncDecl: // literals inside a function lie in the binary, too
			total += f.literals(d)
		}
	}
	return total, known
}

// literals returns the memory of the literals in a function.
func (f *File) literals(fn *ast.FuncDecl) (total int64) {
	m := &measure{file: f.AST, info: f.Info}
	// A literal counts as a whole, so its parts are not visited again.
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			total += m.ownSize(f.Info.TypeOf(n)) + m.memoryBehind(n, 0)
			return false
		case *ast.BasicLit:
			total += m.text(n)
		}
		return true
	})
	return total
}

// VariableBytes returns the memory of a package variable or constant of a file, with the memory
// that its initialiser puts behind its pointers, slices and maps. value may be nil. known is false
// if the initialiser does not show that size.
func VariableBytes(file *ast.File, info *types.Info, obj types.Object, value ast.Expr) (n int64, known bool) {
	switch o := obj.(type) {
	case *types.Const:
		// Numbers are in the code itself.
		if o.Val().Kind() == constant.String {
			n = int64(len(constant.StringVal(o.Val())))
		}
		return n, true
	case *types.Var:
		n = sizeOf(o.Type())
		// Without a value it is zero, with nothing behind it.
		if value == nil {
			return n, true
		}
		m := &measure{file: file, info: info}
		n += m.memoryBehind(value, 0)
		return n, !m.unknown
	}
	return 0, true // the blank identifier
}

func valueOf(vs *ast.ValueSpec, i int) ast.Expr {
	switch len(vs.Values) {
	case 0:
		return nil
	case len(vs.Names):
		return vs.Values[i]
	}
	return vs.Values[0]
}

var tableSizes = types.SizesFor("gc", "amd64")

// sizeOf returns the size of a type in bytes. No source shows the size of a type parameter: it
// counts as a word.
func sizeOf(t types.Type) (n int64) {
	// The type checker cannot size what depends on a type parameter.
	if !generic(t) {
		return tableSizes.Sizeof(t)
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return u.Len() * sizeOf(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			n += sizeOf(f.Type())
		}
		return n
	}
	return tableSizes.Sizeof(types.Typ[types.Uintptr])
}

// generic reports whether the size of a type depends on a type parameter.
func generic(t types.Type) bool {
	if syntax.IsTypeParam(t) {
		return true
	}
	// Behind a reference the size does not matter.
	switch u := t.Underlying().(type) {
	case *types.Array:
		return generic(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if generic(f.Type()) {
				return true
			}
		}
	}
	return false
}

// A measure adds up memory; unknown says that some of it could not be determined.
type measure struct {
	file    *ast.File
	info    *types.Info
	unknown bool
}

// deepest bounds how far functions that fill tables are followed.
const deepest = 4

// ownSize returns the size of a literal that is no variable: that of an array or a struct.
func (m *measure) ownSize(t types.Type) int64 {
	switch t.Underlying().(type) {
	case *types.Array, *types.Struct:
		return sizeOf(t)
	}
	return 0
}

// memoryBehind returns the memory that the value of an expression leads to, without the value's
// own.
func (m *measure) memoryBehind(e ast.Expr, depth int) int64 {
	// A value without references leads to nothing but the bytes of a text.
	e = ast.Unparen(e)
	t := m.info.TypeOf(e)
	switch {
	case t == nil || !leadsOn(t) || m.info.Types[e].IsNil():
		return m.text(e)
	}
	// Literals show what they allocate, and functions do not count. Any other expression may lead
	// to memory of any size.
	switch e := e.(type) {
	case *ast.CompositeLit:
		return m.elements(e, depth)
	case *ast.UnaryExpr:
		if lit, ok := ast.Unparen(e.X).(*ast.CompositeLit); ok && e.Op == token.AND {
			return sizeOf(m.info.TypeOf(lit)) + m.elements(lit, depth)
		}
	case *ast.FuncLit:
		return 0
	case *ast.CallExpr:
		return m.call(e, depth)
	case *ast.Ident, *ast.SelectorExpr:
		if m.isFunc(e) {
			return 0
		}
	}
	m.unknown = true
	return 0
}

// isFunc reports whether an expression names a declared function.
func (m *measure) isFunc(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	if sel, isSel := e.(*ast.SelectorExpr); isSel {
		id, ok = sel.Sel, true
	}
	if !ok {
		return false
	}
	_, ok = m.info.Uses[id].(*types.Func)
	return ok
}

// text returns the length of a constant text.
func (m *measure) text(e ast.Expr) int64 {
	if v := m.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return int64(len(constant.StringVal(v)))
	}
	return 0
}

// leadsOn reports whether values of type t lead to memory outside of them.
func leadsOn(t types.Type) bool {
	switch u := t.Underlying().(type) {
	// A text leads to bytes that are counted as its own.
	case *types.Basic:
		return false
	case *types.Array:
		return leadsOn(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if leadsOn(f.Type()) {
				return true
			}
		}
		return false
	}
	return true
}

// elements returns the memory of a literal's elements, if they do not lie in the value itself, with
// the memory that they lead to.
func (m *measure) elements(lit *ast.CompositeLit, depth int) int64 {
	var n int64
	t := m.info.TypeOf(lit).Underlying()
	if p, ok := t.(*types.Pointer); ok { // &T left out in a list of pointers
		n, t = sizeOf(p.Elem()), p.Elem().Underlying()
	}
	// A slice has its elements apart from itself, and a map its keys too.
	switch t := t.(type) {
	case *types.Slice:
		n += sizeOf(t.Elem()) * m.length(lit)
	case *types.Map:
		n += (sizeOf(t.Key()) + sizeOf(t.Elem())) * int64(len(lit.Elts))
	}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			// A map's key is a value in memory; an index or a field name is not.
			if _, isMap := t.(*types.Map); isMap {
				n += m.memoryBehind(kv.Key, depth)
			}
			e = kv.Value
		}
		n += m.memoryBehind(e, depth)
	}
	return n
}

// length returns how many elements a slice literal makes: keys move the index.
func (m *measure) length(lit *ast.CompositeLit) int64 {
	var next, most int64
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if v := m.info.Types[kv.Key].Value; v != nil {
				next, _ = constant.Int64Val(constant.ToInt(v))
			}
		}
		next++
		most = max(most, next)
	}
	return most
}

// call returns the memory that the result of a call leads to.
func (m *measure) call(e *ast.CallExpr, depth int) int64 {
	// A conversion may copy, and an error holds its text.
	if tv := m.info.Types[e.Fun]; tv.IsType() {
		return m.conversion(e)
	}
	t := m.info.TypeOf(e)
	if syntax.IsError(t) {
		var n int64 // its text
		for _, a := range e.Args {
			n += m.text(a)
		}
		return n + sizeOf(t)
	}
	// A call of a known function leads to what that returns.
	switch fun := ast.Unparen(e.Fun).(type) {
	case *ast.Ident:
		if _, ok := m.info.Uses[fun].(*types.Builtin); ok {
			return m.builtin(fun.Name, e, t)
		}
		if body := m.body(fun); body != nil {
			return m.returned(body, t, depth)
		}
	case *ast.FuncLit:
		return m.returned(fun.Body, t, depth)
	}
	m.unknown = true
	return 0
}

func (m *measure) conversion(e *ast.CallExpr) int64 {
	if n := m.text(e.Args[0]); n > 0 {
		if s, ok := m.info.TypeOf(e).Underlying().(*types.Slice); ok {
			return n * sizeOf(s.Elem())
		}
		return n
	}
	return m.memoryBehind(e.Args[0], 0)
}

// builtin returns the memory that make and new allot.
func (m *measure) builtin(name string, e *ast.CallExpr, t types.Type) int64 {
	switch {
	case name == "new":
		return sizeOf(t.Underlying().(*types.Pointer).Elem())
	// The last argument is the capacity, if it is given.
	case name == "make" && len(e.Args) > 1:
		s, ok := t.Underlying().(*types.Slice)
		size := m.info.Types[e.Args[len(e.Args)-1]].Value
		k, exact := constant.Int64Val(constant.ToInt(orZero(size)))
		if ok && size != nil && exact && !leadsOn(s.Elem()) {
			return k * sizeOf(s.Elem())
		}
	}
	m.unknown = true
	return 0
}

func orZero(v constant.Value) constant.Value {
	if v == nil {
		return constant.MakeInt64(0)
	}
	return v
}

// body returns the body of a function of the file, or nil.
func (m *measure) body(id *ast.Ident) *ast.BlockStmt {
	for _, decl := range m.file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if ok && m.info.Defs[fn.Name] != nil && m.info.Defs[fn.Name] == m.info.Uses[id] {
			return fn.Body
		}
	}
	return nil
}

// returned returns the memory that a function's result leads to. It is known if the result points
// at plain memory, or if all allocations of the function have constant sizes.
func (m *measure) returned(body *ast.BlockStmt, t types.Type, depth int) (n int64) {
	// A pointer to plain memory leads to that alone, however it was made.
	if p, ok := t.Underlying().(*types.Pointer); ok && !leadsOn(p.Elem()) {
		return sizeOf(p.Elem())
	}
	if _, tuple := t.(*types.Tuple); tuple || depth == deepest {
		m.unknown = true
		return 0
	}
	// Otherwise all allocations of the function are added up.
	ast.Inspect(body, func(node ast.Node) bool {
		switch e := node.(type) {
		case *ast.CompositeLit:
			n += m.ownSize(m.info.TypeOf(e)) + m.elements(e, depth+1)
			return false
		case *ast.CallExpr:
			n += m.allots(e, depth+1)
			_, inner := ast.Unparen(e.Fun).(*ast.FuncLit)
			return !inner
		case *ast.ReturnStmt:
			for _, r := range e.Results { // memory that others made
				switch ast.Unparen(r).(type) {
				case *ast.SelectorExpr, *ast.IndexExpr:
					m.unknown = m.unknown || leadsOn(m.info.TypeOf(r))
				}
			}
		}
		return true
	})
	return n
}

// allots returns the memory that one call in such a function allots.
func (m *measure) allots(e *ast.CallExpr, depth int) int64 {
	t := m.info.TypeOf(e)
	if id, ok := ast.Unparen(e.Fun).(*ast.Ident); ok {
		_, builtin := m.info.Uses[id].(*types.Builtin)
		if builtin && id.Name != "make" && id.Name != "new" && id.Name != "append" {
			return 0
		}
	}
	if t == nil || !leadsOn(t) || m.info.Types[e].IsVoid() {
		return 0
	}
	return m.call(e, depth)
}
