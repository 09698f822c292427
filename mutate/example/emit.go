package example

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/beagle-go/beagle/mutate/facts"
)

// keptLoop writes a loop of After with a head of the code.
func (w *writer) keptLoop(name string, s *ast.RangeStmt) string {
	l := w.m.kept[name]
	if l == nil {
		w.fail("no loop is known for " + name)
		return ""
	}
	if name := w.hiddenBy(l, s.Body); name != "" {
		w.fail("the head of the loop hides " + name)
	}
	return w.m.Pass.Between(l.Stmt.Pos(), l.Body.Lbrace) + w.node(s.Body)
}

// hiddenBy returns a name of a kept head that code in the loop of After uses for something else, or
// "". Names of the heads of other loops go.
func (w *writer) hiddenBy(l *facts.Loop, body *ast.BlockStmt) string {
	m := w.m
	for call := range nodesOf[*ast.CallExpr](body) {
		param := w.way.codeOf(call)
		if param == nil || m.blocks[param.Name()] == nil {
			continue
		}
		for _, n := range m.blocks[param.Name()].nodes() {
			for id := range nodesOf[*ast.Ident](n) {
				own := asVar(m.Pass.Info.ObjectOf(id))
				sel, ok := m.Pass.Parent(id).(*ast.SelectorExpr)
				if ok && sel.Sel == id || own != nil && m.standsFor(own) {
					continue
				}
				for _, v := range []*types.Var{l.Index, l.Value} {
					if v != nil && v.Name() == id.Name {
						return id.Name
					}
				}
			}
		}
	}
	return ""
}

// keptRole returns the loop whose head declares a variable of After, if After keeps the head.
func (w *writer) keptRole(e ast.Expr) (l *facts.Loop, value bool) {
	id, ok := e.(*ast.Ident)
	if !ok {
		return nil, false
	}
	// Only a range over a function parameter keeps its head: find the one that declares the
	// variable.
	obj := w.way.rule.obj(id)
	for s := range nodesOf[*ast.RangeStmt](w.way.body) {
		v := w.way.rule.headParam(s.X)
		if v == nil {
			continue
		}
		if obj == w.way.rule.defined(s.Key) {
			return w.m.kept[v.Name()], false
		}
		if obj == w.way.rule.defined(s.Value) {
			return w.m.kept[v.Name()], true
		}
	}
	return nil, false
}

// sameLoop reports whether an argument of Before is a variable of the loop.
func (w *writer) sameLoop(arg ast.Expr, l *facts.Loop) bool {
	id, ok := arg.(*ast.Ident)
	return ok && w.m.loops[w.m.pair.rule.obj(id)].loop == l
}

// headName returns the name of a variable in a kept head.
func (w *writer) headName(l *facts.Loop, value bool) string {
	v := l.Index
	if value {
		v = l.Value
	}
	if v == nil {
		w.fail("the loop has no name for it")
		return ""
	}
	return v.Name()
}

// conversion leaves out a conversion to the type that the value has, and that of a character in an
// argument, which takes the type of the parameter.
func (w *writer) conversion(call *ast.CallExpr) (string, bool) {
	info := w.way.rule.info
	if len(call.Args) != 1 || !info.Types[call.Fun].IsType() {
		return "", false
	}
	arg := call.Args[0]
	to := info.TypeOf(call.Fun)
	// A character that becomes a string is a string literal, where it is known.
	if b, ok := to.(*types.Basic); ok && b.Kind() == types.String {
		if r, ok := w.constantRune(arg); ok {
			return strconv.Quote(string(r)), true
		}
	}
	// In the code a type parameter is the type that it was bound to.
	if p, ok := types.Unalias(to).(*types.TypeParam); ok {
		to = w.m.types[p.Obj().Name()]
	}
	from, lit := w.typeOf(arg)
	// An untyped character takes the parameter's type by itself.
	_, argument := w.way.up[call].(*ast.CallExpr)
	if from != nil && to != nil && types.Identical(from, to) || lit && argument {
		return w.node(arg), true
	}
	return "", false
}

