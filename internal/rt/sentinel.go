package rt

import (
	"reflect"
	"unsafe"
)

// An error may be one that its caller knows by its address, whether a variable
// of this package holds it, one of another package, or no variable at all. Two
// such errors can look alike. The original tells which errors these are: it
// returns the same pointer in two equal calls.

// Bounds on the look at errors.
const (
	maxErrors   = 64 // in one result
	errorsDepth = 6  // of results, and of what errors wrap
)

// A heldError is one error in a result.
type heldError struct {
	at    unsafe.Pointer // nil for one without an address
	looks string         // its type and text
}

// unlike reports whether two errors are different ones. Copies of one variable, one for each
// version, have one name.
func (h heldError) unlike(o heldError) bool {
	if h.at == nil || o.at == nil || h.at == o.at {
		return false
	}
	name := globalName(h.at)
	return name == "" || name != globalName(o.at)
}

// errorsOf lists the errors in results, with those that they wrap.
func errorsOf[R any](r *R) []heldError {
	var list []heldError
	findErrors(reflect.ValueOf(r).Elem(), &list, errorsDepth)
	return list
}

// findErrors lists the errors that a value holds, at most maxErrors, down to a depth.
func findErrors(v reflect.Value, list *[]heldError, depth int) {
	if depth == 0 || len(*list) >= maxErrors {
		return
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() || !v.CanInterface() {
			return
		}
		if err, ok := v.Interface().(error); ok {
			addError(err, list, depth)
		}
	case reflect.Slice, reflect.Array:
		if k := v.Type().Elem().Kind(); k != reflect.Interface && k != reflect.Pointer && k != reflect.Struct {
			return
		}
		for i := range min(v.Len(), maxErrors) {
			findErrors(v.Index(i), list, depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			findErrors(reachable(v.Field(i)), list, depth-1)
		}
	}
}

// addError lists an error and those that it wraps.
func addError(err error, list *[]heldError, depth int) {
	if depth == 0 || len(*list) >= maxErrors {
		return
	}
	v := reflect.ValueOf(err)
	h := heldError{looks: TypeName(v.Type()) + ": " + errorText(err)}
	if v.Kind() == reflect.Pointer && v.Type().Elem().Size() > 0 {
		h.at = v.UnsafePointer()
	}
	*list = append(*list, h)
	for _, inner := range unwrap(err) {
		if inner != nil {
			addError(inner, list, depth-1)
		}
	}
}

// Sentinels are the errors that the original returned so far, each time on copies of arguments.
type Sentinels map[unsafe.Pointer]bool

// maxSentinels bounds the errors that are kept.
const maxSentinels = 4096

// Other describes an error that the original has returned before, where the other version returns
// one that looks like it; "" if there is none.
func Other[R any](s Sentinels, want, got *R) string {
	wants, gots := errorsOf(want), errorsOf(got)
	for i, w := range wants {
		if len(wants) == len(gots) && s[w.at] && w.unlike(gots[i]) {
			return w.looks
		}
	}
	for _, w := range wants {
		if w.at != nil && len(s) < maxSentinels {
			s[w.at] = true
		}
	}
	return ""
}

// reachable lifts the ban on unexported fields.
func reachable(v reflect.Value) reflect.Value {
	if v.CanAddr() && !v.CanInterface() {
		return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	}
	return v
}
