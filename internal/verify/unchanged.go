package verify

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/beagle-go/beagle/internal/effects"
	"github.com/beagle-go/beagle/internal/syntax"
)

// undone drops the findings in a version that the original has too, if its callees are copied
// alike: a lock, a log line or a table that the first call fills, in a callee that a rewrite
// changed elsewhere. Each function must do such things by the same statements as in base, in the
// same order and under the same conditions. Their operands must come from the same statements, and
// what they tell must reach the same statements only. Then the version does them as often as the
// original, with the same values, and decides by them as the original does. If one function
// differs, all findings stay, since one function may give another its operands.
func undone(base, cand *code, inBase, inCand []Violation) []Violation {
	was, is := base.deeds(inBase), cand.deeds(inCand)
	unsure := func(v Violation) bool { return v.key == unread }
	if len(is) == 0 || len(was) != len(is) || slices.ContainsFunc(inCand, unsure) {
		return inCand
	}
	for name, fn := range is {
		if other, ok := was[name]; !ok || !slices.Equal(other, fn) {
			return inCand
		}
	}
	return nil
}

// deeds returns, for each function with findings and each that calls one, the statements that must
// stay. It adds the text of each function that gives operands to such statements, or gets what they
// tell. It returns nil if a finding stands in no function.
func (c *code) deeds(found []Violation) map[string][]string {
	decls := c.declaredBy()
	marks := c.markedIn(found, decls)
	if marks == nil {
		return nil
	}
	out := map[string][]string{}
	var whole []*ast.FuncDecl
	for fn, at := range marks {
		r := c.readDeeds(fn, at, marks, decls)
		out[c.nameOf(fn)] = append([]string{c.signature(fn)}, r.text()...)
		whole = append(whole, r.whole()...)
	}
	// What such a function calls counts, too.
	for i := 0; i < len(whole); i++ {
		key := "whole " + c.nameOf(whole[i])
		if out[key] != nil {
			continue
		}
		from, to := whole[i].Pos(), whole[i].End()
		text := strings.Replace(c.words(from, to), touch+" ", "", 1)
		out[key] = append([]string{text}, c.meanings(whole[i], from, to)...)
		for _, to := range c.callsIn(whole[i], decls) {
			whole = append(whole, to.decl)
		}
	}
	// A package variable may hold one of these functions under another name.
	for id, obj := range c.info.Uses {
		d := decls[syntax.Origin(obj)]
		if d != nil && c.contains(id) && c.funcAt(c.fset.Position(id.Pos()).Line) == nil &&
			(marks[d] != nil || slices.Contains(whole, d)) {
			return nil
		}
	}
	return out
}

// A marking holds the places of a function's findings, and of its calls of such functions.
type marking map[*ast.FuncDecl]map[token.Pos]string

// markedIn returns the places of findings, and of calls of functions with findings. It returns nil
// if a finding stands in no function.
func (c *code) markedIn(found []Violation, decls map[types.Object]*ast.FuncDecl) marking {
	marks := marking{}
	mark := func(fn *ast.FuncDecl, at token.Pos, key string) {
		if marks[fn] == nil {
			marks[fn] = map[token.Pos]string{}
		}
		marks[fn][at] += key + "\n"
	}
	for _, v := range found {
		fn := c.funcAt(v.Line)
		if fn == nil {
			return nil
		}
		for _, at := range v.at {
			mark(fn, at, v.key)
		}
	}
	// A call of such a function is a deed of its caller. A method may be called by an interface.
	for changed := true; changed; {
		changed = false
		methods := map[string]bool{}
		for fn := range marks {
			if fn.Recv != nil {
				methods[fn.Name.Name] = true
			}
		}
		for _, fn := range c.declared() {
			for id := range c.namesIn(fn, fn.Pos(), fn.End()) {
				obj, ok := syntax.Origin(c.info.Uses[id]).(*types.Func)
				if !ok || marks[fn][id.Pos()] != "" {
					continue
				}
				if marks[decls[obj]] != nil || types.IsInterface(recvType(obj)) && methods[obj.Name()] {
					mark(fn, id.Pos(), "call")
					changed = true
				}
			}
		}
	}
	return marks
}

// A plainStatement is a simple statement, or the head of one that holds others.
type plainStatement struct {
	node       ast.Stmt
	start, end token.Pos
	path       string // the heads of the statements around it
	around     []int  // the statements around it
	literal    bool   // it stands in a function literal
	marks      int    // how many marked places it holds
	alters     bool   // what it sets depends on what was there
	// the variables of the function that it names, other than plain ones that it only assigns, and
	// those that it may set
	reads, sets map[types.Object]bool
}

