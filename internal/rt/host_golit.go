package rt

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// A Literal is a value in Go syntax.
type Literal struct {
	Setup []string // statements that come first: memory that several expressions share
	Exprs []string // one for each field of the arguments, or the value itself
}

// GoArgs writes the fields of an argument struct in Go syntax, for code in the
// target's package. types finds the shapes of dynamic types by TypeName and
// may be nil. It fails on values that no expression makes, such as hidden
// fields of other packages.
func GoArgs(args *Value, s *Shape, types func(string) *Shape) (Literal, error) {
	g := goWriter{types: types, shared: map[int]*Shape{}}
	var l Literal
	if args.Kind != KindStruct || len(args.Elems) != len(s.Fields) {
		return l, fmt.Errorf("a %s is not an argument list", args.Kind)
	}
	g.declare(args, s)
	for i, f := range s.Fields {
		l.Exprs = append(l.Exprs, g.lit(&args.Elems[i], f.Shape, true))
	}
	l.Setup = append(g.decls, g.fills...)
	return l, g.err
}

// Go writes a value in Go syntax.
func (v *Value) Go(s *Shape, types func(string) *Shape) (Literal, error) {
	g := goWriter{types: types, shared: map[int]*Shape{}}
	g.declare(v, s)
	e := g.lit(v, s, false)
	return Literal{append(g.decls, g.fills...), []string{e}}, g.err
}

type goWriter struct {
	types  func(string) *Shape
	shared map[int]*Shape // element type of the shared memory m<id>; the map's own for a map
	decls  []string
	fills  []string
	err    error
}

func (g *goWriter) fail(format string, args ...any) string {
	if g.err == nil {
		g.err = fmt.Errorf(format, args...)
	}
	return "nil"
}

// declare declares the shared memory under v, so that it can be referred to
// before it is filled.
func (g *goWriter) declare(v *Value, s *Shape) {
	if s == nil {
		return
	}
	// An array is a slice in the text: elements are reached through it, and pointers to them taken.
	if b := v.Back; b != nil {
		if b.Map {
			g.shared[b.ID] = s
			g.decls = append(g.decls, fmt.Sprintf("m%d := %s{}", b.ID, s.Name))
		} else if s.Elem != nil {
			g.shared[b.ID] = s.Elem
			g.decls = append(g.decls, fmt.Sprintf("m%d := make([]%s, %d)", b.ID, s.Elem.Name, b.Len))
		}
		g.declareAll(b.Elems, s)
	}
	g.declareAll(v.Elems, g.elemShape(v, s))
}

func (g *goWriter) declareAll(list []Value, s *Shape) {
	for i := range list {
		switch {
		case s == nil:
		case s.Kind == reflect.Struct && i < len(s.Fields):
			g.declare(&list[i], s.Fields[i].Shape)
		case s.Kind == reflect.Map && i%2 == 0:
			g.declare(&list[i], s.Key)
		case s.Kind == reflect.Interface:
		case s.Elem != nil:
			g.declare(&list[i], s.Elem)
		}
	}
}

// elemShape returns the shape that holds v.Elems: that of the dynamic type for an interface value.
func (g *goWriter) elemShape(v *Value, s *Shape) *Shape {
	if v.Kind != KindInterface {
		return s
	}
	if t := g.typeOf(v.Str); t != nil {
		return &Shape{Kind: reflect.Pointer, Elem: t}
	}
	return nil
}

func (g *goWriter) typeOf(name string) *Shape {
	if g.types != nil {
		if s := g.types(name); s != nil {
			return s
		}
	}
	if t := lookupType(name, nil); t != nil {
		return ShapeOf(t, "")
	}
	return nil
}

