package loops

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file follows code for a character beyond ASCII.

// oneTurnDoes reports whether a loop's body may run once for each byte of a character beyond ASCII
// instead of once. The first iteration is the same in both loops. So the iterations after it must
// change nothing and must not leave the loop.
//
//	if r == '-' { dashes++ }        // nothing, for each of the two bytes of é
//	if r > 0x7f { other = true }    // the same, however often
//	if r > 0x7f { other++ }         // counts é twice
func oneTurnDoes(p *mutate.Pass, v, index *types.Var, body *ast.BlockStmt) bool {
	first := wideRune{p: p, v: v, index: index, known: map[*types.Var]truth{}}
	effect := first.list(body.List)
	if !first.wrote {
		return effect != does
	}
	if effect == does {
		return false
	}
	second := wideRune{p: p, v: v, index: index, known: first.behind(), again: true}
	return second.list(body.List) == nothing
}

// An effect says what a statement does for a character beyond ASCII.
type effect int

const (
	nothing effect = iota // evaluates pure conditions, and sets variables to known values
	departs               // may return or break
	does                  // something else
)

// A wideRune follows a body for a value of v that is 0x80 or more.
type wideRune struct {
	p     *mutate.Pass
	v     *types.Var
	index *types.Var           // of the loop, or nil: the iterations behind the first have others
	known map[*types.Var]truth // what local variables hold for certain: yes or no
	wrote bool                 // a statement sets a variable
	again bool                 // this is a second iteration, which must set no variable to another value
	left  bool                 // control does not come here
	ends  []map[*types.Var]truth
	depth int // of the functions that the body asks
	// variables that hold what grows with v, with their smallest values
	bounds map[*types.Var]int64
}

// behind returns what is known after an iteration that did not leave the loop.
func (w *wideRune) behind() map[*types.Var]truth {
	ends := w.ends
	if !w.left {
		ends = append(ends, w.known)
	}
	return agreement(ends...)
}

// agreement returns what all of some states agree on.
func agreement(states ...map[*types.Var]truth) map[*types.Var]truth {
	out := map[*types.Var]truth{}
	for i, state := range states {
		if i == 0 {
			out = maps.Clone(state)
			continue
		}
		// A fact that differs, or is known in one state only, is unknown afterwards.
		maps.DeleteFunc(out, func(v *types.Var, t truth) bool {
			other, ok := state[v]
			return !ok || other != t
		})
	}
	return out
}

func (w *wideRune) list(list []ast.Stmt) effect {
	result := nothing
	for _, s := range list {
		e, ends := w.stmt(s)
		result = max(result, e)
		// After an effect, nothing more can be said.
		if result == does || ends {
			w.left = ends
			return result
		}
	}
	w.left = false
	return result
}

// stmt returns the effect of a statement, and whether control certainly does not reach the next
// one.
func (w *wideRune) stmt(s ast.Stmt) (effect, bool) {
	switch s := s.(type) {
	// Compound statements have the effect of the parts that may run.
	case *ast.IfStmt:
		return w.branch(s)
	case *ast.SwitchStmt:
		return w.choose(s)
	case *ast.BlockStmt:
		e := w.list(s.List)
		return e, w.left
	case *ast.AssignStmt:
		return w.assign(s), false
	// A result that depends on the character, or an effect in computing it, is an effect of the
	// statement. Any other return leaves the loop, for all wide characters alike.
	case *ast.ReturnStmt:
		for _, e := range s.Results {
			if f := w.p.Effects(e); f.Writes || len(w.p.Uses(w.v, e)) > 0 {
				return does, true
			}
		}
		return departs, true
	// A jump to another place is not followed. A continue ends the iteration, with what is known at
	// that point.
	case *ast.BranchStmt:
		if s.Label != nil || s.Tok == token.GOTO || s.Tok == token.FALLTHROUGH {
			return does, true
		}
		if s.Tok == token.CONTINUE {
			w.ends = append(w.ends, maps.Clone(w.known))
			return nothing, true
		}
		return departs, true
	case *ast.EmptyStmt:
		return nothing, false
	}
	return does, false
}

// assign follows x = cond for a local x whose value is then the same for all characters beyond
// ASCII.
func (w *wideRune) assign(s *ast.AssignStmt) effect {
	if s.Tok != token.ASSIGN || len(s.Lhs) != 1 || len(s.Rhs) != 1 {
		return does
	}
	x := w.p.Var(s.Lhs[0])
	// Only a variable that nothing else can reach is followed.
	if x == nil || !facts.IsLocal(w.p, x) || facts.Captured.Of(w.p)[x] || w.addressed(x) {
		return does
	}
	t, ok := w.truth(s.Rhs[0])
	if !ok || t == maybe {
		return does
	}
	// In the second iteration, the variable must be what it was in the first.
	if old, is := w.known[x]; w.again && (!is || old != t) {
		return does
	}
	w.known[x], w.wrote = t, true
	return nothing
}

// addressed reports whether code takes the address of a variable.
func (w *wideRune) addressed(x *types.Var) bool {
	for _, id := range w.p.Uses(x, w.p.File) {
		for up := w.p.Parent(id); ; up = w.p.Parent(up) {
			if _, paren := up.(*ast.ParenExpr); paren {
				continue
			}
			if u, ok := up.(*ast.UnaryExpr); ok && u.Op == token.AND {
				return true
			}
			// A method with a pointer receiver takes the address without an &.
			if sel, ok := up.(*ast.SelectorExpr); ok && w.p.PointerMethod(sel) {
				return true
			}
			break
		}
	}
	return false
}

