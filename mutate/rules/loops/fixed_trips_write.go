package loops

import (
	"go/ast"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file writes the iterations that fixed-trips found.

func rewriteFixedTrips(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	l := s.Data.(*fixedLoop)
	open, end := "", "\n"
	// Each iteration declares its variables anew, so each copy gets a block.
	if declaresNames(l.body.List) {
		open, end = "{\n", "\n}\n"
	}
	first, last := l.body.List[0], l.body.List[len(l.body.List)-1]
	// Only the statements are copied, not the braces around them.
	list := &ast.BlockStmt{Lbrace: first.Pos(), List: l.body.List, Rbrace: last.End() - 1}
	var out strings.Builder
	for i := range l.trips {
		out.WriteString(open + l.iteration(p, list, i) + end)
	}
	return []mutate.Edit{p.Replace(s.Node, strings.TrimSpace(out.String()))}, nil
}

// iteration is the text of the body in one iteration.
func (l *fixedLoop) iteration(p *mutate.Pass, list ast.Node, i int) string {
	return p.TextWith(list, func(n ast.Node) (string, bool) {
		e, ok := n.(ast.Expr)
		if !ok {
			return "", false
		}
		// An expression that is known as a whole is written as its value, rather than its parts.
		if text, ok := l.folded(p, e, i); ok {
			return text, true
		}
		if v := p.Var(e); v != nil && i < len(l.texts) && l.texts[i][v] != "" {
			return l.texts[i][v], true
		}
		return "", false
	})
}

// folded is the value of an expression of loop variables and constants, as a literal.
func (l *fixedLoop) folded(p *mutate.Pass, e ast.Expr, i int) (string, bool) {
	// Names other than loop variables and constants have no value yet. Without a loop variable the
	// compiler folds the expression itself.
	known := false
	for _, id := range mutate.Nodes[*ast.Ident](p, e) {
		v, isVar := p.Info.Uses[id].(*types.Var)
		if !isVar {
			if _, isConst := p.Info.Uses[id].(*types.Const); !isConst || !facts.SameEverywhere(p, id) {
				return "", false
			}
			continue
		}
		if _, ok := l.trips[i][v]; !ok {
			return "", false
		}
		known = true
	}
	if !known {
		return "", false
	}
	// Calls may have effects, and elements change. Only arithmetic remains.
	for _, n := range mutate.Nodes[ast.Expr](p, e) {
		switch n.(type) {
		case *ast.CallExpr, *ast.IndexExpr, *ast.SliceExpr, *ast.CompositeLit, *ast.SelectorExpr:
			return "", false
		}
	}
	// Evaluate all other expressions with the iteration's values, as the program would.
	value, err := p.Values().Eval(e, l.trips[i])
	if err != nil {
		return "", false
	}
	return literalOfType(p, e, value)
}

// literalOfType writes a value so that it has the type of the expression that it replaces.
func literalOfType(p *mutate.Pass, e ast.Expr, value mutate.Value) (string, bool) {
	// Write the value as an untyped constant.
	text := ""
	switch v := value.(type) {
	case bool:
		text = strconv.FormatBool(v)
	case string:
		text = strconv.Quote(v)
	case int64:
		text = strconv.FormatInt(v, 10)
	case uint64:
		text = strconv.FormatUint(v, 10)
	default:
		return "", false
	}
	t := types.Default(p.Info.TypeOf(e))
	// An index, and a type that the constant has by default, need no conversion.
	if ix, ok := p.Parent(e).(*ast.IndexExpr); ok && ast.Unparen(ix.Index) == e {
		if _, isMap := p.Info.TypeOf(ix.X).Underlying().(*types.Map); !isMap {
			return text, true
		}
	}
	if b, ok := types.Unalias(t).(*types.Basic); ok {
		switch b.Kind() {
		case types.Int, types.String, types.Bool:
			return text, true
		}
	}
	name, ok := facts.TypeText(p, t)
	return name + "(" + text + ")", ok
}
