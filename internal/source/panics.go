package source

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/syntax"
)

// inBounds finds the indices and slices that cannot be out of range: constants
// within an array, bytes in a table of 256, and variables of loops over what
// they index that neither the loop's body nor anything else in it changes.
func inBounds(info *types.Info, root ast.Node) map[ast.Expr]bool {
	b := &bounds{info: info, safe: map[ast.Expr]bool{}}
	ast.Inspect(root, func(n ast.Node) bool {
		// Loops mark the indices in their bodies, and the rest is looked at by itself.
		switch n := n.(type) {
		case *ast.RangeStmt:
			b.rangeLoop(n)
		case *ast.ForStmt:
			b.countingLoop(n)
		case *ast.IndexExpr:
			b.safe[n] = b.safe[n] || b.fits(n)
		}
		return true
	})
	return b.safe
}

type bounds struct {
	info *types.Info
	safe map[ast.Expr]bool
}

// object returns the variable that an expression names, or nil.
func (b *bounds) object(e ast.Expr) types.Object {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok && id.Name != "_" {
		if v, ok := b.info.ObjectOf(id).(*types.Var); ok {
			return v
		}
	}
	return nil
}

// rangeLoop covers "for i := range list" and "for i := range len(list)".
func (b *bounds) rangeLoop(n *ast.RangeStmt) {
	if n.Key == nil || n.Tok != token.DEFINE {
		return
	}
	list := b.object(n.X)
	if l := b.lengthOf(n.X); l != nil {
		list = l
	} else if list == nil || !indexed(list.Type()) {
		return
	}
	b.loop(n.Body, b.object(n.Key), list)
}

// countingLoop covers "for i := 0; i < len(list); i++".
func (b *bounds) countingLoop(n *ast.ForStmt) {
	init, ok := n.Init.(*ast.AssignStmt)
	cond, isCmp := n.Cond.(*ast.BinaryExpr)
	post, isInc := n.Post.(*ast.IncDecStmt)
	// Any other form of the head could start below zero, or step over the end.
	if !ok || !isCmp || !isInc || init.Tok != token.DEFINE || len(init.Lhs) != 1 || cond.Op != token.LSS ||
		post.Tok != token.INC {
		return
	}
	i, v := b.object(init.Lhs[0]), b.info.Types[init.Rhs[0]].Value
	if v == nil || v.Kind() != constant.Int || constant.Sign(v) < 0 || i == nil || b.object(cond.X) != i ||
		b.object(post.X) != i {
		return
	}
	b.loop(n.Body, i, b.lengthOf(cond.Y))
}

// lengthOf returns the list whose length e is, or nil.
func (b *bounds) lengthOf(e ast.Expr) types.Object {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return nil
	}
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if _, builtin := b.info.Uses[id].(*types.Builtin); !ok || !builtin || id.Name != "len" {
		return nil
	}
	return b.object(call.Args[0])
}

// loop marks the uses of a loop's variable on its list.
func (b *bounds) loop(body *ast.BlockStmt, i, list types.Object) {
	// A global may change in a call, and a list or index that the body changes bounds nothing.
	if i == nil || list == nil || isGlobal(list) || b.changes(body, i, list) {
		return
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IndexExpr:
			if b.object(n.X) == list && b.object(n.Index) == i {
				b.safe[n] = true
			}
		case *ast.SliceExpr:
			// list[:i] and list[i:] are within the list if list[i] is.
			bound := func(e ast.Expr) bool { return e == nil || b.object(e) == i || b.isZero(e) }
			if b.object(n.X) == list && n.Max == nil && bound(n.Low) && bound(n.High) &&
				(n.Low == nil || n.High == nil || b.isZero(n.Low)) {
				b.safe[n] = true
			}
		}
		return true
	})
}

func (b *bounds) isZero(e ast.Expr) bool {
	v := b.info.Types[e].Value
	return v != nil && v.Kind() == constant.Int && constant.Sign(v) == 0
}

// changes reports whether a loop's body assigns to one of the variables, or
// takes its address.
func (b *bounds) changes(body ast.Node, vars ...types.Object) bool {
	for e := range syntax.Stores(body, true) {
		if slices.Contains(vars, b.object(e)) {
			return true
		}
	}
	return false
}

// fits reports whether an index is within an array, whatever its value.
func (b *bounds) fits(n *ast.IndexExpr) bool {
	t := b.info.TypeOf(n.X)
	if t == nil {
		return false
	}
	// A constant text has a constant length.
	if v := b.info.Types[n.X].Value; v != nil && v.Kind() == constant.String {
		i, ok := constant.Int64Val(constant.ToInt(valueOr(b.info.Types[n.Index].Value)))
		return ok && 0 <= i && i < int64(len(constant.StringVal(v)))
	}
	a, ok := t.Underlying().(*types.Array)
	if !ok {
		return false
	}
	if b.info.Types[n.Index].Value != nil {
		return true // the compiler checks it
	}
	// A byte cannot lie outside of 256 elements, nor 16 bits outside of 65536.
	index := syntax.Kind(b.info.TypeOf(n.Index))
	return index == types.Uint8 && a.Len() >= 1<<8 || index == types.Uint16 && a.Len() >= 1<<16
}

func valueOr(v constant.Value) constant.Value {
	if v == nil {
		return constant.MakeInt64(-1)
	}
	return v
}

func isGlobal(obj types.Object) bool { return obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope() }

// indexed reports whether a loop over t counts its elements from 0; one over a
// text meets the places of its runes, which are within it too.
func indexed(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Slice, *types.Array:
		return true
	case *types.Basic:
		return u.Info()&types.IsString != 0
	}
	return false
}