// A deedReader finds the statements of a function that must stay.
type deedReader struct {
	*code
	marks  map[token.Pos]string
	all    marking
	decls  map[types.Object]*ast.FuncDecl
	list   []plainStatement
	needed map[int]bool          // statements that must stay
	taken  map[int]bool          // statements whose operands must stay, too
	fixed  map[int]bool          // statements that decide whether or how often others run
	vars   map[types.Object]bool // operands
	told   map[types.Object]bool // variables that hold what a deed gave
	tells  map[int]bool          // statements that read these, or run only if a deed says so
}

// readDeeds starts with the marked statements and the jumps: a jump decides how often other
// statements run. It adds what sets their operands, and what reads the values that they give.
func (c *code) readDeeds(
	fn *ast.FuncDecl, marks map[token.Pos]string, all marking, decls map[types.Object]*ast.FuncDecl,
) *deedReader {
	r := &deedReader{code: c, marks: marks, all: all, decls: decls, list: c.plainStatements(fn),
		needed: map[int]bool{}, taken: map[int]bool{}, fixed: map[int]bool{}, vars: map[types.Object]bool{},
		told: map[types.Object]bool{}, tells: map[int]bool{}}
	for i := range r.list {
		s := &r.list[i]
		for at := range marks {
			if s.start <= at && at < s.end {
				s.marks++
			}
		}
		switch s.node.(type) {
		case *ast.ReturnStmt, *ast.BranchStmt, *ast.LabeledStmt:
			if !s.literal {
				r.decide(i)
			}
		}
		if s.marks > 0 {
			r.take(i)
			r.tell(i)
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range r.list {
			if !r.taken[i] && r.givesOperand(i) {
				r.take(i)
				changed = true
			}
			if !r.tells[i] && r.hears(i) {
				r.needed[i], r.tells[i] = true, true
				r.tell(i)
				r.turn(i)
				changed = true
			}
		}
	}
	return r
}

// take keeps a statement, with its operands and all that decides whether it runs.
func (r *deedReader) take(i int) {
	r.needed[i], r.taken[i] = true, true
	maps.Copy(r.vars, r.list[i].reads)
	r.decide(i)
}

// decide keeps the heads around a statement: its loops and conditions, and all cases of a switch.
func (r *deedReader) decide(i int) {
	for _, j := range r.list[i].around {
		r.fix(j)
		switch r.list[j].node.(type) {
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			for k, s := range r.list {
				if n := len(s.around); n > 0 && s.around[n-1] == j && isClause(s.node) {
					r.fix(k)
				}
			}
		}
	}
}

func (r *deedReader) fix(i int) {
	r.needed[i], r.taken[i], r.fixed[i] = true, true, true
	maps.Copy(r.vars, r.list[i].reads)
}

func isClause(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}

// tell notes the variables that may hold what a statement learned.
func (r *deedReader) tell(i int) {
	s := &r.list[i]
	maps.Copy(r.told, s.sets)
	if r.free(s) {
		return
	}
	for v := range s.reads {
		if !isPlain(v.Type()) {
			r.told[v] = true
		}
	}
}

// turn notes the loops that a jump ends or goes on with because a deed says so: what they count
// tells of that.
func (r *deedReader) turn(i int) {
	switch s := r.list[i].node.(type) {
	case *ast.BranchStmt:
		for j := range r.list {
			if s.Tok == token.GOTO {
				r.tells[j], r.needed[j] = true, true
				r.tell(j)
			}
		}
	case *ast.ReturnStmt:
	default:
		return
	}
	for _, j := range r.list[i].around {
		switch r.list[j].node.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			r.tells[j] = true
		}
	}
}

// hears reports whether a statement reads what a deed told, or stands in one whose head does.
func (r *deedReader) hears(i int) bool {
	s := &r.list[i]
	return meet(s.reads, r.told) || s.alters && meet(s.sets, r.told) || r.underTold(i)
}

// underTold reports whether a statement stands in one whose head a deed told something.
func (r *deedReader) underTold(i int) bool {
	return slices.ContainsFunc(r.list[i].around, func(j int) bool { return r.tells[j] || r.list[j].marks > 0 })
}

// givesOperand reports whether a statement may set an operand, or write to memory that one leads
// to: any statement that names such a variable may.
func (r *deedReader) givesOperand(i int) bool {
	s := &r.list[i]
	for v := range s.reads {
		if r.vars[v] && !isPlain(v.Type()) {
			return true
		}
	}
	return meet(s.sets, r.vars)
}

func meet(a, b map[types.Object]bool) bool {
	for v := range a {
		if b[v] {
			return true
		}
	}
	return false
}

