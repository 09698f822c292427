package loops

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// A byteAction is all that an iteration of a loop does with one byte, apart from stepping on: it
// writes the byte somewhere, sets variables to constants, and counts. Thus iterations that
// do the same are one action that writes all their bytes.
//
//	text = append(text, c); letters++; continue
//
// is the sink text, and one count of letters.
type byteAction struct {
	sink   *sink    // where the byte goes; nil if nowhere
	sets   []string // assignments of constants, in order
	counts []count
}

// A sink is where a loop writes bytes.
type sink struct {
	kind  sinkKind
	place ast.Expr
}

type sinkKind int

const (
	appendSink sinkKind = iota // place = append(place, c)
	writeSink                  // place.WriteByte(c), of a strings.Builder or bytes.Buffer
	joinSink                   // place += string(c)
)

// A count is `v += by`.
type count struct {
	v  *types.Var
	by int64
}

// key is equal for iterations that do the same.
func (t *byteAction) key(p *mutate.Pass) string {
	var out strings.Builder
	if t.sink != nil {
		fmt.Fprint(&out, t.sink.kind, p.Text(t.sink.place))
	}
	fmt.Fprint(&out, t.sets)
	for _, c := range t.counts {
		fmt.Fprint(&out, c.v.Name(), c.by)
	}
	return out.String()
}

// A walker follows one iteration of a loop for one byte.
type walker struct {
	p       *mutate.Pass
	l       *byteLoop
	char    byte
	env     map[*types.Var]mutate.Value // the variables of the iteration whose values are known
	stepped bool                        // the body has moved the index on
	action  byteAction
	setVars []*types.Var // that action.sets assigns
}

// An outcome says how a statement of an iteration ends.
type outcome int

const (
	stays   outcome = iota
	endsArm         // a break out of a switch
	falls           // a fallthrough
	endsIteration
	unknown // it does something else, or what it does depends on more than the byte
)

// actionOn returns what an iteration does with a byte. ok is false where it does anything that many
// iterations cannot do at once.
func (l *byteLoop) actionOn(p *mutate.Pass, c byte) (t byteAction, ok bool) {
	w := &walker{p: p, l: l, char: c, env: maps.Clone(l.known)}
	if l.value != nil {
		w.env[l.value] = w.typed(l.value.Type())
	}
	for _, test := range l.tests {
		if is, known := w.eval(test).(bool); !known || !is {
			return byteAction{}, false
		}
	}
	end := w.list(l.body.List)
	return w.action, (end == stays || end == endsIteration) && w.stepped == l.bare && w.simple()
}

// typed is the byte as a value of a type.
func (w *walker) typed(t types.Type) mutate.Value {
	if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsUnsigned == 0 {
		return int64(w.char)
	}
	return uint64(w.char)
}

// eval is the value of an expression that depends on the byte alone, or nil.
func (w *walker) eval(e ast.Expr) mutate.Value {
	var operand ast.Expr
	if !w.stepped {
		operand = w.l.elem
	}
	v, err := w.p.Values().EvalByteWith(e, operand, w.char, maps.Clone(w.env))
	if err != nil {
		return nil
	}
	return v
}

func (w *walker) list(list []ast.Stmt) outcome {
	for _, s := range list {
		if end := w.stmt(s); end != stays {
			return end
		}
	}
	return stays
}

// stmt follows one statement of an iteration whose element is plain, and returns how the statement
// ends. Whatever the walker does not know ends the walk: a rule must not guess.
func (w *walker) stmt(s ast.Stmt) outcome {
	switch s := s.(type) {
	case *ast.EmptyStmt:
		return stays
	case *ast.BlockStmt:
		return w.list(s.List)
	case *ast.AssignStmt:
		return w.assign(s)
	// A variable of the body is known as long as its value is.
	case *ast.DeclStmt:
		if d, ok := facts.Declares(w.p, s); ok && d.Value != nil {
			return w.bind(d.Var, d.Value)
		}
	case *ast.IncDecStmt:
		return w.step(s)
	case *ast.ExprStmt:
		return w.write(s.X)
	case *ast.IfStmt:
		return w.branch(s)
	case *ast.SwitchStmt:
		return w.choose(s)
	case *ast.BranchStmt:
		// A continue that means this loop ends the iteration; a labelled one of another loop does
		// not.
		switch {
		case s.Tok == token.FALLTHROUGH:
			return falls
		case s.Tok == token.CONTINUE && (s.Label == nil || w.l.label != "" && s.Label.Name == w.l.label):
			return endsIteration
		case s.Tok == token.BREAK && s.Label == nil:
			return endsArm // of a switch; of the loop it is unknown
		}
	}
	return unknown
}

// branch follows the way that the condition decides for a plain element.
func (w *walker) branch(s *ast.IfStmt) outcome {
	if s.Init != nil && w.stmt(s.Init) != stays {
		return unknown
	}
	// Only a condition that a plain element decides alone leads one way.
	is, ok := w.eval(s.Cond).(bool)
	switch {
	case !ok:
		return unknown
	// The other branch is for other bytes.
	case is:
		return w.list(s.Body.List)
	case s.Else != nil:
		return w.stmt(s.Else)
	}
	return stays
}