// branch follows both ways of an if that its condition leaves open. Each starts with what was known
// before, plus what its condition says.
func (w *wideRune) branch(s *ast.IfStmt) (effect, bool) {
	if s.Init != nil {
		return does, false
	}
	value, ok := w.truth(s.Cond)
	if !ok {
		return does, false
	}
	then, otherwise := nothing, nothing
	thenLeft, elseLeft := value == no, value == yes
	before := w.known
	// Take the way of a true condition, unless it is certainly false.
	if value != no {
		w.known = maps.Clone(before)
		w.assume(s.Cond, yes)
		then = w.list(s.Body.List)
		thenLeft = w.left
	}
	behind := w.known
	w.left = false
	// Take the other way, unless the condition is certainly true.
	if value != yes {
		w.known = maps.Clone(before)
		w.assume(s.Cond, no)
		if s.Else != nil {
			otherwise, elseLeft = w.stmt(s.Else)
		}
	}
	w.left = false
	// Behind the statement, only what both ways know is known. A way that leaves does not count.
	switch {
	case elseLeft:
		w.known = behind
	case !thenLeft:
		w.known = agreement(behind, w.known)
	}
	return w.withConditions(value, max(then, otherwise), s.Cond), thenLeft && elseLeft
}

// withConditions returns the effect of code that runs under conditions. Where they ask for the
// index, the first iteration says nothing about whether another one leaves the loop.
func (w *wideRune) withConditions(value truth, e effect, conditions ...ast.Expr) effect {
	if value != maybe || e != departs || w.index == nil {
		return e
	}
	for _, cond := range conditions {
		if len(w.p.Uses(w.index, cond)) > 0 {
			return does
		}
	}
	return e
}

// assume notes what a condition says of a variable that it names.
func (w *wideRune) assume(cond ast.Expr, value truth) {
	cond = ast.Unparen(cond)
	if u, ok := cond.(*ast.UnaryExpr); ok && u.Op == token.NOT {
		w.assume(u.X, yes-value)
		return
	}
	x := w.p.Var(cond)
	if x != nil && facts.IsLocal(w.p, x) && !facts.Captured.Of(w.p)[x] && !w.addressed(x) {
		w.known[x] = value
	}
}

// choose follows the arms of a switch that a wide character may take: each one whose test is
// undecided, up to the first that certainly holds.
func (w *wideRune) choose(s *ast.SwitchStmt) (effect, bool) {
	if s.Init != nil {
		return does, false
	}
	// The tag must be the character itself or missing, so that cases are tests.
	onRune := s.Tag != nil && w.p.Var(s.Tag) == w.v
	if s.Tag != nil && !onRune {
		return does, false
	}
	result, asked := nothing, []ast.Expr(nil)
	for _, c := range s.Body.List {
		clause := c.(*ast.CaseClause)
		if clause.List == nil {
			continue // the default comes below
		}
		value, ok := w.matches(clause, onRune)
		if !ok {
			return does, false
		}
		if value == no {
			continue
		}
		asked = append(asked, clause.List...)
		result = max(result, w.arm(clause.Body))
		if value == yes {
			return w.withConditions(maybe, result, asked...), false
		}
	}
	// The default is possible because no case was certain.
	for _, c := range s.Body.List {
		if clause := c.(*ast.CaseClause); clause.List == nil {
			result = max(result, w.arm(clause.Body))
		}
	}
	return w.withConditions(maybe, result, asked...), false
}

// matches returns whether a character beyond ASCII takes a case.
func (w *wideRune) matches(clause *ast.CaseClause, onRune bool) (truth, bool) {
	value := no
	for _, e := range clause.List {
		t := no
		if onRune {
			// A case below 0x80 is taken by no such character.
			if c, ok := w.p.Int(e); !ok || c < 0 || c >= 0x80 {
				return maybe, false
			}
		} else {
			var ok bool
			if t, ok = w.truth(e); !ok {
				return maybe, false
			}
		}
		value = max(value, t)
	}
	return value, true
}

// arm returns the effect of a case's body, in which break leaves only the switch. Code after the
// switch knows what it knew in front of it, and what the body leaves alike.
func (w *wideRune) arm(list []ast.Stmt) effect {
	// A break at the start makes the case empty. Any other is not followed.
	if len(list) > 0 {
		if b, ok := list[0].(*ast.BranchStmt); ok && b.Tok == token.BREAK && b.Label == nil {
			return nothing
		}
	}
	for _, s := range list {
		for _, b := range mutate.Nodes[*ast.BranchStmt](w.p, s) {
			if b.Tok == token.BREAK {
				return does
			}
		}
	}
	// Facts that the body keeps are known after the switch; a body that leaves the iteration does
	// not get there.
	before := maps.Clone(w.known)
	e := w.list(list)
	if e == nothing && w.left {
		return does // a continue would skip the code after the switch
	}
	if !w.left {
		before = agreement(before, w.known)
	}
	w.known, w.left = before, false
	return e
}
