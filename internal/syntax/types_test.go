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
		{nil, false, false},
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

func TestKinds(t *testing.T) {
	pkg := types.NewPackage("example.com/m/p", "p")
	list := types.NewSlice(types.Typ[types.Uint8])
	named := types.NewNamed(types.NewTypeName(token.NoPos, pkg, "List", nil), list, nil)
	if !Is[*types.Slice](list) || !Is[*types.Slice](named) || Is[*types.Map](named) || Is[*types.Slice](nil) {
		t.Error("Is does not look at the type under the name")
	}
	if !IsByte(list.Elem()) || IsByte(named) || Kind(named) != types.Invalid || Kind(nil) != types.Invalid ||
		Kind(types.Typ[types.Int]) != types.Int {
		t.Error("Kind of a list, of nil or of int")
	}
	if !Has(types.Typ[types.Bool], types.IsBoolean|types.IsFloat) || Has(named, types.IsBoolean) ||
		Has(nil, types.IsBoolean) {
		t.Error("Has of bool, a list or nil")
	}
	if Pointee(types.NewPointer(named)) != named || Pointee(named) != named {
		t.Error("Pointee")
	}
	if !IsNamed(named, "example.com/m/p", "List") || IsNamed(list, "example.com/m/p", "List") {
		t.Error("IsNamed")
	}
	if path, name := NameOf(types.Universe.Lookup("error").Type()); path != "" || name != "" {
		t.Errorf("error is declared in %q as %q", path, name)
	}
}

func TestTypeParamsAndErrors(t *testing.T) {
	param := types.NewTypeParam(types.NewTypeName(token.NoPos, nil, "T", nil), types.Universe.Lookup("any").Type())
	failure := types.Universe.Lookup("error").Type()
	other := types.NewNamed(types.NewTypeName(token.NoPos, nil, "E", nil), failure.Underlying(), nil)
	for _, test := range []struct {
		typ          types.Type
		param, error bool
	}{
		{nil, false, false},
		{param, true, false},
		{types.NewAlias(types.NewTypeName(token.NoPos, nil, "A", nil), param), true, false},
		{failure, false, true},
		{other, false, false}, // it only implements error
	} {
		if param, failure := IsTypeParam(test.typ), IsError(test.typ); param != test.param || failure != test.error {
			t.Errorf("%v: parameter %v, error %v, want %v and %v", test.typ, param, failure, test.param, test.error)
		}
	}
}
