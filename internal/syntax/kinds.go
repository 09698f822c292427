package syntax

import (
	"go/constant"
	"go/types"
)

// IsPredeclared reports whether a type is a basic one, and no other type that is made of it.
func IsPredeclared(t types.Type, kind types.BasicKind) bool {
	b, ok := types.Unalias(t).(*types.Basic)
	return ok && b.Kind() == kind
}

// PlainKind returns the info bits of a basic type without methods, and 0 for others. Formatting and
// comparing a plain type work as for its basic type.
func PlainKind(t types.Type) types.BasicInfo {
	if t == nil || types.NewMethodSet(t).Len() > 0 {
		return 0
	}
	if IsTypeParam(t) {
		return 0
	}
	if b, ok := t.Underlying().(*types.Basic); ok {
		return b.Info()
	}
	return 0
}

// SlicedOrString reports whether a type is a slice or a string.
func SlicedOrString(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return true
	case *types.Basic:
		return u.Info()&types.IsString != 0
	}
	return false
}

// FitsIn reports whether a type has an integer constant.
func FitsIn(c constant.Value, t types.Type) bool {
	size := types.SizesFor("gc", "amd64").Sizeof(t) * 8
	if b := t.Underlying().(*types.Basic); b.Info()&types.IsUnsigned != 0 {
		n, ok := constant.Uint64Val(constant.ToInt(c))
		return ok && (size == 64 || n>>size == 0)
	}
	n, ok := constant.Int64Val(constant.ToInt(c))
	return ok && (size == 64 || n<<(64-size)>>(64-size) == n)
}
