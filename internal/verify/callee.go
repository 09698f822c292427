package verify

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
)

// callee returns the function that a call names, or nil for a function value or a conversion.
func (c *typedText) callee(n *ast.CallExpr) *types.Func {
	_, id := syntax.Called(n)
	if id == nil {
		return nil
	}
	fn, ok := syntax.Origin(c.info.Uses[id]).(*types.Func)
	if !ok {
		return nil
	}
	return fn
}

// text returns the source of an expression.
func (c *code) text(e ast.Expr) string {
	start, end := c.fset.Position(e.Pos()).Offset, c.fset.Position(e.End()).Offset
	if 0 <= start && start < end && end <= len(c.src) {
		return c.src[start:end]
	}
	return "a function"
}
