package rt

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The JSON form is made for people: plain JSON wherever plain JSON can hold
// the value, and objects with one key that begins with "$" where it cannot.
// docs/corpus.md describes it.

// JSON writes the value.
func (v *Value) JSON() []byte { return v.appendJSON(nil) }

// appendJSON writes the value as plain JSON where JSON has a form for it. Everything else becomes
// an object with a key that begins with $, which jsonReader reads back.
func (v *Value) appendJSON(b []byte) []byte {
	if v.Back != nil {
		return v.sharedJSON(b)
	}
	// Kinds that JSON has are written as such. The rest keeps what a reader needs to make it again:
	// the capacity, the dynamic type, or the name of a variable.
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

// compositeJSON writes references, and values with parts.
func (v *Value) compositeJSON(b []byte) []byte {
	switch v.Kind {
	case KindRef:
		return fmt.Appendf(b, `{"$ref":%d,"at":%s}`, v.Ref.ID, ints(v.Ref.Steps))
	case KindSliceRef:
		return fmt.Appendf(b, `{"$slice":%d,"at":%s,"len":%d,"cap":%d}`, v.Ref.ID, ints(v.Ref.Steps),
			v.Ref.Len, v.Ref.Cap)
	case KindStruct:
		return fieldsJSON(b, v.Names, v.Elems)
	case KindMap:
		return mapJSON(b, v.Elems)
	case KindError:
		return v.errorJSON(b)
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

// errorJSON separates what an error wraps from the fields that it shows: they are a struct behind
// the errors.
func (v *Value) errorJSON(b []byte) []byte {
	b = fmt.Appendf(b, `{"$error":%s,"text":%s,"wraps":`, quote(v.Str), quote(v.Text))
	wraps := v.Elems
	n := len(wraps) - 1
	if n < 0 || wraps[n].Kind != KindStruct {
		return append(listJSON(b, wraps), '}')
	}
	b = append(listJSON(b, wraps[:n]), `,"fields":`...)
	return append(wraps[n].appendJSON(b), '}')
}
