package facts

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// This file holds what rewrites ask about types.

// IsWideInteger reports whether an expression is of an integer type in which lengths and sums of
// places do not wrap. Characters are of narrower types.
func IsWideInteger(p *mutate.Pass, e ast.Expr) bool {
	switch p.Basic(e) {
	case types.Int, types.Uint, types.Int64, types.Uint64:
		return true
	}
	return false
}

// ElementSize returns the size of a type, or 0 if it depends on a type argument.
func ElementSize(t types.Type) int64 {
	if MentionsTypeParam(t) {
		return 0
	}
	return types.SizesFor("gc", "amd64").Sizeof(t)
}

// IsPredeclared reports whether the type of e is exactly the predeclared type.
func IsPredeclared(p *mutate.Pass, e ast.Expr, kind types.BasicKind) bool {
	b, ok := types.Unalias(p.Info.TypeOf(e)).(*types.Basic)
	return ok && (b.Kind() == kind || kind == types.String && b.Kind() == types.UntypedString)
}

// IsExactString reports whether the type of e is exactly string.
func IsExactString(p *mutate.Pass, e ast.Expr) bool { return IsPredeclared(p, e, types.String) }

// IsByteSlice reports whether e has the type []byte, without a name of its own.
func IsByteSlice(p *mutate.Pass, e ast.Expr) bool {
	s, ok := types.Unalias(p.Info.TypeOf(e)).(*types.Slice)
	if !ok {
		return false
	}
	b, ok := types.Unalias(s.Elem()).(*types.Basic)
	return ok && b.Kind() == types.Uint8
}

// OrderedKind returns the kind of an ordered type; its methods do not matter to <.
func OrderedKind(p *mutate.Pass, e ast.Expr) types.BasicInfo {
	if t := p.Info.TypeOf(e); t != nil {
		if b, ok := t.Underlying().(*types.Basic); ok {
			return b.Info()
		}
	}
	return 0
}

// IntegerToBool reports whether a function that the candidate declares takes one integer and
// answers with one bool. A method could read its receiver, too.
func IntegerToBool(p *mutate.Pass, fn *ast.FuncDecl) bool {
	sig := p.Info.Defs[fn.Name].Type().(*types.Signature)
	return fn.Recv == nil && fn.Body != nil && sig.TypeParams() == nil &&
		sig.Params().Len() == 1 && syntax.IsInteger(sig.Params().At(0).Type()) &&
		sig.Results().Len() == 1 && syntax.IsPredeclared(sig.Results().At(0).Type(), types.Bool)
}
