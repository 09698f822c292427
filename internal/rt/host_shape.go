package rt

import (
	"fmt"
	"reflect"
	"strings"
)

// A Shape is a Go type as data. With it, a process that does not have the type can write a value
// as a literal, read it from JSON and make a new one. Shapes of recursive types are cyclic.
type Shape struct {
	Name   string // as written in the target's package: "[]string", "Kind", "*url.URL"
	Type   string // TypeName
	Kind   reflect.Kind
	Bits   int // of numbers
	Len    int // of arrays
	Elem   *Shape
	Key    *Shape
	Fields []ShapeField // without blank ones
	Form   string       // "": as Kind says; "lock", "text" or "pointer" for the types that special knows
}

// A ShapeField is a field of a struct.
type ShapeField struct {
	Name   string
	Shape  *Shape
	Hidden bool // cannot be written in the target's package
}

// FormOf tells the special form of a type by its TypeName.
func FormOf(typeName string) string {
	switch {
	case typeName == "sync.Mutex" || typeName == "sync.RWMutex" || bound[typeName]:
		return "lock"
	case typeName == "net/netip.Addr":
		return "text"
	case strings.HasPrefix(typeName, "sync/atomic.Pointer["):
		return "pointer"
	}
	return ""
}

// ShapeOf describes a type as seen from the package pkg.
func ShapeOf(t reflect.Type, pkg string) *Shape {
	return shaper{pkg, map[reflect.Type]*Shape{}}.shape(t)
}

type shaper struct {
	pkg  string
	made map[reflect.Type]*Shape
}

// shape describes a type. It is entered before its parts are described, since a type may contain
// itself.
func (b shaper) shape(t reflect.Type) *Shape {
	if s, ok := b.made[t]; ok {
		return s
	}
	s := &Shape{Name: b.name(t), Type: TypeName(t), Kind: t.Kind()}
	s.Form = FormOf(s.Type)
	b.made[t] = s
	switch t.Kind() {
	case reflect.Struct:
		b.fields(s, t)
	case reflect.Array:
		s.Elem, s.Len = b.shape(t.Elem()), t.Len()
	case reflect.Slice, reflect.Pointer:
		s.Elem = b.shape(t.Elem())
	case reflect.Map:
		s.Key, s.Elem = b.shape(t.Key()), b.shape(t.Elem())
	default:
		if t.Kind() >= reflect.Int && t.Kind() <= reflect.Complex128 {
			s.Bits = t.Bits()
		}
	}
	return s
}

func (b shaper) fields(s *Shape, t reflect.Type) {
	switch s.Form {
	case "lock", "text":
		return
	case "pointer":
		s.Elem = b.shape(t.Field(0).Type.Elem().Elem())
		return
	}
	for i := 0; i < t.NumField(); i++ {
		if f := t.Field(i); f.Name != "_" {
			s.Fields = append(s.Fields, ShapeField{f.Name, b.shape(f.Type), f.PkgPath != "" && f.PkgPath != b.pkg})
		}
	}
}

// name returns the type as written inside the package.
func (b shaper) name(t reflect.Type) string {
	if t.Name() != "" {
		if t.PkgPath() == "" || t.PkgPath() == b.pkg {
			return trimVariant(t.Name())
		}
		return t.String()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + b.name(t.Elem())
	case reflect.Slice:
		return "[]" + b.name(t.Elem())
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), b.name(t.Elem()))
	case reflect.Map:
		return "map[" + b.name(t.Key()) + "]" + b.name(t.Elem())
	}
	return t.String()
}

// Named reports whether the type has a name of its own, beyond the
// predeclared ones.
func (s *Shape) Named() bool {
	switch {
	case strings.HasPrefix(s.Type, "*"), strings.HasPrefix(s.Type, "["), strings.HasPrefix(s.Type, "map["),
		strings.HasPrefix(s.Type, "struct {"):
		return false
	}
	return strings.Contains(s.Type, ".")
}

// bytes reports whether the values are written as bytes.
func (s *Shape) bytes() bool { return s.Kind == reflect.Slice && s.Elem.Kind == reflect.Uint8 }

// Zero returns the zero value of the type.
func (s *Shape) Zero() Value {
	// Types with a form of their own have a zero value of that form.
	switch s.Form {
	case "lock":
		return Value{Kind: KindStruct}
	case "text":
		return Value{Kind: KindOpaque, Str: s.Type}
	case "pointer":
		return Value{}
	}
	switch k := s.Kind; {
	case k == reflect.Bool:
		return Value{Kind: KindBool}
	case k >= reflect.Int && k <= reflect.Int64:
		return Value{Kind: KindInt}
	case k >= reflect.Uint && k <= reflect.Uintptr:
		return Value{Kind: KindUint}
	case k == reflect.Float32:
		return Value{Kind: KindFloat32}
	case k == reflect.Float64:
		return Value{Kind: KindFloat64}
	case k == reflect.Complex64:
		return Value{Kind: KindComplex64}
	case k == reflect.Complex128:
		return Value{Kind: KindComplex128}
	case k == reflect.String:
		return Value{Kind: KindString}
	// Arrays and structs are written with all their parts. A type that has nil is nil, the zero
	// Value.
	case k == reflect.Array:
		v := Value{Kind: KindArray, Elems: make([]Value, s.Len)}
		for i := range v.Elems {
			v.Elems[i] = s.Elem.Zero()
		}
		return v
	case k == reflect.Struct:
		v := Value{Kind: KindStruct, Names: s.names()}
		for _, f := range s.Fields {
			v.Elems = append(v.Elems, f.Shape.Zero())
		}
		return v
	}
	return Value{}
}

func (s *Shape) names() []string {
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return names
}

// IsZero reports whether the value is the zero value of its type.
func (v *Value) IsZero() bool {
	switch v.Kind {
	case KindNil:
		return true
	case KindStruct, KindArray:
		for i := range v.Elems {
			if !v.Elems[i].IsZero() {
				return false
			}
		}
		return true
	case KindString, KindOpaque:
		return v.Str == "" || v.Kind == KindOpaque && v.Text == ""
	case KindBool, KindInt, KindUint, KindFloat32, KindFloat64, KindComplex64, KindComplex128:
		return v.Bits == 0 && v.Imag == 0
	}
	return false
}