// free reports whether the functions of the file that a simple statement calls get no memory that
// they may write or keep, and nothing else there gets their results: they may change.
func (r *deedReader) free(s *plainStatement) bool {
	switch s.node.(type) {
	case *ast.ExprStmt, *ast.AssignStmt, *ast.ReturnStmt, *ast.DeclStmt:
	default:
		return false
	}
	calls := 0
	for id := range r.namesIn(s.node, s.start, s.end) {
		d := r.decls[syntax.Origin(r.info.Uses[id])]
		if d == nil {
			continue
		}
		calls++
		if s.marks == 1 && r.all[d] == nil || !r.leavesArguments(d) {
			return false
		}
	}
	return s.marks == 0 || s.marks == 1 && calls == 1
}

// leavesArguments reports whether a function of the file neither writes nor keeps its arguments.
func (c *code) leavesArguments(d *ast.FuncDecl) bool {
	fn, _ := c.info.Defs[d.Name].(*types.Func)
	if fn == nil || c.ownSummary(fn) == nil {
		return false
	}
	of := func(r effects.Ref) bool { return r.Kind == effects.Top || r.Kind == effects.Deep }
	does := c.ownSummary(fn)
	return !slices.ContainsFunc(does.Writes, of) &&
		!slices.ContainsFunc(does.Stores, func(s effects.Store) bool { return of(s.Into) || of(s.From) }) &&
		!slices.ContainsFunc(does.Runs, func(r effects.Run) bool { return of(r.Code) || of(r.Arg) })
}

// whole returns the functions of the file that must stay as they are: those that give operands, and
// those that get what a deed told.
func (r *deedReader) whole() (out []*ast.FuncDecl) {
	for i := range r.list {
		s := &r.list[i]
		bound := r.fixed[i] || meet(s.reads, r.told) || meet(s.sets, r.vars) || r.underTold(i) || !r.free(s)
		if !r.needed[i] || !bound {
			continue
		}
		for id := range r.namesIn(s.node, s.start, s.end) {
			if d := r.decls[syntax.Origin(r.info.Uses[id])]; d != nil {
				out = append(out, d)
			}
		}
	}
	return out
}

// text returns the findings and the statements that must stay, in source order.
func (r *deedReader) text() (out []string) {
	for _, at := range slices.Sorted(maps.Keys(r.marks)) {
		out = append(out, r.marks[at])
	}
	for i := range r.list {
		s := &r.list[i]
		if r.needed[i] {
			out = append(out, s.path+r.words(s.start, s.end))
			out = append(out, r.meanings(s.node, s.start, s.end)...)
			continue
		}
		if s.literal {
			continue
		}
		// Of other jumps the results may differ.
		switch s.node.(type) {
		case *ast.ReturnStmt:
			out = append(out, s.path+"return")
		case *ast.BranchStmt, *ast.LabeledStmt:
			out = append(out, s.path+r.words(s.start, s.end))
		}
	}
	return out
}

// plainStatements lists the statements of a function in source order.
func (c *code) plainStatements(fn *ast.FuncDecl) (out []plainStatement) {
	var around []ast.Node
	at := map[ast.Node]int{}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if n == nil {
			around = around[:len(around)-1]
			return true
		}
		around = append(around, n)
		s, ok := n.(ast.Stmt)
		if _, block := n.(*ast.BlockStmt); !ok || block {
			return true
		}
		t := plainStatement{node: s, start: s.Pos(), end: headEnd(s)}
		for _, a := range around[:len(around)-1] {
			t.path += c.headAround(a, s)
			if i, ok := at[a]; ok {
				t.around = append(t.around, i)
			}
			if _, ok := a.(*ast.FuncLit); ok {
				t.literal = true
			}
		}
		if a, ok := s.(*ast.AssignStmt); ok {
			t.alters = a.Tok != token.ASSIGN && a.Tok != token.DEFINE
		}
		t.reads, t.sets = c.readIn(fn, s, t.start, t.end), c.setIn(fn, s, t.end)
		at[n] = len(out)
		out = append(out, t)
		return true
	})
	return out
}

// namesIn yields the identifiers in a part of a statement or function.
func (c *code) namesIn(n ast.Node, from, to token.Pos) map[*ast.Ident]bool {
	out := map[*ast.Ident]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && from <= id.Pos() && id.Pos() < to {
			out[id] = true
		}
		return n == nil || n.Pos() < to
	})
	return out
}

// localOf returns the parameter or local variable of a function that an identifier names, or nil.
func (c *code) localOf(fn *ast.FuncDecl, id *ast.Ident) types.Object {
	v, ok := c.info.ObjectOf(id).(*types.Var)
	if ok && !v.IsField() && fn.Pos() <= v.Pos() && v.Pos() < fn.End() {
		return v
	}
	return nil
}

