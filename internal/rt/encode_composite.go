package rt

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// structCoder writes a struct with a description of its fields in front, so that a later version of
// the program can read it by their names.
func structCoder(c *coder) {
	// The description is the same each time, so it is made once.
	e := encoder{}
	e.uint(uint64(len(c.fields)))
	for _, f := range c.fields {
		e.text(f.name)
	}
	c.header = e.buf
	c.enc = func(e *encoder, p unsafe.Pointer) {
		e.structHeader(c)
		for i := range c.fields {
			f := &c.fields[i]
			f.c.enc(e, unsafe.Add(p, f.off))
			if e.err != nil {
				e.at("." + f.name)
				return
			}
		}
	}
	c.dec = structDecoder(c)
	// A flat struct holds no memory: there is nothing to look for or to copy.
	if c.flat {
		return
	}
	// scan collects the memory that a value leads to, and fix replaces it in a copy.
	c.scan = func(s *scanner, p unsafe.Pointer) {
		for i := range c.fields {
			if f := &c.fields[i]; f.c.scan != nil {
				f.c.scan(s, unsafe.Add(p, f.off))
			}
		}
	}
	c.fix = func(k *cloner, p unsafe.Pointer) {
		for i := range c.fields {
			if f := &c.fields[i]; f.c.fix != nil {
				f.c.fix(k, unsafe.Add(p, f.off))
			}
		}
	}
}

func (e *encoder) structHeader(c *coder) {
	if i := slices.IndexFunc(e.defs, func(o *coder) bool { return o == c || bytes.Equal(o.header, c.header) }); i >= 0 {
		e.tag(tagStructRef)
		e.uint(uint64(i))
		return
	}
	e.defs = append(e.defs, c)
	e.tag(tagStruct)
	e.buf = append(e.buf, c.header...)
}

func arrayCoder(c *coder) {
	c.enc = func(e *encoder, p unsafe.Pointer) {
		e.tag(tagArray)
		e.uint(uint64(c.n))
		e.elems(c.elem, p, c.n)
	}
	c.dec = arrayDecoder(c)
	if c.flat {
		return
	}
	c.scan = func(s *scanner, p unsafe.Pointer) { s.elems(c.elem, p, c.n) }
	c.fix = func(k *cloner, p unsafe.Pointer) { k.elems(c.elem, p, c.n) }
}

func (e *encoder) elems(c *coder, base unsafe.Pointer, n int) {
	for i := 0; i < n; i++ {
		c.enc(e, c.at(base, i))
		if len(e.buf) > e.limit.Bytes {
			e.fail("it is larger than %d bytes", e.limit.Bytes)
		}
		if e.err != nil {
			e.at(fmt.Sprintf("[%d]", i))
			return
		}
	}
}

// sliceCoder writes a slice by its elements, or as a reference to shared memory.
func sliceCoder(c *coder) {
	elem := c.elem
	isBytes := elem.typ.Kind() == reflect.Uint8
	c.enc = func(e *encoder, p unsafe.Pointer) {
		h := (*sliceHeader)(p)
		// An empty slice counts as nil where the contract does not tell them apart, unless others
		// share its memory.
		if h.data == nil || e.emptyAsNil() && h.len == 0 && !e.inRoot(h.data, h.cap) {
			e.tag(tagNil)
			return
		}
		if len(e.roots) > 0 && e.sharedSlice(elem, h) {
			return
		}
		if !e.enter() {
			return
		}
		e.sliceBody(elem, h, isBytes)
		e.depth--
	}
	c.dec = sliceDecoder(c, isBytes)
	c.scan = func(s *scanner, p unsafe.Pointer) { s.slice(elem, (*sliceHeader)(p)) }
	c.fix = func(k *cloner, p unsafe.Pointer) { k.slice(elem, (*sliceHeader)(p)) }
}

// emptyAsNil reports whether nil and empty are to look the same.
func (e *encoder) emptyAsNil() bool { return e.snapshot && ignored.nilEmpty }

// inRoot reports whether memory is shared with another value.
func (e *encoder) inRoot(data unsafe.Pointer, cap int) bool {
	return len(e.roots) > 0 && cap > 0 && !ignored.capacity && e.root(data) != nil
}

