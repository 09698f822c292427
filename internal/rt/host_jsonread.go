package rt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A JSONError says which part of a JSON value does not fit its type.
type JSONError struct {
	Path string // ".names[2]"; empty for the whole
	Err  error
}

func (e *JSONError) Error() string { return e.Err.Error() }

// ParseJSON reads a value of the given shape. A struct is an object by field
// name, where missing fields are zero, or a list of all its fields. types
// finds the shapes of dynamic types by TypeName and may be nil. Every error is
// a *JSONError.
func ParseJSON(b []byte, s *Shape, types func(string) *Shape) (Value, error) {
	r := jsonReader{types: types}
	if !utf8.Valid(b) {
		return Value{}, &JSONError{"", errors.New(`it is not valid UTF-8; write such text as {"$base64": "..."}`)}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return Value{}, &JSONError{"", err}
	}
	v, err := r.value(tree, s)
	if err != nil {
		return Value{}, &JSONError{r.location(), err}
	}
	return v, nil
}

type jsonReader struct {
	types func(string) *Shape
	path  []string
}

func (r *jsonReader) location() string { return strings.Join(r.path, "") }

// readPart reads a part; its path stays in place when it fails.
func (r *jsonReader) readPart(step string, tree any, s *Shape) (Value, error) {
	r.path = append(r.path, step)
	v, err := r.value(tree, s)
	if err == nil {
		r.path = r.path[:len(r.path)-1]
	}
	return v, err
}

// value reads a value of the shape s. An object with a $ key says itself what it is; the shape
// decides about all else.
func (r *jsonReader) value(tree any, s *Shape) (Value, error) {
	if m, ok := tree.(map[string]any); ok {
		for _, key := range dollarKeys {
			if x, ok := m[key]; ok {
				return r.dollar(key, x, m, s)
			}
		}
	}
	if s.Form != "" {
		return r.special(tree, s)
	}
	// The kinds with parts read these by the shapes of the parts.
	switch k := s.Kind; k {
	case reflect.Bool:
		if b, ok := tree.(bool); ok {
			v := Value{Kind: KindBool}
			if b {
				v.Bits = 1
			}
			return v, nil
		}
	case reflect.String:
		if t, ok := tree.(string); ok {
			return Value{Kind: KindString, Str: t}, nil
		}
	case reflect.Struct:
		return r.structure(tree, s)
	case reflect.Slice, reflect.Array:
		return r.list(tree, s)
	case reflect.Map:
		return r.mapping(tree, s)
	case reflect.Pointer:
		return r.pointer(tree, s)
	case reflect.Interface:
		return r.guess(tree, s)
	default:
		return number(tree, s)
	}
	return Value{}, mismatch(tree, s)
}

var dollarKeys = []string{"$base64", "$float", "$complex", "$type", "$global", "$ptr", "$cap", "$map", "$shared",
	"$ref", "$slice"}

func mismatch(tree any, s *Shape) error {
	return fmt.Errorf("%s is wanted, and this is %s", s.Name, jsonKind(tree))
}

// jsonKind says in words what stands in the JSON, for messages.
func jsonKind(tree any) string {
	switch t := tree.(type) {
	case nil:
		return "null"
	case string:
		return "the string " + string(quote(shorten(t)))
	case json.Number:
		return "the number " + t.String()
	case bool:
		return strconv.FormatBool(t)
	case []any:
		return fmt.Sprintf("a list of %d", len(t))
	}
	return "an object"
}

func shorten(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:37], "") + "..."
	}
	return s
}

