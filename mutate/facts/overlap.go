package facts

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/symbol"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// This file tells memory apart by its type. Without package unsafe, a value lies where its type
// allows: a field only in a struct that has it, an element only in an array, an entry only in a
// map. A conversion of pointers changes the name of a type, and ignores tags.

// A Place is memory that an expression names, as far as types tell: a variable, a field of a
// struct, an element of an array or a slice, an entry of a map, or what a pointer points to.
type Place struct {
	Type types.Type // of the value there
	kind placeKind
	in   types.Type // the struct around a field, or the map of an entry
	at   int        // the number of a field
	v    *types.Var // the variable
}

type placeKind uint8

const (
	pointedPlace placeKind = iota // anywhere
	variablePlace
	fieldPlace
	elementPlace
	entryPlace
)

// ElementPlace returns the place of all elements of a type.
func ElementPlace(elem types.Type) Place { return Place{Type: elem, kind: elementPlace} }

// PlaceOf returns the place that an expression names. It knows none in generic code, in which two
// types may be the same, and in a package that imports unsafe.
func PlaceOf(p *mutate.Pass, e ast.Expr) (place Place, ok bool) {
	if IsGeneric(p, e) || usesUnsafe(p) {
		return place, false
	}
	e = ast.Unparen(e)
	place.Type = p.Info.TypeOf(e)
	switch e := e.(type) {
	case *ast.Ident:
		place.kind, place.v = variablePlace, p.Var(e)
		return place, place.v != nil
	case *ast.StarExpr:
		return place, p.Info.Types[e].IsValue()
	case *ast.IndexExpr:
		switch u := p.Info.TypeOf(e.X).Underlying().(type) {
		case *types.Slice, *types.Array, *types.Pointer:
			place.kind = elementPlace
			return place, true
		case *types.Map:
			place.kind, place.in = entryPlace, u
			return place, true
		}
	case *ast.SelectorExpr:
		s := p.Info.Selections[e]
		if s == nil { // a variable of another package
			place.kind, place.v = variablePlace, p.Var(e.Sel)
			return place, place.v != nil
		}
		if s.Kind() == types.FieldVal {
			place.kind, place.in, place.at = fieldPlace, structAround(s), s.Index()[len(s.Index())-1]
			return place, true
		}
	}
	return place, false
}

// structAround returns the struct that a selected field stands in, which is an embedded one for a
// promoted field.
func structAround(s *types.Selection) types.Type {
	t := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] {
		t = syntax.Pointee(t).Underlying().(*types.Struct).Field(i).Type()
	}
	return syntax.Pointee(t)
}

