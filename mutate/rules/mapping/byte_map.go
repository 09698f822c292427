package mapping

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// byteMap (catalogue M2) matches a local map with byte keys that code only indexes. It declares an
// array of 256 elements in its place.
var byteMap = &mutate.Mutator{
	Name: "byte-map",
	Doc: "Turn a map with byte keys into an array of 256 elements. Indexing costs one load, without hashing or a " +
		"bounds check. Legal because the map stays in one place and is only indexed: a missing key reads as zero in " +
		"both, and nobody asks for the order or the size.",
	Example: mutate.Shows(`counts := make(map[byte]int)
for i := range len(s) {
	counts[s[i]]++
}`,
		`var counts [256]int
for i := range len(s) {
	counts[s[i]]++
}`),
	Class:   beagle.E0,
	Gain:    4,
	Find:    findByteMap,
	Rewrite: edit.Precomputed,
}

// findByteMap offers each local map that no closure captures, and each unexported map of the
// package that is declared alone.
func findByteMap(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	add := func(v *types.Var, n ast.Node, edits []mutate.Edit) {
		if edits != nil {
			sites = append(sites, edit.Site(n, "map "+v.Name(), edits...))
		}
	}
	// A local map is declared by one statement, which the edit replaces.
	for list, i := range facts.Statements(p) {
		d, ok := facts.Declares(p, list[i])
		if ok && d.Value != nil && !facts.Captured.Of(p)[d.Var] {
			add(d.Var, d.Stmt, byteMapEdits(p, d.Var, d.Value, func(typ, value string) mutate.Edit {
				if value == "" {
					return p.Replace(d.Stmt, "var "+d.Var.Name()+" "+typ)
				}
				return p.Replace(d.Stmt, d.Var.Name()+" := "+value)
			}))
		}
	}
	// An exported variable may have uses in other files, which the edits cannot reach.
	for _, spec := range mutate.Nodes[*ast.ValueSpec](p, nil) {
		v, ok := p.Info.Defs[spec.Names[0]].(*types.Var)
		if ok && p.IsGlobal(v) && !v.Exported() && len(spec.Names) == 1 && len(spec.Values) == 1 {
			add(v, spec, byteMapEdits(p, v, spec.Values[0], func(typ, value string) mutate.Edit {
				if value == "" {
					return p.Replace(spec, v.Name()+" "+typ)
				}
				return p.Replace(spec, v.Name()+" = "+value)
			}))
		}
	}
	return sites
}

// byteMapEdits rewrites the declaration and all uses of a map. It returns nil if an array cannot do
// one of the uses.
func byteMapEdits(
	p *mutate.Pass, v *types.Var, value ast.Expr, declare func(typ, value string) mutate.Edit,
) []mutate.Edit {
	// The keys must be bytes, so that 256 entries are all there are.
	m, ok := v.Type().(*types.Map)
	if !ok || !syntax.IsPredeclared(m.Key(), types.Uint8) {
		return nil
	}
	elem, ok := facts.TypeText(p, m.Elem())
	// An array is a value and has no nil, so a map of the package must be frozen. The 8,192 bytes
	// keep the table within a part of the first cache.
	if !ok || p.IsGlobal(v) && !p.Frozen(v) || facts.ElementSize(m.Elem())*256 > 8192 ||
		facts.MentionsTypeParam(m.Elem()) {
		return nil
	}
	// A set has no values to hold. An array of bools says which keys are in it.
	set := elem == "struct{}"
	if set {
		elem = "bool"
	}
	text, ok := byteMapValue(p, value, elem, set)
	if !ok {
		return nil
	}
	// Every use must have a form that an array has too: the rewrite is all or nothing.
	edits := []mutate.Edit{declare("[256]"+elem, text)}
	for _, id := range p.Uses(v, p.File) {
		e, ok := byteMapUse(p, id, set, syntax.IsPredeclared(m.Elem(), types.Bool) && allTrue(p, v, value))
		if !ok {
			return nil
		}
		edits = append(edits, e...)
	}
	// A map without uses has nothing to gain.
	if len(p.Uses(v, p.File)) == 0 {
		return nil
	}
	return edits
}

