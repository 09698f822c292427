package rt

import (
	"fmt"
	"reflect"
)

var errorType = reflect.TypeOf((*error)(nil)).Elem()

// errorValue writes an error as its caller sees it: dynamic type, text and
// what it wraps. It reports false for values that are not errors.
func (e *encoder) errorValue(v reflect.Value) bool {
	err, ok := v.Interface().(error)
	if !ok {
		return false
	}
	if !e.enter() {
		return true
	}
	defer func() { e.depth-- }()
	if v.Kind() == reflect.Pointer && e.global(v.UnsafePointer()) {
		return true
	}
	e.tag(tagError)
	e.text(TypeName(v.Type()))
	if e.snapshot && ignored.errorText {
		e.text("")
	} else {
		e.text(errorText(err))
	}
	e.wrapped(err)
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

func (e *encoder) wrapped(err error) {
	inner := unwrap(err)
	e.uint(uint64(len(inner)))
	for _, w := range inner {
		if w == nil {
			e.tag(tagNil)
		} else {
			e.errorValue(reflect.ValueOf(w))
		}
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
