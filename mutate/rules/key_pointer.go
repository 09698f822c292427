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

// keyPointer (catalogue M5) matches a local map of counts whose keys are converted byte slices. It
// stores pointers to the counts, so that only a new key makes a string.
var keyPointer = &mutate.Mutator{
	Name: "map-of-pointers",
	Doc: "Count through pointers when the key is a converted byte slice. m[string(b)]++ makes a string every time, " +
		"because it may have to store it; a lookup does not. Legal because the map stays in the function and is " +
		"only counted in, read and ranged over.",
	Before: `counts := make(map[string]int)
...
counts[string(word)]++`,
	After: `counts := make(map[string]*int)
...
if n := counts[string(word)]; n != nil {
	*n++
} else {
	first := 1
	counts[string(word)] = &first
}`,
	Class:   beagle.E0,
	Gain:    1.6,
	Find:    findKeyPointer,
	Rewrite: precomputed,
}

func findKeyPointer(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range statements(p) {
		d, ok := facts.Declares(p, list[i])
		if !ok || d.Value == nil || facts.Captured.Of(p)[d.Var] {
			continue
		}
		if edits := countEdits(p, d); edits != nil {
			sites = append(sites, site(d.Stmt, "counts in "+d.Var.Name(), edits...))
		}
	}
	return sites
}

// countEdits rewrites the declaration and every use of a map of counts.
func countEdits(p *mutate.Pass, d facts.Declaration) []mutate.Edit {
	m, ok := d.Var.Type().(*types.Map)
	if !ok || !isBasicType(m.Key(), types.String) || !isBasicType(m.Elem(), types.Int) || !madeMap(p, d.Value) {
		return nil
	}
	edits := []mutate.Edit{p.Replace(d.Value, "make(map[string]*int)")}
	counts := 0
	for _, id := range p.Uses(d.Var, p.File) {
		switch up := p.Parent(id).(type) {
		case *ast.IndexExpr:
			inc, ok := p.Parent(up).(*ast.IncDecStmt)
			if !ok || inc.Tok != token.INC || up.X != ast.Expr(id) {
				return nil
			}
			from, ok := converts(p, up.Index, "string")
			if !ok || !p.Pure(from) && p.Effects(from).Writes || !inList(p, inc) {
				return nil
			}
			counts++
			n, first, elem := p.Fresh("n", "count"), p.Fresh("first", "one"), p.Text(up)
			edits = append(edits,
				p.Replace(inc,
					fmt.Sprintf("if %s := %s; %s != nil {\n*%s++ // a lookup makes no string\n} else {\n%s := 1\n"+
						"%s = &%s\n}", n, elem, n, n, first, elem, first)))
		case *ast.CallExpr:
			if _, isLen := p.IsBuiltin(up, "len"); !isLen {
				return nil
			}
		case *ast.RangeStmt:
			e, ok := rangeCounts(p, up, id)
			if !ok {
				return nil
			}
			edits = append(edits, e...)
		default:
			return nil
		}
	}
	if counts == 0 {
		return nil
	}
	return edits
}

func inList(p *mutate.Pass, s ast.Stmt) bool {
	list, _ := p.Siblings(s)
	return list != nil
}

// rangeCounts reads the counts of `for k, n := range m` through the pointer.
func rangeCounts(p *mutate.Pass, r *ast.RangeStmt, id *ast.Ident) ([]mutate.Edit, bool) {
	if r.X != ast.Expr(id) || r.Tok == token.ASSIGN {
		return nil, false
	}
	if isBlank(r.Value) {
		return nil, true
	}
	v := p.Var(r.Value)
	if v == nil || p.Assigned(v, r.Body) || facts.Captured.Of(p)[v] {
		return nil, false
	}
	for _, other := range p.Uses(p.Var(id), r.Body) {
		if _, counts := p.Parent(other).(*ast.IndexExpr); counts {
			return nil, false // the variable keeps the count of the iteration's begin
		}
	}
	var edits []mutate.Edit
	for _, use := range p.Uses(v, r.Body) {
		edits = append(edits, p.Replace(use, "*"+use.Name))
	}
	return edits, true
}
