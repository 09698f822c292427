package verify

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// check reports the violations of one node, once the facts are complete.
func (s *state) check(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for i, l := range n.Lhs {
				s.written(l, "assignment to")
				if len(n.Rhs) == len(n.Lhs) {
					s.retained(l, n.Rhs[i])
				}
			}
		}
	case *ast.IncDecStmt:
		s.written(n.X, "assignment to")
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			s.written(n.Key, "assignment to")
			s.written(n.Value, "assignment to")
		}
	case *ast.CallExpr:
		s.checkCall(n)
	case *ast.FuncLit:
		defer func(t *ast.FuncDecl) { s.target = t }(s.target)
		s.target = nil
		ast.Inspect(n.Body, s.check)
		return false
	case *ast.ReturnStmt:
		s.checkReturn(n)
	case *ast.SelectorExpr:
		s.checkMethodValue(n)
	}
	return true
}

func (s *state) written(e ast.Expr, how string) {
	if e == nil {
		return
	}
	if into := s.ownerOf(e); into != "" {
		s.report(e, "write "+into, fmt.Sprintf("%s package variable %s", how, into),
			"what one call leaves there the next call would see")
	}
}

// retained reports memory of a package variable that is stored behind one of
// the target's own parameters.
func (s *state) retained(l, r ast.Expr) {
	into := s.valueOf(r)
	id := root(l)
	if into == "" || id == nil || s.target == nil || isError(s.info.TypeOf(r)) || ast.Unparen(l) == ast.Expr(id) {
		return
	}
	if obj := s.info.ObjectOf(id); obj != nil && isParam(s.info.Defs[s.target.Name], obj) {
		s.report(l, "share "+into, "memory of package variable "+into+" stored in an argument", sharedWhy)
	}
}

const sharedWhy = "the caller would share it with every other call"

func (s *state) checkReturn(n *ast.ReturnStmt) {
	if s.target == nil {
		return
	}
	exprs := n.Results
	if len(exprs) == 0 && s.target.Type.Results != nil {
		for _, f := range s.target.Type.Results.List {
			for _, id := range f.Names {
				exprs = append(exprs, id)
			}
		}
	}
	for _, e := range exprs {
		if isError(s.info.TypeOf(e)) {
			continue // sentinel errors are values by convention
		}
		if into := s.valueOf(e); into != "" {
			s.report(n, "share "+into, "result leads into package variable "+into, sharedWhy)
		}
	}
}

func (s *state) checkCall(n *ast.CallExpr) {
	if s.info.Types[n.Fun].IsType() {
		return
	}
	if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok {
		if b, ok := s.info.Uses[id].(*types.Builtin); ok {
			s.checkBuiltin(n, b.Name())
			return
		}
	}
	fn := s.callee(n)
	if fn != nil && s.declares(fn) && !types.IsInterface(recvType(fn)) {
		return
	}
	reads := fn != nil && readsArguments(fn)
	for i, arg := range n.Args {
		if reads && !s.opened(fn, i, arg) {
			continue
		}
		if into := s.valueOf(arg); into != "" {
			s.report(arg, "pass "+into, fmt.Sprintf("package variable %s handed to %s", into, s.text(n.Fun)),
				"it may be written there")
		}
	}
}

// opened reports whether a function that only reads receives an argument as an
// interface value, through which it may call methods of the candidate, or
// store what it finds: fmt calls String and Write, errors.As assigns.
func (s *state) opened(fn *types.Func, i int, arg ast.Expr) bool {
	params := fn.Signature().Params()
	t := params.At(min(i, params.Len()-1)).Type()
	if sl, ok := t.(*types.Slice); ok && fn.Signature().Variadic() && i >= params.Len()-1 {
		t = sl.Elem()
	}
	if _, generic := types.Unalias(t).(*types.TypeParam); generic || !types.IsInterface(t) {
		return false
	}
	return !methodless(s.info.TypeOf(arg))
}

func (s *state) checkBuiltin(n *ast.CallExpr, name string) {
	switch name {
	case "append", "copy", "clear", "delete", "close":
		if into := s.valueOf(n.Args[0]); into != "" {
			s.report(n, "write "+into, fmt.Sprintf("%s into memory of package variable %s", name, into),
				"what one call leaves there the next call would see")
		}
	}
}

// checkMethodValue covers calls of methods as well as method values.
func (s *state) checkMethodValue(n *ast.SelectorExpr) {
	sel, ok := s.info.Selections[n]
	if !ok || sel.Kind() != types.MethodVal {
		return
	}
	fn := origin(sel.Obj()).(*types.Func)
	into := s.receiver(n, fn.Signature())
	static := !types.IsInterface(recvType(fn))
	if into == "" || static && (s.declares(fn) || readsReceiver(fn)) {
		return
	}
	s.report(n, "method "+into+"."+fn.Name(), fmt.Sprintf("method %s of package variable %s", fn.Name(), into),
		"it may write to the variable")
}