// lit writes v; typed says that the context already gives the type, so that
// constants need no conversion.
func (g *goWriter) lit(v *Value, s *Shape, typed bool) string {
	// Well-known types with hidden fields have expressions of their own, and shared memory needs a
	// variable first.
	if e, ok := g.writeWellKnown(v, s); ok {
		return e
	}
	if v.Back != nil {
		g.fill(v.Back, s)
	}
	switch v.Kind {
	case KindNil:
		return g.nilLit(s, typed)
	case KindBool, KindInt, KindUint, KindString:
		return g.constant(v, s, typed)
	case KindFloat32, KindFloat64, KindComplex64, KindComplex128:
		return g.number(v, s, typed)
	case KindBytes:
		return bytesLit(v, s)
	case KindRef, KindSliceRef:
		return g.reference(v, s)
	case KindPointer:
		return g.pointer(&v.Elems[0], s)
	case KindInterface:
		return g.dynamic(v)
	case KindGlobal:
		return globalLit(v.Str)
	case KindStruct, KindList, KindArray, KindMap:
		return s.Name + g.body(v, s)
	}
	return g.fail("a %s has no Go literal", v.Kind)
}

func (g *goWriter) nilLit(s *Shape, typed bool) string {
	switch {
	case s.Form == "pointer":
		return s.Name + "{}"
	case typed || s.Kind == reflect.Interface:
		return "nil"
	}
	return "(" + s.Name + ")(nil)"
}

// constant writes a basic value, converted where the context does not give its type.
func (g *goWriter) constant(v *Value, s *Shape, typed bool) string {
	var e string
	switch v.Kind {
	case KindBool:
		e = strconv.FormatBool(v.Bits == 1)
	case KindInt:
		e = strconv.FormatInt(v.Int(), 10)
	case KindUint:
		e = strconv.FormatUint(v.Bits, 10)
	default:
		e = strconv.Quote(v.Str)
	}
	// A constant needs no conversion if it has one of these types, or stands where the type is
	// known.
	if typed || s.Name == "int" || s.Name == "string" || s.Name == "bool" {
		return e
	}
	return s.Name + "(" + e + ")"
}

// number writes a float or a complex number. Infinite values and NaN have no literal, and need a
// call with a type.
func (g *goWriter) number(v *Value, s *Shape, typed bool) string {
	var e string
	plain := true
	switch v.Kind {
	case KindFloat32:
		e, plain = float32Lit(uint32(v.Bits))
	case KindFloat64:
		e, plain = float64Lit(v.Bits)
	case KindComplex64:
		re, _ := float32Lit(uint32(v.Bits))
		im, _ := float32Lit(uint32(v.Imag))
		return fmt.Sprintf("%s(complex(float32(%s), float32(%s)))", s.Name, re, im)
	default:
		re, _ := float64Lit(v.Bits)
		im, _ := float64Lit(v.Imag)
		return fmt.Sprintf("%s(complex(float64(%s), float64(%s)))", s.Name, re, im)
	}
	if typed && (plain || !s.Named()) {
		return e
	}
	return s.Name + "(" + e + ")"
}

// float64Lit writes a number; constant is false where that takes a call.
func float64Lit(bits uint64) (e string, constant bool) {
	switch f := math.Float64frombits(bits); {
	case math.IsInf(f, 1):
		return "math.Inf(1)", false
	case math.IsInf(f, -1):
		return "math.Inf(-1)", false
	// The usual NaN has a name; others keep their bits.
	case bits == math.Float64bits(math.NaN()):
		return "math.NaN()", false
	case math.IsNaN(f):
		return fmt.Sprintf("math.Float64frombits(%#x)", bits), false
	case bits == 1<<63:
		return "math.Copysign(0, -1)", false
	default:
		return strconv.FormatFloat(f, 'g', -1, 64), true
	}
}

func float32Lit(bits uint32) (e string, constant bool) {
	f := float64(math.Float32frombits(bits))
	if math.IsInf(f, 0) || math.IsNaN(f) || bits == 1<<31 {
		return fmt.Sprintf("math.Float32frombits(%#x)", bits), false
	}
	return strconv.FormatFloat(f, 'g', -1, 32), true
}

