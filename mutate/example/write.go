package example

import (
	"bytes"
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// write writes every After that the place allows.
func (m *Match) write() (out []rewritten) {
	for _, way := range m.pair.ways {
		w := newWriter(m, way, newSurroundings(m.Pass))
		edits, err := w.edits()
		if err == nil {
			out = append(out, rewritten{way.choice, slices.Concat(w.imported(), edits, w.declared())})
		}
	}
	return out
}

// A writer writes an After in the terms of the matched code.
type writer struct {
	m     *Match
	way   *side
	names map[types.Object]string // of the variables that After declares
	uses  map[types.Object]int
	err   error
	*surroundings
}

func newWriter(m *Match, way *side, s *surroundings) *writer {
	return &writer{m: m, way: way, names: map[types.Object]string{}, uses: map[types.Object]int{}, surroundings: s}
}

func (w *writer) fail(why string) {
	if w.err == nil {
		w.err = errors.New(why)
	}
}

// edits writes a match as After says: declarations that are named away go, statements replace
// statements, and an expression replaces the last one.
func (w *writer) edits() ([]mutate.Edit, error) {
	m, p := w.m, w.m.Pass
	w.chooseNames()
	var edits []mutate.Edit
	for _, d := range w.namesInOrder() {
		edits = append(edits, p.Delete(d.Stmt))
	}
	// The statements of After take the place of those of Before.
	if len(m.list) > 0 || len(w.way.list) > 0 {
		text := w.statements()
		switch {
		// An After that differs in layout only is no rewrite.
		case len(m.list) > 0 && m.tail == nil && strings.Join(strings.Fields(text), " ") ==
			strings.Join(strings.Fields(p.Text(m.Region())), " "):
			return nil, errors.New("the code is written so already")
		// Statements in front of an expression need a statement to stand in front of.
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
	// The expression of After takes the place of that of Before.
	if w.way.expr != nil {
		edits = append(edits, p.Replace(m.tail, w.tail()))
	}
	w.refuseUnused()
	return edits, w.err
}

// tail writes the expression of After for the place of that of Before.
func (w *writer) tail() string {
	text := w.node(w.way.expr)
	if parens(rootOf(w, w.way.expr), w.m.Pass.Parent(w.m.tail), w.m.tail) {
		return "(" + text + ")"
	}
	return text
}

// namesInOrder returns the declarations that go since the match takes names for their values.
func (w *writer) namesInOrder() []facts.Declaration {
	return inorder.Collect(maps.Values(w.m.named), func(a, b facts.Declaration) int {
		return int(a.Stmt.Pos() - b.Stmt.Pos())
	})
}

// refuseUnused fails if nothing reads a variable that After declares, which Go refuses.
func (w *writer) refuseUnused() {
	for obj := range w.names {
		id := func(e ast.Expr) bool {
			id, ok := e.(*ast.Ident)
			return ok && w.way.rule.obj(id) == obj
		}
		if w.uses[obj] == 0 && !slices.ContainsFunc(w.way.outputs, id) && !w.inKeptHead(obj) {
			w.fail("nothing reads " + obj.Name())
		}
	}
}

// inKeptHead reports whether the head of a kept loop declares a variable of After.
func (w *writer) inKeptHead(obj types.Object) bool {
	for s := range nodesOf[*ast.RangeStmt](w.way.body) {
		declares := obj == w.way.rule.defined(s.Key) || obj == w.way.rule.defined(s.Value)
		if declares && w.way.rule.headParam(s.X) != nil {
			return true
		}
	}
	return false
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

// statements writes the statements of After, and gives the outputs their values.
func (w *writer) statements() string {
	var out strings.Builder
	// Statements that have nothing to do are left out. Comments and blank lines between the others
	// are kept.
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
				gap := w.way.text(list[i-1].End(), s.Pos())
				if strings.TrimSpace(gap) != "" || strings.Count(gap, "\n") > 1 {
					between = gap
				}
			}
			out.WriteString(between)
		}
		out.WriteString(text)
	}
	// An output that After computes under another name is assigned to its variable.
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
	v := w.outputVar(k)
	// The list of outputs comes from the matched code, so each has a variable.
	if v == nil {
		w.fail("an output stands for no variable")
		return ""
	}
	// Nothing is to be assigned if the value lies there already.
	if id, ok := e.(*ast.Ident); ok {
		obj := w.way.rule.obj(id)
		if w.names[obj] == v.Name() {
			return ""
		}
		if p, ok := obj.(*types.Var); ok && w.way.params[p] != nil && w.m.places[p.Name()] == v {
			return ""
		}
	}
	// A variable that Before declared must be declared again.
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
	return v != nil && !legality{w.m}.liveBehind(v)
}

// node writes a part of After.
func (w *writer) node(n ast.Node) string {
	// Copy the text of After, with each part replaced that stands for something in the code.
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
		// A statement that becomes nothing takes its line with it.
		if _, empty := c.(*ast.ExprStmt); empty && text == "" {
			out = bytes.TrimRight(out, "\n\t")
		}
		out = append(out, text...)
		at = c.End()
		return false
	})
	return string(append(out, w.way.text(at, n.End())...))
}

