package rt

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The JSON form is made for people: plain JSON wherever plain JSON can hold
// the value, and objects with one key that begins with "$" where it cannot.
// docs/corpus.md describes it.

// JSON writes the value.
func (v *Value) JSON() []byte { return v.appendJSON(nil) }

func (v *Value) appendJSON(b []byte) []byte {
	if v.Back != nil {
		return v.sharedJSON(b)
	}
	switch v.Kind {
	case KindNil:
		return append(b, "null"...)
	case KindBool:
		return strconv.AppendBool(b, v.Bits == 1)
	case KindInt:
		return strconv.AppendInt(b, v.Int(), 10)
	case KindUint:
		return strconv.AppendUint(b, v.Bits, 10)
	case KindFloat32, KindFloat64:
		return floatJSON(b, v.Kind, v.Bits)
	case KindComplex64, KindComplex128:
		k := v.Kind - KindComplex64 + KindFloat32
		b = floatJSON(append(b, `{"$complex":[`...), k, v.Bits)
		return append(floatJSON(append(b, ','), k, v.Imag), "]}"...)
	case KindString:
		return textJSON(b, v.Str)
	case KindBytes:
		if v.Spare > 0 {
			return append(textJSON(fmt.Appendf(b, `{"$cap":%d,"value":`, len(v.Str)+v.Spare), v.Str), '}')
		}
		return textJSON(b, v.Str)
	case KindPointer:
		return v.pointerJSON(b)
	case KindOpaque:
		return textJSON(b, v.Text)
	case KindInterface:
		return append(v.Elems[0].appendJSON(fmt.Appendf(b, `{"$type":%s,"value":`, quote(v.Str))), '}')
	case KindGlobal:
		return append(v.Elems[0].appendJSON(fmt.Appendf(b, `{"$global":%s,"value":`, quote(v.Str))), '}')
	default:
		return v.compositeJSON(b)
	}
}

// pointerJSON leaves the pointer out where that is clear: a pointer to nil
// is not a nil pointer.
func (v *Value) pointerJSON(b []byte) []byte {
	if e := &v.Elems[0]; e.Back != nil || slices.Contains([]Kind{KindNil, KindPointer, KindRef, KindGlobal}, e.Kind) {
		return append(v.Elems[0].appendJSON(append(b, `{"$ptr":`...)), '}')
	}
	return v.Elems[0].appendJSON(b)
}

func (v *Value) compositeJSON(b []byte) []byte {
	switch v.Kind {
	case KindRef:
		return fmt.Appendf(b, `{"$ref":%d,"at":%s}`, v.Ref.ID, ints(v.Ref.Steps))
	case KindSliceRef:
		return fmt.Appendf(b, `{"$slice":%d,"at":%s,"len":%d,"cap":%d}`, v.Ref.ID, ints(v.Ref.Steps), v.Ref.Len, v.Ref.Cap)
	case KindStruct:
		return fieldsJSON(b, v.Names, v.Elems)
	case KindMap:
		return mapJSON(b, v.Elems)
	case KindError:
		return append(listJSON(fmt.Appendf(b, `{"$error":%s,"text":%s,"wraps":`, quote(v.Str), quote(v.Text)), v.Elems), '}')
	}
	if v.Spare > 0 {
		return append(listJSON(fmt.Appendf(b, `{"$cap":%d,"value":`, len(v.Elems)+v.Spare), v.Elems), '}')
	}
	return listJSON(b, v.Elems)
}

func (v *Value) sharedJSON(b []byte) []byte {
	k := v.Back
	b = fmt.Appendf(b, `{"$shared":%d,"len":%d,"value":`, k.ID, k.Len)
	if k.Map {
		b = mapJSON(b, k.Elems)
	} else {
		b = listJSON(b, k.Elems)
	}
	ref := *v
	ref.Back = nil
	return append(ref.appendJSON(append(b, `,"as":`...)), '}')
}

func listJSON(b []byte, list []Value) []byte {
	b = append(b, '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = list[i].appendJSON(b)
	}
	return append(b, ']')
}

func fieldsJSON(b []byte, names []string, list []Value) []byte {
	b = append(b, '{')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = list[i].appendJSON(append(append(b, quote(names[i])...), ':'))
	}
	return append(b, '}')
}

// mapJSON writes an object if the keys are strings that cannot be mistaken.
func mapJSON(b []byte, list []Value) []byte {
	var names []string
	var values []Value
	for i := 0; i+1 < len(list); i += 2 {
		k := &list[i]
		if k.Kind != KindString || !utf8.ValidString(k.Str) || strings.HasPrefix(k.Str, "$") {
			return append(listJSON(append(b, `{"$map":`...), list), '}')
		}
		names, values = append(names, k.Str), append(values, list[i+1])
	}
	return fieldsJSON(b, names, values)
}

func quote(s string) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.Encode(s)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

func textJSON(b []byte, s string) []byte {
	if utf8.ValidString(s) {
		return append(b, quote(s)...)
	}
	return fmt.Appendf(b, `{"$base64":%q}`, base64.StdEncoding.EncodeToString([]byte(s)))
}

