package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// tableArray (catalogue B5) matches a package-level slice that code only indexes, ranges over or
// measures. It declares an array.
var tableArray = &mutate.Mutator{
	Name: "table-array",
	Doc: "Make a lookup table an array instead of a slice: its length is then part of the type, so that an index " +
		"that cannot be out of bounds is not checked, and the table's address is known. Legal because the variable " +
		"is never assigned and only indexed, ranged over or measured.",
	Before:  `var weights = []int{3, 1, 4, 1}`,
	After:   `var weights = [...]int{3, 1, 4, 1}`,
	Class:   beagle.E0,
	Gain:    1.06,
	Find:    findTableArray,
	Rewrite: precomputed,
}

func findTableArray(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for spec := range mutate.Nodes[*ast.ValueSpec](p, nil) {
		v, ok := p.Info.Defs[spec.Names[0]].(*types.Var)
		if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 || !p.IsGlobal(v) || v.Exported() {
			continue
		}
		edits := arrayEdits(p, v, spec)
		if edits != nil {
			sites = append(sites, site(spec, "table "+v.Name(), edits...))
		}
	}
	return sites
}

func arrayEdits(p *mutate.Pass, v *types.Var, spec *ast.ValueSpec) []mutate.Edit {
	lit, ok := ast.Unparen(spec.Values[0]).(*ast.CompositeLit)
	if !ok || len(lit.Elts) == 0 {
		return nil
	}
	t, ok := lit.Type.(*ast.ArrayType)
	if !ok || t.Len != nil || spec.Type != nil {
		return nil
	}
	uses := p.Uses(v, p.File)
	for _, id := range uses {
		switch up := p.Parent(id).(type) {
		case *ast.IndexExpr:
			if up.X != ast.Expr(id) || outOfBounds(p, up, len(lit.Elts)) {
				return nil
			}
			if u, ok := p.Parent(up).(*ast.UnaryExpr); ok && u.Op == token.AND {
				return nil
			}
		case *ast.RangeStmt:
			if up.X != ast.Expr(id) || !isBlank(up.Value) && len(lit.Elts) > 64 {
				return nil
			}
		case *ast.CallExpr:
			if _, isLen := p.IsBuiltin(up, "len"); !isLen {
				return nil
			}
		default:
			return nil
		}
	}
	if len(uses) == 0 || !p.Frozen(v) && !elementStoresOnly(p, v) {
		return nil
	}
	return []mutate.Edit{p.Replace(t, "[...]"+p.Text(t.Elt))}
}

// outOfBounds reports whether a constant index lies outside, which the compiler refuses for an
// array.
func outOfBounds(p *mutate.Pass, ix *ast.IndexExpr, n int) bool {
	k, ok := p.Int(ix.Index)
	return ok && k >= int64(n)
}

func elementStoresOnly(p *mutate.Pass, v *types.Var) bool { return storesElementsOnly(p, v, p.File) }

// arrayStack (catalogue B12) matches the top of a stack in an array, a signed variable that moves
// by one. It makes the variable unsigned, so that one comparison checks both ends.
var arrayStack = &mutate.Mutator{
	Name: "unsigned-top",
	Doc: "Make the top of a stack in an array unsigned: one comparison then checks both ends. Legal because the " +
		"index only moves by one and is compared with what is not negative; a negative index panics either way, " +
		"with another text.",
	Before: `top := 0
stack[top] = x
top++`,
	After: `top := uint(0)
stack[top] = x
top++`,
	Class:   beagle.E1,
	Gain:    1.05,
	Find:    findArrayStack,
	Rewrite: precomputed,
}

func findArrayStack(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range statements(p) {
		d, ok := facts.Declares(p, list[i])
		if !ok || d.Value == nil || !isBasicType(d.Var.Type(), types.Int) || facts.Captured.Of(p)[d.Var] {
			continue
		}
		start, ok := p.Int(d.Value)
		if !ok || start < 0 {
			continue
		}
		if lit, isLit := d.Value.(*ast.BasicLit); isLit {
			if edits := unsignedTop(p, d, lit); edits != nil {
				sites = append(sites, site(d.Stmt, "stack index "+d.Var.Name(), edits...))
			}
		}
	}
	return sites
}

// unsignedTop rewrites the declaration; every use must mean the same for an unsigned variable.
func unsignedTop(p *mutate.Pass, d facts.Declaration, lit *ast.BasicLit) []mutate.Edit {
	edits := []mutate.Edit{p.Replace(d.Stmt, d.Var.Name()+" := uint("+lit.Value+")")}
	indexes, steps, ordered := 0, map[token.Token]int{}, false
	for _, id := range p.Uses(d.Var, p.File) {
		switch up := p.Parent(id).(type) {
		case *ast.IncDecStmt:
			steps[up.Tok]++
		case *ast.IndexExpr:
			if ast.Unparen(up.Index) != ast.Expr(id) || !isArrayVar(p, up.X) {
				return nil
			}
			indexes++
		case *ast.BinaryExpr:
			if e, ok := topOperand(p, up, id); !ok {
				return nil
			} else if e != nil {
				edits = append(edits, *e)
			}
			_, isLen := p.IsBuiltin(up.Y, "len")
			if isLen && up.Op == token.EQL && onlyPushes(p, d.Var) {
				edits = append(edits, p.Span(up.OpPos, up.OpPos+2, ">=")) // the same: top never passes the length
			}
			ordered = ordered || isLen || up.Op != token.EQL && up.Op != token.NEQ && up.Op != token.SUB
		default:
			return nil
		}
	}
	if indexes == 0 || steps[token.INC] == 0 || steps[token.DEC] == 0 || ordered && !staysPositive(p, d.Var) {
		return nil
	}
	return edits
}