// byteMapValue returns the array literal for an initial value, or "" for an empty one.
func byteMapValue(p *mutate.Pass, value ast.Expr, elem string, set bool) (string, bool) {
	// A map that is made starts empty, as an array does. A size hint is dropped, so it may have no
	// effects.
	if call, ok := p.IsBuiltin(value, "make"); ok {
		return "", len(call.Args) < 3 && (len(call.Args) == 1 || p.Pure(call.Args[1]))
	}
	lit, ok := ast.Unparen(value).(*ast.CompositeLit)
	if !ok {
		return "", false
	}
	if len(lit.Elts) == 0 {
		return "", true
	}
	// Keys of an array literal must be constants.
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if _, isConst := p.Int(kv.Key); !ok || !isConst {
			return "", false
		}
	}
	body := p.Between(lit.Lbrace, lit.End())
	// The elements of a set become true.
	if set {
		body = strings.ReplaceAll(p.TextWith(lit, func(n ast.Node) (string, bool) {
			if kv, ok := n.(*ast.KeyValueExpr); ok {
				return p.Text(kv.Key) + ": true", true
			}
			return "", false
		}), p.Text(lit.Type), "")
	}
	return "[256]" + elem + body, true
}

// byteMapUse rewrites one use. set says that the elements are struct{}, so that only presence
// counts. truth says that every stored element is true.
func byteMapUse(p *mutate.Pass, id *ast.Ident, set, truth bool) ([]mutate.Edit, bool) {
	// Only indexing is left; len and range have no counterpart for the keys that are present.
	ix, ok := p.Parent(id).(*ast.IndexExpr)
	if !ok || ix.X != ast.Expr(id) {
		return nil, false
	}
	as, isAssign := p.Parent(ix).(*ast.AssignStmt)
	// An assignment stores in the array. For a set it stores the presence.
	if isAssign && slices.Contains(as.Lhs, ast.Expr(ix)) {
		if !set {
			return nil, true
		}
		if len(as.Lhs) != 1 || as.Tok != token.ASSIGN || !p.Pure(as.Rhs[0]) {
			return nil, false
		}
		return []mutate.Edit{p.Replace(as.Rhs[0], "true")}, true
	}
	// An element of a map has no address; that of an array would make it escape.
	if u, ok := p.Parent(ix).(*ast.UnaryExpr); ok && u.Op == token.AND {
		return nil, false
	}
	// A missing key reads the zero value, in the map and in the array. With struct{} elements the
	// value says nothing.
	if !facts.CommaOK(p, ix) {
		return nil, !set
	}
	// The second result is the presence, which the array knows only if it stores it.
	if !set && !truth || !isAssign || !syntax.IsBlank(as.Lhs[0]) {
		return nil, false
	}
	return presenceEdit(p, as), true
}

// presenceEdit turns `_, ok := m[k]` into `ok := m[k]`, and a test that begins with ok into the
// element itself.
func presenceEdit(p *mutate.Pass, as *ast.AssignStmt) []mutate.Edit {
	elem := p.Text(as.Rhs[0])
	if s, ok := p.Parent(as).(*ast.IfStmt); ok && s.Init == ast.Stmt(as) && as.Tok == token.DEFINE {
		okVar := p.Var(as.Lhs[1])
		if uses := p.Uses(okVar, s); len(uses) == 1 && evaluatesFirst(s.Cond, uses[0]) {
			return []mutate.Edit{p.Span(as.Pos(), s.Cond.Pos(), ""), p.Replace(uses[0], elem)}
		}
	}
	return []mutate.Edit{p.Replace(as, p.Text(as.Lhs[1])+" "+as.Tok.String()+" "+elem)}
}

// evaluatesFirst reports whether a condition evaluates a name before all else, in any case.
func evaluatesFirst(cond ast.Expr, id *ast.Ident) bool {
	switch e := ast.Unparen(cond).(type) {
	case *ast.Ident:
		return e == id
	case *ast.UnaryExpr:
		return evaluatesFirst(e.X, id)
	case *ast.BinaryExpr:
		return (e.Op == token.LAND || e.Op == token.LOR) && evaluatesFirst(e.X, id)
	}
	return false
}

// allTrue reports whether a map with bool elements only ever holds true.
func allTrue(p *mutate.Pass, v *types.Var, value ast.Expr) bool {
	// The first elements and those that code puts in must all be true: then the map holds a key
	// where its element is true.
	if lit, ok := ast.Unparen(value).(*ast.CompositeLit); ok {
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); !ok || !isTrue(p, kv.Value) {
				return false
			}
		}
	}
	for _, id := range p.Uses(v, p.File) {
		if ix, ok := p.Parent(id).(*ast.IndexExpr); ok && facts.AssignedTo(p, ix) {
			_, rhs, ok := syntax.SplitAssign(facts.AsStmt(p.Parent(ix)), token.ASSIGN)
			if !ok || !isTrue(p, rhs) {
				return false
			}
		}
	}
	return true
}

func isTrue(p *mutate.Pass, e ast.Expr) bool {
	v := p.Info.Types[e].Value
	return v != nil && fmt.Sprint(v) == "true"
}
