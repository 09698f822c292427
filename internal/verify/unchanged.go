package verify

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// undone drops the findings in a version that the original has too, if its callees are copied
// alike: a lock, a log line or a table that the first call fills, in a callee that a rewrite
// changed elsewhere. Each function must do such things by the same statements as in base, in the
// same order, under the same conditions, and with operands that the same statements set. Then the
// version does them as often as the original, and with the same values. If one function differs,
// all findings stay, since one function may give another its operands.
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

// deeds returns, for each function with findings and each that calls one, the statements that the
// findings stand in and those that set their operands. It returns nil if a finding stands in no
// function.
func (c *code) deeds(found []Violation) map[string][]string {
	marks := map[*ast.FuncDecl]map[token.Pos]string{}
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
		mark(fn, v.pos, v.key)
	}
	// A call of such a function is a deed of its caller.
	decls := c.declaredBy()
	for next := c.declared(); len(next) > 0; {
		var callers []*ast.FuncDecl
		for _, fn := range c.declared() {
			for _, to := range c.callsIn(fn, decls) {
				if slices.Contains(next, to.decl) && marks[to.decl] != nil && marks[fn][to.ident.Pos()] == "" {
					mark(fn, to.ident.Pos(), "call")
					callers = append(callers, fn)
				}
			}
		}
		next = callers
	}
	out := map[string][]string{}
	for fn, at := range marks {
		out[c.nameOf(fn)] = append([]string{c.signature(fn)}, c.statementsOf(fn, at)...)
	}
	return out
}

// A plainStatement is a simple statement, or the head of one that holds others.
type plainStatement struct {
	node       ast.Stmt
	start, end token.Pos
	path       string // the heads of the statements around it
	text       string // with its path
	// the variables that the heads around it name, and those that it names itself
	heads, own map[types.Object]bool
}

// statementsOf returns the texts of the statements at marked places, of all that set their
// operands, and of all jumps, in source order: a jump decides how often other statements run.
func (c *code) statementsOf(fn *ast.FuncDecl, marks map[token.Pos]string) (out []string) {
	list := c.plainStatements(fn)
	needed, vars := map[int]bool{}, map[types.Object]bool{}
	take := func(i int) {
		needed[i] = true
		maps.Copy(vars, list[i].heads)
		maps.Copy(vars, list[i].own)
	}
	// Take the innermost statement of each mark. A finding of the whole function has none.
	for _, pos := range slices.Sorted(maps.Keys(marks)) {
		out = append(out, marks[pos])
		for i := len(list) - 1; i >= 0; i-- {
			if s := &list[i]; s.start <= pos && pos < s.end {
				take(i)
				break
			}
		}
	}
	// Take the jumps, without the results of a return.
	for i := range list {
		s := &list[i]
		switch s.node.(type) {
		case *ast.ReturnStmt:
			if !needed[i] {
				s.text, s.own = s.path+"return", nil
				take(i)
			}
		case *ast.BranchStmt:
			take(i)
		}
	}
	// Take what sets their operands, and the operands of that.
	for changed := true; changed; {
		changed = false
		for i := range list {
			if !needed[i] && c.sets(&list[i], vars) {
				take(i)
				changed = true
			}
		}
	}
	for i := range list {
		if needed[i] {
			out = append(out, list[i].text)
		}
	}
	return out
}

// plainStatements lists the statements of a function in source order.
func (c *code) plainStatements(fn *ast.FuncDecl) (out []plainStatement) {
	var around []ast.Node
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
		t := plainStatement{node: s, start: s.Pos(), end: headEnd(s), heads: map[types.Object]bool{},
			own: map[types.Object]bool{}}
		for _, a := range around {
			head := c.headAround(a, s)
			if a, ok := a.(ast.Stmt); ok && head != "" {
				c.namedIn(fn, a, a.Pos(), headEnd(a), t.heads)
			}
			t.path += head
		}
		t.text = t.path + c.words(t.start, t.end)
		c.namedIn(fn, s, t.start, t.end, t.own)
		out = append(out, t)
		return true
	})
	return out
}

// namedIn adds the parameters and local variables of a function that a part of a statement names.
func (c *code) namedIn(fn *ast.FuncDecl, n ast.Node, from, to token.Pos, vars map[types.Object]bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || id.Pos() < from || id.Pos() >= to {
			return n == nil || n.Pos() < to
		}
		if v, ok := c.info.ObjectOf(id).(*types.Var); ok && !v.IsField() && fn.Pos() <= v.Pos() && v.Pos() < fn.End() {
			vars[v] = true
		}
		return true
	})
}

// headAround returns the text of a statement or literal that holds another statement, or "".
func (c *code) headAround(n ast.Node, inner ast.Stmt) string {
	if n == ast.Node(inner) {
		return ""
	}
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

// sets reports whether a statement may set one of the variables, by its name or its address, or
// write to memory that one leads to: any statement that names such a variable may.
func (c *code) sets(s *plainStatement, vars map[types.Object]bool) bool {
	for v := range s.own {
		if vars[v] && !isPlain(v.Type()) {
			return true
		}
	}
	held := func(e ast.Expr) bool {
		id := root(e)
		return id != nil && vars[c.info.ObjectOf(id)]
	}
	found := false
	ast.Inspect(s.node, func(n ast.Node) bool {
		if n == nil || found || n.Pos() >= s.end {
			return false
		}
		switch n := n.(type) {
		case *ast.AssignStmt:
			found = slices.ContainsFunc(n.Lhs, held)
		case *ast.IncDecStmt:
			found = held(n.X)
		case *ast.RangeStmt:
			found = n.Key != nil && held(n.Key) || n.Value != nil && held(n.Value)
		case *ast.ValueSpec:
			found = slices.ContainsFunc(n.Names, func(id *ast.Ident) bool { return held(id) })
		case *ast.UnaryExpr:
			found = n.Op == token.AND && held(n.X)
		case *ast.SelectorExpr:
			sel := c.info.Selections[n]
			if sel == nil || sel.Kind() != types.MethodVal {
				break
			}
			_, byAddress := recvType(sel.Obj().(*types.Func)).(*types.Pointer)
			found = byAddress && held(n.X)
		}
		return !found
	})
	return found
}
