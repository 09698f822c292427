package source

import (
	"fmt"
	"go/ast"
	"go/token"
)

// mark marks the statements of a list that may be reached or not while the one
// before them is reached: the first of the list, and those after a statement
// that may leave the list in its middle. A statement without a mark is reached
// when the one before it is.
func (t *tracer) mark(list []ast.Stmt) {
	if !t.marks {
		return
	}
	for i, s := range list {
		if caseOf(s) || i > 0 && !branches(list[i-1]) {
			continue
		}
		t.sites = append(t.sites, Site{Line: t.f.line(s.Pos()), Mark: t.offset(s.Pos())})
		t.insert(s.Pos(), fmt.Sprintf("%s.TraceMark(%d); ", traceName, t.first+len(t.sites)-1))
	}
}

// caseOf reports whether a statement is a case of a switch or select: no call may stand in front
// of it.
func caseOf(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}

// branches reports whether a statement holds others, so that what follows it may
// not be reached.
func branches(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.AssignStmt, *ast.DeclStmt, *ast.DeferStmt, *ast.EmptyStmt, *ast.ExprStmt, *ast.GoStmt, *ast.IncDecStmt,
		*ast.SendStmt:
		return false
	}
	return true
}

// hasGoto reports whether a function has a goto, which may pass by marks and conditions.
func hasGoto(fn ast.Node) bool {
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		b, ok := n.(*ast.BranchStmt)
		found = found || ok && b.Tok == token.GOTO
		return !found
	})
	return found
}
