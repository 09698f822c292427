package memory

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// stackResult (catalogue A3 for results) matches a slice that starts with nothing, grows, and is
// returned. It grows in an array on the stack, and returns a copy of the final size.
var stackResult = &mutate.Mutator{
	Name: "stack-result",
	Doc: "Collect a result that grows by append in an array on the stack, and return a copy of the size that it has " +
		"in the end. Growing from nothing allocates at 8, 16, 32 and 64 bytes in turn and copies each time; this " +
		"allocates once. Legal because only the capacity differs: an empty result stays nil, or not nil, as it was.",
	Example: mutate.Shows(`var buf []byte
for i, n := range numbers {
	buf = strconv.AppendInt(append(buf, '.'), n, 10)
}
return buf`,
		`var room [64]byte // holds most results while they grow
buf := room[:0]
for i, n := range numbers {
	buf = strconv.AppendInt(append(buf, '.'), n, 10)
}
return append([]byte(nil), buf...)`),
	Class:   beagle.E2,
	Gain:    1.4,
	Find:    findStackResults,
	Params:  scratchSizes,
	Rewrite: rewriteStackResult,
}

// findStackResults looks for slices that grow in the function and are returned. They can grow on
// the stack and be copied once, at their final size.
func findStackResults(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		// The slice must be empty at first, grow often enough to matter, and be returned.
		for _, s := range emptySlices(p, list[i]) {
			d := s.decl
			kind, _ := facts.EmptyValue(p, d)
			if kind == "" || !facts.TakesTime(p, list[i]) && p.FuncOf(list[i]) != p.Func || !growsOften(p, d) {
				continue
			}
			// At each return the elements are copied to a slice of their own, which starts as the
			// original did: nil or empty.
			if s.returns = returnsOf(p, d, kind == "nil"); len(s.returns) > 0 && s.namedThere(p) &&
				cutsWithin(p, d.Var) {
				s.fresh = "[]" + s.elem + "(nil)"
				if kind == "empty" {
					s.fresh = "[]" + s.elem + "{}"
				}
				sites = append(sites, mutate.Site{Node: d.Stmt, Label: "result " + d.Var.Name(), Data: s})
			}
		}
	}
	return sites
}

// growsOften reports whether a slice may grow more than once: in a loop, or at two places.
func growsOften(p *mutate.Pass, d facts.Declaration) bool {
	n := 0
	for _, as := range mutate.Nodes[*ast.AssignStmt](p, p.FuncOf(d.Stmt)) {
		lhs, rhs, ok := syntax.SplitAssign(as, syntax.AssignTokens...)
		if !ok || p.Var(lhs) != d.Var {
			continue
		}
		// An append or another call gives the slice more.
		if _, more := rhs.(*ast.CallExpr); more {
			if n++; n > 1 || sharesLoop(p, as, d.Stmt) {
				return true
			}
		}
	}
	return false
}

// sharesLoop reports whether a statement stands in a loop that does not hold the declaration.
func sharesLoop(p *mutate.Pass, s, declaration ast.Stmt) bool {
	for _, up := range p.Path(s) {
		switch up.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return !facts.Inside(declaration, up)
		}
	}
	return false
}

// returnsOf returns the places where a slice is a result, if no other use lets anybody keep it. A
// slice that starts as nil may not be cut, since it is no longer nil when it is empty again.
func returnsOf(p *mutate.Pass, d facts.Declaration, startsNil bool) []*ast.Ident {
	o := facts.Owned.Of(p)[d.Var]
	if o == nil || o.All&facts.Renews != 0 {
		return nil // new memory may be nil, or not, where the first was
	}
	var out []*ast.Ident
	for _, id := range p.Uses(d.Var, p.File) {
		ret, ok := p.Parent(id).(*ast.ReturnStmt)
		if ok && slices.Contains(ret.Results, ast.Expr(id)) && o.Uses[id]&facts.Borrows == 0 {
			out = append(out, id)
			continue
		}
		// Cut to nothing, a slice on an array is empty where nil was before.
		if startsNil && o.Uses[id]&facts.Cuts != 0 || !facts.MayMove(p, o, id) {
			return nil
		}
	}
	return out
}

// namedThere reports whether the element type has its name wherever the slice is a result.
func (s *scratchSite) namedThere(p *mutate.Pass) bool {
	if facts.IsRedefined(p, s.decl.Stmt, "append") {
		return false
	}
	var declaration ast.Node = s.decl.Stmt
	// The type's name is written again where the slice is returned.
	if s.decl.Spec != nil {
		declaration = s.decl.Spec
	}
	for _, id := range mutate.Nodes[*ast.Ident](p, declaration) {
		obj, isType := p.Info.Uses[id].(*types.TypeName)
		for _, ret := range s.returns {
			if isType && !facts.Means(p, ret.Pos(), id.Name, obj) {
				return false
			}
		}
	}
	return true
}

func rewriteStackResult(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	site := s.Data.(scratchSite)
	room, name := p.Fresh("room"), site.decl.Var.Name()
	edits := edit.Redeclare(p, site.decl,
		fmt.Sprintf("var %s [%d]%s // holds most results while they grow\n%s := %s[:0]",
			room, param.Value, site.elem, name, room))
	for _, id := range site.returns {
		edits = append(edits, p.Replace(id, fmt.Sprintf("append(%s, %s...)", site.fresh, name)))
	}
	return edits, nil
}
