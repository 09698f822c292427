package example

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/mutate/facts"
)

// A use says how often and when a function of a pair evaluates a parameter.
type use struct {
	times        int
	always       bool // at least once, outside conditions, loops, function literals and code
	inLoop       bool // perhaps several times
	inFirst      bool // the first time in the first statement, or in an expression
	behindChange bool // the first time behind a statement that may change memory
	order        int  // the place of the first time among the parameters
}

// uses finds the use of each parameter.
func (s *side) uses() map[string]use {
	out := map[string]use{}
	ast.Inspect(s.body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		// The outputs at the end of an example are no uses.
		obj, ok := s.rule.obj(id).(*types.Var)
		if !ok || s.params[obj] == nil || s.inOutputs(id) {
			return true
		}
		// The order of the first uses is that of evaluation. inFirst says that nothing runs before
		// the parameter is read.
		u, seen := out[obj.Name()]
		if !seen {
			u.order = len(out)
			first := s.firstRun()
			u.inFirst = first == nil || id.End() <= s.headEnd(first)
			u.behindChange = s.changesBefore(id)
		}
		// A use under a condition may not happen, and one in a loop happens again.
		u.times++
		conditional, loop := s.runsUnder(id)
		u.always = u.always || !conditional
		u.inLoop = u.inLoop || loop
		out[obj.Name()] = u
		return true
	})
	return out
}

// changesBefore reports whether a statement in front of a node may change memory: it assigns more
// than a variable, or stands for code.
func (s *side) changesBefore(n ast.Node) bool {
	for st := range nodesOf[ast.Stmt](s.body) {
		if st.End() > n.Pos() {
			continue
		}
		if obj, _ := s.codeStmt(st); obj != nil {
			return true
		}
		var targets []ast.Expr
		switch st := st.(type) {
		case *ast.AssignStmt:
			targets = st.Lhs
		case *ast.IncDecStmt:
			targets = []ast.Expr{st.X}
		}
		for _, l := range targets {
			if _, plain := l.(*ast.Ident); !plain {
				return true
			}
		}
	}
	return false
}

// firstRun returns the first statement that does more than to declare variables without a value.
func (s *side) firstRun() ast.Stmt {
	// A declaration without a value does nothing that could be seen.
	for _, st := range s.list {
		d, ok := st.(*ast.DeclStmt)
		if !ok {
			return st
		}
		for _, spec := range d.Decl.(*ast.GenDecl).Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && len(v.Values) > 0 {
				return st
			}
		}
	}
	return nil
}

// headEnd returns where the part of a statement ends that runs first and once.
func (s *side) headEnd(st ast.Stmt) token.Pos {
	// A part that runs later may not run, or may run after a change.
	switch st := st.(type) {
	case *ast.RangeStmt:
		return st.X.End()
	case *ast.IfStmt:
		return st.Cond.End()
	case *ast.ForStmt:
		if st.Init != nil {
			return st.Init.End()
		}
		return st.Pos()
	}
	return st.End()
}

func (s *side) inOutputs(n ast.Node) bool {
	for _, e := range s.outputs {
		if id, ok := e.(*ast.Ident); ok && id == n {
			return true
		}
	}
	return false
}

// runsUnder reports whether a node of an example runs under a condition, and whether in a loop.
func (s *side) runsUnder(n ast.Node) (conditional, loop bool) {
	for child, up := n, s.up[n]; up != nil; child, up = up, s.up[up] {
		switch up := up.(type) {
		case *ast.CallExpr: // the code may use an argument under a condition, or not at all
			conditional = conditional || s.codeOf(up) != nil
		case *ast.BinaryExpr:
			conditional = conditional || (up.Op == token.LAND || up.Op == token.LOR) && up.Y == child
		case *ast.IfStmt:
			conditional = conditional || up.Body == child || up.Else == child
		case *ast.ForStmt:
			loop = loop || up.Init != child
			conditional = conditional || up.Body == child || up.Post == child
		case *ast.RangeStmt:
			loop = loop || up.Body == child
			conditional = conditional || up.Body == child
		case *ast.CaseClause, *ast.FuncLit:
			conditional, loop = true, true
		}
	}
	// Code after a statement that may leave runs under a condition.
	if at := s.statementOf(n); at > 0 {
		for _, st := range s.list[:at] {
			for range nodesOf[*ast.ReturnStmt](st) {
				conditional = true
			}
		}
	}
	return conditional, loop
}

func (s *side) statementOf(n ast.Node) int {
	return slices.IndexFunc(s.list, func(st ast.Stmt) bool { return facts.Inside(n, st) })
}

// consumes reports whether a function of a pair has passed a parameter to a function before it
// evaluates another one. Go leaves open in which order it evaluates other operands and a call
// beside them.
func (s *side) consumes(name, before string) bool {
	until := token.NoPos
	for id := range nodesOf[*ast.Ident](s.body) {
		if s.isParam(id, before) {
			until = id.Pos()
			break
		}
	}
	for id := range nodesOf[*ast.Ident](s.body) {
		if !s.isParam(id, name) {
			continue
		}
		for up := s.up[id]; up != nil && up.End() <= until; up = s.up[up] {
			if call, ok := up.(*ast.CallExpr); ok && s.callsFunction(call) {
				return true
			}
		}
	}
	return false
}

// callsFunction reports whether a call of an example is no conversion, and not of a builtin.
func (s *side) callsFunction(call *ast.CallExpr) bool {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok {
		_, selects := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		return selects && !s.rule.info.Types[call.Fun].IsType()
	}
	_, variable := s.rule.obj(id).(*types.Var)
	return variable
}

func (s *side) isParam(id *ast.Ident, name string) bool {
	v, ok := s.rule.obj(id).(*types.Var)
	return ok && s.params[v] != nil && v.Name() == name
}
