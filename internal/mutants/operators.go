package mutants

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
)

// swaps lists the tokens that replace each token.
var swaps = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GTR}, token.LEQ: {token.LSS}, token.GTR: {token.GEQ, token.LSS},
	token.GEQ: {token.GTR},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.ADD}, token.QUO: {token.MUL},
	token.REM: {token.QUO},
	token.SHL: {token.SHR}, token.SHR: {token.SHL}, token.AND: {token.OR}, token.OR: {token.AND}, token.XOR: {token.OR},
	token.AND_NOT: {token.AND},
	token.LAND:    {token.LOR}, token.LOR: {token.LAND},
	token.ADD_ASSIGN: {token.SUB_ASSIGN, token.ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
	token.MUL_ASSIGN: {token.ADD_ASSIGN},
	token.OR_ASSIGN:  {token.AND_ASSIGN, token.ASSIGN}, token.AND_ASSIGN: {token.OR_ASSIGN},
	token.XOR_ASSIGN: {token.OR_ASSIGN, token.ASSIGN},
	token.SHL_ASSIGN: {token.SHR_ASSIGN}, token.SHR_ASSIGN: {token.SHL_ASSIGN}, token.INC: {token.DEC},
	token.DEC: {token.INC},
}

func isRelation(t token.Token) bool {
	return t == token.EQL || t == token.NEQ || t == token.LSS || t == token.LEQ || t == token.GTR || t == token.GEQ
}

func isLogic(t token.Token) bool { return t == token.LAND || t == token.LOR }

// swap proposes the tokens that swaps has for an operator.
func (m *maker) swap(pos token.Pos, was token.Token) {
	for _, is := range swaps[was] {
		m.token(pos, was, is)
	}
}

// relation replaces comparisons by others.
func relation(m *maker, n ast.Node) {
	if b, ok := n.(*ast.BinaryExpr); ok && isRelation(b.Op) {
		m.swap(b.OpPos, b.Op)
	}
}

// arithmetic replaces operators on numbers by others.
func arithmetic(m *maker, n ast.Node) {
	if b, ok := n.(*ast.BinaryExpr); ok && !isRelation(b.Op) && !isLogic(b.Op) {
		m.swap(b.OpPos, b.Op)
	}
}

// logic exchanges the operators "and" and "or", and leaves an operand out.
func logic(m *maker, n ast.Node) {
	if b, ok := n.(*ast.BinaryExpr); ok && isLogic(b.Op) {
		m.swap(b.OpPos, b.Op)
		m.proposeText(b, m.text(b.X))
		m.proposeText(b, m.text(b.Y))
	}
}

// negation negates conditions, and leaves negations out.
func negation(m *maker, n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		m.proposeText(n.Cond, "!("+m.text(n.Cond)+")")
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			m.proposeText(n, m.text(n.X))
		}
	}
}

// constant moves a number to its neighbours: also the entries of tables.
func constant(m *maker, n ast.Node) {
	lit, ok := n.(*ast.BasicLit)
	if !ok {
		return
	}
	v, ok := number(lit)
	if !ok {
		return
	}
	for _, is := range []int64{v + 1, v - 1} {
		switch {
		case lit.Kind == token.CHAR && is >= 0:
			m.proposeText(lit, strconv.QuoteRune(rune(is)))
		case lit.Kind == token.INT && is >= 0:
			m.proposeText(lit, strconv.FormatInt(is, 10))
		}
	}
}

// text drops a letter of a string.
func text(m *maker, n ast.Node) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return
	}
	s, err := strconv.Unquote(lit.Value)
	if err == nil && len(s) > 0 {
		m.proposeText(lit, strconv.Quote(s[1:]))
		m.proposeText(lit, strconv.Quote(s[:len(s)-1]))
	}
}

// truth exchanges true and false.
func truth(m *maker, n ast.Node) {
	if id, ok := n.(*ast.Ident); ok {
		switch id.Name {
		case "true":
			m.proposeText(id, "false")
		case "false":
			m.proposeText(id, "true")
		}
	}
}

// assignment replaces operators of assignments by others.
func assignment(m *maker, n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		m.swap(n.TokPos, n.Tok)
	case *ast.IncDecStmt:
		m.swap(n.TokPos, n.Tok)
	}
}