// usesUnsafe reports whether the package or the candidate file imports unsafe, by which memory of
// one type can be memory of another one.
func usesUnsafe(p *mutate.Pass) bool {
	return slices.Contains(p.Pkg.Imports(), types.Unsafe) ||
		slices.ContainsFunc(p.File.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"unsafe"` })
}

// Overlaps reports whether a store to one place may change the value at the other.
func (a Place) Overlaps(b Place) bool { return a.within(b) || b.within(a) }

// within reports whether a may be b, or a part of it.
func (a Place) within(b Place) bool {
	// An entry of a map has no address.
	if a.kind == entryPlace || b.kind == entryPlace {
		return a.kind == b.kind && sameMemory(a.in, b.in)
	}
	// A pointer leads to any value of its type.
	if (a.kind == pointedPlace || b.kind == pointedPlace) && sameMemory(a.Type, b.Type) {
		return true
	}
	switch a.kind {
	case variablePlace:
		return b.kind == variablePlace && a.v == b.v
	// A field lies in the value at b if its struct does. The same holds for an element.
	case fieldPlace:
		return b.kind == fieldPlace && a.at == b.at && sameMemory(a.in, b.in) ||
			containsType(b.Type, func(t types.Type) bool { return sameMemory(t, a.in) })
	case elementPlace:
		return b.kind == elementPlace && sameMemory(a.Type, b.Type) ||
			containsType(b.Type, func(t types.Type) bool {
				array, ok := t.Underlying().(*types.Array)
				return ok && sameMemory(array.Elem(), a.Type)
			})
	}
	return containsType(b.Type, func(t types.Type) bool { return sameMemory(t, a.Type) })
}

// SameField reports whether two selected fields may be the same one of the same value.
func SameField(a, b *types.Selection) bool {
	if a.Obj().(*types.Var).Origin() == b.Obj().(*types.Var).Origin() {
		return true
	}
	at, other := a.Index(), b.Index()
	return at[len(at)-1] == other[len(other)-1] && sameMemory(structAround(a), structAround(b))
}

// sameMemory reports whether a pointer to a value of one type may be converted to a pointer to the
// other type.
func sameMemory(a, b types.Type) bool {
	return types.IdenticalIgnoreTags(a.Underlying(), b.Underlying())
}

// containsType reports whether a type, or that of a part of its values, is one that match accepts.
func containsType(t types.Type, match func(types.Type) bool) bool {
	if match(t) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return containsType(u.Elem(), match)
	case *types.Struct:
		for f := range u.Fields() {
			if containsType(f.Type(), match) {
				return true
			}
		}
	}
	return false
}

// readPlaces returns the places that an expression reads. It does not know what functions read,
// apart from the library's functions of plain values: these read no memory that changes.
func readPlaces(p *mutate.Pass, e ast.Expr) (places []Place, known bool) {
	known = true
	reads := func(e ast.Expr) {
		if partOnly(p, e) {
			return
		}
		place, ok := PlaceOf(p, e)
		places, known = append(places, place), known && ok
	}
	for _, n := range mutate.Nodes[ast.Expr](p, e) {
		switch n := n.(type) {
		case *ast.Ident:
			if v, ok := p.Info.Uses[n].(*types.Var); ok && (p.IsGlobal(v) || Pointed(p, v)) {
				reads(n)
			}
		case *ast.SelectorExpr:
			if s := p.Info.Selections[n]; s != nil && s.Kind() == types.FieldVal {
				known = known && (len(s.Index()) == 1 || !s.Indirect()) // an embedded pointer is read, too
				reads(n)
			}
		case *ast.StarExpr:
			if p.Info.Types[n].IsValue() {
				reads(n)
			}
		case *ast.IndexExpr:
			if p.Info.Types[n].IsValue() && !syntax.IsText(p.Info.TypeOf(n.X)) {
				reads(n)
			}
		case *ast.FuncLit:
			known = false
		case *ast.CallExpr:
			if !p.Effects(n).Reads {
				break
			}
			known = known && readsArgumentsOnly(p, n)
			if p.Info.Types[n.Fun].IsType() {
				if elem := ElemOf(p.Info.TypeOf(n.Args[0])); elem != nil {
					places = append(places, ElementPlace(elem)) // the text of some bytes
				}
			}
		}
	}
	return places, known
}

// partOnly reports whether the code around a struct or an array reads one field or element of it,
// which is a place of its own. An entry of a map is read as a whole.
func partOnly(p *mutate.Pass, e ast.Expr) bool {
	if MapElement(p, e) {
		return false
	}
	switch up := p.Parent(e).(type) {
	case *ast.SelectorExpr:
		s := p.Info.Selections[up]
		return up.X == e && s != nil && s.Kind() == types.FieldVal && !syntax.Is[*types.Pointer](p.Info.TypeOf(e))
	case *ast.IndexExpr:
		return up.X == e && syntax.Is[*types.Array](p.Info.TypeOf(e))
	}
	return false
}

// readsArgumentsOnly reports whether a call reads nothing but the values of its arguments: it is a
// conversion, the length of something other than a map or a channel, or a function of the library
// that takes plain values.
func readsArgumentsOnly(p *mutate.Pass, call *ast.CallExpr) bool {
	if p.Info.Types[call.Fun].IsType() {
		return true
	}
	switch fn := p.Callee(call).(type) {
	case *types.Builtin:
		return slices.Contains([]string{"len", "cap", "min", "max"}, fn.Name()) &&
			!syntax.Is[*types.Map](p.Info.TypeOf(call.Args[0])) && !syntax.Is[*types.Chan](p.Info.TypeOf(call.Args[0]))
	case *types.Func:
		if fn.Pkg() == nil || !symbol.Standard(fn.Pkg().Path()) || neighbours(fn.Pkg(), p.Pkg) ||
			fn.Signature().Recv() != nil {
			return false
		}
		for v := range fn.Signature().Params().Variables() {
			if !IsBasic(v.Type()) {
				return false
			}
		}
		return true
	}
	return false
}

// Spares reports whether types alone show that a change leaves the values at some places as they
// are.
func (c Change) Spares(p *mutate.Pass, places ...Place) bool {
	// The helper of a generic function writes a type where that has the name of a parameter.
	if IsGeneric(p, c.At) {
		return false
	}
	changed, ok := c.places(p)
	return ok && !slices.ContainsFunc(changed, func(a Place) bool { return slices.ContainsFunc(places, a.Overlaps) })
}

// places returns what a change may write to.
func (c Change) places(p *mutate.Pass) ([]Place, bool) {
	if c.Store != nil {
		place, ok := PlaceOf(p, c.Store)
		return []Place{place}, ok
	}
	if c.Call == nil || IsGeneric(p, c.Call) || usesUnsafe(p) {
		return nil, false
	}
	switch fn := p.Callee(c.Call).(type) {
	// These write to elements.
	case *types.Builtin:
		if !slices.Contains([]string{"append", "copy", "clear"}, fn.Name()) {
			return nil, false
		}
		elem := ElemOf(p.Info.TypeOf(c.Call.Args[0]))
		if elem == nil {
			return nil, false
		}
		return []Place{ElementPlace(elem)}, true
	case *types.Func:
		return writtenByLibrary(fn)
	}
	return nil, false
}

// writtenByLibrary returns what a function of the standard library writes to, if it collects bytes:
// these, and the collector itself. It runs no code of others.
func writtenByLibrary(fn *types.Func) ([]Place, bool) {
	if fn.Pkg() == nil {
		return nil, false
	}
	bytes := ElementPlace(types.Typ[types.Byte])
	recv := fn.Signature().Recv()
	switch {
	case recv == nil:
		appends := strings.HasPrefix(fn.Name(), "Append")
		return []Place{bytes}, appends && slices.Contains([]string{"strconv", "unicode/utf8"}, fn.Pkg().Path())
	case syntax.IsNamed(syntax.Pointee(recv.Type()), "strings", "Builder"),
		syntax.IsNamed(syntax.Pointee(recv.Type()), "bytes", "Buffer"):
		collects := []string{"Write", "WriteByte", "WriteRune", "WriteString", "Grow", "Reset", "Truncate"}
		return []Place{bytes, {Type: syntax.Pointee(recv.Type())}}, slices.Contains(collects, fn.Name())
	}
	return nil, false
}
