package syntax

import "go/types"

// IsText reports whether values of a type are strings.
func IsText(t types.Type) bool { return is(t, types.IsString) }

// IsInteger reports whether values of a type are integers.
func IsInteger(t types.Type) bool { return is(t, types.IsInteger) }

// is reports whether a type is a basic one with a property, or is made of one.
func is(t types.Type, property types.BasicInfo) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&property != 0
}
