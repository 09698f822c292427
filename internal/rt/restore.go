package rt

import (
	"reflect"
	"unsafe"
)

// A restorer puts the arguments of a window back as they were before a mutating target ran over
// them. Cloning every argument anew takes about a microsecond; copying the bytes back where they
// were takes a tenth, and the addresses stay the same. It works on memory behind pointers and
// slices. Values with a map or another kind that cannot be copied in place are cloned anew.
type restorer[A any] struct {
	pristine []A           // deep copies of arguments that cannot be copied back in place; nil if all can
	values   []A           // the elements themselves
	pairs    []savedMemory // memory reached from the elements
}

// A savedMemory is a piece of mutable memory with its first content.
type savedMemory struct{ live, saved reflect.Value }

func newRestorer[A any](a []A) *restorer[A] {
	r := &restorer[A]{values: append([]A(nil), a...)}
	w := memoryWalker{seen: map[memoryPlace]bool{}}
	for i := range a {
		w.walk(reflect.ValueOf(&a[i]).Elem())
	}
	// Memory that cannot be saved piece by piece is kept as a copy of the whole values.
	if w.refused {
		r.pristine = clones(a)
		return r
	}
	r.pairs = w.pairs
	return r
}

func (r *restorer[A]) restore(a []A) {
	if r.pristine != nil {
		copy(a, clones(r.pristine))
		return
	}
	copy(a, r.values)
	for _, p := range r.pairs {
		reflect.Copy(p.live, p.saved)
	}
}

// A memoryPlace is a piece of memory seen as a type: a struct and its first field
// start at the same address.
type memoryPlace struct {
	at unsafe.Pointer
	n  int
	t  reflect.Type
}

type memoryWalker struct {
	seen    map[memoryPlace]bool
	pairs   []savedMemory
	refused bool
}

// walk collects the memory that v leads to. v is addressable, so that
// unexported fields can be read around their flag.
func (w *memoryWalker) walk(v reflect.Value) {
	if w.refused {
		return
	}
	// Only memory of known kinds can be restored: maps, channels and functions must be nil.
	switch v.Kind() {
	case reflect.Pointer:
		w.pointer(v)
	case reflect.Slice:
		w.slice(v)
	case reflect.Array:
		if leadsToMemory(v.Type().Elem()) {
			for i := range v.Len() {
				w.walk(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			w.walk(reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem())
		}
	case reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		w.refused = w.refused || !v.IsNil()
	case reflect.Interface:
		w.dynamic(v)
	}
}

// pointer saves what v points to as a slice of one element.
func (w *memoryWalker) pointer(v reflect.Value) {
	if v.IsNil() {
		return
	}
	w.memory(reflect.SliceAt(v.Type().Elem(), v.UnsafePointer(), 1))
}

// slice saves the whole backing array: a callee may write up to the capacity.
func (w *memoryWalker) slice(v reflect.Value) {
	if v.Cap() > 0 {
		w.memory(v.Slice(0, v.Cap()))
	}
}

// memory saves one piece of memory, and what it leads to. A piece that is saved already ends the
// walk, for memory may form a ring.
func (w *memoryWalker) memory(live reflect.Value) {
	p := memoryPlace{live.UnsafePointer(), live.Len(), live.Type()}
	// The same address may be a struct and its first field, so the type belongs to the place.
	if w.seen[p] {
		return
	}
	w.seen[p] = true
	saved := reflect.MakeSlice(reflect.SliceOf(live.Type().Elem()), live.Len(), live.Len())
	reflect.Copy(saved, live)
	w.pairs = append(w.pairs, savedMemory{live, saved})
	if leadsToMemory(live.Type().Elem()) {
		for i := range live.Len() {
			w.walk(live.Index(i))
		}
	}
}

// dynamic follows a pointer inside an interface. Other dynamic values are
// immutable through the interface unless they hold references themselves.
func (w *memoryWalker) dynamic(v reflect.Value) {
	e := v.Elem()
	switch {
	case !e.IsValid():
	case e.Kind() == reflect.Pointer:
		w.pointer(e)
	case leadsToMemory(e.Type()):
		w.refused = true
	}
}

// leadsToMemory reports whether values of type t can lead to mutable memory.
func leadsToMemory(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Chan, reflect.Func,
		reflect.UnsafePointer:
		return true
	case reflect.Array:
		return t.Len() > 0 && leadsToMemory(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if leadsToMemory(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}
