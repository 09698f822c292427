package syntax

import (
	"go/token"
	"go/types"
	"testing"
)

func TestTypes(t *testing.T) {
	named := types.NewNamed(types.NewTypeName(token.NoPos, nil, "Name", nil), types.Typ[types.String], nil)
	for _, test := range []struct {
		typ           types.Type
		text, integer bool
	}{
		{types.Typ[types.String], true, false},
		{types.Typ[types.UntypedString], true, false},
		{named, true, false},
		{types.Typ[types.Uint8], false, true},
		{types.Typ[types.Uintptr], false, true},
		{types.Typ[types.UntypedRune], false, true},
		{types.Typ[types.Float64], false, false},
		{types.NewSlice(types.Typ[types.Uint8]), false, false},
	} {
		if text, integer := IsText(test.typ), IsInteger(test.typ); text != test.text || integer != test.integer {
			t.Errorf("%v: text %v, integer %v, want %v and %v", test.typ, text, integer, test.text, test.integer)
		}
	}
}
