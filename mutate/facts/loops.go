package facts

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// A LoopKind is the kind of sequence that a loop goes through.
type LoopKind int

const (
	OtherLoop    LoopKind = iota // none of the sequences below
	OverElements                 // the elements of a slice or array, or the bytes of a string, all in order
	OverRunes                    // the runes of a string
	OverMap                      // the elements of a map
	OverNumbers                  // the integers from 0 to below a bound
)

// A Loop is a loop in its normal form. `for i := range s`, `for i, x := range s`, `for i := range
// len(s)` and `for i := 0; i < len(s); i++` are the same loop.
type Loop struct {
	Kind  LoopKind
	Stmt  ast.Stmt
	Body  *ast.BlockStmt
	Seq   ast.Expr         // the sequence of the loop; nil for OverNumbers
	Bound ast.Expr         // the bound of OverNumbers
	Index *types.Var       // nil if the loop has none
	Value *types.Var       // nil if the loop has none
	Elems []*ast.IndexExpr // the s[i] in the body that are the element; none if the body may change it
}

// StopsEarly reports whether the loop may stop before its last iteration, other than by a panic.
func (l *Loop) StopsEarly(p *mutate.Pass) bool {
	breaks, _, ok := p.Branches(l.Body)
	return !ok || len(breaks) > 0 || p.Effects(l.Stmt).Jumps
}

// IsElem reports whether e is the loop's present element: its value variable, or s[i].
func (l *Loop) IsElem(p *mutate.Pass, e ast.Expr) bool {
	e = ast.Unparen(e)
	if l == nil {
		return false
	}
	if ix, ok := e.(*ast.IndexExpr); ok {
		return slices.Contains(l.Elems, ix)
	}
	return l.Value != nil && p.Var(e) == l.Value
}

// Loops holds the normal form of every loop of the version. Loops whose body assigns the index,
// and loops with another head, are OtherLoops.
var Loops = &Fact[map[ast.Stmt]*Loop]{
	Name:     "loops",
	Requires: []Named{Owned},
	Find: func(p *mutate.Pass) map[ast.Stmt]*Loop {
		out := map[ast.Stmt]*Loop{}
		for _, s := range mutate.Nodes[*ast.RangeStmt](p, nil) {
			out[s] = rangeLoop(p, s)
		}
		for _, s := range mutate.Nodes[*ast.ForStmt](p, nil) {
			out[s] = forLoop(p, s)
		}
		return out
	},
}

// rangeLoop brings a range into the normal form of loops. It stays without a kind if its variables
// belong to somebody else, or if the body sets the index.
func rangeLoop(p *mutate.Pass, s *ast.RangeStmt) *Loop {
	l := &Loop{Stmt: s, Body: s.Body, Seq: s.X}
	t := p.Info.TypeOf(s.X)
	if s.Tok == token.ASSIGN || t == nil {
		return l
	}
	l.Index, l.Value = defined(p, s.Key), defined(p, s.Value)
	if l.Index != nil && p.Assigned(l.Index, s.Body) {
		return l
	}
	switch u := t.Underlying().(type) {
	case *types.Slice, *types.Array:
		l.Kind = OverElements
	case *types.Map:
		l.Kind = OverMap
	case *types.Basic:
		// A number has no sequence. It may be the length of one, though.
		switch {
		case u.Info()&types.IsString != 0:
			l.Kind = OverRunes
		case u.Info()&types.IsInteger != 0:
			l.Kind, l.Bound, l.Seq = OverNumbers, s.X, nil
			l.throughLength(p)
		}
	}
	l.findElems(p)
	return l
}

func forLoop(p *mutate.Pass, s *ast.ForStmt) *Loop {
	l := &Loop{Stmt: s, Body: s.Body}
	c, ok := p.Counted(s)
	if !ok || c.Skips || c.Start == nil || !p.IsInt(c.Start, 0) || s.Init.(*ast.AssignStmt).Tok != token.DEFINE {
		return l
	}
	cond := ast.Unparen(s.Cond).(*ast.BinaryExpr)
	if cond.Op != token.LSS && (cond.Op != token.NEQ || c.Seq == nil) || !Stable(p, c.Bound, s.Body) {
		return l
	}
	l.Kind, l.Bound, l.Index = OverNumbers, c.Bound, c.Index
	l.throughLength(p)
	l.findElems(p)
	return l
}