// constantRune returns the value of a parameter that stands for a constant character, perhaps
// converted.
func (w *writer) constantRune(e ast.Expr) (rune, bool) {
	// A conversion around it does not change which character it is.
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 && w.way.rule.info.Types[call.Fun].IsType() {
		e = call.Args[0]
	}
	id, ok := e.(*ast.Ident)
	if !ok || w.m.exprs[id.Name] == nil {
		return 0, false
	}
	// The code's own type checker knows its value, however it is spelled.
	v := w.m.Pass.Info.Types[w.m.exprs[id.Name]].Value
	if v == nil || v.Kind() != constant.Int || !w.m.Pass.Values().Portable(w.m.exprs[id.Name]) {
		return 0, false
	}
	n, exact := constant.Int64Val(v)
	return rune(n), exact
}

// typeOf returns the type of an expression of After in the code, or nil if it is not known, and
// whether the expression is a character there.
func (w *writer) typeOf(e ast.Expr) (t types.Type, char bool) {
	// A parameter of the example has the type of what it stands for.
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		obj, ok := w.way.rule.obj(id).(*types.Var)
		if !ok || w.way.params[obj] == nil {
			return nil, false
		}
		if v := w.m.places[obj.Name()]; v != nil {
			return v.Type(), false
		}
		bound := w.m.exprs[obj.Name()]
		if bound == nil {
			return nil, false
		}
		lit, ok := bound.(*ast.BasicLit)
		return w.m.Pass.Info.TypeOf(bound), ok && lit.Kind == token.CHAR
	}
	// Only basic types are the same in the example and in the code.
	if t := w.way.rule.info.TypeOf(e); t != nil && t != types.Typ[types.Invalid] {
		if _, ok := t.(*types.Basic); ok {
			return t, false
		}
	}
	return nil, false
}

// constantByte writes a byte of a constant string as a character.
func (w *writer) constantByte(ix *ast.IndexExpr) (string, bool) {
	// The string is a parameter that stands for a constant of the code, and the index is a
	// constant.
	id, ok := ix.X.(*ast.Ident)
	at := w.way.rule.info.Types[ix.Index].Value
	if !ok || at == nil {
		return "", false
	}
	e := w.m.exprs[id.Name]
	i, exact := constant.Int64Val(at)
	if e == nil || !exact {
		return "", false
	}
	v := w.m.Pass.Info.Types[e].Value
	if v == nil || v.Kind() != constant.String || !w.m.Pass.Values().Portable(e) {
		return "", false
	}
	s := constant.StringVal(v)
	if i < 0 || int(i) >= len(s) {
		return "", false
	}
	if s[i] >= utf8.RuneSelf {
		return fmt.Sprintf("%#x", s[i]), true
	}
	return strconv.QuoteRune(rune(s[i])), true
}

// parens reports whether an expression needs parentheses in place of a child of up.
func parens(e ast.Expr, up ast.Node, child ast.Node) bool {
	e = ast.Unparen(e)
	b, binary := e.(*ast.BinaryExpr)
	switch e.(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr, *ast.StarExpr, *ast.FuncLit:
	default:
		return false
	}
	// The parent's operator decides. On the right side an operator of equal precedence needs them
	// too.
	switch up := up.(type) {
	case *ast.BinaryExpr:
		return binary && (b.Op.Precedence() < up.Op.Precedence() ||
			b.Op.Precedence() == up.Op.Precedence() && ast.Unparen(up.Y) == ast.Unparen(asExpr(child)))
	case *ast.UnaryExpr, *ast.StarExpr:
		return binary
	case *ast.SelectorExpr:
		return true
	case *ast.IndexExpr:
		return ast.Unparen(up.X) == ast.Unparen(asExpr(child))
	case *ast.SliceExpr:
		return ast.Unparen(up.X) == ast.Unparen(asExpr(child))
	case *ast.TypeAssertExpr:
		return true
	case *ast.CallExpr:
		return ast.Unparen(up.Fun) == ast.Unparen(asExpr(child))
	}
	return false
}

func asExpr(n ast.Node) ast.Expr {
	if e, ok := n.(ast.Expr); ok {
		return e
	}
	return &ast.BadExpr{}
}