// staysPositive reports whether the top of a stack never falls below zero: each top-- stands where
// code has seen that there is an element, or has it before or behind, which panics for none.
func staysPositive(p *mutate.Pass, top *types.Var) bool {
	for dec := range mutate.Nodes[*ast.IncDecStmt](p, nil) {
		if dec.Tok == token.DEC && p.Var(dec.X) == top && !aboveZero(p, dec, top) {
			return false
		}
	}
	return true
}

// aboveZero reports whether a variable that was never negative is above zero in front of a
// statement, or the next statement panics.
func aboveZero(p *mutate.Pass, s ast.Stmt, top *types.Var) bool {
	list, at := p.Siblings(s)
	if at < 0 {
		return false
	}
	if at+1 < len(list) && takesElement(p, list[at+1], top, 0) {
		return true
	}
	for _, front := range slices.Backward(list[:at]) {
		i, ok := front.(*ast.IfStmt)
		leaves := ok && i.Else == nil && mutate.Terminates(i.Body.List) && saysPositive(p, i.Cond, top, false)
		if leaves || takesElement(p, front, top, 1) {
			return true
		}
		if p.Assigned(top, front) {
			return false
		}
	}
	var child ast.Node = s
	for _, up := range p.Path(s)[1:] {
		switch up := up.(type) {
		case *ast.IfStmt:
			return up.Body == child && saysPositive(p, up.Cond, top, true) ||
				up.Else == child && saysPositive(p, up.Cond, top, false) ||
				up.Init == nil && aboveZero(p, up, top)
		case *ast.ForStmt:
			return up.Body == child && up.Cond != nil && saysPositive(p, up.Cond, top, true)
		case *ast.BlockStmt:
		default:
			return false
		}
		child = up
	}
	return false
}

// takesElement reports whether a statement takes the element at top, or one below, in any case.
func takesElement(p *mutate.Pass, s ast.Stmt, top *types.Var, below int64) bool {
	root := ast.Node(s)
	if i, ok := s.(*ast.IfStmt); ok && i.Init == nil {
		root = i.Cond
	} else if !simple(s) {
		return false
	}
	for ix := range mutate.Nodes[*ast.IndexExpr](p, root) {
		place, offset := placeOf(p, ix.Index)
		if p.Var(place) == top && offset == -below && isArrayVar(p, ix.X) && !conditional(p, ix, s) {
			return true
		}
	}
	return false
}

// saysPositive reports whether a condition with a truth value says of a variable that it is not
// zero.
func saysPositive(p *mutate.Pass, cond ast.Expr, v *types.Var, truth bool) bool {
	op := token.LAND
	if !truth {
		op = token.LOR
	}
	return slices.ContainsFunc(operands(cond, op), func(test ast.Expr) bool {
		b, ok := ast.Unparen(test).(*ast.BinaryExpr)
		if !ok || p.Var(b.X) != v {
			return false
		}
		k, constant := p.Int(b.Y)
		switch b.Op {
		case token.GTR:
			return truth && constant && k >= 0
		case token.GEQ:
			return truth && constant && k > 0
		case token.NEQ:
			return truth && constant && k == 0
		case token.EQL:
			return !truth && constant && k == 0
		case token.LEQ:
			return !truth && constant && k >= 0
		case token.LSS:
			return !truth && constant && k > 0
		}
		return false
	})
}

// onlyPushes reports whether every top++ follows a store at top, so that top never exceeds the
// array's length.
func onlyPushes(p *mutate.Pass, top *types.Var) bool {
	for inc := range mutate.Nodes[*ast.IncDecStmt](p, nil) {
		if inc.Tok != token.INC || p.Var(inc.X) != top {
			continue
		}
		list, i := p.Siblings(inc)
		if i < 1 {
			return false
		}
		lhs, _, ok := assigned(list[i-1], token.ASSIGN)
		ix, isIndex := lhs.(*ast.IndexExpr)
		if !ok || !isIndex || p.Var(ix.Index) != top || !isArrayVar(p, ix.X) {
			return false
		}
	}
	return true
}

func isArrayVar(p *mutate.Pass, e ast.Expr) bool {
	t := p.Info.TypeOf(e)
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Array)
	return ok
}

// topOperand allows top-1 as an index, and comparisons with positive constants and with len of
// something.
func topOperand(p *mutate.Pass, b *ast.BinaryExpr, id *ast.Ident) (*mutate.Edit, bool) {
	if b.X != ast.Expr(id) {
		return nil, false
	}
	k, isConst := p.Int(b.Y)
	switch b.Op {
	case token.SUB:
		ix, ok := p.Parent(b).(*ast.IndexExpr)
		return nil, ok && isConst && k > 0 && untyped(p, b.Y) && ast.Unparen(ix.Index) == ast.Expr(b) &&
			isArrayVar(p, ix.X)
	case token.GTR, token.EQL, token.NEQ:
		isConst = isConst && k >= 0
	case token.LSS, token.GEQ, token.LEQ:
		isConst = isConst && k > 0
	default:
		return nil, false
	}
	if isConst && untyped(p, b.Y) {
		return nil, true
	}
	if _, isLen := p.IsBuiltin(b.Y, "len"); isConst || isLen {
		e := p.Replace(b.Y, "uint("+p.Text(b.Y)+")")
		return &e, true
	}
	return nil, false
}

// untyped reports whether a constant takes the type of the other operand.
func untyped(p *mutate.Pass, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		c, ok := p.Info.Uses[e].(*types.Const)
		if !ok {
			return false
		}
		b, ok := c.Type().(*types.Basic)
		return ok && b.Info()&types.IsUntyped != 0
	}
	return false
}