// readIn returns the variables of a function that a part of a statement names, other than plain
// ones that it assigns.
func (c *code) readIn(fn *ast.FuncDecl, s ast.Stmt, from, to token.Pos) map[types.Object]bool {
	names := c.namesIn(s, from, to)
	assigned := func(list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok && isPlain(c.info.TypeOf(id)) {
				delete(names, id)
			}
		}
	}
	switch s := s.(type) {
	case *ast.AssignStmt:
		assigned(s.Lhs...)
	case *ast.RangeStmt:
		assigned(s.Key, s.Value)
	}
	out := map[types.Object]bool{}
	for id := range names {
		if v := c.localOf(fn, id); v != nil {
			out[v] = true
		}
	}
	return out
}

// setIn returns the variables of a function that a statement may set, by their names or their
// addresses.
func (c *code) setIn(fn *ast.FuncDecl, s ast.Stmt, end token.Pos) map[types.Object]bool {
	out := map[types.Object]bool{}
	set := func(list ...ast.Expr) {
		for _, e := range list {
			if e == nil {
				continue
			}
			if id := root(e); id != nil {
				if v := c.localOf(fn, id); v != nil {
					out[v] = true
				}
			}
		}
	}
	ast.Inspect(s, func(n ast.Node) bool {
		if n == nil || n.Pos() >= end {
			return false
		}
		switch n := n.(type) {
		case *ast.AssignStmt:
			set(n.Lhs...)
		case *ast.IncDecStmt:
			set(n.X)
		case *ast.RangeStmt:
			set(n.Key, n.Value)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				set(id)
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				set(n.X)
			}
		case *ast.SelectorExpr:
			sel := c.info.Selections[n]
			if sel == nil || sel.Kind() != types.MethodVal {
				break
			}
			if _, byAddress := recvType(sel.Obj().(*types.Func)).(*types.Pointer); byAddress {
				set(n.X)
			}
		}
		return true
	})
	return out
}

// meanings describes what the names in a part of the source stand for: a constant may have another
// value, and a type may be declared anew.
func (c *code) meanings(n ast.Node, from, to token.Pos) (out []string) {
	for id := range c.namesIn(n, from, to) {
		obj := c.info.ObjectOf(id)
		switch o := obj.(type) {
		case nil:
		case *types.Const:
			out = append(out, id.Name+" = "+o.Val().ExactString()+" "+o.Type().String())
		case *types.PkgName:
			out = append(out, id.Name+" = "+o.Imported().Path())
		case *types.TypeName:
			out = append(out, id.Name+" = "+o.Type().String()+" "+o.Type().Underlying().String())
		case *types.Func:
			out = append(out, id.Name+" = "+o.FullName())
		case *types.Var:
			out = append(out, id.Name+" "+o.Type().String()+c.initialText(o))
		default:
			out = append(out, id.Name+" = "+obj.String())
		}
	}
	sort.Strings(out)
	return slices.Compact(out)
}

// initialText returns the declaration of a package variable of the file, or "".
func (c *code) initialText(v *types.Var) string {
	if !c.declares(v) || v.Parent() != c.pkg.Scope() {
		return ""
	}
	for _, d := range c.file.Decls {
		if d.Pos() <= v.Pos() && v.Pos() < d.End() {
			return " " + c.words(d.Pos(), d.End())
		}
	}
	return ""
}

// headAround returns the text of a statement or literal that holds another statement, or "".
func (c *code) headAround(n ast.Node, inner ast.Stmt) string {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return ""
	case *ast.IfStmt:
		head := c.words(n.Pos(), n.Body.Lbrace)
		if n.Else != nil && inner.Pos() >= n.Else.Pos() {
			head += " else"
		}
		return head + " { "
	case ast.Stmt:
		if end := headEnd(n); end <= inner.Pos() {
			return c.words(n.Pos(), end) + " { "
		}
	case *ast.FuncLit:
		return "func { "
	}
	return ""
}

// headEnd returns where the head of a statement ends.
func headEnd(s ast.Stmt) token.Pos {
	switch s := s.(type) {
	case *ast.BlockStmt:
		return s.Pos()
	case *ast.IfStmt:
		return s.Body.Lbrace
	case *ast.ForStmt:
		return s.Body.Lbrace
	case *ast.RangeStmt:
		return s.Body.Lbrace
	case *ast.SwitchStmt:
		return s.Body.Lbrace
	case *ast.TypeSwitchStmt:
		return s.Body.Lbrace
	case *ast.SelectStmt:
		return s.Body.Lbrace
	case *ast.CaseClause:
		return s.Colon
	case *ast.CommClause:
		return s.Colon
	case *ast.LabeledStmt:
		return s.Colon
	}
	return s.End()
}

// words returns a part of the source on one line.
func (c *code) words(from, to token.Pos) string {
	return strings.Join(strings.Fields(c.src[c.fset.Position(from).Offset:c.fset.Position(to).Offset]), " ")
}
