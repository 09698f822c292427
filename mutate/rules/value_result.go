package rules

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// valueResult (catalogue A7) matches a function that returns a pointer to a new small struct, if
// all callers only use its fields. It returns the struct itself.
var valueResult = &mutate.Mutator{
	Name: "value-result",
	Doc: "Return a small struct itself instead of a pointer to a new one. The struct then stays in registers or on " +
		"the stack, and nothing is left for the garbage collector. Legal because every return makes a new struct, " +
		"and every caller only reads and writes the fields of the variable that it keeps the result in.",
	Before: `func parse(s string) *point {
	return &point{x: int(s[0]), y: int(s[1])}
}

q := parse(s)
return q.x + q.y`,
	After: `func parse(s string) point {
	return point{x: int(s[0]), y: int(s[1])}
}

q := parse(s)
return q.x + q.y`,
	Class:   beagle.E0,
	Gain:    1.4,
	Find:    findValueResult,
	Rewrite: precomputed,
}

const smallStruct = 32 // four words, in bytes

func findValueResult(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for fn := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		star, ok := newStructs(p, fn)
		if !ok || fn == p.Func || ast.IsExported(fn.Name.Name) || fn.Recv != nil {
			continue
		}
		edits := []mutate.Edit{p.Replace(star, p.Text(star.X))}
		for r := range mutate.Nodes[*ast.ReturnStmt](p, fn.Body) {
			amp := ast.Unparen(r.Results[0]).(*ast.UnaryExpr)
			edits = append(edits, p.Replace(r.Results[0], p.Text(amp.X)))
		}
		if callersReadFields(p, fn) {
			sites = append(sites, site(fn, "result of "+fn.Name.Name, edits...))
		}
	}
	return sites
}

// newStructs reports whether a function has one result, a pointer to a small struct, and every
// return makes a new one by a literal.
func newStructs(p *mutate.Pass, fn *ast.FuncDecl) (*ast.StarExpr, bool) {
	if fn.Body == nil || fn.Type.Results == nil || len(fn.Type.Results.List) != 1 ||
		len(fn.Type.Results.List[0].Names) > 0 || fn.Type.TypeParams != nil {
		return nil, false
	}
	star, ok := fn.Type.Results.List[0].Type.(*ast.StarExpr)
	if !ok || mentions(p, fn, "recover") {
		return nil, false
	}
	t := p.Info.TypeOf(star.X)
	if _, isStruct := t.Underlying().(*types.Struct); !isStruct || elementSize(t) == 0 ||
		elementSize(t) > smallStruct || holdsLock(t) {
		return nil, false
	}
	returns := 0
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			ok = false
		case *ast.ReturnStmt:
			returns++
			amp, isAmp := ast.Unparen(n.Results[0]).(*ast.UnaryExpr)
			if !isAmp || amp.Op != token.AND {
				ok = false
				break
			}
			if _, lit := amp.X.(*ast.CompositeLit); !lit {
				ok = false
			}
		}
		return ok
	})
	return star, ok && returns > 0
}

// holdsLock reports whether a struct has a method with a pointer receiver, as locks and builders
// have: a copy may be wrong.
func holdsLock(t types.Type) bool {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for f := range s.Fields() {
		if f.Embedded() {
			return true
		}
		if _, basic := f.Type().Underlying().(*types.Struct); basic {
			return true
		}
	}
	return false
}

// callersReadFields reports whether every use of the function is f(...).field, or `v := f(...)`
// with a v of which code uses only fields.
func callersReadFields(p *mutate.Pass, fn *ast.FuncDecl) bool {
	calls := 0
	for _, id := range p.Uses(p.Info.Defs[fn.Name], p.File) {
		call, ok := p.Parent(id).(*ast.CallExpr)
		if !ok || ast.Unparen(call.Fun) != ast.Expr(id) {
			return false
		}
		calls++
		switch up := p.Parent(call).(type) {
		case *ast.SelectorExpr:
			if s := p.Info.Selections[up]; s == nil || s.Kind() != types.FieldVal || writesTo(p, up) {
				return false
			}
		case *ast.AssignStmt:
			d, ok := facts.Declares(p, up)
			if !ok || facts.Captured.Of(p)[d.Var] || !onlyFields(p, d.Var) {
				return false
			}
		default:
			return false
		}
	}
	return calls > 0
}

func writesTo(p *mutate.Pass, e ast.Expr) bool {
	switch up := p.Parent(e).(type) {
	case *ast.AssignStmt:
		for _, l := range up.Lhs {
			if ast.Unparen(l) == e {
				return true
			}
		}
	case *ast.IncDecStmt:
		return true
	case *ast.UnaryExpr:
		return up.Op == token.AND
	case *ast.IndexExpr, *ast.SelectorExpr, *ast.SliceExpr:
		return writesTo(p, up.(ast.Expr))
	}
	return false
}

// onlyFields reports whether all uses of v select a field and take no address.
func onlyFields(p *mutate.Pass, v *types.Var) bool {
	for _, id := range p.Uses(v, p.File) {
		sel, ok := p.Parent(id).(*ast.SelectorExpr)
		if !ok || sel.X != ast.Expr(id) {
			return false
		}
		s := p.Info.Selections[sel]
		if s == nil || s.Kind() != types.FieldVal || addressed(p, sel) {
			return false
		}
	}
	return true
}

// addressed reports whether code takes the address of e or of a part of it, which slicing an array
// does too.
func addressed(p *mutate.Pass, e ast.Expr) bool {
	switch up := p.Parent(e).(type) {
	case *ast.UnaryExpr:
		return up.Op == token.AND
	case *ast.SliceExpr:
		return up.X == e
	case *ast.SelectorExpr:
		s := p.Info.Selections[up]
		return s != nil && s.Kind() != types.FieldVal || addressed(p, up)
	case *ast.IndexExpr:
		return up.X == e && addressed(p, up)
	case *ast.RangeStmt:
		return up.X == e
	}
	return false
}
