package loops

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// steadyText returns a name for the string that a loop goes through. If the string has no name of
// its own that nothing changes, the edits declare one in front of the loop.
func steadyText(p *mutate.Pass, r *ast.RangeStmt) (name string, edits []mutate.Edit, ok bool) {
	// A local variable that the loop does not assign is such a name.
	if v := p.Var(r.X); v != nil && facts.IsLocal(p, v) && !p.Assigned(v, r) && !facts.Captured.Of(p)[v] {
		return p.Text(r.X), nil, true
	}
	if facts.HasGoto(p, p.FuncOf(r)) {
		return "", nil, false // it may not jump over a declaration
	}
	// A constant needs no name, and an edit needs a list to stand in.
	if _, at := p.Siblings(edit.LabelOf(p, r)); at < 0 || p.Info.Types[r.X].Value != nil {
		return "", nil, false
	}
	name = p.Fresh("text", "characters")
	return name, []mutate.Edit{edit.InsertBefore(p, edit.LabelOf(p, r), name+" := "+p.Text(r.X))}, true
}

// stepOf reads `i++`, `i--`, `i += c` and `i -= c`.
func stepOf(p *mutate.Pass, s ast.Stmt, v *types.Var) (int64, bool) {
	switch s := s.(type) {
	case *ast.IncDecStmt:
		// A step down is a step by a negative number.
		if s.Tok == token.DEC {
			return -1, p.Var(s.X) == v
		}
		return 1, p.Var(s.X) == v
	case *ast.AssignStmt:
		lhs, rhs, ok := syntax.SplitAssign(s, token.ADD_ASSIGN, token.SUB_ASSIGN)
		if !ok || p.Var(lhs) != v {
			return 0, false
		}
		n, ok := p.Int(rhs)
		if s.Tok == token.SUB_ASSIGN {
			n = -n
		}
		return n, ok
	}
	return 0, false
}

// arrayLength returns the length of an array, or of the one that a pointer leads to.
func arrayLength(t types.Type) (int64, bool) {
	a, ok := syntax.Pointee(t).Underlying().(*types.Array)
	if !ok {
		return 0, false
	}
	return a.Len(), true
}
