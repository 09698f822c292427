package loops

import (
	"bytes"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// An iteratorSplice writes the loop of an iterator in the place of a loop over it.
type iteratorSplice struct {
	*iterator
	at   *mutate.Pass   // of the file that is rewritten
	over *ast.RangeStmt // the loop over the iterator
	call *ast.CallExpr

	label string                  // of the iterator's loop, "" if it needs none
	names map[types.Object]string // what stands for a parameter or a variable of the iterator
	left  []string                // variables that take the operands of the call
	right []string                // these operands
}

// edits returns the edits, or nil if the loop has to stay.
func (w *iteratorSplice) edits() []mutate.Edit {
	// After yield the iterator may do more, in front of which a continue may not jump.
	breaks, continues, ok := w.at.Branches(w.over.Body)
	if !w.last && (!ok || len(continues) > 0) {
		return nil
	}
	// From an inner loop only a labelled break leaves all of the iterator.
	deep := w.inner != w.loop
	own, labelled := w.at.Parent(w.over).(*ast.LabeledStmt)
	if deep && len(breaks) > 0 || w.deepReturn {
		w.label = w.at.Fresh("iteration")
	}
	if (deep || w.deepReturn) && (labelled || !ok) {
		return nil
	}
	w.names = map[types.Object]string{}
	if !w.meansTheSame() || !w.rename() || !w.bind() {
		return nil
	}
	w.shareNames()
	taken, values, ok := w.values()
	if !ok || !inAnyOrder(w.p, w.yield.Args) {
		return nil
	}
	// The text of the iterator goes around the body of the loop, which stays where it is.
	front, back := w.text(w.loop.Pos(), w.test.Pos()), w.text(w.test.End(), w.loop.End())
	switch {
	case w.cond != nil:
		front, back = front+"if "+w.text(w.cond.Pos(), w.cond.End())+" {\n", "\n}"+back
	case !w.last:
		front, back = front+"{\n", "\n}"+back
	}
	front += values
	// The body may declare a variable of its own with the name of one that it got.
	if slices.ContainsFunc(taken, func(name string) bool { return facts.DeclaresName(w.at, w.over.Body, name) }) {
		front, back = front+"\n{\n", "\n}"+back
	}
	// What the iterator does in front of its loop gets a block of its own.
	head, start := w.head(), ast.Stmt(w.over)
	if labelled && head != "" {
		if facts.JumpedTo(w.at, own) {
			return nil
		}
		start = own
		front = w.at.Between(own.Pos(), w.over.Pos()) + front
	}
	if w.label != "" {
		front = w.label + ":\n" + front
	}
	if head != "" {
		front, back = "{\n"+head+front, back+"\n}"
	}
	front = strings.TrimSpace(front)
	if w.at.Src[w.at.Offset(w.over.Body.Lbrace)+1] != '\n' {
		front += "\n"
	}
	last := w.at.Span(w.over.Body.Rbrace, w.over.End(), "\n"+strings.TrimSpace(back))
	last.Start = len(bytes.TrimRight(w.at.Src[:last.Start], " \t\r\n"))
	edits := []mutate.Edit{w.at.Span(start.Pos(), w.over.Body.Lbrace+1, front), last}
	for _, b := range breaks {
		if deep {
			edits = append(edits, w.at.Replace(b, "break "+w.label))
		}
	}
	return edits
}

// head is what comes in front of the loop: the operands, and the iterator's own statements.
func (w *iteratorSplice) head() string {
	text := ""
	if len(w.left) > 0 {
		op := " := "
		if !slices.ContainsFunc(w.left, func(name string) bool { return name != "_" }) {
			op = " = "
		}
		text = strings.Join(w.left, ", ") + op + strings.Join(w.right, ", ") + "\n"
	}
	if len(w.body.List) > 1 {
		text += w.text(w.body.List[0].Pos(), w.loop.Pos())
	}
	return text
}

// meansTheSame reports whether the names that the iterator does not declare mean the same at the
// loop.
func (w *iteratorSplice) meansTheSame() bool {
	for _, id := range mutate.Nodes[*ast.Ident](w.p, w.body) {
		obj := w.p.Info.Uses[id]
		if obj == nil || facts.DeclaredIn(obj, w.fn) {
			continue
		}
		if sel, ok := w.p.Parent(id).(*ast.SelectorExpr); ok && sel.Sel == id {
			continue
		}
		if v, ok := obj.(*types.Var); ok && v.IsField() {
			continue
		}
		if !facts.Means(w.at, w.over.Pos(), id.Name, obj) || w.isOwn(id.Name) {
			return false
		}
	}
	return true
}

// isOwn reports whether a name is that of a variable of the loop over the iterator.
func (w *iteratorSplice) isOwn(name string) bool {
	for _, e := range []ast.Expr{w.over.Key, w.over.Value} {
		if id, ok := e.(*ast.Ident); ok && id.Name == name {
			return true
		}
	}
	return false
}

// rename gives another name to each variable of the iterator whose name the function around the
// loop mentions.
func (w *iteratorSplice) rename() bool {
	for _, id := range mutate.Nodes[*ast.Ident](w.p, w.body) {
		obj := w.p.Info.Defs[id]
		if v, ok := obj.(*types.Var); obj == nil || id.Name == "_" || ok && v.IsField() {
			continue
		}
		if !w.name(obj) {
			return false
		}
	}
	return true
}

// name chooses the name of a variable of the iterator.
func (w *iteratorSplice) name(obj types.Object) bool {
	name := obj.Name()
	if facts.UsesName(w.at, w.at.FuncOf(w.over), name) {
		name = w.at.Fresh(name)
		if facts.UsesName(w.p, w.fn, name) {
			return false
		}
	}
	w.names[obj] = name
	return true
}

// An operand is the value that a call gives to a parameter or to the receiver.
type operand struct {
	of    *types.Var // nil if nothing can mention it
	value ast.Expr
	text  string // of value, with the type of the parameter
	plain bool   // text is that of value
}

// bind chooses what stands for each parameter: a variable of the caller that keeps its value, the
// operand itself, or a new variable.
func (w *iteratorSplice) bind() bool {
	list, ok := w.operands()
	if !ok {
		return false
	}
	list = slices.DeleteFunc(list, w.standsFor)
	// One operand that the loop evaluates once, and first, needs no variable.
	if len(list) == 1 && w.isHead(list[0].of) {
		w.names[list[0].of] = list[0].text
		if holdsLiteral(w.at, list[0].value) {
			w.names[list[0].of] = "(" + list[0].text + ")"
		}
		return true
	}
	for _, o := range list {
		name := "_"
		if o.of != nil && len(w.p.Uses(o.of, w.body)) > 0 {
			if !w.name(o.of) {
				return false
			}
			name = w.names[o.of]
		}
		w.left, w.right = append(w.left, name), append(w.right, o.text)
	}
	return true
}

// operands lists the receiver and the arguments, in the order of their evaluation.
func (w *iteratorSplice) operands() (list []operand, ok bool) {
	if w.fn.Recv != nil {
		o, ok := w.receiver()
		if !ok {
			return nil, false
		}
		list = append(list, o)
	}
	sig := w.at.Info.TypeOf(w.call.Fun).Underlying().(*types.Signature)
	var of []*types.Var
	for _, f := range w.fn.Type.Params.List {
		for _, id := range f.Names {
			v, _ := w.p.Info.Defs[id].(*types.Var)
			of = append(of, v)
		}
	}
	if sig.Variadic() || len(of) != sig.Params().Len() || len(of) != len(w.call.Args) {
		return nil, false
	}
	if !inAnyOrder(w.at, w.call.Args) {
		return nil, false
	}
	for i, a := range w.call.Args {
		o := operand{of: of[i], value: a, text: w.at.Text(a)}
		if o.plain = plainValue(w.at, a, sig.Params().At(i).Type()); !o.plain {
			if o.text, ok = converted(w.at, sig.Params().At(i).Type(), o.text); !ok {
				return nil, false
			}
		}
		list = append(list, o)
	}
	return list, true
}

// receiver is the operand in front of a method's name.
func (w *iteratorSplice) receiver() (o operand, ok bool) {
	sel, ok := ast.Unparen(w.call.Fun).(*ast.SelectorExpr)
	if !ok {
		return o, false
	}
	s := w.at.Info.Selections[sel]
	if s == nil || s.Kind() != types.MethodVal || len(s.Index()) != 1 {
		return o, false
	}
	if names := w.fn.Recv.List[0].Names; len(names) == 1 {
		o.of, _ = w.p.Info.Defs[names[0]].(*types.Var)
	}
	o.value, o.text = sel.X, w.at.Text(sel.X)
	fn := w.at.Callee(w.call).(*types.Func)
	wants, has := syntax.Is[*types.Pointer](fn.Signature().Recv().Type()), syntax.Is[*types.Pointer](s.Recv())
	switch {
	case wants && !has:
		o.text = "&" + o.text
	case has && !wants:
		o.text = "*" + o.text
	default:
		o.plain = true
	}
	return o, true
}

// standsFor reports whether a parameter needs no variable, and enters what stands for it.
func (w *iteratorSplice) standsFor(o operand) bool {
	id, ok := ast.Unparen(o.value).(*ast.Ident)
	v := w.at.Var(id)
	if !ok || v == nil || w.isOwn(id.Name) || o.of == nil || len(w.p.Uses(o.of, w.body)) == 0 {
		return false
	}
	switch {
	// The iterator may look at a variable that nothing changes until its end.
	case o.plain && facts.KeepsValueOver(w.at, id) && !w.at.Assigned(v, w.over) && !w.p.Assigned(o.of, w.body):
	// It may use parts of a variable by its name instead of by its address.
	case strings.HasPrefix(o.text, "&") && w.partsOnly(o.of):
	default:
		return false
	}
	w.names[o.of] = id.Name
	return true
}

// partsOnly reports whether the iterator uses a pointer for fields and methods alone.
func (w *iteratorSplice) partsOnly(v *types.Var) bool {
	return !slices.ContainsFunc(w.p.Uses(v, w.body), func(id *ast.Ident) bool {
		sel, ok := w.p.Parent(id).(*ast.SelectorExpr)
		return !ok || sel.X != ast.Expr(id)
	})
}

// isHead reports whether a parameter is what the iterator's loop ranges over, and nothing else.
func (w *iteratorSplice) isHead(v *types.Var) bool {
	r, ok := w.loop.(*ast.RangeStmt)
	return ok && v != nil && len(w.body.List) == 1 && w.p.Var(r.X) == v && len(w.p.Uses(v, w.body)) == 1
}

// holdsLiteral reports whether an expression has a literal whose brace a loop would take for its
// own.
func holdsLiteral(p *mutate.Pass, e ast.Expr) bool {
	for range mutate.Nodes[*ast.CompositeLit](p, e) {
		return true
	}
	return false
}

// plainValue reports whether `x := e` gives x a type without a conversion.
func plainValue(p *mutate.Pass, e ast.Expr, t types.Type) bool {
	tv := p.Info.Types[e]
	if tv.Value != nil || tv.IsNil() || !types.Identical(tv.Type, t) {
		return false
	}
	// A comparison and a shift may have their type from where they stand.
	for _, b := range mutate.Nodes[*ast.BinaryExpr](p, e) {
		if b.Op == token.SHL || b.Op == token.SHR || syntax.Has(t, types.IsBoolean) {
			return syntax.IsPredeclared(t, types.Bool) || syntax.IsPredeclared(t, types.Int)
		}
	}
	return true
}

// converted is a value as one of a type.
func converted(p *mutate.Pass, t types.Type, value string) (string, bool) {
	text, ok := facts.TypeText(p, t)
	if !token.IsIdentifier(text) {
		text = "(" + text + ")"
	}
	return text + "(" + value + ")", ok && !facts.MentionsTypeParam(t)
}

// shareNames gives variables of the iterator's head the names of those of the loop over it that
// take their values, or none where nothing takes them.
func (w *iteratorSplice) shareNames() {
	for i, a := range w.yield.Args {
		v := w.p.Var(a)
		loop := w.headWith(v)
		if loop == nil || i > 0 && v == w.p.Var(w.yield.Args[0]) {
			continue
		}
		if w.taker(i) == "_" {
			if _, ranges := loop.(*ast.RangeStmt); ranges && len(w.p.Uses(v, w.body)) == 1 {
				w.names[v] = "_"
			}
			continue
		}
		id, ok := w.takers()[i].(*ast.Ident)
		if !ok || w.over.Tok != token.DEFINE || !plainValue(w.p, a, w.valueType(i)) || w.mentionsOther(v, id.Name) {
			continue
		}
		// A counting loop goes on from its variable, and an outer loop keeps it for other turns.
		// Then the body may not change it.
		own, _ := w.at.Info.Defs[id].(*types.Var)
		_, counts := loop.(*ast.ForStmt)
		if own != nil && (!counts && loop == w.inner || !w.at.Assigned(own, w.over.Body)) {
			w.names[v] = id.Name
		}
	}
}

// takers are the variables of the loop over the iterator.
func (w *iteratorSplice) takers() [2]ast.Expr { return [2]ast.Expr{w.over.Key, w.over.Value} }

// taker is the name of the variable that takes a value of yield, "_" if none does, and "" for
// what is no name.
func (w *iteratorSplice) taker(i int) string {
	switch e := w.takers()[i].(type) {
	case nil:
		return "_"
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// valueType is the type of one value of yield, in the terms of the iterator.
func (w *iteratorSplice) valueType(i int) types.Type {
	return w.p.Info.TypeOf(w.yield.Fun).Underlying().(*types.Signature).Params().At(i).Type()
}

// headWith returns the loop around yield whose head declares v, if no code uses v after yield in
// the same turn of the innermost loop.
func (w *iteratorSplice) headWith(v *types.Var) ast.Stmt {
	if v == nil || !w.last {
		return nil
	}
	for _, s := range mutate.Nodes[ast.Stmt](w.p, w.loop) {
		if !facts.Inside(w.test, s) {
			continue
		}
		switch s := s.(type) {
		case *ast.RangeStmt:
			if s.Tok == token.DEFINE && facts.DeclaredIn(v, s) && v.Pos() < s.X.Pos() {
				return s
			}
		case *ast.ForStmt:
			if s.Init != nil && facts.DeclaredIn(v, s.Init) {
				return s
			}
		}
	}
	return nil
}

// mentionsOther reports whether the iterator has a name for anything else than v.
func (w *iteratorSplice) mentionsOther(v *types.Var, name string) bool {
	for _, id := range mutate.Nodes[*ast.Ident](w.p, w.body) {
		obj := w.p.Info.Uses[id]
		if obj == nil {
			continue
		}
		text := id.Name
		if named, ok := w.names[obj]; ok {
			text = named
		}
		field, isVar := obj.(*types.Var)
		if text == name && obj != types.Object(v) && !(isVar && field.IsField()) {
			return true
		}
	}
	return false
}

// values gives the variables of the loop what the iterator gives to yield, and lists these
// variables.
func (w *iteratorSplice) values() (left []string, text string, ok bool) {
	var right []string
	for i, a := range w.yield.Args {
		name := w.taker(i)
		switch v := w.p.Var(a); {
		case name == "":
			return nil, "", false // it may have effects
		case w.headWith(v) != nil && w.names[v] == name, name == "_" && w.isIdle(a):
			continue
		}
		value := w.text(a.Pos(), a.End())
		if !plainValue(w.p, a, w.valueType(i)) {
			given := w.at.Info.TypeOf(w.call).Underlying().(*types.Signature).Params().At(0).Type()
			if value, ok = converted(w.at, given.Underlying().(*types.Signature).Params().At(i).Type(), value); !ok {
				return nil, "", false
			}
		}
		left, right = append(left, name), append(right, value)
	}
	if len(left) == 0 {
		return nil, "", true
	}
	op := " = "
	if w.over.Tok == token.DEFINE && slices.ContainsFunc(left, func(name string) bool { return name != "_" }) {
		op = " := "
	}
	return left, strings.Join(left, ", ") + op + strings.Join(right, ", "), true
}

// inAnyOrder reports whether values mean the same in an assignment as in a call. Go does not say
// whether a variable is read before or after a call beside it.
func inAnyOrder(p *mutate.Pass, values []ast.Expr) bool {
	changes, reads := 0, 0
	for _, e := range values {
		f := p.Effects(e)
		if f.Writes {
			changes++
		} else if !facts.KeepsValueOver(p, e) {
			reads++
		}
	}
	return changes == 0 || reads == 0
}

// isIdle reports whether nothing misses a value of yield: it has no effects, and each variable in
// it has another use.
func (w *iteratorSplice) isIdle(a ast.Expr) bool {
	if !w.p.Pure(a) {
		return false
	}
	for _, id := range mutate.Nodes[*ast.Ident](w.p, a) {
		v := w.p.Var(id)
		if v != nil && facts.DeclaredIn(v, w.fn) && len(w.p.Uses(v, w.body)) == len(w.p.Uses(v, a)) {
			return false
		}
	}
	return true
}

// text is a piece of the iterator with the names that stand for its variables, in which a break
// takes the place of a return.
func (w *iteratorSplice) text(from, to token.Pos) string {
	var edits []syntax.Edit
	replace := func(start, end token.Pos, text string) {
		if from <= start && end <= to {
			edits = append(edits, syntax.Edit{Start: int(start - from), End: int(end - from), New: text})
		}
	}
	// The variables of a range are written at once, since a blank one may have to go.
	for _, r := range mutate.Nodes[*ast.RangeStmt](w.p, w.body) {
		if r.Tok == token.DEFINE {
			replace(r.Key.Pos(), r.TokPos+2, w.headOf(r))
		}
	}
	for _, id := range mutate.Nodes[*ast.Ident](w.p, w.body) {
		text, ok := w.names[w.p.Info.ObjectOf(id)]
		r, ranges := w.p.Parent(id).(*ast.RangeStmt)
		if ok && !(ranges && r.Tok == token.DEFINE && id.Pos() < r.TokPos) {
			replace(id.Pos(), id.End(), text)
		}
	}
	for _, ret := range w.returns {
		replace(ret.Pos(), ret.End(), strings.TrimSpace("break "+w.label))
	}
	return syntax.Apply(w.p.Between(from, to), edits)
}

// headOf is the left side of a range with its := sign.
func (w *iteratorSplice) headOf(r *ast.RangeStmt) string {
	var names []string
	for _, e := range []ast.Expr{r.Key, r.Value} {
		id, ok := e.(*ast.Ident)
		if !ok {
			continue
		}
		name := id.Name
		if renamed, ok := w.names[w.p.Info.Defs[id]]; ok {
			name = renamed
		}
		names = append(names, name)
	}
	for len(names) > 0 && names[len(names)-1] == "_" {
		names = names[:len(names)-1]
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, ", ") + " :="
}
