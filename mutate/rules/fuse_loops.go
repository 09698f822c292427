package rules

import (
	"go/ast"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// fuseLoops (catalogue L8) matches two neighbouring loops over the same elements that do not depend
// on each other. It writes one loop with both bodies.
var fuseLoops = &mutate.Mutator{
	Name: "fuse-loops",
	Doc: "Go through the same elements once instead of twice. Legal because both loops run to the end and neither " +
		"uses a variable that the other changes; they write nothing but local variables.",
	Before: `for _, x := range v {
	sum += x
}
for _, x := range v {
	count[x&7]++
}`,
	After: `for _, x := range v {
	sum += x
	count[x&7]++
}`,
	Class:   beagle.E0,
	Gain:    1.15,
	Find:    findFuse,
	Rewrite: precomputed,
}

func findFuse(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range statements(p) {
		if i == 0 {
			continue
		}
		a, okA := list[i-1].(*ast.RangeStmt)
		b, okB := list[i].(*ast.RangeStmt)
		if okA && okB && fusible(p, a, b) {
			sites = append(sites, site(b, "two loops over "+p.Text(a.X), fuseEdits(p, a, b)...))
		}
	}
	return sites
}

func fusible(p *mutate.Pass, a, b *ast.RangeStmt) bool {
	seq := p.Var(a.X)
	if seq == nil || p.Var(b.X) != seq || p.IsGlobal(seq) || !sameVariables(p, a.Key, b.Key) ||
		!sameVariables(p, a.Value, b.Value) {
		return false
	}
	switch seq.Type().Underlying().(type) {
	case *types.Map, *types.Signature, *types.Chan:
		return false
	}
	if p.Assigned(seq, a.Body) || p.Assigned(seq, b.Body) || declares(a.Body.List) && declares(b.Body.List) {
		return false
	}
	return quiet(p, a.Body) && quiet(p, b.Body) && independent(p, a.Body, b.Body) && independent(p, b.Body, a.Body)
}

// sameVariables reports whether the second loop's variables match the first one's. The second loop
// may lack one.
func sameVariables(p *mutate.Pass, a, b ast.Expr) bool {
	if isBlank(b) {
		return true
	}
	return !isBlank(a) && p.Info.Defs[a.(*ast.Ident)] != nil
}

// quiet reports whether a body writes only plain local variables, and always runs to its end
// without a panic.
func quiet(p *mutate.Pass, body *ast.BlockStmt) bool {
	if _, continues, ok := p.Branches(body); !ok || len(continues) > 0 {
		return false
	}
	f := p.Effects(body)
	return !f.Panics && !f.Jumps && !changesMemoryBut(p, body)
}

// changesMemoryBut is changesMemory without elements of local arrays.
func changesMemoryBut(p *mutate.Pass, body ast.Node) bool {
	changes := false
	check := func(l ast.Expr) {
		if ix, ok := ast.Unparen(l).(*ast.IndexExpr); ok {
			if v := p.Var(ix.X); local(p, v) {
				if _, isArray := v.Type().Underlying().(*types.Array); isArray {
					return
				}
			}
		}
		changes = changes || !plainLocal(p, l)
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				check(l)
			}
		case *ast.IncDecStmt:
			check(n.X)
		case *ast.CallExpr:
			changes = changes || callChanges(p, n)
		case *ast.GoStmt, *ast.DeferStmt, *ast.SendStmt, *ast.SelectStmt, *ast.FuncLit:
			changes = true
		}
		return !changes
	})
	return changes
}

// independent reports whether b uses nothing that a assigns.
func independent(p *mutate.Pass, a, b *ast.BlockStmt) bool {
	for id := range mutate.Nodes[*ast.Ident](p, b) {
		v, ok := p.Info.Uses[id].(*types.Var)
		if !ok || v.IsField() {
			continue
		}
		if captured(p, v) || p.Assigned(v, a) {
			return false
		}
	}
	return true
}

func fuseEdits(p *mutate.Pass, a, b *ast.RangeStmt) []mutate.Edit {
	rename := map[types.Object]string{}
	for _, pair := range [][2]ast.Expr{{a.Key, b.Key}, {a.Value, b.Value}} {
		if from, ok := pair[1].(*ast.Ident); ok && from.Name != "_" {
			rename[p.Info.Defs[from]] = p.Text(pair[0])
		}
	}
	text := p.TextWith(b.Body, func(n ast.Node) (string, bool) {
		id, ok := n.(*ast.Ident)
		if !ok {
			return "", false
		}
		to, ok := rename[p.Info.Uses[id]]
		return to, ok
	})
	if declares(b.Body.List) {
		text = "\n" + text
	} else {
		text = text[1 : len(text)-1]
	}
	if comment := strings.TrimSpace(p.Between(a.Body.Rbrace+1, b.Pos())); comment != "" {
		text = comment + "\n" + strings.TrimLeft(text, "\n")
	}
	return []mutate.Edit{p.Insert(a.Body.Rbrace, text), p.Span(a.Body.Rbrace+1, b.End(), "")}
}
