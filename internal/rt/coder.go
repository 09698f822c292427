package rt

import (
	"reflect"
	"unsafe"
)

// A coder knows how values of one type are laid out: how to write them, read
// them, find the memory that they share, and copy them. Coders are compiled
// once a type by reflection and then work on raw memory, so that unexported
// fields need no special care and a small argument struct costs well under a
// microsecond.
type coder struct {
	typ    reflect.Type
	slice  reflect.Type // []typ, for allocation
	size   uintptr
	flat   bool    // refers to no memory that anybody could write to (strings are flat)
	raw    bool    // holds no pointers at all
	sites  int     // how many regions a value refers to at most: 0, 1, or 2 for "many"
	fields []field // of a struct
	header []byte  // number and names of the fields, as written
	elem   *coder  // of an array, slice, pointer or map
	key    *coder  // of a map
	n      int     // length of an array

	enc  func(e *encoder, p unsafe.Pointer)
	dec  func(d *decoder, p unsafe.Pointer)
	scan func(s *scanner, p unsafe.Pointer) // nil when flat
	fix  func(c *cloner, p unsafe.Pointer)  // p is a shallow copy: replace what it refers to; nil when flat
}

type field struct {
	name string
	off  uintptr
	c    *coder
}

// A sliceHeader is a slice as the runtime lays it out.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

var coders typeTable // of *coder

func coderOf(t reflect.Type) *coder {
	if c := coders.get(t); c != nil {
		return c.(*coder)
	}
	b := builder{}
	c := b.coder(t)
	for t, c := range b { // published only when all of them are complete
		coders.keep(t, c)
	}
	return c
}

func coderFor[A any]() *coder { return coderOf(reflect.TypeOf((*A)(nil)).Elem()) }

type builder map[reflect.Type]*coder

// coder returns the coder of a type. It is entered before its parts are built, because a type may
// contain itself.
func (b builder) coder(t reflect.Type) *coder {
	// A type within itself finds its own coder here, still unfinished: it is only used later.
	if c, ok := b[t]; ok {
		return c
	}
	if c := coders.get(t); c != nil {
		return c.(*coder)
	}
	c := &coder{typ: t, slice: reflect.SliceOf(t), size: t.Size(), flat: flat(t), raw: isOnlyBytes(t), sites: sites(t)}
	b[t] = c
	// Types of the library with a meaning of their own, such as time.Time, are not taken apart.
	if build := special(t); build != nil {
		build(b, c)
		return c
	}
	b.build(c)
	return c
}

// build fills in how values of the type are written, read, scanned and copied. Coders of parts come
// first, and may be unfinished for recursive types.
func (b builder) build(c *coder) {
	t := c.typ
	// A type with references has its coder made by what it leads to.
	switch t.Kind() {
	case reflect.Struct:
		b.structCoder(c)
	case reflect.Array:
		c.elem, c.n = b.coder(t.Elem()), t.Len()
		arrayCoder(c)
	case reflect.Slice:
		c.elem = b.coder(t.Elem())
		sliceCoder(c)
	case reflect.Pointer:
		c.elem = b.coder(t.Elem())
		pointerCoder(c, 0)
	case reflect.Map:
		c.key, c.elem = b.coder(t.Key()), b.coder(t.Elem())
		mapCoder(c)
	case reflect.Interface:
		interfaceCoder(c)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		nilCoder(c)
	default:
		basicCoder(c)
	}
}

func (b builder) structCoder(c *coder) {
	t := c.typ
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		if f.Name == "_" {
			continue // not part of the value: == ignores it too
		}
		c.fields = append(c.fields, field{f.Name, f.Offset, b.coder(f.Type)})
	}
	structCoder(c)
}

// flat reports whether values of t refer to no writable memory.
func flat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Func, reflect.Chan,
		reflect.UnsafePointer:
		return false
	case reflect.Array:
		return t.Len() == 0 || flat(t.Elem())
	// A lock's copy is a new lock, and opaque values never change.
	case reflect.Struct:
		if isLock(t) {
			return false // its copy is not the same bytes
		}
		if isOpaque(t) {
			return true
		}
		for i := 0; i < t.NumField(); i++ {
			if !flat(t.Field(i).Type) {
				return false
			}
		}
	}
	return true
}

// isOnlyBytes reports whether a value of t is nothing but its bytes, without any pointer.
func isOnlyBytes(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Func, reflect.Chan,
		reflect.UnsafePointer:
		return false
	case reflect.Array:
		return t.Len() == 0 || isOnlyBytes(t.Elem())
	case reflect.Struct:
		if isLock(t) {
			return false
		}
		for i := 0; i < t.NumField(); i++ {
			if !isOnlyBytes(t.Field(i).Type) {
				return false
			}
		}
	}
	return true
}

// sites bounds how many regions of memory a value of t can refer to. With
// fewer than two nothing can be shared, and the search for it is left out.
func sites(t reflect.Type) int {
	if flat(t) || isLock(t) {
		return 0
	}
	n := 0
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		// The elements of a slice may lead further, to any number of regions.
		n = 1
		if !flat(t.Elem()) {
			n = 2
		}
	case reflect.Map:
		n = 1
		if !flat(t.Elem()) || !flat(t.Key()) {
			n = 2
		}
	case reflect.Array:
		n = t.Len() * sites(t.Elem())
	case reflect.Struct:
		for i := 0; i < t.NumField(); i++ {
			n += sites(t.Field(i).Type)
		}
	default:
		n = 2
	}
	return min(n, 2)
}

// alloc returns zeroed memory for n values in a row.
func (c *coder) alloc(n int) unsafe.Pointer {
	if n == 1 {
		return reflect.New(c.typ).UnsafePointer()
	}
	return reflect.MakeSlice(c.slice, n, n).UnsafePointer()
}

func (c *coder) at(base unsafe.Pointer, i int) unsafe.Pointer {
	return unsafe.Add(base, uintptr(i)*c.size)
}

// value returns the variable at p.
func (c *coder) value(p unsafe.Pointer) reflect.Value { return reflect.NewAt(c.typ, p).Elem() }