// choose follows a switch, whose cases are asked in order.
func (w *walker) choose(s *ast.SwitchStmt) outcome {
	// The init statement may bind variables that the cases test.
	if s.Init != nil && w.stmt(s.Init) != stays {
		return unknown
	}
	// A switch without a tag compares its cases with true.
	var tag mutate.Value = true
	if s.Tag != nil {
		if tag = w.eval(s.Tag); tag == nil {
			return unknown
		}
	}
	// Find the first case that holds. The default counts only if none does, wherever it stands. An
	// undecided case ends the walk, because a later one could still be the one that runs.
	chosen := -1
	for i, c := range s.Body.List {
		clause := c.(*ast.CaseClause)
		if clause.List == nil {
			if chosen < 0 {
				chosen = i
			}
			continue
		}
		is, ok := w.matches(clause.List, tag)
		if !ok {
			return unknown
		}
		if is {
			chosen = i
			break
		}
	}
	if chosen < 0 {
		return stays
	}
	// Run the chosen arm, and the next ones while they fall through. A break ends the switch, not
	// the iteration.
	for _, c := range s.Body.List[chosen:] {
		switch end := w.list(c.(*ast.CaseClause).Body); end {
		case falls:
			continue
		case endsArm:
			return stays
		default:
			return end
		}
	}
	return stays
}

// matches evaluates the list of a case against the tag. Only values of one comparable type can be
// decided.
func (w *walker) matches(list []ast.Expr, tag mutate.Value) (is, ok bool) {
	for _, e := range list {
		v := w.eval(e)
		// Different types are never equal, and may not even be comparable.
		if v == nil || fmt.Sprintf("%T", v) != fmt.Sprintf("%T", tag) {
			return false, false
		}
		switch v.(type) {
		case bool, int64, uint64, string:
		default:
			return false, false
		}
		if v == tag {
			return true, true
		}
	}
	return false, true
}

// step follows `i++` and `n++`.
func (w *walker) step(s ast.Stmt) outcome {
	// A step may count an element, or move the index of a loop that has no step in its head. The
	// latter must happen exactly once.
	for _, v := range []*types.Var{w.l.index, w.counted(s)} {
		by, ok := int64(0), false
		if v != nil {
			by, ok = stepOf(w.p, s, v)
		}
		switch {
		case !ok:
		case v != w.l.index:
			w.action.counts = append(w.action.counts, count{v, by})
			return stays
		case by == 1 && w.l.bare && !w.stepped:
			w.stepped = true
			return stays
		default:
			return unknown
		}
	}
	return unknown
}

// counted is the variable that a statement counts, where many steps may be one: a local integer of
// a predeclared type that lives on.
func (w *walker) counted(s ast.Stmt) *types.Var {
	var lhs ast.Expr
	switch s := s.(type) {
	case *ast.IncDecStmt:
		lhs = s.X
	case *ast.AssignStmt:
		lhs = s.Lhs[0]
	}
	v := w.p.Var(lhs)
	// It must be there behind the loop, or nothing can see the count.
	if !w.livesOn(v) {
		return nil
	}
	b, ok := types.Unalias(v.Type()).(*types.Basic)
	if !ok || b.Info()&types.IsInteger == 0 {
		return nil
	}
	return v
}

// livesOn reports whether v is a local variable from outside the loop's body that only names can
// change.
func (w *walker) livesOn(v *types.Var) bool {
	return facts.IsLocal(w.p, v) && v != w.l.index && v != w.l.value && v != w.l.seq && !facts.Captured.Of(w.p)[v] &&
		!facts.DeclaredIn(v, w.l.stmt)
}

// assign follows an assignment: to a variable of the body, or to something that outlives the
// iteration.
func (w *walker) assign(s *ast.AssignStmt) outcome {
	if len(s.Lhs) > 1 && len(s.Rhs) == 1 &&
		!slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool { return !syntax.IsBlank(e) }) {
		return w.write(s.Rhs[0]) // _, _ = b.WriteRune(r)
	}
	if len(s.Lhs) != 1 || len(s.Rhs) != 1 {
		return unknown
	}
	lhs, rhs := s.Lhs[0], ast.Unparen(s.Rhs[0])
	// A variable of the body is bound to its value. Whatever outlives the iteration must become a
	// sink, a counter or a constant that the iterations set.
	switch {
	case s.Tok == token.DEFINE || s.Tok == token.ASSIGN && w.inBody(w.p.Var(lhs)):
		return w.bind(w.p.Var(lhs), rhs)
	// text += c appends an element to a text.
	case s.Tok == token.ADD_ASSIGN && w.p.Basic(lhs) == types.String:
		if w.isText(rhs) && facts.PlainPlace(w.p, lhs) &&
			types.Identical(w.p.Info.TypeOf(lhs), types.Typ[types.String]) {
			return w.sink(joinSink, lhs)
		}
	case s.Tok == token.ADD_ASSIGN:
		return w.step(s)
	case s.Tok == token.ASSIGN && syntax.IsBlank(lhs):
		return w.write(rhs) // _ = b.WriteByte(c)
	// list = append(list, c) is the same for a list of bytes. Other assignments must set what every
	// iteration would set.
	case s.Tok == token.ASSIGN:
		if call, ok := facts.ElementAppend(w.p, s); ok {
			if len(call.Args) == 2 && mutate.IsBytes(w.p.Info.TypeOf(lhs)) && w.isByte(call.Args[1]) {
				return w.sink(appendSink, lhs)
			}
			return unknown
		}
		return w.set(s)
	}
	return unknown
}