// sliceBody writes the length, the free capacity and the elements. Large capacities are dropped:
// they would cost every reader the memory.
func (e *encoder) sliceBody(elem *coder, h *sliceHeader, isBytes bool) {
	spare := uint64(h.cap - h.len)
	// In a snapshot, free room is no part of a value.
	if e.snapshot || elem.size > 0 && spare > maxSpare/uint64(elem.size) {
		spare = 0
	}
	if h.len > e.limit.Bytes {
		e.fail("a slice of %d elements is larger than the limit of %d bytes", h.len, e.limit.Bytes)
		return
	}
	if isBytes {
		e.tag(tagBytes)
		e.uint(uint64(h.len))
		e.uint(spare)
		e.buf = append(e.buf, unsafe.Slice((*byte)(h.data), h.len)...)
		return
	}
	e.tag(tagList)
	e.uint(uint64(h.len))
	e.uint(spare)
	e.elems(elem, h.data, h.len)
}

// pointerCoder serves *T, and atomic.Pointer[T] with the offset of the
// pointer in it.
func pointerCoder(c *coder, off uintptr) {
	elem, globals := c.elem, hasGlobals(c.elem.typ)
	c.enc = func(e *encoder, p unsafe.Pointer) {
		q := *(*unsafe.Pointer)(unsafe.Add(p, off))
		if q == nil {
			e.tag(tagNil)
			return
		}
		// A variable of the library that everybody shares is stored by its name.
		if globals && e.global(q) {
			return
		}
		// Memory that several pointers lead to is written once.
		if len(e.roots) > 0 && e.sharedPointer(elem, q) {
			return
		}
		if !e.enter() {
			return
		}
		e.tag(tagPtr)
		elem.enc(e, q)
		e.depth--
	}
	c.dec = pointerDecoder(elem, off)
	// A shared variable is not part of the value, and is not copied.
	c.scan = func(s *scanner, p unsafe.Pointer) {
		q := *(*unsafe.Pointer)(unsafe.Add(p, off))
		if !globals || !commonGlobal(q) {
			s.pointer(elem, q)
		}
	}
	c.fix = func(k *cloner, p unsafe.Pointer) {
		q := (*unsafe.Pointer)(unsafe.Add(p, off))
		if !globals || globalName(*q) == "" {
			*q = k.pointer(elem, *q)
		}
	}
}

// nilCoder serves functions, channels and unsafe pointers, of which only nil has a form outside of
// the process. After Tolerate any other one is written as its kind.
func nilCoder(c *coder) {
	c.enc = func(e *encoder, p unsafe.Pointer) {
		// A function stands for its kind only where the contract says that it is not compared.
		if *(*unsafe.Pointer)(p) != nil && ignored.bound {
			e.tag(tagOpaque)
			e.text(c.typ.Kind().String())
			return
		}
		if *(*unsafe.Pointer)(p) != nil {
			e.fail("a %s value has no form outside its process", c.typ.Kind())
			return
		}
		e.tag(tagNil)
	}
	c.dec = func(d *decoder, p unsafe.Pointer) { d.want(tagNil, c.typ) }
}

// interfaceCoder writes the name of the dynamic type in front of the value, because the reader has
// to choose it.
func interfaceCoder(c *coder) {
	c.enc = func(e *encoder, p unsafe.Pointer) {
		v := c.value(p).Elem()
		if !v.IsValid() {
			e.tag(tagNil)
			return
		}
		// In a snapshot an error is what it says, whatever its type.
		if e.snapshot && e.errorValue(v) || !e.enter() {
			return
		}
		// The value in an interface has no address, so it is copied into a box that has one.
		box := boxed(v)
		e.tag(tagIface)
		e.text(TypeName(v.Type()))
		box.c.enc(e, box.p)
		e.depth--
	}
	c.dec = interfaceDecoder(c)
	c.scan = func(s *scanner, p unsafe.Pointer) {
		v := c.value(p).Elem()
		if !v.IsValid() || s.snapshot && v.Type().Implements(errorType) {
			return
		}
		if box := boxed(v); box.c.scan != nil {
			box.c.scan(s, box.p)
		}
	}
	// The content of an interface can't be changed in place: fix the copy, and set it.
	c.fix = func(k *cloner, p unsafe.Pointer) {
		v := c.value(p)
		if !v.Elem().IsValid() {
			return
		}
		if box := boxed(v.Elem()); box.c.fix != nil {
			box.c.fix(k, box.p)
			v.Set(box.c.value(box.p))
		}
	}
}

// boxed copies the value inside an interface to a variable.
func boxed(v reflect.Value) variable {
	n := reflect.New(v.Type())
	n.Elem().Set(v)
	return variable{coderOf(v.Type()), n.UnsafePointer()}
}
