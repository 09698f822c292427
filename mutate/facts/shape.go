package facts

import (
	"go/ast"
	"go/token"
	"go/types"
	"iter"
	"strconv"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// This file holds shapes of code that rules of several subjects look for.

// Statements yields every statement of a function declaration that stands in a list, with the list.
//
//go:noinline
func Statements(p *mutate.Pass) iter.Seq2[[]ast.Stmt, int] {
	return func(yield func([]ast.Stmt, int) bool) {
		for _, list := range p.Lists() {
			for i := range list {
				if !yield(list, i) {
					return
				}
			}
		}
	}
}

// AllDeclarations yields every local variable that a statement in a list declares, alone or as a
// part of a group, with the statements that follow.
//
//go:noinline
func AllDeclarations(p *mutate.Pass) iter.Seq2[Declaration, []ast.Stmt] {
	return func(yield func(Declaration, []ast.Stmt) bool) {
		for list, i := range Statements(p) {
			for _, d := range Declarations(p, list[i]) {
				if !yield(d, list[i+1:]) {
					return
				}
			}
		}
	}
}

// Movable reports whether a declaration may stand after the others of its statement: none of them
// uses the variable, whose name could mean something else to it, and none declares anew a name that
// the declaration uses. A declaration that stands alone does not move.
func Movable(p *mutate.Pass, d Declaration) bool {
	return d.Spec == nil || MeansSameAfter(p, d.Stmt, d.Spec) && len(p.Uses(d.Var, d.Stmt)) == 0
}

// MeansSameAfter reports whether the names in a node mean after a statement what they mean in the
// node.
func MeansSameAfter(p *mutate.Pass, s ast.Stmt, n ast.Node) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, n) {
		if sel, ok := p.Parent(id).(*ast.SelectorExpr); ok && sel.Sel == id {
			continue // it is looked up in what stands in front of it
		}
		if obj := p.Info.Uses[id]; obj != nil && !Means(p, s.End(), id.Name, obj) {
			return false
		}
	}
	return true
}

// Dropping returns the statement that makes a call and drops its results, or nil.
func Dropping(p *mutate.Pass, call *ast.CallExpr) ast.Stmt {
	s, ok := p.Parent(call).(ast.Stmt)
	if !ok || Dropped(s) != call {
		return nil
	}
	return s
}

// AppendsTo recognises `v = append(v, args...)` on a local variable.
func AppendsTo(p *mutate.Pass, s ast.Node) (v *types.Var, call *ast.CallExpr, ok bool) {
	st, ok := s.(ast.Stmt)
	if !ok {
		return nil, nil, false
	}
	lhs, rhs, ok := syntax.SplitAssign(st, token.ASSIGN)
	if !ok {
		return nil, nil, false
	}
	call, ok = p.IsBuiltin(rhs, "append")
	if !ok || len(call.Args) < 2 {
		return nil, nil, false
	}
	v = p.Var(lhs)
	// The list must be the same on both sides.
	return v, call, IsLocal(p, v) && p.Var(call.Args[0]) == v
}

// Enclosing returns the innermost node of type N around n, other than n itself.
func Enclosing[N ast.Node](p *mutate.Pass, n ast.Node) (N, bool) {
	for _, up := range p.Path(n) {
		if m, ok := up.(N); ok && ast.Node(m) != n {
			return m, true
		}
	}
	var zero N
	return zero, false
}

// ConvertsTo recognises the conversion T(e), where T is "string", "[]byte" or "[]rune", and e has
// exactly the other type.
func ConvertsTo(p *mutate.Pass, e ast.Expr, to string) (from ast.Expr, ok bool) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) != 1 || !p.Info.Types[call.Fun].IsType() {
		return nil, false
	}
	from = call.Args[0]
	switch to {
	case "string":
		return from, IsExactString(p, call) && IsByteSlice(p, from)
	case "[]byte":
		return from, IsByteSlice(p, call) && IsExactString(p, from)
	case "[]rune":
		t, slice := types.Unalias(p.Info.TypeOf(call)).(*types.Slice)
		return from, slice && types.Identical(t.Elem(), types.Universe.Lookup("rune").Type()) && IsExactString(p, from)
	}
	return nil, false
}