func bytesLit(v *Value, s *Shape) string {
	if v.Spare > 0 {
		return fmt.Sprintf("append(make(%s, 0, %d), %q...)", s.Name, len(v.Str)+v.Spare, v.Str)
	}
	if v.Str == "" {
		return s.Name + "{}"
	}
	return fmt.Sprintf("%s(%q)", s.Name, v.Str)
}

// body returns a composite literal without its type.
func (g *goWriter) body(v *Value, s *Shape) string {
	var list []string
	switch v.Kind {
	case KindStruct:
		list = g.fields(v, s)
	case KindMap:
		for i := 0; i+1 < len(v.Elems); i += 2 {
			list = append(list, g.elem(&v.Elems[i], s.Key)+": "+g.elem(&v.Elems[i+1], s.Elem))
		}
	default:
		for i := range v.Elems {
			list = append(list, g.elem(&v.Elems[i], s.Elem))
		}
		if v.Kind == KindArray {
			list = trimZeros(list, v.Elems)
		}
	}
	return "{" + strings.Join(list, ", ") + "}"
}

func trimZeros(list []string, elems []Value) []string {
	for len(list) > 0 && elems[len(list)-1].IsZero() {
		list = list[:len(list)-1]
	}
	return list
}

// fields writes the fields that are not zero. A hidden one has no literal outside of its package.
func (g *goWriter) fields(v *Value, s *Shape) (list []string) {
	for i := range v.Elems {
		f := s.Field(v.Names[i])
		if f == nil {
			g.fail("%s has no field %s", s.Name, v.Names[i])
			return nil
		}
		// A zero need not be written, even where the field is hidden.
		if v.Elems[i].IsZero() {
			continue
		}
		if f.Hidden {
			g.fail("the field %s of %s cannot be written outside its package", f.Name, s.Name)
			return nil
		}
		list = append(list, f.Name+": "+g.lit(&v.Elems[i], f.Shape, true))
	}
	return list
}

// Field returns a field by name, or nil.
func (s *Shape) Field(name string) *ShapeField {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return &s.Fields[i]
		}
	}
	return nil
}

// elem writes an element of a composite literal, whose type may be left out.
func (g *goWriter) elem(v *Value, s *Shape) string {
	switch v.Kind {
	case KindStruct, KindArray, KindMap, KindList:
		if _, ok := g.writeWellKnown(v, s); !ok && v.Spare == 0 {
			return g.body(v, s)
		}
	}
	return g.lit(v, s, true)
}

// pointer writes the address of a literal, or of a variable where the value has none.
func (g *goWriter) pointer(v *Value, s *Shape) string {
	if s.Elem == nil {
		return g.fail("a pointer has no Go literal as %s", s.Name)
	}
	if e, ok := g.knownPointer(v, s); ok {
		return e
	}
	switch v.Kind {
	case KindStruct, KindArray, KindMap, KindList:
		if _, ok := g.writeWellKnown(v, s.Elem); s.Form == "" && v.Spare == 0 && !ok {
			return "&" + s.Elem.Name + g.body(v, s.Elem)
		}
	}
	// No Go literal makes a locked mutex or an atomic pointer.
	if s.Form == "pointer" {
		return g.fail("a %s in use has no Go literal", s.Name)
	}
	// Only a composite literal has an address.
	return fmt.Sprintf("func() %s { var v %s = %s; return &v }()", s.Name, s.Elem.Name, g.lit(v, s.Elem, true))
}

func (g *goWriter) dynamic(v *Value) string {
	s := g.typeOf(v.Str)
	if s == nil {
		return g.fail("the type %s cannot be written here", v.Str)
	}
	return g.lit(&v.Elems[0], s, false)
}

