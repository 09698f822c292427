package rt

import (
	"fmt"
	"reflect"
)

var errorType = reflect.TypeOf((*error)(nil)).Elem()

// errorValue writes an error as its caller sees it: dynamic type, text, what it
// wraps and the fields that it shows. It reports false for values that are not
// errors.
func (e *encoder) errorValue(v reflect.Value) bool {
	err, ok := v.Interface().(error)
	if !ok {
		return false
	}
	// Wrapped errors may form a ring, which the depth ends.
	if !e.enter() {
		return true
	}
	defer func() { e.depth-- }()
	// A variable of a package such as io.EOF is what callers compare with, so its name counts.
	if v.Kind() == reflect.Pointer && e.global(v.UnsafePointer()) {
		return true
	}
	e.tag(tagError)
	e.text(TypeName(v.Type()))
	// Without the text, only the type and what the error wraps are compared.
	if e.snapshot && ignored.errorText {
		e.text("")
		e.wrapped(err, v, nil)
		return true
	}
	e.text(errorText(err))
	seen, fields := publicFields(v)
	e.wrapped(err, seen, fields)
	return true
}

// unwrap survives a method that panics, as errorText does.
func unwrap(err error) (inner []error) {
	defer func() {
		if recover() != nil {
			inner = nil
		}
	}()
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		if w := u.Unwrap(); w != nil {
			inner = []error{w}
		}
	case interface{ Unwrap() []error }:
		inner = u.Unwrap()
	}
	return inner
}

// wrapped writes the errors within an error, and its fields after them if it
// shows any.
func (e *encoder) wrapped(err error, v reflect.Value, fields *shownFields) {
	inner := unwrap(err)
	n := len(inner)
	// Fields count as one more part of the error.
	if fields != nil {
		n++
	}
	e.uint(uint64(n))
	for _, w := range inner {
		if w == nil {
			e.tag(tagNil)
		} else {
			e.errorValue(reflect.ValueOf(w))
		}
	}
	if fields != nil {
		e.errorFields(v, fields)
	}
}

// errorText survives an Error method that panics, as fmt does.
func errorText(err error) (s string) {
	defer func() {
		if r := recover(); r != nil {
			s = fmt.Sprintf("(Error panics: %v)", r)
		}
	}()
	return err.Error()
}

// A caller who asks errors.As for the type of an error reads its exported
// fields: where a parser stopped, which key was missing. So they belong to the
// behaviour, as far as their types are plain data. So do the unexported fields
// of a type of the target's own package, whose methods and functions read them:
// Is, Timeout, a look-up by code. Those of other packages' types, function
// values, interfaces and addresses (of a stack) do not tell a caller anything
// that he could rely on.

// shownFields are the exported fields of plain data of an error's struct.
type shownFields struct {
	coder *coder // lends its header to the snapshot
	index []int
}

var shownOf typeTable // of structs: *shownFields

// ownPackage is the path of the target's package.
var ownPackage string

// SetOwnPackage names the target's package, before the first value is encoded.
func SetOwnPackage(path string) { ownPackage = path }

// publicFields returns the struct of an error and its fields for callers; nil when it
// has none.
func publicFields(v reflect.Value) (reflect.Value, *shownFields) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return v, nil
	}
	// Types are few and errors many, so what a type shows is looked up once.
	known := shownOf.get(v.Type())
	if known == nil {
		known = shownOf.keep(v.Type(), shownFieldsOf(v.Type()))
	}
	f := known.(*shownFields)
	if len(f.index) == 0 {
		return v, nil
	}
	return v, f
}

// shownFieldsOf returns a coder for the exported fields of an error type that hold plain data: a
// caller can see these.
func shownFieldsOf(t reflect.Type) *shownFields {
	f := &shownFields{coder: new(coder)}
	own := t.PkgPath() == ownPackage
	for i := range t.NumField() {
		if field := t.Field(i); (own || field.IsExported()) && plainData(field.Type, 4) {
			f.index = append(f.index, i)
		}
	}
	// The names are a header: a reader knows the fields by them and not by their places.
	var e encoder
	e.uint(uint64(len(f.index)))
	for _, i := range f.index {
		e.text(t.Field(i).Name)
	}
	f.coder.header = e.buf
	return f
}

// plainData reports whether a type consists of numbers, texts and lists and
// structs of those, nested at most so deep.
func plainData(t reflect.Type, depth int) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Slice, reflect.Array:
		return depth > 0 && plainData(t.Elem(), depth-1)
	case reflect.Map:
		return depth > 0 && plainData(t.Key(), depth-1) && plainData(t.Elem(), depth-1)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); depth == 0 || !f.IsExported() || !plainData(f.Type, depth-1) {
				return false
			}
		}
		return true
	}
	return false
}

// errorFields writes the fields of an error that its caller can read, each as
// the text that Go would spell it with: capacity and sharing do not count here.
func (e *encoder) errorFields(v reflect.Value, f *shownFields) {
	e.structHeader(f.coder)
	for _, i := range f.index {
		e.tag(tagString)
		e.text(fieldText(v.Field(i)))
	}
}

// fieldText spells a field of plain data as Go does.
func fieldText(v reflect.Value) string { return fmt.Sprintf("%#v", v) }

// fieldTexts returns the names of the fields that an error shows, and their texts.
func fieldTexts(v reflect.Value) (names, texts []string) {
	v, fields := publicFields(v)
	if fields == nil {
		return nil, nil
	}
	for _, i := range fields.index {
		names, texts = append(names, v.Type().Field(i).Name), append(texts, fieldText(v.Field(i)))
	}
	return names, texts
}