// number reads a number of the type's size, or null where only nil is possible.
func number(tree any, s *Shape) (Value, error) {
	n, ok := tree.(json.Number)
	if tree == nil && s.Zero().Kind == KindNil { // functions, channels
		return Value{}, nil
	}
	if !ok {
		return Value{}, mismatch(tree, s)
	}
	v := s.Zero()
	var err error
	switch v.Kind {
	case KindInt:
		var i int64
		i, err = strconv.ParseInt(n.String(), 10, s.Bits)
		v.Bits = uint64(i)
	case KindUint:
		v.Bits, err = strconv.ParseUint(n.String(), 10, s.Bits)
	case KindFloat32, KindFloat64:
		v.Bits, err = floatBits(n.String(), s.Bits)
	case KindComplex64, KindComplex128:
		v.Bits, err = floatBits(n.String(), s.Bits/2)
	default:
		return v, fmt.Errorf("a %s cannot be given: only nil is possible", s.Name)
	}
	if err != nil {
		return v, fmt.Errorf("%s is not a value of type %s", n, s.Name)
	}
	return v, nil
}

func floatBits(text string, size int) (uint64, error) {
	if bits, ok := strings.CutPrefix(text, "0x"); ok {
		return strconv.ParseUint(bits, 16, size)
	}
	f, err := strconv.ParseFloat(text, size)
	if size == 32 {
		return uint64(math.Float32bits(float32(f))), err
	}
	return math.Float64bits(f), err
}

// special reads a type with a form of its own: a text, an atomic pointer or a lock. A lock has no
// value but zero.
func (r *jsonReader) special(tree any, s *Shape) (Value, error) {
	switch s.Form {
	case "text":
		if t, ok := tree.(string); ok {
			v := Value{Kind: KindOpaque, Str: s.Type, Text: t}
			return v, checkText(v, s)
		}
	case "pointer":
		return r.pointer(tree, s)
	default: // a lock
		if m, ok := tree.(map[string]any); tree == nil || ok && len(m) == 0 {
			return s.Zero(), nil
		}
	}
	return Value{}, mismatch(tree, s)
}

// checkText reads the text once, so that the error names the file.
func checkText(v Value, s *Shape) error {
	t, ok := knownTypes[s.Type]
	if !ok {
		return fmt.Errorf("%s is not known", s.Type)
	}
	return DecodeValue(v.Append(nil), reflect.New(t).Interface(), nil)
}

// structure reads a struct by its fields' names, or as a list of all fields in order. Fields
// without a value are zero.
func (r *jsonReader) structure(tree any, s *Shape) (Value, error) {
	v := s.Zero()
	switch t := tree.(type) {
	case string:
		if s.Type == "time.Time" {
			return timeValue(t)
		}
	case map[string]any:
		if name := unknownField(t, s); name != "" {
			return v, fmt.Errorf("%s has no field %q; its fields are %s", s.Name, name, strings.Join(s.names(), ", "))
		}
		for i, f := range s.Fields {
			x, ok := t[f.Name]
			if !ok {
				continue
			}
			var err error
			if v.Elems[i], err = r.readPart("."+f.Name, x, f.Shape); err != nil {
				return v, err
			}
		}
		return v, nil
	// A list must name each field, since a missing one would shift the others.
	case []any:
		if len(t) != len(s.Fields) {
			return v,
				fmt.Errorf("%d values are given for the %d fields %s", len(t), len(s.Fields),
					strings.Join(s.names(), ", "))
		}
		for i, f := range s.Fields {
			var err error
			if v.Elems[i], err = r.readPart("."+f.Name, t[i], f.Shape); err != nil {
				return v, err
			}
		}
		return v, nil
	}
	return v, mismatch(tree, s)
}

func timeValue(text string) (Value, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return Value{}, err
	}
	b, err := Encode(&t)
	if err != nil {
		return Value{}, err
	}
	return ParseValue(b)
}

func unknownField(m map[string]any, s *Shape) string {
	var unknown []string
	for name := range m {
		if s.Field(name) == nil {
			unknown = append(unknown, name)
		}
	}
	sortTexts(unknown)
	if len(unknown) == 0 {
		return ""
	}
	return unknown[0]
}

