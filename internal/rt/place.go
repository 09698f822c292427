package rt

import (
	"reflect"
	"unsafe"
)

// samePlace reports whether the last result lies in memory of the heap that an
// earlier one has too, outside of both calls' arguments. The original's may.
func (p *replayer[A, R]) samePlace(src *A, a *A, r *R) bool {
	c := p.check
	if !sharesHeap(r, &c.r[1], a, &c.a[1], src) {
		return false
	}
	c.run(0, -1, src)
	firstA, firstR := c.a[0], c.r[0]
	c.run(0, -1, src)
	return !sharesHeap(&firstR, &c.r[0], &firstA, &c.a[0], src)
}

func sharesHeap[A, R any](r, q *R, arguments ...*A) bool {
	var args, first, second spans
	for _, a := range arguments {
		args.walk(reflect.ValueOf(a).Elem(), 0)
	}
	first.walk(reflect.ValueOf(r).Elem(), 0)
	second.walk(reflect.ValueOf(q).Elem(), 0)
	for _, s := range first {
		if s.heap() && !args.meet(s) && second.meet(s) {
			return true
		}
	}
	return false
}

// A span is memory from lo to below hi. The spans of a value cover all memory behind it, strings
// included.
type span struct{ lo, hi uintptr }

type spans []span

// maxSpans bounds the work on one value.
const maxSpans = 256

func (s spans) meet(t span) bool {
	for _, u := range s {
		if t.lo < u.hi && u.lo < t.hi {
			return true
		}
	}
	return false
}

var heapSample = new([64]byte)

// heap reports whether the memory lies near what the heap gave out before. The
// program's own constants lie far from it.
func (s span) heap() bool {
	const far = 38 // bits of an address; with 32 of them all is near
	return uint64(s.lo)>>far == uint64(uintptr(unsafe.Pointer(heapSample)))>>far
}

func (s *spans) add(p unsafe.Pointer, size uintptr) bool {
	if p == nil || size == 0 || len(*s) >= maxSpans {
		return false
	}
	t := span{uintptr(p), uintptr(p) + size}
	for _, u := range *s {
		if u == t {
			return false
		}
	}
	*s = append(*s, t)
	return true
}

// walk collects the memory that a value leads to, as far as it is worth comparing addresses.
func (s *spans) walk(v reflect.Value, depth int) {
	if depth > 8 || special(v.Type()) != nil {
		return
	}
	switch v.Kind() {
	case reflect.String:
		text := v.String()
		s.add(unsafe.Pointer(unsafe.StringData(text)), uintptr(len(text)))
	case reflect.Slice:
		if !v.IsNil() && s.add(v.UnsafePointer(), uintptr(v.Cap())*v.Type().Elem().Size()) &&
			// Elements only matter if they lead to more memory.
			holdsMemory(v.Type().Elem()) {
			for k := range min(v.Len(), maxSpans) {
				s.walk(v.Index(k), depth+1)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() && s.add(v.UnsafePointer(), v.Type().Elem().Size()) {
			s.walk(v.Elem(), depth+1)
		}
	case reflect.Map:
		if !v.IsNil() {
			s.add(v.UnsafePointer(), 1)
		}
	case reflect.Interface:
		// An interface holds a copy that nothing else sees, unless it is a pointer.
		if !v.IsNil() && v.Elem().Kind() == reflect.Pointer {
			s.walk(v.Elem(), depth+1)
		}
	case reflect.Struct:
		for k := range v.NumField() {
			s.walk(reachable(v.Field(k)), depth+1)
		}
	case reflect.Array:
		for k := range min(v.Len(), maxSpans) {
			s.walk(v.Index(k), depth+1)
		}
	}
}

// holdsMemory does what leadsToMemory does, and counts strings.
func holdsMemory(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String:
		return true
	case reflect.Array:
		return holdsMemory(t.Elem())
	case reflect.Struct:
		for k := range t.NumField() {
			if holdsMemory(t.Field(k).Type) {
				return true
			}
		}
		return false
	}
	return leadsToMemory(t)
}
