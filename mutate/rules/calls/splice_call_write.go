package calls

import (
	"go/ast"
	"go/token"
	"go/types"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

func rewriteSplice(p *mutate.Pass, at mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	s := at.Data.(*splice)
	w := &splicer{p: p, splice: s, sig: p.Info.Defs[s.fn.Name].(*types.Func).Signature()}
	return w.edits()
}

// A splicer writes a splice.
type splicer struct {
	p *mutate.Pass
	*splice
	sig    *types.Signature
	subst  map[*types.Var]string // parameters that stand for what the caller names
	fields map[*types.Var]string // parameters that point to what the caller names
	names  []string              // of the variables that take the results; nil where the caller returns them
	label  string                // "" where nothing has to jump to the end
	early  []*ast.IfStmt         // end in a return; what follows becomes their else
}

// edits writes the body of the callee in place of the call. Parameters become variables, and a
// return becomes an assignment to the variables that take the results.
//
//	n := size(list)    becomes    var n int
//	                              { s := list; n = len(s) * 8 }
func (w *splicer) edits() ([]mutate.Edit, error) {
	p := w.p
	bind := w.bindings()
	// In tail position a return of the callee is one of the caller.
	if w.tail(p, w.sig) {
		body := w.body(func(values string) string { return "return " + values })
		return []mutate.Edit{p.Replace(w.stmt, "{\n"+bind+w.results()+body+"\n}")}, nil
	}
	// A return in the middle has to jump to the end. Where it ends an if, what follows is the other
	// arm. Otherwise the body becomes the only arm of a switch with a label, which a break can
	// leave.
	if returns := w.returns(); len(returns) > 1 || len(returns) == 1 && !w.endsIn(returns[0]) {
		if w.early = w.earlyReturns(); w.early == nil {
			w.label = p.Fresh("inlined", "spliced")
		}
	}
	// The results go into variables of the statement, or into new ones.
	names, declared, after := w.targets()
	w.names = names
	body := w.body(func(values string) string {
		if values != "" {
			return strings.Join(names, ", ") + " = " + values
		}
		return ""
	})
	block := "{\n" + bind + w.results() + body + "\n}\n"
	if w.label != "" {
		block = w.label + ":\nswitch {\ndefault:\n" + bind + w.results() + body + "\n}\n"
	}
	block = declared + block + after
	// An init statement runs before the condition and has its own scope. The statement moves into a
	// block after the callee's body, with the rest of its head.
	switch {
	case w.init != nil:
		var from ast.Node
		word := "if "
		switch st := w.stmt.(type) {
		case *ast.IfStmt:
			from = st.Cond
		case *ast.SwitchStmt:
			from, word = st.Body, "switch "
			if st.Tag != nil {
				from = st.Tag
			}
		}
		return []mutate.Edit{
			p.Span(w.stmt.Pos(), from.Pos(), "{\n"+block+word),
			p.Insert(w.stmt.End(), "\n}"),
		}, nil
	// A statement that is nothing but the call disappears. In any other, a variable takes the place
	// of the call.
	case w.replaced():
		return []mutate.Edit{p.Replace(w.stmt, strings.TrimSpace(block))}, nil
	}
	return []mutate.Edit{edit.InsertBefore(p, w.stmt, block), p.Replace(w.call, names[0])}, nil
}

// replaced reports whether the statement is nothing but the call and what takes its results.
func (w *splicer) replaced() bool {
	switch w.stmt.(type) {
	case *ast.ExprStmt, *ast.AssignStmt:
		return w.sole
	}
	return false
}

// returns are the helper's own return statements.
func (w *splicer) returns() []*ast.ReturnStmt {
	var out []*ast.ReturnStmt
	ast.Inspect(w.fn.Body, func(n ast.Node) bool {
		if ret, ok := n.(*ast.ReturnStmt); ok {
			out = append(out, ret)
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	return out
}

func (w *splicer) endsIn(ret *ast.ReturnStmt) bool {
	return w.fn.Body.List[len(w.fn.Body.List)-1] == ast.Stmt(ret)
}

// earlyReturns are the ifs of the helper's own list that end in a return, if all returns but the
// last statement do, else nil. The other arm is in the scope of the if, whose own names must mean
// nothing else there.
func (w *splicer) earlyReturns() (ifs []*ast.IfStmt) {
	returns := w.returns()
	if w.sig.Results().Len() == 0 || !w.endsIn(returns[len(returns)-1]) {
		return nil
	}
	for _, s := range w.fn.Body.List {
		if branch, ok := s.(*ast.IfStmt); ok && branch.Else == nil && facts.EndsIn(branch.Body.List, token.RETURN) {
			if w.hidesLater(branch) {
				return nil
			}
			ifs = append(ifs, branch)
		}
	}
	if len(ifs) != len(returns)-1 {
		return nil // some return stands deeper
	}
	if w.losesVariable(ifs[0]) {
		return nil
	}
	return ifs
}

// losesVariable reports whether a := in the other arms would declare a variable that the helper
// only assigns, and the helper needs the one that it has: a closure or a pointer leads to it, or
// nothing reads it before.
func (w *splicer) losesVariable(from ast.Stmt) bool {
	for v, as := range w.assignedByDefine(from) {
		read := func(id *ast.Ident) bool { return id.Pos() < as.Pos() && !facts.IsAssigned(w.p, id) }
		if facts.Captured.Of(w.p)[v] || facts.AddressTaken(w.p, v, w.fn.Body) ||
			v.Pos() > w.fn.Body.Pos() && !slices.ContainsFunc(w.p.Uses(v, w.fn.Body), read) {
			return true
		}
	}
	return false
}

// assignedByDefine yields the variables that a := of the helper's own list does not declare but
// assign, from a statement on.
func (w *splicer) assignedByDefine(from ast.Stmt) iter.Seq2[*types.Var, *ast.AssignStmt] {
	return func(yield func(*types.Var, *ast.AssignStmt) bool) {
		for _, s := range w.fn.Body.List {
			as, ok := s.(*ast.AssignStmt)
			if !ok || as.Tok != token.DEFINE || as.Pos() < from.Pos() {
				continue
			}
			for _, l := range as.Lhs {
				if v, ok := w.p.Info.Uses[l.(*ast.Ident)].(*types.Var); ok && !yield(v, as) {
					return
				}
			}
		}
	}
}

// hidesLater reports whether an if declares a name that code after it has, or a result, which a
// bare return may stand for.
func (w *splicer) hidesLater(branch *ast.IfStmt) bool {
	if branch.Init == nil {
		return false
	}
	declared := map[string]bool{}
	for id := range mutate.Nodes[*ast.Ident](w.p, branch.Init) {
		declared[id.Name] = declared[id.Name] || w.p.Info.Defs[id] != nil
	}
	for id := range mutate.Nodes[*ast.Ident](w.p, w.fn) {
		if declared[id.Name] && (id.Pos() >= branch.End() || facts.Inside(id, w.fn.Type.Results)) {
			return true
		}
	}
	return false
}

// results declares the helper's named results. Go refuses a variable that nothing reads, so results
// assigns two kinds to the blank identifier: results that the helper never reads, and parameters
// that another variable replaces.
func (w *splicer) results() string {
	text := ""
	for v := range w.sig.Params().Variables() {
		if w.binds(v) && w.declaredAnew(v) {
			text += "_ = " + v.Name() + "\n"
		}
	}
	if w.fn.Type.Results == nil {
		return text
	}
	for _, f := range w.fn.Type.Results.List {
		for _, id := range f.Names {
			if id.Name == "_" {
				continue
			}
			text += "var " + id.Name + " " + w.p.Text(f.Type) + "\n"
			if v := w.p.Info.Defs[id]; !w.readsResult(v) || w.declaredAnew(v) {
				text += "_ = " + id.Name + "\n"
			}
		}
	}
	return text
}

// declaredAnew reports whether a := of the helper's own list assigns a parameter or a result, and
// stands in the other arm of an early return. There it declares a variable, which takes the place
// of the first one in all that follows.
func (w *splicer) declaredAnew(v types.Object) bool {
	if len(w.early) == 0 {
		return false
	}
	for assigned := range w.assignedByDefine(w.early[0]) {
		if types.Object(assigned) == v {
			return true
		}
	}
	return false
}

// readsResult reports whether the statements certainly read a named result: somewhere in the body,
// or in a return, if what it gives is taken.
func (w *splicer) readsResult(v types.Object) bool {
	if w.taken() && w.bare() {
		return true
	}
	return slices.ContainsFunc(w.p.Uses(v, w.fn.Body), func(id *ast.Ident) bool {
		return !facts.IsAssigned(w.p, id) && (w.taken() || !facts.InReturn(w.p, id))
	})
}

// taken reports whether anything takes a result.
func (w *splicer) taken() bool {
	return w.names == nil || slices.ContainsFunc(w.names, func(n string) bool { return n != "_" })
}

// bare reports whether some return names no values.
func (w *splicer) bare() bool {
	return slices.ContainsFunc(w.returns(), func(r *ast.ReturnStmt) bool { return len(r.Results) == 0 })
}

// values is what a return gives.
func (w *splicer) values(ret *ast.ReturnStmt) string {
	// Write the results. If no variable takes one and computing it has no effect, they are left
	// out.
	var out []string
	wanted := w.names == nil || len(ret.Results) != w.sig.Results().Len()
	for i, e := range ret.Results {
		text := w.text(e)
		unnamed := w.names != nil && i < len(w.names) && w.names[i] == "_"
		// nil has no type of its own, so that it can't be assigned to the blank name.
		if t, ok := facts.TypeText(w.p, w.sig.Results().At(i).Type()); ok && unnamed && w.p.Info.Types[e].IsNil() {
			text = convertedTo(t, text)
		}
		wanted = wanted || !unnamed || !w.p.Pure(e) || w.needs(e)
		out = append(out, text)
	}
	if len(ret.Results) > 0 && !wanted {
		return "" // nobody takes it
	}
	// A bare return gives the values of the named results. A blank one has the zero value.
	if len(out) == 0 && w.fn.Type.Results != nil {
		for _, f := range w.fn.Type.Results.List {
			for _, id := range f.Names {
				name := id.Name
				if t, ok := facts.TypeText(w.p, w.p.Info.TypeOf(f.Type)); name == "_" && ok {
					name = "*new(" + t + ")"
				}
				out = append(out, name)
			}
		}
	}
	if len(out) == 0 || len(ret.Results) == 0 && !w.taken() {
		return ""
	}
	return strings.Join(out, ", ")
}

// needs reports whether an expression names a variable of the helper's body, or a parameter that
// only returns read, which must stay used: itself, or what it stands for.
func (w *splicer) needs(e ast.Expr) bool {
	for id := range mutate.Nodes[*ast.Ident](w.p, e) {
		v := w.p.Var(id)
		if v == nil {
			continue
		}
		if w.fn.Body.Pos() < v.Pos() && v.Pos() < w.fn.Body.End() ||
			(w.binds(v) || w.lastUse(w.argument(v))) && !w.readsElsewhere(v) {
			return true
		}
	}
	return false
}

// binds reports whether a parameter of the helper is a variable of its own in the caller.
func (w *splicer) binds(v *types.Var) bool {
	_, same := w.subst[v]
	_, followed := w.fields[v]
	return !same && !followed && w.fn.Type.Params.Pos() < v.Pos() && v.Pos() < w.fn.Type.Params.End()
}

// argument is what the call gives a parameter of the helper, or nil.
func (w *splicer) argument(v *types.Var) ast.Expr {
	for i, a := range w.call.Args {
		if w.sig.Params().At(i) == v {
			return a
		}
	}
	return nil
}

// lastUse reports whether an argument names a variable of the caller that nothing else reads. The
// caller would not compile without it.
func (w *splicer) lastUse(a ast.Expr) bool {
	if a == nil {
		return false
	}
	caller := w.p.FuncOf(w.call)
	for id := range mutate.Nodes[*ast.Ident](w.p, a) {
		v := w.p.Var(id)
		if !facts.IsLocal(w.p, v) || v.Pos() < caller.Body.Pos() { // a parameter may go unread
			continue
		}
		if !slices.ContainsFunc(w.p.Uses(v, caller.Body), func(id *ast.Ident) bool {
			return !facts.IsAssigned(w.p, id) && !facts.Inside(id, w.call)
		}) {
			return true
		}
	}
	return false
}

// readsElsewhere reports whether the helper reads a variable outside of its returns.
func (w *splicer) readsElsewhere(v *types.Var) bool {
	return slices.ContainsFunc(w.p.Uses(v, w.fn.Body), func(id *ast.Ident) bool {
		return !facts.IsAssigned(w.p, id) && !facts.InReturn(w.p, id)
	})
}

// body is the helper's statements with other returns.
func (w *splicer) body(leave func(values string) string) string {
	var edits []textEdit
	for _, ret := range w.returns() {
		text := leave(w.values(ret))
		if w.label != "" && !w.endsIn(ret) {
			text = strings.TrimSpace(text + "\nbreak " + w.label)
		}
		edits = append(edits, textEdit{ret.Pos(), ret.End(), text})
	}
	for _, branch := range w.early {
		edits = append(edits, textEdit{branch.End(), branch.End(), " else {"})
	}
	return strings.TrimSpace(w.edited(w.fn.Body.Lbrace+1, w.fn.Body.Rbrace, w.fn.Body, edits)) +
		strings.Repeat("\n}", len(w.early))
}

// text is an expression of the helper as the caller writes it.
func (w *splicer) text(n ast.Node) string { return w.edited(n.Pos(), n.End(), n, nil) }

// A textEdit replaces a range of the helper's text.
type textEdit struct {
	from, to token.Pos
	text     string
}

// edited is a range of the helper with edits, and with what parameters stand for.
func (w *splicer) edited(from, to token.Pos, in ast.Node, edits []textEdit) string {
	covered := slices.Clone(edits)
	// Names inside of a range that is edited already are left out: that text is written elsewhere.
	ast.Inspect(in, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || slices.ContainsFunc(covered, func(e textEdit) bool { return e.from <= id.Pos() && id.Pos() < e.to }) {
			return true
		}
		v, _ := w.p.Info.Uses[id].(*types.Var)
		text, named := w.subst[v]
		if !named {
			text, named = w.fields[v]
		}
		if v != nil && named {
			edits = append(edits, textEdit{id.Pos(), id.End(), text})
		}
		return true
	})
	// Apply the edits from left to right, with the text between them as it was.
	inorder.By(edits, func(a, b textEdit) int { return int(a.from - b.from) })
	out, last := "", from
	for _, e := range edits {
		out += w.p.Between(last, e.from) + e.text
		last = e.to
	}
	return out + w.p.Between(last, to)
}

// targets are the variables that take the results, their declarations, and what follows the
// statements.
func (w *splicer) targets() (names []string, declared, after string) {
	// An assignment that takes exactly the results provides the variables, if the body of the
	// callee hides none of them and their types are those of the results.
	p, n := w.p, w.sig.Results().Len()
	as, assigns := w.init.(*ast.AssignStmt)
	if w.init == nil {
		as, assigns = w.stmt.(*ast.AssignStmt)
	}
	local := localNames(p, w.fn)
	if assigns = assigns && w.sole; assigns {
		for _, l := range as.Lhs {
			assigns = assigns && !local[l.(*ast.Ident).Name] && w.sameType(l.(*ast.Ident), len(names)) &&
				!w.hidesArgument(l.(*ast.Ident))
			names = append(names, l.(*ast.Ident).Name)
		}
	}
	// Variables that the assignment defines are declared in front of the block, since it ends their
	// scope.
	if assigns {
		for i, l := range as.Lhs {
			if id := l.(*ast.Ident); p.Info.Defs[id] != nil && id.Name != "_" {
				t, _ := facts.TypeText(p, w.sig.Results().At(i).Type())
				declared += "var " + id.Name + " " + t + "\n"
			}
		}
		return names, declared, ""
	}
	// Otherwise each result gets a fresh variable, and the original assignment takes these
	// afterwards. A statement that drops the results needs none.
	names = nil
	_, ignored := w.stmt.(*ast.ExprStmt)
	for i := range n {
		if ignored && w.sole {
			names = append(names, "_")
			continue
		}
		t, _ := facts.TypeText(p, w.sig.Results().At(i).Type())
		name := w.fresh("result", names)
		if t == "error" {
			name = w.fresh("failure", names)
		}
		names, declared = append(names, name), declared+"var "+name+" "+t+"\n"
	}
	// The statement's own assignment follows the block.
	if as != nil && w.sole {
		var left []string
		for _, l := range as.Lhs {
			left = append(left, p.Text(l))
		}
		after = strings.Join(left, ", ") + " " + as.Tok.String() + " " + strings.Join(names, ", ") + "\n"
	}
	return names, declared, after
}

// hidesArgument reports whether a variable that the statement declares has the name of another that
// the arguments use.
func (w *splicer) hidesArgument(id *ast.Ident) bool {
	v := w.p.Info.Defs[id]
	return v != nil && slices.ContainsFunc(w.call.Args, func(a ast.Expr) bool {
		for used := range mutate.Nodes[*ast.Ident](w.p, a) {
			if used.Name == id.Name && w.p.Info.Uses[used] != v {
				return true
			}
		}
		return false
	})
}

// fresh is a name that neither the caller nor the list has.
func (w *splicer) fresh(name string, names []string) string {
	for i := 2; slices.Contains(names, w.p.Fresh(name)); i++ {
		name = strings.TrimRight(name, "0123456789") + strconv.Itoa(i)
	}
	return w.p.Fresh(name)
}

// sameType reports whether a variable has the type of a result.
func (w *splicer) sameType(id *ast.Ident, i int) bool {
	return id.Name == "_" || types.Identical(w.p.Info.TypeOf(id), w.sig.Results().At(i).Type())
}