// ConstString returns the value of a constant string expression that is the same on all systems.
func ConstString(p *mutate.Pass, e ast.Expr) (string, bool) {
	tv := p.Info.Types[e]
	if tv.Value == nil || p.Basic(e) != types.String && p.Basic(e) != types.UntypedString || !p.Values().Portable(e) {
		return "", false
	}
	s, err := strconv.Unquote(tv.Value.ExactString())
	return s, err == nil
}

// AsStmt returns n as a statement, or nil.
func AsStmt(n ast.Node) ast.Stmt {
	s, _ := n.(ast.Stmt)
	return s
}

// Percentile99 returns the greatest of the lengths that parameters of the target keep in 99 of 100
// calls, or 0 if unknown.
func Percentile99(p *mutate.Pass) int {
	longest := 0
	for _, f := range p.Facets.Params {
		longest = max(longest, f.Len[3])
	}
	return longest
}

// PureElements reports whether e is pure, given that the elements of a loop are within bounds.
func PureElements(p *mutate.Pass, e ast.Expr, loop ast.Stmt) bool {
	return Quiet(p, e, Loops.Of(p)[loop])
}

// CommaOK reports whether the two results of e are assigned, a value and whether it is there.
func CommaOK(p *mutate.Pass, e ast.Expr) bool {
	switch up := p.Parent(e).(type) {
	case *ast.AssignStmt:
		return len(up.Lhs) == 2 && len(up.Rhs) == 1
	case *ast.ValueSpec:
		return len(up.Names) == 2 && len(up.Values) == 1
	}
	return false
}

// IsLabelled reports whether a statement has a label.
func IsLabelled(p *mutate.Pass, n ast.Node) bool {
	_, ok := p.Parent(n).(*ast.LabeledStmt)
	return ok
}

// HoldsLabel reports whether code has a label. A copy of it in the same function would have the
// label again.
func HoldsLabel(p *mutate.Pass, n ast.Node) bool {
	for range mutate.Nodes[*ast.LabeledStmt](p, n) {
		return true
	}
	return false
}

// HasDefer reports whether code defers a call.
func HasDefer(p *mutate.Pass, n ast.Node) bool {
	for range mutate.Nodes[*ast.DeferStmt](p, n) {
		return true
	}
	return false
}

// TakesTime reports whether code may take a share of the time that is worth a rewrite: it runs in a
// loop, the profile shows it, or there is no profile, so that not even the target has a share.
// Initialisers of the package's variables take none.
func TakesTime(p *mutate.Pass, n ast.Node) bool {
	return p.FuncOf(n) != nil && (p.InLoop(n) || p.Weight(n) >= 0.02 || p.Weight(p.Func) == 0)
}

// LineCount returns how many lines of code after its first one a node has. It leaves out comments
// and blank lines.
func LineCount(p *mutate.Pass, n ast.Node) int {
	lines := map[int]bool{}
	for _, m := range mutate.Nodes[ast.Node](p, n) {
		switch m.(type) {
		case *ast.Comment, *ast.CommentGroup:
			continue
		}
		if !m.Pos().IsValid() {
			continue // a list of no fields
		}
		lines[p.Fset.Position(m.Pos()).Line], lines[p.Fset.Position(m.End()).Line] = true, true
	}
	return len(lines) - 1
}

// ElementAppend recognises x = append(x, a, b): elements, not a whole slice. x is a variable, or a
// field of one.
func ElementAppend(p *mutate.Pass, s ast.Stmt) (*ast.CallExpr, bool) {
	lhs, rhs, ok := syntax.SplitAssign(s, syntax.AssignTokens...)
	if !ok {
		return nil, false
	}
	call, ok := p.IsBuiltin(rhs, "append")
	if !ok || call.Ellipsis.IsValid() || len(call.Args) < 2 || !p.Same(lhs, call.Args[0]) {
		return nil, false
	}
	return call, PlainPlace(p, lhs)
}

// HasLoop reports whether code holds a loop.
func HasLoop(p *mutate.Pass, n ast.Node) bool {
	for _, s := range mutate.Nodes[ast.Stmt](p, n) {
		switch s.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return true
		}
	}
	return false
}