// substitute returns what a node of After becomes in the code, and false if the node is copied with
// its parts replaced.
func (w *writer) substitute(n ast.Node) (string, bool) {
	// Each case is a node that means something else in the example than it says.
	switch n := n.(type) {
	case *ast.ExprStmt:
		// A statement that stands for no statements is left out.
		if obj, _ := w.way.codeStmt(n); obj != nil && len(w.m.blocks[obj.Name()].stmts) == 0 {
			return "", true
		}
	case *ast.RangeStmt:
		if v := w.way.rule.headParam(n.X); v != nil {
			return w.keptLoop(v.Name(), n), true
		}
	case *ast.SelectorExpr:
		if pkg := w.way.rule.packageOf(n); pkg != nil {
			// A function of the kit is copied along, since the module does not import it.
			if pkg.Path() == kitPath {
				return w.helper(n.Sel.Name, nil), true
			}
			return w.importName(pkg.Path()) + "." + n.Sel.Name, true
		}
	case *ast.IndexExpr:
		if text, ok := w.constantByte(n); ok {
			return text, true
		}
		// A helper with its type arguments spelled out gets the types of the match.
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

// ident writes a name of After: a type, a variable with the name that was chosen, a parameter, or a
// predeclared name, which must mean the same in the code.
func (w *writer) ident(id *ast.Ident) (string, bool) {
	// Names that this switch does not handle are copied as they are spelled.
	obj := w.way.rule.obj(id)
	switch obj := obj.(type) {
	// A type parameter of the rule is a type of the code.
	case *types.TypeName:
		if param, ok := obj.Type().(*types.TypeParam); ok {
			return w.typeText(w.m.types[param.Obj().Name()]), true
		}
	case *types.Var:
		// Uses are counted: a variable that is never read would not compile.
		if name, ok := w.names[obj]; ok {
			if w.way.rule.info.Uses[id] != nil {
				w.uses[obj]++
			}
			return name, true
		}
		if w.way.params[obj] != nil {
			return w.parameter(obj, id), true
		}
	}
	if obj != nil && obj.Parent() == types.Universe && (w.lookup(id.Name) != obj || w.declares(id.Name)) {
		w.fail("the code gives " + id.Name + " another meaning")
	}
	return "", false
}

// declares reports whether After declares a variable under a name of the code.
func (w *writer) declares(name string) bool {
	for _, own := range w.names {
		if own == name {
			return true
		}
	}
	return false
}

// source returns the text of code, with what the same step makes of places in it.
func (w *writer) source(n ast.Node) string {
	if w.m.inner == nil {
		return w.m.Pass.Text(n)
	}
	return w.m.Pass.TextWith(n, w.m.inner)
}

// parameter writes the code that a parameter stands for.
func (w *writer) parameter(obj *types.Var, id *ast.Ident) string {
	// A place is a variable, code is written as a function literal, and an expression as it is.
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
	text := w.source(e)
	up := w.way.up[id]
	_, method := up.(*ast.SelectorExpr)
	if addr, ok := ast.Unparen(e).(*ast.UnaryExpr); ok && method && addr.Op == token.AND {
		return w.source(addr.X) // Go takes the address for a method
	}
	if m.addressed[obj.Name()] && !method {
		return "&" + text // Go took the address for a method
	}
	if parens(e, up, id) {
		text = "(" + text + ")"
	}
	return text
}
