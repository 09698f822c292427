package memory

import (
	"fmt"
	"go/ast"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// mapHint (catalogue A10) matches a map made without a size and filled by a loop. It gives the map
// the loop's bound as its size, or a typical size from the corpus.
var mapHint = &mutate.Mutator{
	Name: "map-hint",
	Doc: "Give a map the size that it can reach in the next loop, or a typical one from the corpus. A map that grows " +
		"rehashes all its entries again and again. Legal because the size of a map cannot be seen.",
	Example: mutate.Shows(`seen := make(map[string]bool)
for _, w := range words {
	seen[w] = true
}`,
		`seen := make(map[string]bool, len(words))
for _, w := range words {
	seen[w] = true
}`),
	Class:   beagle.E0,
	Gain:    1.6,
	Find:    findMapHint,
	Params:  hintParams,
	Rewrite: rewriteMapHint,
}

type mapSite struct {
	decl facts.Declaration
	typ  string
	size string
}

// findMapHint looks for empty maps that a later loop fills, with a bound on the number of its
// iterations. Several bounds need max, which came with Go 1.21.
func findMapHint(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for d, rest := range facts.AllDeclarations(p) {
		if d.Value == nil {
			continue
		}
		kind, typ := facts.EmptyValue(p, d)
		// A nil map cannot be filled.
		if _, isMap := d.Var.Type().Underlying().(*types.Map); kind != "empty" || !isMap {
			continue
		}
		size, ok := fillBound(p, d, rest)
		if ok && (!strings.HasPrefix(size, "max(") || p.GoAtLeast(21)) {
			sites = append(sites, mutate.Site{Node: d.Stmt, Label: "map " + d.Var.Name(), Data: mapSite{d, typ, size}})
		}
	}
	return sites
}

// fillBound finds the loop that assigns elements of the map, and a bound that can be evaluated at
// the declaration.
func fillBound(p *mutate.Pass, d facts.Declaration, rest []ast.Stmt) (string, bool) {
	for k, s := range rest {
		if syntax.LoopBody(s) == nil || !storesTo(p, d.Var, s) {
			continue
		}
		b, ok := loopBound(p, s)
		if !ok || !knownBefore(p, b, s, d, rest[:k]) {
			return "", false
		}
		return b.capacity(), true
	}
	return "", false
}

// storesTo reports whether m[k] = v or m[k] op= v occurs in s.
func storesTo(p *mutate.Pass, m *types.Var, s ast.Stmt) bool {
	for _, id := range p.Uses(m, s) {
		if ix, ok := p.Parent(id).(*ast.IndexExpr); ok && facts.AssignedTo(p, ix) {
			return true
		}
	}
	return false
}

// knownBefore reports whether the bound already has its value at the map's declaration: no
// statement in between declares or changes its parts.
func knownBefore(p *mutate.Pass, b bound, loop ast.Stmt, d facts.Declaration, between []ast.Stmt) bool {
	var operands []ast.Expr
	// The bound consists of the range's operand, or of the two ends of a counting loop.
	switch s := loop.(type) {
	case *ast.RangeStmt:
		operands = []ast.Expr{s.X}
	case *ast.ForStmt:
		l, _ := p.Counted(s)
		operands = []ast.Expr{l.Bound, l.Start}
	}
	// At the map's declaration its variables must exist already, and nothing up to the loop may
	// change them.
	for _, e := range operands {
		for _, id := range mutate.Nodes[*ast.Ident](p, e) {
			v, ok := p.Info.Uses[id].(*types.Var)
			if ok && !v.IsField() && v.Pos() > d.Stmt.Pos() && v.Pos() < loop.End() {
				return false
			}
		}
		if d.Spec != nil && !facts.Stable(p, e, d.Stmt) {
			return false // other parts of its statement may be evaluated after it
		}
		for _, s := range between {
			if !facts.Stable(p, e, s) {
				return false
			}
		}
	}
	// The bound may not be the map's own size.
	return !strings.Contains(b.text, d.Var.Name())
}

func hintParams(p *mutate.Pass, s mutate.Site) []mutate.Param {
	m := s.Data.(mapSite)
	out := []mutate.Param{{Label: m.size, Value: m.size}}
	for i, f := range p.Facets.Params {
		// With many duplicates, a smaller map than the bound may do.
		if p95 := f.Len[2]; p95 >= 16 && f.Distinct > 0 && i < len(p.Target.Params) &&
			strings.Contains(m.size, "len("+f.Name+")") {
			out = append(out, mutate.Param{Label: strconv.Itoa(p95 / 2), Value: strconv.Itoa(p95 / 2)})
		}
	}
	return out
}

func rewriteMapHint(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	m := s.Data.(mapSite)
	return []mutate.Edit{p.Replace(m.decl.Value, fmt.Sprintf("make(%s, %s)", m.typ, param.Value))}, nil
}
