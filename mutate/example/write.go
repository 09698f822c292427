package example

import (
	"bytes"
	"errors"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// write prepares the edits of every way. It reports whether at least one can be written.
func (m *Match) write() bool {
	any := false
	m.edits = make([][]mutate.Edit, len(m.pair.ways))
	for i, way := range m.pair.ways {
		w := &writer{m: m, way: way, names: map[types.Object]string{}, imports: map[string]string{},
			helpers: map[string]string{}}
		edits, err := w.edits()
		if err == nil {
			m.edits[i], any = edits, true
		}
	}
	return any
}

// A writer writes an After in the terms of the matched code.
type writer struct {
	m       *Match
	way     *side
	names   map[types.Object]string // of the variables that After declares
	fresh   []string                // new names, which nothing else may take
	imports map[string]string       // path to name
	paths   []string                // the keys of imports, in order
	helpers map[string]string
	decls   []string // the text of new helpers
	err     error
}

func (w *writer) fail(why string) {
	if w.err == nil {
		w.err = errors.New(why)
	}
}

func (w *writer) edits() ([]mutate.Edit, error) {
	m, p := w.m, w.m.Pass
	w.chooseNames()
	var edits []mutate.Edit
	if len(m.list) > 0 || len(w.way.list) > 0 {
		text := w.statements()
		switch {
		case len(m.list) > 0 && m.tail == nil && strings.Join(strings.Fields(text), " ") ==
			strings.Join(strings.Fields(p.Text(m.Region())), " "):
			return nil, errors.New("the code is written so already")
		case len(m.list) == 0:
			stmt, ok := facts.Hoistable(p, m.tail)
			if !ok {
				return nil, errors.New("no statement can stand in front of the expression")
			}
			edits = append(edits, p.Insert(stmt.Pos(), text+"\n"))
		case text == "":
			edits = append(edits, p.Delete(m.Region()))
		default:
			edits = append(edits, p.Span(m.list[0].Pos(), m.list[len(m.list)-1].End(), text))
		}
	}
	if w.way.expr != nil {
		text := w.node(w.way.expr)
		if parens(rootOf(w, w.way.expr), p.Parent(m.tail), m.tail) {
			text = "(" + text + ")"
		}
		edits = append(edits, p.Replace(m.tail, text))
	}
	if w.err != nil {
		return nil, w.err
	}
	var imports []mutate.Edit
	for _, path := range w.paths {
		_, more := p.Import(path)
		imports = append(imports, more...)
	}
	edits = append(mutate.MergeImports(imports), edits...)
	for _, d := range w.decls {
		edits = append(edits, p.Declare(m.Node, d))
	}
	return edits, nil
}

// rootOf returns the expression that an After's expression becomes: a parameter becomes its code.
func rootOf(w *writer, e ast.Expr) ast.Expr {
	if id, ok := e.(*ast.Ident); ok {
		if bound := w.m.exprs[id.Name]; bound != nil {
			return bound
		}
	}
	return e
}

// chooseNames gives the variables of After the names of their counterparts in the code, or new ones.
func (w *writer) chooseNames() {
	m := w.m
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
	outputs := map[types.Object]*types.Var{}
	for k, e := range w.way.outputs {
		if id, ok := e.(*ast.Ident); ok {
			if v := m.outputVar(k); v != nil {
				outputs[w.way.rule.obj(id)] = v
			}
		}
	}
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
func (m *Match) outputVar(k int) *types.Var {
	id, ok := m.pair.before.outputs[k].(*ast.Ident)
	if !ok {
		return nil
	}
	if v := m.locals[m.pair.rule.obj(id)]; v != nil {
		return v
	}
	return m.places[id.Name]
}

// otherwiseUsed reports whether the matched code uses the name of v for something else.
func (w *writer) otherwiseUsed(v *types.Var) bool {
	roots := []ast.Node{w.m.Region()}
	if w.m.tail != nil {
		roots = append(roots, w.m.tail)
	}
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

// statements writes the statements of After, and gives the outputs their values.
func (w *writer) statements() string {
	var out strings.Builder
	list := w.way.list
	for i, s := range list {
		text := ""
		if !w.useless(s) {
			text = w.node(s)
		}
		if text == "" {
			continue
		}
		if out.Len() > 0 {
			between := "\n"
			if i > 0 {
				if gap := w.way.text(list[i-1].End(), s.Pos()); strings.TrimSpace(gap) != "" || strings.Count(gap, "\n") > 1 {
					between = gap
				}
			}
			out.WriteString(between)
		}
		out.WriteString(text)
	}
	for k, e := range w.way.outputs {
		if text := w.output(k, e); text != "" {
			if out.Len() > 0 {
				out.WriteString("\n")
			}
			out.WriteString(text)
		}
	}
	return out.String()
}

// output writes the assignment of an output that After does not hold in its variable already.
func (w *writer) output(k int, e ast.Expr) string {
	v := w.m.outputVar(k)
	if v == nil {
		w.fail("an output stands for no variable")
		return ""
	}
	if id, ok := e.(*ast.Ident); ok {
		obj := w.way.rule.obj(id)
		if w.names[obj] == v.Name() {
			return ""
		}
		if p, ok := obj.(*types.Var); ok && w.way.params[p] != nil && w.m.places[p.Name()] == v {
			return ""
		}
	}
	tok := " = "
	for obj, local := range w.m.locals {
		if local == v && w.m.isOutput(obj) {
			tok = " := "
		}
	}
	return v.Name() + tok + w.node(e)
}

// useless reports whether a statement of After only assigns a constant to a variable that nothing
// reads any more.
func (w *writer) useless(s ast.Stmt) bool {
	as, ok := s.(*ast.AssignStmt)
	if !ok || as.Tok != token.ASSIGN || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
		return false
	}
	id, ok := as.Lhs[0].(*ast.Ident)
	if !ok || w.way.rule.info.Types[as.Rhs[0]].Value == nil {
		return false
	}
	v := w.m.places[id.Name]
	return v != nil && !w.m.liveBehind(v)
}

// node writes a part of After.
func (w *writer) node(n ast.Node) string {
	var out []byte
	at := n.Pos()
	ast.Inspect(n, func(c ast.Node) bool {
		if c == nil {
			return true
		}
		text, ok := w.substitute(c)
		if !ok {
			return true
		}
		out = append(out, w.way.text(at, c.Pos())...)
		if _, empty := c.(*ast.ExprStmt); empty && text == "" {
			out = bytes.TrimRight(out, "\n\t")
		}
		out = append(out, text...)
		at = c.End()
		return false
	})
	return string(append(out, w.way.text(at, n.End())...))
}

func (w *writer) substitute(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.ExprStmt:
		if obj, _ := w.way.codeStmt(n); obj != nil && len(w.m.blocks[obj.Name()].stmts) == 0 {
			return "", true
		}
	case *ast.RangeStmt:
		if v := w.way.rule.headParam(n.X); v != nil {
			return w.keptLoop(v.Name(), n), true
		}
	case *ast.SelectorExpr:
		if pkg := w.way.rule.packageOf(n); pkg != nil {
			if pkg.Path() == kitPath {
				return w.helper(n.Sel.Name, nil), true
			}
			return w.importName(pkg.Path()) + "." + n.Sel.Name, true
		}
	case *ast.IndexExpr:
		if text, ok := w.constantByte(n); ok {
			return text, true
		}
		if sel, ok := n.X.(*ast.SelectorExpr); ok {
			if pkg := w.way.rule.packageOf(sel); pkg != nil && pkg.Path() == kitPath {
				return w.helper(sel.Sel.Name, []ast.Expr{n.Index}), true
			}
		}
	case *ast.CallExpr:
		if obj := w.way.codeOf(n); obj != nil && w.m.blocks[obj.Name()] != nil {
			return w.code(obj.Name(), n), true
		}
		return w.conversion(n)
	case *ast.Ident:
		return w.ident(n)
	}
	return "", false
}

func (w *writer) ident(id *ast.Ident) (string, bool) {
	obj := w.way.rule.obj(id)
	switch obj := obj.(type) {
	case *types.TypeName:
		if param, ok := obj.Type().(*types.TypeParam); ok {
			return w.typeText(w.m.types[param.Obj().Name()]), true
		}
	case *types.Var:
		if name, ok := w.names[obj]; ok {
			return name, true
		}
		if w.way.params[obj] != nil {
			return w.parameter(obj, id), true
		}
	}
	if obj != nil && obj.Parent() == types.Universe && w.lookup(id.Name) != obj {
		w.fail("the code gives " + id.Name + " another meaning")
	}
	return "", false
}

// lookup returns what a name means at the match.
func (w *writer) lookup(name string) types.Object {
	pos := w.m.Node.Pos()
	inner := w.m.Pass.Pkg.Scope().Innermost(pos)
	if inner == nil {
		return types.Universe.Lookup(name)
	}
	_, obj := inner.LookupParent(name, pos)
	return obj
}

// parameter writes what a parameter stands for.
func (w *writer) parameter(obj *types.Var, id *ast.Ident) string {
	m := w.m
	if v := m.places[obj.Name()]; v != nil {
		return v.Name()
	}
	if b := m.blocks[obj.Name()]; b != nil {
		return w.literal(obj, b)
	}
	e := m.exprs[obj.Name()]
	if e == nil {
		w.fail("nothing is known of " + obj.Name())
		return ""
	}
	text := m.Pass.Text(e)
	up := w.way.up[id]
	_, method := up.(*ast.SelectorExpr)
	if addr, ok := ast.Unparen(e).(*ast.UnaryExpr); ok && method && addr.Op == token.AND {
		return m.Pass.Text(addr.X) // Go takes the address for a method
	}
	if m.addressed[obj.Name()] && !method {
		return "&" + text // Go took the address for a method
	}
	if parens(e, up, id) {
		text = "(" + text + ")"
	}
	return text
}

// keptLoop writes a loop of After with a head of the code.
func (w *writer) keptLoop(name string, s *ast.RangeStmt) string {
	l := w.m.kept[name]
	if l == nil {
		w.fail("no loop is known for " + name)
		return ""
	}
	return w.m.Pass.Between(l.Stmt.Pos(), l.Body.Lbrace) + w.node(s.Body)
}

// keptRole returns the loop whose head declares a variable of After, if After keeps the head.
func (w *writer) keptRole(e ast.Expr) (l *facts.Loop, value bool) {
	id, ok := e.(*ast.Ident)
	if !ok {
		return nil, false
	}
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
func (m *Match) sameLoop(arg ast.Expr, l *facts.Loop) bool {
	id, ok := arg.(*ast.Ident)
	return ok && m.loops[m.pair.rule.obj(id)].loop == l
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
	if b, ok := to.(*types.Basic); ok && b.Kind() == types.String {
		if r, ok := w.constantRune(arg); ok {
			return strconv.Quote(string(r)), true
		}
	}
	if p, ok := types.Unalias(to).(*types.TypeParam); ok {
		to = w.m.types[p.Obj().Name()]
	}
	from, lit := w.typeOf(arg)
	_, argument := w.way.up[call].(*ast.CallExpr)
	if from != nil && to != nil && types.Identical(from, to) || lit && argument {
		return w.node(arg), true
	}
	return "", false
}

// constantRune returns the value of a parameter that stands for a constant character, perhaps
// converted.
func (w *writer) constantRune(e ast.Expr) (rune, bool) {
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 && w.way.rule.info.Types[call.Fun].IsType() {
		e = call.Args[0]
	}
	id, ok := e.(*ast.Ident)
	if !ok || w.m.exprs[id.Name] == nil {
		return 0, false
	}
	v := w.m.Pass.Info.Types[w.m.exprs[id.Name]].Value
	if v == nil || v.Kind() != constant.Int {
		return 0, false
	}
	n, exact := constant.Int64Val(v)
	return rune(n), exact
}

// typeOf returns the type of an expression of After in the code, or nil if it is not known, and
// whether the expression is a character there.
func (w *writer) typeOf(e ast.Expr) (t types.Type, char bool) {
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
	if t := w.way.rule.info.TypeOf(e); t != nil && t != types.Typ[types.Invalid] {
		if _, ok := t.(*types.Basic); ok {
			return t, false
		}
	}
	return nil, false
}

// constantByte writes a byte of a constant string as a character.
func (w *writer) constantByte(ix *ast.IndexExpr) (string, bool) {
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
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	s := constant.StringVal(v)
	if i < 0 || int(i) >= len(s) || s[i] >= utf8.RuneSelf {
		return "", false
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
	var args []string
	var roots []ast.Expr
	for _, a := range call.Args {
		if u, ok := a.(*ast.UnaryExpr); ok && u.Op == token.AND {
			a = u.X
		}
		args, roots = append(args, w.node(a)), append(roots, rootOf(w, a))
	}
	w.capture(b, call.Args)
	text := w.m.blockText(b, b.args, func(k int, at ast.Expr) string {
		if l, value := w.keptRole(call.Args[k]); l != nil {
			if w.m.sameLoop(b.args[k], l) {
				return w.m.Pass.Text(at)
			}
			return w.headName(l, value)
		}
		if parens(roots[k], w.m.Pass.Parent(at), at) {
			return "(" + args[k] + ")"
		}
		return args[k]
	})
	switch {
	case b.expr != nil && parens(b.expr, w.way.up[call], call):
		return "(" + text + ")"
	case b.expr == nil && w.clash(name, b):
		return "{\n" + text + "\n}"
	}
	return w.m.commentAbove(b) + text
}

// commentAbove returns the comment above the matched statement that holds code, if it is not the
// first one, whose comment stays where it is.
func (m *Match) commentAbove(b *block) string {
	if len(b.stmts) == 0 {
		return ""
	}
	for i, s := range m.list {
		if i == 0 || !facts.Inside(b.stmts[0], s) {
			continue
		}
		if text := strings.TrimSpace(m.Pass.Between(m.list[i-1].End(), s.Pos())); strings.HasPrefix(text, "//") {
			return text + "\n"
		}
	}
	return ""
}

// capture fails if the code declares a name that an argument mentions.
func (w *writer) capture(b *block, args []ast.Expr) {
	for _, a := range args {
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

// clash reports whether statements declare a name that other statements of the match declare too.
func (w *writer) clash(name string, b *block) bool {
	own := declaredNames(b.stmts)
	for other, o := range w.m.blocks {
		if other == name || o.expr != nil {
			continue
		}
		for id := range declaredNames(o.stmts) {
			if own[id] && name > other {
				return true
			}
		}
	}
	return false
}

// declaredNames holds the names that the statements of a list declare in it.
func declaredNames(list []ast.Stmt) map[string]bool {
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
				if v, ok := spec.(*ast.ValueSpec); ok {
					for _, id := range v.Names {
						out[id.Name] = true
					}
				}
			}
		}
	}
	return out
}

// literal writes a parameter of a function type as a value: a function literal with the code.
func (w *writer) literal(obj *types.Var, b *block) string {
	sig := obj.Type().Underlying().(*types.Signature)
	var params, names []string
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
	text := w.m.blockText(b, b.args, func(k int, _ ast.Expr) string { return names[k] })
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

// importName returns the name of a package in the candidate.
func (w *writer) importName(path string) string {
	name, ok := w.imports[path]
	if ok {
		return name
	}
	name, edits := w.m.Pass.Import(path)
	if _, isPkg := w.lookup(name).(*types.PkgName); len(edits) == 0 && !isPkg {
		w.fail("the code gives " + name + " another meaning")
	}
	w.imports[path], w.paths = name, append(w.paths, path)
	return name
}