// list reads a slice or an array. Bytes may be written as a text.
func (r *jsonReader) list(tree any, s *Shape) (Value, error) {
	if tree == nil && s.Kind == reflect.Slice {
		return Value{}, nil
	}
	if t, ok := tree.(string); ok && s.bytes() {
		return Value{Kind: KindBytes, Str: t}, nil
	}
	t, ok := tree.([]any)
	if !ok {
		return Value{}, mismatch(tree, s)
	}
	if s.Kind == reflect.Array && len(t) != s.Len {
		return Value{}, mismatch(tree, s)
	}
	elems, err := r.elems(t, s.Elem)
	if err != nil {
		return Value{}, err
	}
	return listOf(elems, s), nil
}

// listOf makes the value of a slice or array from its elements.
func listOf(elems []Value, s *Shape) Value {
	switch {
	case s.Kind == reflect.Array:
		return Value{Kind: KindArray, Elems: elems}
	case s.bytes():
		b := make([]byte, len(elems))
		for i := range elems {
			b[i] = byte(elems[i].Bits)
		}
		return Value{Kind: KindBytes, Str: string(b)}
	}
	return Value{Kind: KindList, Elems: elems}
}

func (r *jsonReader) elems(list []any, s *Shape) ([]Value, error) {
	out := make([]Value, len(list))
	for i, x := range list {
		var err error
		if out[i], err = r.readPart(fmt.Sprintf("[%d]", i), x, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// mapping reads a JSON object as a map. Its keys are sorted, so that the same text gives the same
// value.
func (r *jsonReader) mapping(tree any, s *Shape) (Value, error) {
	m, ok := tree.(map[string]any)
	switch {
	case tree == nil:
		return Value{}, nil
	case !ok:
		return Value{}, mismatch(tree, s)
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sortTexts(keys)
	v := Value{Kind: KindMap}
	for _, k := range keys {
		key, err := r.readPart(fmt.Sprintf("[%q]", k), mapKey(k, s.Key), s.Key)
		if err != nil {
			return v, err
		}
		x, err := r.readPart(fmt.Sprintf("[%q]", k), m[k], s.Elem)
		if err != nil {
			return v, err
		}
		v.Elems = append(v.Elems, key, x)
	}
	return v, nil
}

// mapKey lets an object stand for a map with number keys.
func mapKey(k string, s *Shape) any {
	if s.Kind >= reflect.Int && s.Kind <= reflect.Float64 {
		return json.Number(k)
	}
	return k
}

func (r *jsonReader) pointer(tree any, s *Shape) (Value, error) {
	if tree == nil {
		return Value{}, nil
	}
	v, err := r.value(tree, s.Elem)
	return Value{Kind: KindPointer, Elems: []Value{v}}, err
}

// guess reads what stands for an interface value without naming its type.
func (r *jsonReader) guess(tree any, s *Shape) (Value, error) {
	if tree == nil {
		return Value{}, nil
	}
	// The plain types of JSON have one Go type each. A number is an int unless it is written with a
	// point or an exponent.
	name := ""
	switch t := tree.(type) {
	case bool:
		name = "bool"
	case string:
		name = "string"
		// An error is made by errors.New.
		if s.Type == "error" {
			v := Value{Kind: KindStruct, Names: []string{"s"}, Elems: []Value{{Kind: KindString, Str: t}}}
			return Value{Kind: KindInterface, Str: "*errors.errorString",
				Elems: []Value{{Kind: KindPointer, Elems: []Value{v}}}}, nil
		}
	case json.Number:
		name = "int"
		if strings.ContainsAny(t.String(), ".eE") {
			name = "float64"
		}
	case []any:
		name = "[]interface {}"
	default:
		name = "map[string]interface {}"
	}
	// Other interfaces do not take these types.
	if s.Type != "interface {}" {
		return Value{}, fmt.Errorf(`the dynamic type must be given for %s, as {"$type": "...", "value": ...}`, s.Name)
	}
	return r.typed(name, tree)
}

func (r *jsonReader) typed(name string, tree any) (Value, error) {
	g := goWriter{types: r.types}
	s := g.typeOf(name)
	if s == nil {
		return Value{}, fmt.Errorf("the type %q is not known", name)
	}
	v, err := r.value(tree, s)
	return Value{Kind: KindInterface, Str: s.Type, Elems: []Value{v}}, err
}