// fill writes the content of shared memory.
func (g *goWriter) fill(b *Back, s *Shape) {
	if b.Map {
		for i := 0; i+1 < len(b.Elems); i += 2 {
			g.fills = append(g.fills,
				fmt.Sprintf("m%d[%s] = %s", b.ID, g.lit(&b.Elems[i], s.Key, true), g.lit(&b.Elems[i+1], s.Elem, true)))
		}
		return
	}
	for i := range b.Elems {
		if !b.Elems[i].IsZero() {
			g.fills = append(g.fills, fmt.Sprintf("m%d[%d] = %s", b.ID, i, g.lit(&b.Elems[i], s.Elem, true)))
		}
	}
}

// reference writes the expression for memory that a variable m1, m2 and so on of the literal holds
// already.
func (g *goWriter) reference(v *Value, s *Shape) string {
	shape, ok := g.shared[v.Ref.ID]
	if !ok {
		return g.fail("a reference into the arguments themselves has no Go literal")
	}
	name := fmt.Sprintf("m%d", v.Ref.ID)
	if s.Kind == reflect.Map {
		return name
	}
	// The last step of a slice is its start.
	steps, last := v.Ref.Steps, 0
	if len(steps) == 0 {
		return g.fail("a reference leads nowhere")
	}
	if v.Kind == KindSliceRef {
		last, steps = steps[len(steps)-1], steps[:len(steps)-1]
	}
	// Follow the steps through fields and elements. The first one indexes the shared array itself.
	for i, n := range steps {
		if i > 0 && shape.Kind == reflect.Struct && n < len(shape.Fields) {
			name, shape = name+"."+shape.Fields[n].Name, shape.Fields[n].Shape
			continue
		}
		if i > 0 {
			shape = shape.Elem
		}
		if shape == nil {
			return g.fail("a reference leads nowhere")
		}
		name = fmt.Sprintf("%s[%d]", name, n)
	}
	if v.Kind == KindSliceRef {
		return fmt.Sprintf("%s[%d:%d:%d]", name, last, last+v.Ref.Len, last+v.Ref.Cap)
	}
	return "&" + name
}

// writeWellKnown writes the values of well-known types, whose fields are hidden.
func (g *goWriter) writeWellKnown(v *Value, s *Shape) (string, bool) {
	// A time is written by its seconds in its zone, and an address by its text. A list with room
	// behind is appended to a slice with that capacity.
	switch {
	case s.Type == "time.Time" && v.Kind == KindStruct:
		var t time.Time
		if DecodeValue(v.Append(nil), &t, nil) != nil {
			return "", false
		}
		if t.IsZero() && v.IsZero() {
			return "time.Time{}", true
		}
		return fmt.Sprintf("time.Unix(%d, %d).In(time.%s)", t.Unix(), t.Nanosecond(), zoneVar(t)), true
	case v.Kind == KindOpaque && v.Text == "":
		return s.Name + "{}", true
	case v.Kind == KindOpaque && v.Str == "net/netip.Addr":
		return fmt.Sprintf("netip.MustParseAddr(%q)", v.Text), true
	case v.Kind == KindList && v.Spare > 0:
		return fmt.Sprintf("append(make(%s, 0, %d), %s...)", s.Name, len(v.Elems)+v.Spare, s.Name+g.body(v, s)), true
	}
	return "", false
}

func zoneVar(t time.Time) string {
	if t.Location() == time.Local {
		return "Local"
	}
	return "UTC"
}

// makers write pointers to well-known types; their text is in the field s.
var makers = map[string]string{
	"*errors.errorString": "errors.New(%q)",
	"*strings.Reader":     "strings.NewReader(%q)",
	"*bytes.Reader":       "bytes.NewReader([]byte(%q))",
}

func (g *goWriter) knownPointer(v *Value, s *Shape) (string, bool) {
	format, ok := makers[s.Type]
	text, read := v.Field("s"), v.Field("i")
	if !ok || text == nil || read != nil && read.Bits != 0 {
		return "", false
	}
	return fmt.Sprintf(format, text.Str), true
}
