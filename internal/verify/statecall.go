package verify

import (
	"go/ast"
	"go/types"
)

// valueOfCall: a function of the file returns what was found for it; any other
// may return what it was given, except those that are known to make copies.
func (s *state) valueOfCall(e *ast.CallExpr) string {
	fn := s.callee(e)
	if fn != nil && s.declares(fn) && !types.IsInterface(recvType(fn)) {
		return s.results[fn]
	}
	if isFunc(s.info.TypeOf(e.Fun)) && (fn == nil || types.IsInterface(recvType(fn))) {
		if into := first(s.valueOf(e.Fun), s.mayReturn(s.info.TypeOf(e))); into != "" {
			return into
		}
	}
	if fn != nil && copies[objectName(fn)] && !elementsHaveRefs(s.info.TypeOf(e)) {
		return ""
	}
	args := e.Args
	if id, ok := ast.Unparen(e.Fun).(*ast.Ident); ok && id.Name == "append" && len(args) > 1 && !s.appendsRefs(e) {
		args = args[:1]
	}
	for _, arg := range args {
		if into := s.valueOf(arg); into != "" {
			return into
		}
	}
	return ""
}

// mayReturn is what a call leads into whose function is not known when the
// file is read, since it comes from a variable or an interface: whatever any
// function of the file that answers with these types leads into.
func (s *state) mayReturn(t types.Type) string {
	if t == nil || !hasRefs(t, nil) {
		return ""
	}
	for _, decl := range s.file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		obj := s.info.Defs[fn.Name]
		if obj != nil && s.results[obj] != "" && mayBe(obj.Type().(*types.Signature).Results(), t) {
			return s.results[obj]
		}
	}
	return ""
}

// mayBe reports whether results of a declared function can be those of a call
// of type t. Of generic functions nobody knows.
func mayBe(results *types.Tuple, t types.Type) bool {
	if many, ok := t.(*types.Tuple); ok {
		return many.Len() == results.Len() && (types.Identical(many, results) || mentionsParam(many) || mentionsParam(results))
	}
	return results.Len() == 1 && (types.Identical(results.At(0).Type(), t) || mentionsParam(results.At(0).Type()) || mentionsParam(t))
}

// mentionsParam reports whether a type parameter stands anywhere in t.
func mentionsParam(t types.Type) bool {
	switch u := types.Unalias(t).(type) {
	case *types.TypeParam:
		return true
	case *types.Tuple:
		for v := range u.Variables() {
			if mentionsParam(v.Type()) {
				return true
			}
		}
	case *types.Named:
		for a := range u.TypeArgs().Types() {
			if mentionsParam(a) {
				return true
			}
		}
	case interface{ Elem() types.Type }:
		return mentionsParam(u.Elem())
	case *types.Signature, *types.Struct, *types.Interface:
		return true // too deep to look
	}
	return false
}

// appendsRefs reports whether the appended elements themselves hold references.
func (s *state) appendsRefs(e *ast.CallExpr) bool {
	sl, ok := s.info.TypeOf(e).Underlying().(*types.Slice)
	return !ok || hasRefs(sl.Elem(), nil)
}

var copies = set(`slices.Clone slices.Concat maps.Clone bytes.Clone bytes.Join bytes.ToLower bytes.ToUpper slices.Repeat
	slices.Collect slices.Sorted errors.New fmt.Errorf`)

// nameOf is the expression that a call names its function by, without type
// arguments.
func nameOf(call *ast.CallExpr) ast.Expr {
	fun := ast.Unparen(call.Fun)
	switch f := fun.(type) {
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	return fun
}

// callee is the function that a call names, nil for a value or a conversion.
func (c *code) callee(n *ast.CallExpr) *types.Func {
	var id *ast.Ident
	switch f := nameOf(n).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return nil
	}
	fn, ok := origin(c.info.Uses[id]).(*types.Func)
	if !ok {
		return nil
	}
	return fn
}

// resultsOfLiteral is what a function literal returns, by its return
// statements or by the names of its results.
func (s *state) resultsOfLiteral(lit *ast.FuncLit) string {
	into := s.resultsOf(lit.Body)
	if lit.Type.Results == nil {
		return into
	}
	for _, f := range lit.Type.Results.List {
		for _, id := range f.Names {
			into = first(into, s.leads[s.info.Defs[id]])
		}
	}
	return into
}

// keysOf is what the keys lead into by which a location is reached: a map
// keeps them.
func (s *state) keysOf(l ast.Expr) string {
	switch x := ast.Unparen(l).(type) {
	case *ast.IndexExpr:
		return first(s.valueOf(x.Index), s.keysOf(x.X))
	case *ast.SelectorExpr:
		return s.keysOf(x.X)
	case *ast.StarExpr:
		return s.keysOf(x.X)
	}
	return ""
}
