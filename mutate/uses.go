package mutate

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
)

// Uses lists the identifiers below root that use v, in source order.
func (p *Pass) Uses(v types.Object, root ast.Node) []*ast.Ident {
	var out []*ast.Ident
	for _, id := range p.indexed().uses[v] {
		if root.Pos() <= id.Pos() && id.End() <= root.End() {
			out = append(out, id)
		}
	}
	return out
}

// Assigned reports whether code below root may give v another value after its declaration. It looks
// for assignments to v, to an element and to a field. It also looks for code that takes v's
// address; slicing an array and calling a pointer method do so too. It does not see changes of
// elements through another slice.
func (p *Pass) Assigned(v *types.Var, root ast.Node) bool {
	for _, id := range p.indexed().uses[v] {
		if root.Pos() <= id.Pos() && id.End() <= root.End() && p.Changes(id) {
			return true
		}
	}
	return false
}

// Changes reports whether the code around a use of a variable, an element or a field may change it.
func (p *Pass) Changes(e ast.Expr) bool {
	// Walk outwards as long as the node names the thing or a part of it. The first other node
	// decides.
	var child ast.Node = e
	for up := range p.ancestors(e) {
		switch up := up.(type) {
		case *ast.ParenExpr:
		case *ast.IndexExpr:
			if up.X != child {
				return false
			}
		case *ast.SelectorExpr:
			if p.PointerMethod(up) {
				return true
			}
			if s := p.Info.Selections[up]; s == nil || s.Kind() != types.FieldVal {
				return false
			}
		case *ast.SliceExpr:
			return syntax.Is[*types.Array](p.Info.TypeOf(up.X)) && up.X == child
		case *ast.UnaryExpr:
			return up.Op == token.AND
		case *ast.IncDecStmt:
			return true
		case *ast.AssignStmt:
			return isAmong(child, up.Lhs)
		case *ast.RangeStmt:
			return up.Key == child || up.Value == child
		case *ast.CallExpr:
			if b, ok := p.Callee(up).(*types.Builtin); ok && len(up.Args) > 0 && up.Args[0] == child {
				return b.Name() == "clear" || b.Name() == "delete" || b.Name() == "copy"
			}
			return false
		default:
			return false
		}
		child = up
	}
	return false
}

// PointerMethod reports whether a selector calls a method by the address of its operand, which is
// no pointer itself.
func (p *Pass) PointerMethod(sel *ast.SelectorExpr) bool {
	s := p.Info.Selections[sel]
	if s == nil || s.Kind() != types.MethodVal {
		return false
	}
	_, ptr := s.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
	_, already := s.Recv().(*types.Pointer)
	return ptr && !already
}

func isAmong[N ast.Node](n ast.Node, list []N) bool {
	for _, m := range list {
		if ast.Node(m) == n {
			return true
		}
	}
	return false
}
