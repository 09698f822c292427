package syntax

import "go/types"

// This file holds questions about types. The answer is no for nil, the type of a blank variable.

// Is reports whether the type under all names is of a kind, as in Is[*types.Slice](t).
func Is[K types.Type](t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(K)
	return ok
}

// Has reports whether a type is a basic one with any of the properties, or is made of one.
func Has(t types.Type, properties types.BasicInfo) bool {
	b := basic(t)
	return b != nil && b.Info()&properties != 0
}

// IsText reports whether values of a type are strings.
func IsText(t types.Type) bool { return Has(t, types.IsString) }

// IsInteger reports whether values of a type are integers.
func IsInteger(t types.Type) bool { return Has(t, types.IsInteger) }

// Kind returns the kind of a type that is a basic one or is made of one, and types.Invalid for all
// others.
func Kind(t types.Type) types.BasicKind {
	if b := basic(t); b != nil {
		return b.Kind()
	}
	return types.Invalid
}

// IsByte reports whether values of a type are bytes.
func IsByte(t types.Type) bool { return Kind(t) == types.Uint8 }

// basic returns the basic type that a type is or is made of, or nil.
func basic(t types.Type) *types.Basic {
	if t == nil {
		return nil
	}
	b, _ := t.Underlying().(*types.Basic)
	return b
}

// Pointee returns the type that a pointer type points to, and any other type as it is.
func Pointee(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// IsTypeParam reports whether a type is a type parameter, by whatever name.
func IsTypeParam(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.TypeParam)
	return ok
}

// IsError reports whether a type is error itself, not only one that implements it.
func IsError(t types.Type) bool {
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

// IsNamed reports whether a type is the one that a package declares under a name.
func IsNamed(t types.Type, path, name string) bool {
	gotPath, gotName := NameOf(t)
	return gotPath == path && gotName == name
}

// NameOf returns the path of the package that declares a type, and the type's name in it. Both are
// empty for types without a package, such as error.
func NameOf(t types.Type) (path, name string) {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return "", ""
	}
	return n.Obj().Pkg().Path(), n.Obj().Name()
}