// floatJSON writes what JSON has no number for as text, down to the bits.
func floatJSON(b []byte, k Kind, bits uint64) []byte {
	size, f := 64, math.Float64frombits(bits)
	plain := math.Float64bits(math.NaN())
	if k == KindFloat32 {
		size, f = 32, float64(math.Float32frombits(uint32(bits)))
		plain = uint64(math.Float32bits(float32(math.NaN())))
	}
	switch {
	case math.IsNaN(f) && bits != plain:
		return fmt.Appendf(b, `{"$float":"%#x"}`, bits)
	case math.IsNaN(f), math.IsInf(f, 0), f == 0 && math.Signbit(f):
		return fmt.Appendf(b, `{"$float":%q}`, strconv.FormatFloat(f, 'g', -1, 64))
	}
	return strconv.AppendFloat(b, f, 'g', -1, size)
}

func ints(list []int) string { return strings.ReplaceAll(fmt.Sprint(list), " ", ",") }

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
		return Value{}, &JSONError{r.where(), err}
	}
	return v, nil
}

type jsonReader struct {
	types func(string) *Shape
	path  []string
}

func (r *jsonReader) where() string { return strings.Join(r.path, "") }

// in reads a part; its path stays in place when it fails.
func (r *jsonReader) in(step string, tree any, s *Shape) (Value, error) {
	r.path = append(r.path, step)
	v, err := r.value(tree, s)
	if err == nil {
		r.path = r.path[:len(r.path)-1]
	}
	return v, err
}

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

var dollarKeys = []string{"$base64", "$float", "$complex", "$type", "$global", "$ptr", "$cap", "$map", "$shared", "$ref", "$slice"}

func mismatch(tree any, s *Shape) error {
	return fmt.Errorf("%s is wanted, and this is %s", s.Name, jsonKind(tree))
}

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

