package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// compact (part of catalogue L10) matches a loop that appends each element of its own list that
// differs from the neighbour before. It calls slices.Compact on the list.
var compact = &mutate.Mutator{
	Name: "compact",
	Doc: "Drop neighbours that are equal within the list (slices.Compact) instead of copying what is kept into " +
		"another one, which grows step by step. Legal because the list was made here, nobody else has it, and it is " +
		"not used any more. What is empty or nil stays so; only the capacity differs.",
	Before: `unique := []string{}
for i, t := range sorted {
	if i == 0 || t != sorted[i-1] {
		unique = append(unique, t)
	}
}`,
	After:   `unique := slices.Compact(sorted)`,
	Class:   beagle.E2,
	Gain:    1.5,
	Find:    findCompact,
	Rewrite: precomputed,
}

func findCompact(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range statements(p) {
		loop, ok := list[i].(*ast.RangeStmt)
		if !ok || i == 0 || !goAtLeast(p, 21) {
			continue
		}
		out, ok := facts.Declares(p, list[i-1])
		c := &compaction{loop: loop, list: p.Var(loop.X), out: out.Var}
		if !ok || !c.owned(p, list[:i-1], list[i+1:]) || !c.dropped(p) {
			continue
		}
		if text, edits := c.call(p, out); text != "" {
			edits = append(edits, p.Span(out.Stmt.Pos(), loop.End(), text))
			sites = append(sites, site(loop, "neighbours in "+c.list.Name(), edits...))
		}
	}
	return sites
}

// A compaction is a loop that appends elements of list to out if they differ from their neighbour.
type compaction struct {
	loop       *ast.RangeStmt
	list, out  *types.Var
	key, value *types.Var // the loop's variables, or nil
}

// owned reports whether code may overwrite the list: it was made in front of the loop, and nothing
// behind the loop reads it.
func (c *compaction) owned(p *mutate.Pass, before, behind []ast.Stmt) bool {
	if c.list == nil || c.out == nil || !facts.IsLocal(p, c.list) || !exactlyComparable(c.list.Type()) ||
		!types.Identical(c.list.Type(), c.out.Type()) {
		return false
	}
	if facts.Captured.Of(p)[c.list] || len(before) == 0 || !ownList(p, c.list, before) {
		return false
	}
	for _, s := range behind {
		if len(p.Uses(c.list, s)) > 0 {
			return false
		}
	}
	return true
}

// dropped recognises the loop's body: an if around an append, or an if that continues in front of
// it.
func (c *compaction) dropped(p *mutate.Pass) bool {
	if c.loop.Tok != token.DEFINE {
		return false
	}
	c.key, c.value = p.Var(orNil(c.loop.Key)), p.Var(orNil(c.loop.Value))
	body := c.loop.Body.List
	if len(body) == 0 {
		return false
	}
	test, ok := body[0].(*ast.IfStmt)
	if !ok || test.Init != nil || test.Else != nil || len(test.Body.List) != 1 {
		return false
	}
	if len(body) == 1 {
		return c.appends(p, test.Body.List[0]) && c.tells(p, test.Cond, token.LOR, token.EQL, token.NEQ)
	}
	b, ok := test.Body.List[0].(*ast.BranchStmt)
	return ok && b.Tok == token.CONTINUE && b.Label == nil && len(body) == 2 && c.appends(p, body[1]) &&
		(c.tells(p, test.Cond, token.LAND, token.GTR, token.EQL) ||
			c.tells(p, test.Cond, token.LAND, token.NEQ, token.EQL))
}

func (c *compaction) appends(p *mutate.Pass, s ast.Stmt) bool {
	v, call, ok := appends(p, s)
	return ok && v == c.out && len(call.Args) == 2 && !call.Ellipsis.IsValid() && c.isElement(p, call.Args[1])
}

// tells recognises `i == 0 || x != list[i-1]` by its operators. The last kept element equals the
// element before.
func (c *compaction) tells(p *mutate.Pass, cond ast.Expr, join, zero, equal token.Token) bool {
	tests := operands(cond, join)
	if len(tests) != 2 {
		return false
	}
	first, ok1 := ast.Unparen(tests[0]).(*ast.BinaryExpr)
	other, ok2 := ast.Unparen(tests[1]).(*ast.BinaryExpr)
	if !ok1 || !ok2 || first.Op != zero || !p.IsInt(first.Y, 0) || other.Op != equal {
		return false
	}
	x, y := other.X, other.Y
	if !c.isElement(p, x) {
		x, y = y, x
	}
	before, ok := ast.Unparen(y).(*ast.IndexExpr)
	if !ok || !c.isElement(p, x) {
		return false
	}
	at, ok := ast.Unparen(before.Index).(*ast.BinaryExpr)
	if !ok || at.Op != token.SUB || !p.IsInt(at.Y, 1) {
		return false
	}
	if c.key != nil && p.Var(first.X) == c.key {
		return p.Var(before.X) == c.list && p.Var(at.X) == c.key
	}
	return p.LenOf(first.X) == c.out && p.Var(before.X) == c.out && p.LenOf(at.X) == c.out
}

// isElement recognises the loop's element.
func (c *compaction) isElement(p *mutate.Pass, e ast.Expr) bool {
	if v := p.Var(e); v != nil {
		return v == c.value
	}
	ix, ok := ast.Unparen(e).(*ast.IndexExpr)
	return ok && c.key != nil && p.Var(ix.X) == c.list && p.Var(ix.Index) == c.key
}

// call writes the call that replaces the loop. An empty list may be nil or not, and so may the
// result.
func (c *compaction) call(p *mutate.Pass, out facts.Declaration) (string, []mutate.Edit) {
	pkg, edits := p.Import("slices")
	call := fmt.Sprintf("%s.Compact(%s)", pkg, c.list.Name())
	switch kind, _ := emptyValue(p, out); {
	case kind == "nil":
		return fmt.Sprintf("%s\nif len(%s) > 0 {\n%s = %s\n}", p.Text(out.Stmt), c.list.Name(), c.out.Name(), call),
			edits
	case kind == "empty" && neverNil(p, c.list):
		return c.out.Name() + " := " + call, edits
	}
	return "", nil
}

// neverNil reports whether a list starts as an empty one and code only appends to it.
func neverNil(p *mutate.Pass, v *types.Var) bool {
	for as := range mutate.Nodes[*ast.AssignStmt](p, nil) {
		for i, l := range as.Lhs {
			if p.Var(l) == v && (len(as.Rhs) != len(as.Lhs) || !neverNilValue(p, as.Rhs[i], v)) {
				return false
			}
		}
	}
	return true
}

func neverNilValue(p *mutate.Pass, e ast.Expr, v *types.Var) bool {
	if _, ok := ast.Unparen(e).(*ast.CompositeLit); ok || p.Var(e) == v {
		return true
	}
	if _, ok := p.IsBuiltin(e, "make"); ok {
		return true
	}
	call, ok := p.IsBuiltin(e, "append")
	return ok && neverNilValue(p, call.Args[0], v)
}