// leftOut leaves statements out.
func leftOut(m *maker, n ast.Node) {
	var list []ast.Stmt
	switch n := n.(type) {
	case *ast.BlockStmt:
		list = n.List
	case *ast.CaseClause:
		list = n.Body
	}
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				m.proposeText(s, "")
			}
		case *ast.DeclStmt, *ast.ReturnStmt:
		default:
			m.proposeText(s, "")
		}
	}
}

// droppedCase leaves out a case, or one of its values.
func droppedCase(m *maker, n ast.Node) {
	if c, ok := n.(*ast.CaseClause); ok {
		m.proposeText(c, "")
		if len(c.List) > 1 {
			for i, e := range c.List[:len(c.List)-1] {
				start, _ := m.offsets(e)
				next, _ := m.offsets(c.List[i+1])
				m.replaceRange(start, next, "")
			}
		}
	}
}

// droppedElse leaves out an else.
func droppedElse(m *maker, n ast.Node) {
	if s, ok := n.(*ast.IfStmt); ok && s.Else != nil {
		_, start := m.offsets(s.Body)
		_, end := m.offsets(s.Else)
		m.replaceRange(start, end, "")
	}
}

// swapped exchanges operands whose order counts, and arguments.
func swapped(m *maker, n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		switch n.Op {
		case token.SUB, token.QUO, token.REM, token.SHL, token.SHR, token.AND_NOT:
			m.proposeText(n, fmt.Sprintf("(%s) %s (%s)", m.text(n.Y), n.Op, m.text(n.X)))
		}
	case *ast.CallExpr:
		for i := range max(len(n.Args)-1, 0) {
			a, b := n.Args[i], n.Args[i+1]
			start, mid := m.offsets(a)
			next, end := m.offsets(b)
			m.replaceRange(start, end, m.text(b)+m.src[mid:next]+m.text(a))
		}
	}
}

// boundary moves an index, or an end of a slice, by one.
func boundary(m *maker, n ast.Node) {
	switch n := n.(type) {
	case *ast.IndexExpr:
		m.proposeText(n.Index, "("+m.text(n.Index)+") + 1")
		m.proposeText(n.Index, "("+m.text(n.Index)+") - 1")
	case *ast.SliceExpr:
		for _, e := range []ast.Expr{n.Low, n.High} {
			if e != nil {
				m.proposeText(e, "("+m.text(e)+") + 1")
				m.proposeText(e, "("+m.text(e)+") - 1")
			}
		}
	case *ast.RangeStmt:
		m.proposeText(n.X, "("+m.text(n.X)+")[1:]")
		m.proposeText(n.X, "("+m.text(n.X)+") - 1")
	}
}

// earlyReturn ends a loop after its first round, and a function before its end.
func earlyReturn(m *maker, n ast.Node) {
	var body *ast.BlockStmt
	switch n := n.(type) {
	case *ast.ForStmt:
		body = n.Body
	case *ast.RangeStmt:
		body = n.Body
	case *ast.BranchStmt:
		switch n.Tok {
		case token.BREAK:
			m.token(n.Pos(), token.BREAK, token.CONTINUE)
		case token.CONTINUE:
			m.token(n.Pos(), token.CONTINUE, token.BREAK)
		}
	}
	if body != nil {
		end := m.fset.Position(body.Rbrace).Offset
		m.replaceRange(end, end, "; break\n")
	}
}

// wrongVariable takes another variable of the function.
func wrongVariable(m *maker, n ast.Node) {
	var list []ast.Expr
	switch n := n.(type) {
	case *ast.BinaryExpr:
		list = []ast.Expr{n.X, n.Y}
	case *ast.IndexExpr:
		list = []ast.Expr{n.X, n.Index}
	case *ast.CallExpr:
		list = n.Args
	case *ast.ReturnStmt:
		list = n.Results
	}
	for _, e := range list {
		id, ok := e.(*ast.Ident)
		if !ok {
			continue
		}
		for _, other := range m.names {
			if other != id.Name {
				m.proposeText(id, other)
			}
		}
	}
}