func (r *jsonReader) structure(tree any, s *Shape) (Value, error) {
	v := s.Zero()
	switch t := tree.(type) {
	case string:
		if s.Type == "time.Time" {
			return timeValue(t)
		}
	case map[string]any:
		if name := unknownField(t, s); name != "" {
			return v, fmt.Errorf("%s has no field %q; it has %s", s.Name, name, strings.Join(s.names(), ", "))
		}
		for i, f := range s.Fields {
			x, ok := t[f.Name]
			if !ok {
				continue
			}
			var err error
			if v.Elems[i], err = r.in("."+f.Name, x, f.Shape); err != nil {
				return v, err
			}
		}
		return v, nil
	case []any:
		if len(t) != len(s.Fields) {
			return v, fmt.Errorf("%d values are given for the %d fields %s", len(t), len(s.Fields), strings.Join(s.names(), ", "))
		}
		for i, f := range s.Fields {
			var err error
			if v.Elems[i], err = r.in("."+f.Name, t[i], f.Shape); err != nil {
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
	slices.Sort(unknown)
	if len(unknown) == 0 {
		return ""
	}
	return unknown[0]
}

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
		if out[i], err = r.in(fmt.Sprintf("[%d]", i), x, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

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
	slices.Sort(keys)
	v := Value{Kind: KindMap}
	for _, k := range keys {
		key, err := r.in(fmt.Sprintf("[%q]", k), mapKey(k, s.Key), s.Key)
		if err != nil {
			return v, err
		}
		x, err := r.in(fmt.Sprintf("[%q]", k), m[k], s.Elem)
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
	name := ""
	switch t := tree.(type) {
	case bool:
		name = "bool"
	case string:
		name = "string"
		if s.Type == "error" {
			v := Value{Kind: KindStruct, Names: []string{"s"}, Elems: []Value{{Kind: KindString, Str: t}}}
			return Value{Kind: KindInterface, Str: "*errors.errorString", Elems: []Value{{Kind: KindPointer, Elems: []Value{v}}}}, nil
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

// dollar reads an object whose key says what it is.
func (r *jsonReader) dollar(key string, x any, m map[string]any, s *Shape) (Value, error) {
	switch key {
	case "$base64":
		return base64Value(x, s)
	case "$float":
		return floatValue(x, s)
	case "$complex":
		return complexValue(x, s)
	case "$type":
		if name, ok := x.(string); ok && s.Kind == reflect.Interface {
			return r.typed(name, m["value"])
		}
	case "$global":
		if name, ok := x.(string); ok && (s.Kind == reflect.Pointer || s.Form == "pointer") {
			v, err := r.value(m["value"], s)
			return Value{Kind: KindGlobal, Str: name, Elems: []Value{v}}, err
		}
	case "$ptr":
		if s.Kind == reflect.Pointer {
			v, err := r.value(x, s.Elem)
			return Value{Kind: KindPointer, Elems: []Value{v}}, err
		}
	case "$cap":
		return r.capacity(x, m, s)
	case "$map":
		if list, ok := x.([]any); ok && s.Kind == reflect.Map && len(list)%2 == 0 {
			return r.pairs(list, s)
		}
	default:
		return r.shared(key, x, m, s)
	}
	return Value{}, fmt.Errorf("%s is wanted, and %s does not make one", s.Name, key)
}

func base64Value(x any, s *Shape) (Value, error) {
	text, _ := x.(string)
	b, err := base64.StdEncoding.DecodeString(text)
	switch {
	case err != nil:
		return Value{}, fmt.Errorf("$base64: %w", err)
	case s.Kind == reflect.String:
		return Value{Kind: KindString, Str: string(b)}, nil
	case s.bytes():
		return Value{Kind: KindBytes, Str: string(b)}, nil
	}
	return Value{}, fmt.Errorf("%s is wanted, and $base64 does not make one", s.Name)
}

func floatValue(x any, s *Shape) (Value, error) {
	text, _ := x.(string)
	v := s.Zero()
	if v.Kind != KindFloat32 && v.Kind != KindFloat64 {
		return v, fmt.Errorf("%s is wanted, and $float does not make one", s.Name)
	}
	var err error
	if v.Bits, err = floatBits(text, s.Bits); err != nil {
		return v, fmt.Errorf("$float: %q is not a number", text)
	}
	return v, nil
}

func complexValue(x any, s *Shape) (Value, error) {
	v := s.Zero()
	list, _ := x.([]any)
	if v.Kind != KindComplex64 && v.Kind != KindComplex128 || len(list) != 2 {
		return v, fmt.Errorf("%s is wanted, and this $complex does not make one", s.Name)
	}
	part := &Shape{Name: "float64", Kind: reflect.Float64, Bits: 64}
	if v.Kind == KindComplex64 {
		part = &Shape{Name: "float32", Kind: reflect.Float32, Bits: 32}
	}
	for i, to := range []*uint64{&v.Bits, &v.Imag} {
		f, err := (&jsonReader{}).value(list[i], part)
		if err != nil {
			return v, err
		}
		*to = f.Bits
	}
	return v, nil
}

func (r *jsonReader) capacity(x any, m map[string]any, s *Shape) (Value, error) {
	n, err := smallNumber(x)
	if err != nil || s.Kind != reflect.Slice {
		return Value{}, fmt.Errorf("%s is wanted, and this $cap does not make one", s.Name)
	}
	v, err := r.value(m["value"], s)
	if err != nil {
		return v, err
	}
	if v.Spare = n - len(v.Elems) - len(v.Str); v.Spare < 0 || v.Kind != KindList && v.Kind != KindBytes {
		return v, fmt.Errorf("a capacity of %d is less than the length", n)
	}
	return v, nil
}

func smallNumber(x any) (int, error) {
	n, ok := x.(json.Number)
	if !ok {
		return 0, errors.New("a small number is wanted")
	}
	i, err := strconv.ParseUint(n.String(), 10, 31)
	return int(i), err
}

func (r *jsonReader) pairs(list []any, s *Shape) (Value, error) {
	v := Value{Kind: KindMap}
	for i, x := range list {
		part := s.Key
		if i%2 == 1 {
			part = s.Elem
		}
		e, err := r.in(fmt.Sprintf("[%d]", i), x, part)
		if err != nil {
			return v, err
		}
		v.Elems = append(v.Elems, e)
	}
	return v, nil
}

// shared reads memory that several references share, and the references.
func (r *jsonReader) shared(key string, x any, m map[string]any, s *Shape) (Value, error) {
	id, err := smallNumber(x)
	if err != nil {
		return Value{}, fmt.Errorf("%s: a number is wanted", key)
	}
	if key == "$shared" {
		return r.backing(id, m, s)
	}
	v := Value{Kind: KindRef, Ref: &Ref{ID: id}}
	steps, _ := m["at"].([]any)
	for _, step := range steps {
		n, err := smallNumber(step)
		if err != nil {
			return v, fmt.Errorf("%s: at: %w", key, err)
		}
		v.Ref.Steps = append(v.Ref.Steps, n)
	}
	if key == "$slice" {
		v.Kind = KindSliceRef
		var err1, err2 error
		v.Ref.Len, err1 = smallNumber(m["len"])
		v.Ref.Cap, err2 = smallNumber(m["cap"])
		if err := errors.Join(err1, err2); err != nil {
			return v, fmt.Errorf("%s: len and cap: %w", key, err)
		}
	}
	return v, nil
}

func (r *jsonReader) backing(id int, m map[string]any, s *Shape) (Value, error) {
	b := &Back{ID: id, Map: s.Kind == reflect.Map}
	if b.Map {
		v, err := r.value(m["value"], s)
		if err != nil {
			return v, err
		}
		b.Elems = v.Elems
	} else {
		list, ok := m["value"].([]any)
		n, err := smallNumber(m["len"])
		if !ok || err != nil || s.Elem == nil || n < len(list) {
			return Value{}, errors.New("$shared: len and value do not describe shared memory")
		}
		b.Len = n
		if b.Elems, err = r.elems(list, s.Elem); err != nil {
			return Value{}, err
		}
	}
	v, err := r.value(m["as"], s)
	if err == nil && v.Ref == nil {
		err = errors.New(`$shared: "as" must be a $ref or a $slice`)
	}
	v.Back = b
	return v, err
}