// inBody reports whether an iteration declares v.
func (w *walker) inBody(v *types.Var) bool { return v != nil && facts.DeclaredIn(v, w.l.body) }

// bind notes the value of a variable of the iteration. One that depends on more is unknown to all
// tests.
func (w *walker) bind(v *types.Var, e ast.Expr) outcome {
	if v == nil || !w.inBody(v) || facts.Captured.Of(w.p)[v] {
		return unknown
	}
	delete(w.env, v)
	if value := w.eval(e); value != nil {
		w.env[v] = value
	} else if !w.p.Pure(e) {
		return unknown
	}
	return stays
}

// set follows `x = constant`.
func (w *walker) set(s *ast.AssignStmt) outcome {
	v := w.p.Var(s.Lhs[0])
	if w.p.Info.Types[s.Rhs[0]].Value == nil || !w.livesOn(v) || !facts.IsBasic(v.Type()) {
		return unknown
	}
	// Such a constant is not declared in front of the body, where the run stands.
	for _, id := range mutate.Nodes[*ast.Ident](w.p, s.Rhs[0]) {
		if obj := w.p.Info.Uses[id]; obj != nil && facts.DeclaredIn(obj, w.l.body) {
			return unknown // a constant of the iteration
		}
	}
	if text := w.p.Text(s); !slices.Contains(w.action.sets, text) {
		w.action.sets = append(w.action.sets, text)
		w.setVars = append(w.setVars, v)
	}
	return stays
}

// write follows b.WriteByte(c) and its like.
func (w *walker) write(e ast.Expr) outcome {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return unknown
	}
	// The writer must be a plain place, so that it is the same at each iteration.
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || facts.WriterText(w.p, sel.X) == "" || !facts.PlainPlace(w.p, ast.Unparen(sel.X)) {
		return unknown
	}
	does := false
	// The argument must be the element itself. A rune is one byte only if it is ASCII.
	switch sel.Sel.Name {
	case "WriteByte":
		does = w.isByte(call.Args[0])
	case "WriteRune":
		does = w.char < 0x80 && w.isByte(call.Args[0])
	case "WriteString":
		does = w.isText(call.Args[0])
	}
	if !does {
		return unknown
	}
	return w.sink(writeSink, ast.Unparen(sel.X))
}

// isByte reports whether an expression is the byte, as a number.
func (w *walker) isByte(e ast.Expr) bool {
	switch v := w.eval(e).(type) {
	case uint64:
		return v == uint64(w.char)
	case int64:
		return v == int64(w.char)
	}
	return false
}

// isText reports whether an expression is the text that consists of the byte: string(c) of ASCII.
func (w *walker) isText(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	return ok && len(call.Args) == 1 && w.p.Info.Types[call.Fun].IsType() && w.p.Basic(call) == types.String &&
		w.char < 0x80 && w.isByte(call.Args[0])
}

// sink notes that the byte is written. An iteration writes it once, and to a place that many
// iterations find unchanged. A run writes before it counts: where writing panics, only code that
// recovers could tell.
func (w *walker) sink(kind sinkKind, place ast.Expr) outcome {
	// The place is the variable, or a field of it.
	root := place
	if sel, ok := place.(*ast.SelectorExpr); ok {
		root = sel.X
	}
	v := w.p.Var(root)
	counted := len(w.action.counts)+len(w.action.sets) > 0
	// A write that panics with counts before it would show a smaller count.
	if w.action.sink != nil || counted && facts.HasDefer(w.p, w.p.FuncOf(w.l.stmt)) || v == nil || v == w.l.seq ||
		facts.DeclaredIn(v, w.l.stmt) || !w.l.apart(w.p, kind, place) {
		return unknown
	}
	w.action.sink = &sink{kind, place}
	return stays
}

// simple reports whether many iterations like this one can be one: no variable has two parts in it.
func (w *walker) simple() bool {
	vars := slices.Clone(w.setVars)
	for _, c := range w.action.counts {
		vars = append(vars, c.v)
	}
	if w.action.sink != nil {
		vars = append(vars, w.p.Var(w.action.sink.place))
	}
	// A variable that is both set and counted has an order within the iteration.
	seen := map[*types.Var]bool{}
	for _, v := range vars {
		if v != nil && seen[v] {
			return false
		}
		seen[v] = true
	}
	return true
}
