package loops

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// An elementCopy is a variable that holds a copy of an element which does not fit registers. A
// pointer to the element may take its place.
type elementCopy struct {
	v    *types.Var
	list ast.Expr   // the slice
	code []ast.Stmt // in which v is used
}

// readInPlace returns the edits that let code read the element through a pointer with the name of
// the copy. ok is false where code needs the copy, or only uses all of it: then the first use
// copies it anyway.
func (c elementCopy) readInPlace(p *mutate.Pass) (edits []mutate.Edit, ok bool) {
	if len(c.code) == 0 || facts.InRegisters(c.v.Type()) || facts.Captured.Of(p)[c.v] {
		return nil, false
	}
	fn := p.FuncOf(c.code[0])
	if fn == nil || facts.HasGoto(p, fn) || p.Assigned(c.v, fn) || c.changesInUse(p) {
		return nil, false
	}
	// A field is reached through a pointer as before. An index of a generic type, and a use of the
	// whole value, need the star.
	_, generic := types.Unalias(c.v.Type()).(*types.TypeParam)
	parts := 0
	for _, id := range p.Uses(c.v, fn) {
		switch up := p.Parent(id).(type) {
		case *ast.SelectorExpr:
			parts++
			continue
		case *ast.IndexExpr:
			if up.X == ast.Expr(id) {
				parts++
				if generic {
					edits = append(edits, p.Replace(id, "(*"+id.Name+")"))
				}
				continue
			}
		}
		edits = append(edits, p.Replace(id, "*"+id.Name))
	}
	return edits, parts > 0
}

// changesInUse reports whether code may change the element while it still uses the copy, which
// would not have noticed.
func (c elementCopy) changesInUse(p *mutate.Pass) bool {
	for _, s := range c.code {
		for change := range facts.Changes(p, s) {
			if !c.spared(p, change) && c.usedAfter(p, change, s) {
				return true
			}
		}
	}
	return false
}

// spared reports whether a change leaves the element as it is: it changes memory of another type,
// an entry of a map, or a slice that shares no memory with the one of the element.
func (c elementCopy) spared(p *mutate.Pass, change facts.Change) bool {
	if change.Spares(p, facts.ElementPlace(c.v.Type())) {
		return true
	}
	other := func(e ast.Expr) bool { v := p.Var(e); return facts.Owns(p, v) && len(p.Uses(v, c.list)) == 0 }
	switch {
	case change.Store != nil:
		ix, ok := ast.Unparen(change.Store).(*ast.IndexExpr)
		return ok && (facts.MapElement(p, ix) || other(ix.X))
	case change.Call != nil:
		_, grows := p.IsBuiltin(change.Call, "append")
		return grows && (other(change.Call.Args[0]) || facts.GrowsAnother(p, change.Call, p.Var(c.list)))
	}
	return false
}

// usedAfter reports whether code may use the copy after a change in a statement.
func (c elementCopy) usedAfter(p *mutate.Pass, change facts.Change, s ast.Stmt) bool {
	loop, together := loopAround(p, change.At, s), evaluatedWith(p, change.At)
	_, operand := change.At.(ast.Expr)
	for _, id := range p.Uses(c.v, p.FuncOf(s)) {
		switch {
		case id.Pos() >= change.At.End():
			return true
		// The next turn of an inner loop follows the change.
		case loop != nil && facts.Inside(id, loop):
			return true
		// A call runs after its own arguments. Beside it, Go leaves the order open.
		case facts.Inside(id, together) && !(operand && facts.Inside(id, change.At)):
			return true
		}
	}
	return false
}

// loopAround returns the outermost loop around a node within a statement, or nil.
func loopAround(p *mutate.Pass, n ast.Node, s ast.Stmt) (loop ast.Stmt) {
	for _, up := range p.Path(n) {
		switch up := up.(type) {
		case *ast.ForStmt:
			loop = up
		case *ast.RangeStmt:
			loop = up
		}
		if up == ast.Node(s) {
			break
		}
	}
	return loop
}

// evaluatedWith returns the code around a change of which Go may evaluate a part before or after
// it. A store has no such code: an assignment evaluates all its operands first. Before the right
// side of && or || all of the left side has been evaluated, if nothing else is around them.
func evaluatedWith(p *mutate.Pass, change ast.Node) ast.Node {
	if s, ok := change.(ast.Stmt); ok {
		if _, choice := s.(*ast.SelectStmt); choice {
			return s
		}
		return &ast.EmptyStmt{Semicolon: s.End()}
	}
	var side ast.Node
	child := change
	for _, up := range p.Path(change)[1:] {
		switch up := up.(type) {
		case *ast.BinaryExpr:
			if up.Op != token.LAND && up.Op != token.LOR {
				side = nil
			} else if side == nil && up.Y == child {
				side = child
			}
		case *ast.ParenExpr:
		case *ast.UnaryExpr:
			if up.Op != token.NOT {
				side = nil
			}
		case *ast.AssignStmt, *ast.ExprStmt, *ast.ReturnStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeclStmt,
			*ast.GoStmt, *ast.DeferStmt:
			return cmp.Or(side, up)
		case ast.Stmt:
			return cmp.Or(side, child)
		default:
			side = nil
		}
		child = up
	}
	return child
}
