package rt

import (
	"bytes"
	"reflect"
)

// A slot is a variable that cases differ in: a parameter, or what is reached
// from one through structs and pointers to structs.
type slot struct {
	path []int // field indexes; pointers on the way are followed
	t    reflect.Type
}

// maxSlots bounds the work on large structs; parameters come first.
const maxSlots = 32

// slotsOf lists the slots of t. A variable that package own can only write by calling the type's
// package is no slot.
func slotsOf(t reflect.Type, own string) []slot {
	// Go down level by level, so that a limit cuts off the deepest slots first.
	var list []slot
	level := []slot{{t: t}}
	for depth := 0; depth < 4 && len(level) > 0; depth++ {
		var next []slot
		for _, s := range level {
			st := s.t
			// A pointer leads on to the fields behind it, unless the package cannot take the struct
			// apart.
			if st.Kind() == reflect.Pointer {
				st = st.Elem()
			}
			if st.Kind() != reflect.Struct || special(st) != nil || closed(own, st) {
				continue
			}
			for i := range st.NumField() {
				if st.Field(i).Name == "_" {
					continue
				}
				next = append(next, slot{append(s.path[:len(s.path):len(s.path)], i), st.Field(i).Type})
			}
		}
		list = append(list, next...)
		level = next
	}
	return list[:min(len(list), maxSlots)]
}

// The arguments of a case are made in v, slot by slot.
type arguments struct {
	*domain
	from interface {
		base(k int) // starts a case from one of the surroundings
	}
	bases int // number of the surroundings; the first is the zero value

	v     reflect.Value
	slots []slot
	kept  map[int][]reflect.Value // telling values by slot, for phases that choose among them
	tied  []knot                  // numbers that are lengths
}

// base starts a case from one of the surroundings.
func (a *arguments) base(k int) { a.from.base(k) }

// everyBase calls f with each of the surroundings in place.
func (a *arguments) everyBase(f func() bool) bool {
	for k := range a.bases {
		a.base(k)
		if !f() {
			return false
		}
	}
	return true
}

// field returns the variable of a slot, made if it is not there.
func (a *arguments) field(i int) reflect.Value {
	v := a.v
	for _, k := range a.slots[i].path {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = reachable(v.Field(k))
	}
	return v
}

// peek returns the variable of a slot if it is there: to look must not replace a nil pointer on the
// way.
func (a *arguments) peek(i int) (reflect.Value, bool) {
	v := a.v
	for _, k := range a.slots[i].path {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		v = reachable(v.Field(k))
	}
	return v, true
}

// each calls f for the slots of some kinds.
func (a *arguments) each(is func(reflect.Type) bool, f func(i int, t reflect.Type) bool) {
	for i, s := range a.slots {
		if is(s.t) && !f(i, s.t) {
			return
		}
	}
}

func isInteger(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64
}

func isText(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func isSequence(t reflect.Type) bool { return isText(t) || t.Kind() == reflect.Slice }

// setInt stores n if the field's type can hold it.
func (a *arguments) setInt(i int, n int64) bool {
	f := a.field(i)
	switch {
	case f.CanInt() && !f.OverflowInt(n):
		f.SetInt(n)
	case f.CanUint() && n >= 0 && !f.OverflowUint(uint64(n)):
		f.SetUint(uint64(n))
	default:
		return false
	}
	return true
}

func setText(f reflect.Value, b []byte) {
	if f.Kind() == reflect.String {
		f.SetString(string(b))
	} else {
		f.SetBytes(bytes.Clone(b))
	}
}
