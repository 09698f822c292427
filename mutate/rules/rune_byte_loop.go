package rules

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// runeByteLoop (catalogue L11) matches a range over a string whose body only compares the runes
// with ASCII constants. It goes over the bytes.
//
// A byte loop sees a character beyond ASCII as two to four bytes of 0x80 or more, and a rune loop
// as one rune of 0x80 or more. So the rule follows the body for such a value: comparisons with
// ASCII constants have the same outcome for all of them. If the body then does nothing, or leaves
// the loop, one turn is as good as several.
var runeByteLoop = &mutate.Mutator{
	Name: "rune-to-byte-loop",
	Doc: "Go through a string by bytes instead of decoding runes. Legal because the body only compares the " +
		"character with ASCII constants, and for any other character it does nothing or leaves the loop.",
	Before: `for _, r := range s {
	if r == '"' || r == '\\' {
		n++
	}
}`,
	After: `for i := 0; i < len(s); i++ {
	r := rune(s[i]) // a byte will do: only ASCII matters here
	if r == '"' || r == '\\' {
		n++
	}
}`,
	Class:   beagle.E0,
	Gain:    1.6,
	Find:    findRuneByteLoop,
	Rewrite: precomputed,
}

func findRuneByteLoop(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for r := range mutate.Nodes[*ast.RangeStmt](p, nil) {
		seq := p.Var(r.X)
		elem, ok := r.Value.(*ast.Ident)
		if !ok || elem.Name == "_" || r.Tok != token.DEFINE || seq == nil || p.IsGlobal(seq) ||
			p.Basic(r.X) != types.String || p.Assigned(seq, r) || facts.Captured.Of(p)[seq] {
			continue
		}
		v, _ := p.Info.Defs[elem].(*types.Var)
		if v == nil || p.Assigned(v, r.Body) || facts.Captured.Of(p)[v] {
			continue
		}
		w := wideRune{p: p, v: v}
		if effect := w.list(r.Body.List); effect == does {
			continue
		}
		index := "i"
		if isBlank(r.Key) {
			index = p.Fresh("i", "at")
		} else {
			index = p.Text(r.Key)
			if k := p.Var(r.Key); p.Assigned(k, r.Body) || facts.Captured.Of(p)[k] {
				continue
			}
		}
		head := "for " + index + " := 0; " + index + " < len(" + p.Text(r.X) + "); " + index + "++ {\n" +
			elem.Name + " := rune(" + p.Text(r.X) + "[" + index + "]) // a byte will do: only ASCII matters here"
		sites = append(sites, site(r, "rune loop over "+p.Text(r.X), p.Span(r.Pos(), r.Body.Lbrace+1, head)))
	}
	return sites
}

// An effect says what a statement does for a character beyond ASCII.
type effect int

const (
	nothing effect = iota // evaluates only pure conditions
	departs               // may return or break, and does nothing before that
	does                  // something else
)

// A wideRune follows a body for a value of v that is 0x80 or more.
type wideRune struct {
	p *mutate.Pass
	v *types.Var
}

func (w *wideRune) list(list []ast.Stmt) effect {
	result := nothing
	for _, s := range list {
		e, ends := w.stmt(s)
		result = max(result, e)
		if result == does || ends {
			return result
		}
	}
	return result
}

// stmt returns the effect of a statement, and whether control certainly does not reach the next
// one.
func (w *wideRune) stmt(s ast.Stmt) (effect, bool) {
	switch s := s.(type) {
	case *ast.IfStmt:
		return w.branch(s)
	case *ast.SwitchStmt:
		return w.choose(s)
	case *ast.BlockStmt:
		return w.list(s.List), mutate.Terminates(s.List)
	case *ast.ReturnStmt:
		for _, e := range s.Results {
			if f := w.p.Effects(e); f.Writes || len(w.p.Uses(w.v, e)) > 0 {
				return does, true
			}
		}
		return departs, true
	case *ast.BranchStmt:
		if s.Label != nil || s.Tok == token.GOTO || s.Tok == token.FALLTHROUGH {
			return does, true
		}
		if s.Tok == token.CONTINUE {
			return nothing, true
		}
		return departs, true
	case *ast.EmptyStmt:
		return nothing, false
	}
	return does, false
}

