package rt

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

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
		// Each form is for some kinds of types; with another one it is the error at the end.
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

// complexValue reads a list of two numbers, of the size that the type's halves have.
func complexValue(x any, s *Shape) (Value, error) {
	v := s.Zero()
	list, _ := x.([]any)
	if v.Kind != KindComplex64 && v.Kind != KindComplex128 || len(list) != 2 {
		return v, fmt.Errorf("%s is wanted, and this $complex does not make one", s.Name)
	}
	// Halves have a shape of their own, so that they are read as any float of that size.
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

// pairs reads the list of a map's keys and values in turn.
func (r *jsonReader) pairs(list []any, s *Shape) (Value, error) {
	v := Value{Kind: KindMap}
	for i, x := range list {
		part := s.Key
		if i%2 == 1 {
			part = s.Elem
		}
		e, err := r.readPart(fmt.Sprintf("[%d]", i), x, part)
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
	// $shared describes memory, and the other keys refer to it by its number.
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
	// A slice of shared memory has a length and a capacity of its own.
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

// backing reads a shared map, or a shared array with its length, and the reference that stands at
// its first use.
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
	// Both say how much memory there is and what lies in it: they must agree.
	v, err := r.value(m["as"], s)
	if err == nil && v.Ref == nil {
		err = errors.New(`$shared: "as" must be a $ref or a $slice`)
	}
	v.Back = b
	return v, err
}
