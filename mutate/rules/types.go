package rules

import (
	"go/ast"
	"go/constant"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file holds what rewrites ask about types.

// isWideInteger reports whether an expression is of an integer type in which lengths and sums of
// places do not wrap. Characters are of narrower types.
func isWideInteger(p *mutate.Pass, e ast.Expr) bool {
	switch p.Basic(e) {
	case types.Int, types.Uint, types.Int64, types.Uint64:
		return true
	}
	return false
}

// isBasicType reports whether a type is a basic one, and no other type that is made of it.
func isBasicType(t types.Type, kind types.BasicKind) bool {
	b, ok := types.Unalias(t).(*types.Basic)
	return ok && b.Kind() == kind
}

// elementSize returns the size of a type, or 0 if it depends on a type argument.
func elementSize(t types.Type) int64 {
	if facts.MentionsTypeParam(t) {
		return 0
	}
	return types.SizesFor("gc", "amd64").Sizeof(t)
}

// plainKind returns the info bits of a basic type without methods, and 0 for others. Formatting and
// comparing a plain type work as for its basic type.
func plainKind(t types.Type) types.BasicInfo {
	if t == nil || types.NewMethodSet(t).Len() > 0 {
		return 0
	}
	if syntax.IsTypeParam(t) {
		return 0
	}
	if b, ok := t.Underlying().(*types.Basic); ok {
		return b.Info()
	}
	return 0
}

// isBasic reports whether the type of e is exactly the predeclared type.
func isBasic(p *mutate.Pass, e ast.Expr, kind types.BasicKind) bool {
	b, ok := types.Unalias(p.Info.TypeOf(e)).(*types.Basic)
	return ok && (b.Kind() == kind || kind == types.String && b.Kind() == types.UntypedString)
}

// isExactString reports whether the type of e is exactly string.
func isExactString(p *mutate.Pass, e ast.Expr) bool { return isBasic(p, e, types.String) }

// isByteSlice reports whether e has the type []byte, without a name of its own.
func isByteSlice(p *mutate.Pass, e ast.Expr) bool {
	s, ok := types.Unalias(p.Info.TypeOf(e)).(*types.Slice)
	if !ok {
		return false
	}
	b, ok := types.Unalias(s.Elem()).(*types.Basic)
	return ok && b.Kind() == types.Uint8
}

// slicedOrString reports whether a type is a slice or a string.
func slicedOrString(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return true
	case *types.Basic:
		return u.Info()&types.IsString != 0
	}
	return false
}

// orderedKind returns the kind of an ordered type; its methods do not matter to <.
func orderedKind(p *mutate.Pass, e ast.Expr) types.BasicInfo {
	if t := p.Info.TypeOf(e); t != nil {
		if b, ok := t.Underlying().(*types.Basic); ok {
			return b.Info()
		}
	}
	return 0
}

// integerToBool reports whether a function that the candidate declares takes one integer and
// answers with one bool. A method could read its receiver, too.
func integerToBool(p *mutate.Pass, fn *ast.FuncDecl) bool {
	sig := p.Info.Defs[fn.Name].Type().(*types.Signature)
	return fn.Recv == nil && fn.Body != nil && sig.TypeParams() == nil &&
		sig.Params().Len() == 1 && syntax.IsInteger(sig.Params().At(0).Type()) &&
		sig.Results().Len() == 1 && isBasicType(sig.Results().At(0).Type(), types.Bool)
}

// fitsIn reports whether a type has an integer constant.
func fitsIn(c constant.Value, t types.Type) bool {
	size := types.SizesFor("gc", "amd64").Sizeof(t) * 8
	if b := t.Underlying().(*types.Basic); b.Info()&types.IsUnsigned != 0 {
		n, ok := constant.Uint64Val(constant.ToInt(c))
		return ok && (size == 64 || n>>size == 0)
	}
	n, ok := constant.Int64Val(constant.ToInt(c))
	return ok && (size == 64 || n<<(64-size)>>(64-size) == n)
}

// arrayLength returns the length of an array, or of the one that a pointer leads to.
func arrayLength(t types.Type) (int64, bool) {
	a, ok := syntax.Pointee(t).Underlying().(*types.Array)
	if !ok {
		return 0, false
	}
	return a.Len(), true
}
