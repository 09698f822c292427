package source

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// TableBytes estimates the memory of the tables that a candidate file keeps in
// package variables and large constants, in bytes. A benchmark holds them in the
// cache; in a service they compete with the caller's data.
func (f *File) TableBytes() int64 {
	var total int64
	for _, decl := range f.AST.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR && gen.Tok != token.CONST {
			continue
		}
		for _, spec := range gen.Specs {
			vs, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for i, name := range vs.Names {
				if obj := f.Info.Defs[name]; obj != nil {
					total += f.objectBytes(obj, valueOf(vs, i))
				}
			}
		}
	}
	// Arrays that a function holds as literals lie in the binary all the same.
	for _, decl := range f.AST.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			ast.Inspect(fn, func(n ast.Node) bool {
				if lit, ok := n.(*ast.CompositeLit); ok {
					total += f.literalBytes(lit)
					return false
				}
				return true
			})
		}
	}
	return total
}

func valueOf(vs *ast.ValueSpec, i int) ast.Expr {
	if i < len(vs.Values) {
		return vs.Values[i]
	}
	return nil
}

var tableSizes = types.SizesFor("gc", "amd64")

// objectBytes is the size of a variable with what its initialiser lays down.
func (f *File) objectBytes(obj types.Object, value ast.Expr) int64 {
	if c, ok := obj.(*types.Const); ok {
		if c.Val().Kind() == constant.String {
			return int64(len(constant.StringVal(c.Val())))
		}
		return 0
	}
	size := tableSizes.Sizeof(obj.Type())
	if _, array := obj.Type().Underlying().(*types.Array); array || value == nil {
		return size
	}
	switch v := ast.Unparen(value).(type) {
	case *ast.CompositeLit:
		return size + f.literalBytes(v)
	case *ast.UnaryExpr:
		if lit, ok := v.X.(*ast.CompositeLit); ok {
			return size + f.literalBytes(lit)
		}
	case *ast.CallExpr: // make([]T, n) in whatever fills the table shows its size
		return size + f.madeBytes(v)
	}
	if tv := f.Info.Types[value]; tv.Value != nil && tv.Value.Kind() == constant.String {
		return size + int64(len(constant.StringVal(tv.Value)))
	}
	return size
}

// literalBytes is the memory that the elements of a composite literal take.
func (f *File) literalBytes(lit *ast.CompositeLit) int64 {
	var each int64
	switch t := f.Info.TypeOf(lit).Underlying().(type) {
	case *types.Array:
		return tableSizes.Sizeof(t)
	case *types.Slice:
		each = tableSizes.Sizeof(t.Elem())
	case *types.Map:
		each = tableSizes.Sizeof(t.Key()) + tableSizes.Sizeof(t.Elem())
	default:
		return 0
	}
	n := each * int64(len(lit.Elts))
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			e = kv.Value
		}
		if inner, ok := ast.Unparen(e).(*ast.CompositeLit); ok {
			n += f.literalBytes(inner)
		}
	}
	return n
}

// madeBytes is what the calls of make with constant sizes take in the function
// that a call names: package variables are filled that way.
func (f *File) madeBytes(call *ast.CallExpr) (n int64) {
	body := ast.Node(call)
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		for _, decl := range f.AST.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Name.Name == id.Name && fn.Recv == nil && fn.Body != nil {
				body = fn.Body
			}
		}
	}
	ast.Inspect(body, func(m ast.Node) bool {
		c, ok := m.(*ast.CallExpr)
		if !ok {
			return true
		}
		id, ok := ast.Unparen(c.Fun).(*ast.Ident)
		if !ok || id.Name != "make" || len(c.Args) < 2 {
			return true
		}
		sl, ok := f.Info.TypeOf(c).Underlying().(*types.Slice)
		if size := f.Info.Types[c.Args[len(c.Args)-1]].Value; ok && size != nil {
			if k, exact := constant.Int64Val(size); exact {
				n += k * tableSizes.Sizeof(sl.Elem())
			}
		}
		return true
	})
	return n
}