// code writes the code that a parameter stands for, with the arguments of a call in After.
func (w *writer) code(name string, call *ast.CallExpr) string {
	b := w.m.blocks[name]
	// Write the arguments first. A pointer to a variable stands for the variable in the code.
	var args []string
	var roots []ast.Expr
	before := maps.Clone(w.uses)
	for _, a := range call.Args {
		if u, ok := a.(*ast.UnaryExpr); ok && u.Op == token.AND {
			a = u.X
		}
		args, roots = append(args, w.node(a)), append(roots, rootOf(w, a))
	}
	// The code must still mean the same where it goes: its names may be hidden there.
	w.capture(b, call.Args)
	w.uses = before // an argument counts where the code uses it
	// Each argument is put in wherever the code uses the parameter, and counted as often.
	text := w.blockText(b, func(k int, at ast.Expr) string {
		if l, value := w.keptRole(call.Args[k]); l != nil {
			if w.sameLoop(b.args[k], l) {
				return w.m.Pass.Text(at)
			}
			return w.headName(l, value)
		}
		for id := range nodesOf[*ast.Ident](call.Args[k]) {
			w.uses[w.way.rule.obj(id)]++
		}
		if parens(roots[k], w.m.Pass.Parent(at), at) {
			return "(" + args[k] + ")"
		}
		return args[k]
	})
	// An expression may need parentheses. Statements need a block where their names meet those of
	// After.
	switch {
	case b.expr != nil && parens(b.expr, w.way.up[call], call):
		return "(" + text + ")"
	case b.expr == nil && w.clash(name, b):
		return "{\n" + text + "\n}"
	}
	return w.commentAbove(b) + text
}

// commentAbove returns the comment above the matched statement that holds code, if it is not the
// first one, whose comment stays where it is.
func (w *writer) commentAbove(b *block) string {
	if len(b.stmts) == 0 {
		return ""
	}
	for i, s := range w.m.list {
		// The comment above the first statement is outside of what is replaced.
		if i == 0 || !facts.Inside(b.stmts[0], s) {
			continue
		}
		if text := strings.TrimSpace(w.m.Pass.Between(w.m.list[i-1].End(), s.Pos())); strings.HasPrefix(text, "//") {
			return text + "\n"
		}
	}
	return ""
}

// blockText writes code with other texts for its arguments.
func (w *writer) blockText(b *block, text func(k int, at ast.Expr) string) string {
	m := &matcher{Match: w.m}
	return m.blockText(b, b.args, text)
}

// literal writes a parameter of a function type as a value: a function literal with the code.
func (w *writer) literal(obj *types.Var, b *block) string {
	sig := obj.Type().Underlying().(*types.Signature)
	var params, names []string
	// Parameters get fresh names: the code may use those of the example for something else.
	i := 0
	for v := range sig.Params().Variables() {
		name := v.Name()
		if name == "" || name == "_" {
			name = "x"
		}
		name = w.freshName(name)
		names = append(names, name)
		params = append(params, name+" "+w.exampleType(v.Type()))
		i++
	}
	text := w.blockText(b, func(k int, _ ast.Expr) string { return names[k] })
	if b.expr != nil {
		return "func(" + strings.Join(params, ", ") + ") " + w.exampleType(sig.Results().At(0).Type()) +
			" { return " + text + " }"
	}
	return "func(" + strings.Join(params, ", ") + ") {\n" + text + "\n}"
}

// exampleType writes a type of the example.
func (w *writer) exampleType(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return w.typeText(w.m.types[t.Obj().Name()])
	case *types.Slice:
		return "[]" + w.exampleType(t.Elem())
	case *types.Pointer:
		return "*" + w.exampleType(t.Elem())
	}
	return w.typeText(t)
}

// typeText writes a type in the terms of the candidate.
func (w *writer) typeText(t types.Type) string {
	if t == nil {
		w.fail("a type is unknown")
		return ""
	}
	text, ok := facts.TypeText(w.m.Pass, t)
	if !ok {
		w.fail("the file does not import the package of " + text)
	}
	return text
}