func (w *wideRune) branch(s *ast.IfStmt) (effect, bool) {
	if s.Init != nil {
		return does, false
	}
	value, ok := w.truth(s.Cond)
	if !ok {
		return does, false
	}
	then, thenEnds := w.list(s.Body.List), mutate.Terminates(s.Body.List)
	otherwise, elseEnds := nothing, false
	if s.Else != nil {
		otherwise, elseEnds = w.stmt(s.Else)
	}
	switch value {
	case yes:
		return then, thenEnds
	case no:
		return otherwise, elseEnds
	}
	return max(then, otherwise), thenEnds && elseEnds
}

func (w *wideRune) choose(s *ast.SwitchStmt) (effect, bool) {
	if s.Init != nil {
		return does, false
	}
	onRune := s.Tag != nil && w.p.Var(s.Tag) == w.v
	if s.Tag != nil && !onRune {
		return does, false
	}
	result := nothing
	for _, c := range s.Body.List {
		clause := c.(*ast.CaseClause)
		value := no
		if clause.List == nil {
			continue // the default comes below
		}
		for _, e := range clause.List {
			t := no
			if onRune {
				if c, ok := w.p.Int(e); !ok || c < 0 || c >= 0x80 {
					return does, false
				}
			} else {
				var ok bool
				if t, ok = w.truth(e); !ok {
					return does, false
				}
			}
			value = max(value, t)
		}
		if value == no {
			continue
		}
		result = max(result, w.arm(clause.Body))
		if value == yes {
			return result, false
		}
	}
	for _, c := range s.Body.List {
		if clause := c.(*ast.CaseClause); clause.List == nil {
			result = max(result, w.arm(clause.Body))
		}
	}
	return result, false
}

// arm returns the effect of a case's body, in which break leaves only the switch.
func (w *wideRune) arm(list []ast.Stmt) effect {
	if len(list) > 0 {
		if b, ok := list[0].(*ast.BranchStmt); ok && b.Tok == token.BREAK && b.Label == nil {
			return nothing
		}
	}
	for _, s := range list {
		for b := range mutate.Nodes[*ast.BranchStmt](w.p, s) {
			if b.Tok == token.BREAK {
				return does
			}
		}
	}
	e := w.list(list)
	if e == nothing && mutate.Terminates(list) {
		return does // a continue would skip the code behind the switch
	}
	return e
}

// A truth is the value of a condition for every character beyond ASCII.
type truth int

const (
	no truth = iota
	maybe
	yes
)

// truth evaluates a condition. ok is false if the condition has effects, or uses the character
// other than in a comparison with an ASCII constant.
func (w *wideRune) truth(e ast.Expr) (truth, bool) {
	e = ast.Unparen(e)
	if len(w.p.Uses(w.v, e)) == 0 {
		return maybe, w.p.Pure(e)
	}
	switch e := e.(type) {
	case *ast.UnaryExpr:
		t, ok := w.truth(e.X)
		return yes - t, ok && e.Op == token.NOT
	case *ast.BinaryExpr:
		if e.Op != token.LAND && e.Op != token.LOR {
			return w.compare(e)
		}
		a, ok := w.truth(e.X)
		if !ok || e.Op == token.LAND && a == no || e.Op == token.LOR && a == yes {
			return a, ok
		}
		b, ok := w.truth(e.Y)
		if e.Op == token.LAND {
			return min(a, b), ok
		}
		return max(a, b), ok
	}
	return maybe, false
}

// compare evaluates v == c, v < c and so on for v >= 0x80 > c >= 0.
func (w *wideRune) compare(e *ast.BinaryExpr) (truth, bool) {
	x, y, op := e.X, e.Y, e.Op
	if w.p.Var(y) == w.v {
		x, y = y, x
		op = map[token.Token]token.Token{token.LSS: token.GTR, token.GTR: token.LSS, token.LEQ: token.GEQ,
			token.GEQ: token.LEQ, token.EQL: token.EQL, token.NEQ: token.NEQ}[op]
	}
	value := w.p.Info.Types[y].Value
	if w.p.Var(x) != w.v || value == nil {
		return maybe, false
	}
	c, ok := constant.Int64Val(constant.ToInt(value))
	if !ok || c < 0 || c > 0x80 || c == 0x80 && op != token.LSS && op != token.GEQ {
		return maybe, false
	}
	switch op {
	case token.EQL, token.LSS, token.LEQ:
		return no, true
	case token.NEQ, token.GTR, token.GEQ:
		return yes, true
	}
	return maybe, false
}