// throughLength turns a loop that counts to len(s), or to a variable of that value, into one
// through the elements of s.
func (l *Loop) throughLength(p *mutate.Pass) {
	v := p.LengthOf(l.Bound)
	if v == nil {
		return
	}
	// Only these have elements by index.
	switch u := v.Type().Underlying().(type) {
	case *types.Slice, *types.Array:
	case *types.Basic:
		if u.Info()&types.IsString == 0 {
			return
		}
	default:
		return
	}
	// A bound len(s) names the sequence. Any other bound has the value of a length, and the
	// sequence is named where the body reads it.
	if call, ok := p.IsBuiltin(l.Bound, "len"); ok {
		l.Kind, l.Seq = OverElements, call.Args[0]
		return
	}
	if !types.Identical(p.Info.TypeOf(l.Bound), types.Typ[types.Int]) {
		return // the index has another type than a range would give it
	}
	// The name must mean the sequence at the loop as well.
	uses := p.Uses(v, l.Body)
	if len(uses) > 0 && Means(p, l.Stmt.Pos(), v.Name(), v) && !p.Reassigned(v, p.FuncOf(l.Stmt)) {
		l.Kind, l.Seq = OverElements, uses[0]
	}
}

// findElems lists the s[i] that have the value of the element throughout an iteration.
func (l *Loop) findElems(p *mutate.Pass) {
	if l.Kind != OverElements || l.Index == nil {
		return
	}
	seq := p.Var(l.Seq)
	if seq == nil || p.Assigned(seq, l.Body) || l.Value != nil && p.Assigned(l.Value, l.Body) {
		return
	}
	// Nothing changes the bytes of a string.
	if syntax.IsText(seq.Type()) {
		if !Stable(p, l.Seq, l.Body) {
			return
		}
	} else if !ChangesOnly(p, l.Body, nil, func(call *ast.CallExpr) bool { return GrowsAnother(p, call, seq) }) {
		return
	}
	for _, id := range p.Uses(l.Index, l.Body) {
		ix, ok := p.Parent(id).(*ast.IndexExpr)
		if ok && ast.Unparen(ix.Index) == ast.Expr(id) && p.Var(ix.X) == seq {
			l.Elems = append(l.Elems, ix)
		}
	}
}

// GrowsAnother reports whether a call appends to a slice that shares no memory with v.
func GrowsAnother(p *mutate.Pass, call *ast.CallExpr, v *types.Var) bool {
	_, grows := p.IsBuiltin(call, "append")
	return grows && Apart(p, p.Var(call.Args[0]), v)
}

// defined returns the variable that a loop's head declares, or nil for none or a blank one.
func defined(p *mutate.Pass, e ast.Expr) *types.Var {
	id, ok := e.(*ast.Ident)
	if !ok {
		return nil
	}
	v, _ := p.Info.Defs[id].(*types.Var)
	if v != nil && v.Name() == "_" {
		return nil
	}
	return v
}

// Quiet reports whether an expression in a loop has no effects and cannot panic, given that the
// loop's elements are within bounds.
func Quiet(p *mutate.Pass, n ast.Node, l *Loop) bool {
	e, ok := n.(ast.Expr)
	if !ok {
		return false
	}
	// Operators and conversions are quiet if their operands are, apart from those that may panic.
	switch e := ast.Unparen(e).(type) {
	case *ast.BinaryExpr:
		switch e.Op {
		case token.QUO, token.REM, token.SHL, token.SHR:
			return p.Pure(e)
		case token.EQL, token.NEQ:
			nils := p.Info.Types[e.X].IsNil() || p.Info.Types[e.Y].IsNil()
			if !nils && !(ComparesSafely(p.Info.TypeOf(e.X)) && ComparesSafely(p.Info.TypeOf(e.Y))) {
				return p.Pure(e)
			}
		}
		return Quiet(p, e.X, l) && Quiet(p, e.Y, l)
	case *ast.UnaryExpr:
		if e.Op != token.ARROW {
			return Quiet(p, e.X, l)
		}
	case *ast.SelectorExpr:
		if s := p.Info.Selections[e]; s != nil && s.Kind() == types.FieldVal && !s.Indirect() {
			return Quiet(p, e.X, l)
		}
	// An element of the loop is within bounds.
	case *ast.IndexExpr:
		if l.IsElem(p, e) {
			return true
		}
	case *ast.CallExpr:
		_, length := p.IsBuiltin(e, "len")
		converts := p.Info.Types[e.Fun].IsType() && p.Basic(e) != types.Invalid
		if len(e.Args) == 1 && (length || converts) {
			return Quiet(p, e.Args[0], l)
		}
	}
	return p.Pure(ast.Unparen(e))
}

// InInnerLoop reports whether n may run several times in one run of body: it stands in a loop or in
// a function literal there.
func InInnerLoop(p *mutate.Pass, n ast.Node, body *ast.BlockStmt) bool {
	for _, up := range p.Path(n) {
		if up == ast.Node(body) {
			return false
		}
		switch up.(type) {
		case *ast.FuncLit, *ast.ForStmt, *ast.RangeStmt:
			return true
		}
	}
	return true
}

// HoldsBranch reports whether a statement holds a break, a continue or a goto.
func HoldsBranch(p *mutate.Pass, s ast.Stmt) bool {
	for _, b := range mutate.Nodes[*ast.BranchStmt](p, s) {
		if b.Tok != token.FALLTHROUGH {
			return true
		}
	}
	return false
}
