package rt

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unsafe"
)

// A def is a struct type that the record has described.
type def struct {
	at   int // offset of the number of fields
	c    *coder
	perm []int // field of c for each field of the record; nil when they are the same
}

// structDecoder reads the fields in the order in which they were written. A description that fits
// the type exactly has no permutation.
func structDecoder(c *coder) func(*decoder, unsafe.Pointer) {
	return func(d *decoder, p unsafe.Pointer) {
		f := d.definition(c)
		if d.err != nil {
			return
		}
		// Without a permutation the fields are those of the type.
		if f.perm == nil {
			for i := range c.fields {
				d.field(&c.fields[i], p)
				if d.err != nil {
					return
				}
			}
			return
		}
		for _, i := range f.perm {
			d.field(&c.fields[i], p)
			if d.err != nil {
				return
			}
		}
	}
}

func (d *decoder) field(f *field, p unsafe.Pointer) {
	f.c.dec(d, unsafe.Add(p, f.off))
	if d.err != nil {
		d.at("." + f.name)
	}
}

// definition reads the description of a struct, or the reference to one, and
// fits it to the type that is to be read.
func (d *decoder) definition(c *coder) def {
	switch tag := d.tag(); tag {
	// A description that is written as this program would write it needs no comparison of names.
	case tagStruct:
		f := def{at: d.i}
		if bytes.HasPrefix(d.b[d.i:], c.header) {
			d.i += len(c.header)
			f.c = c
		} else {
			f = d.fit(f, c)
		}
		d.defs = append(d.defs, f)
		return f
	// A reference names an earlier description. It may have been fitted to another type of the same
	// fields, and then is fitted again from where it stands.
	case tagStructRef:
		i := d.uint()
		if i >= uint64(len(d.defs)) {
			d.fail("struct %d is not described", i)
			return def{}
		}
		if f := d.defs[i]; f.c.typ == c.typ {
			return f
		}
		if bytes.HasPrefix(d.b[d.defs[i].at:], c.header) {
			return def{c: c}
		}
		was := d.i
		d.i = d.defs[i].at
		f := d.fit(def{at: d.i}, c)
		d.i = was
		d.defs[i] = f
		return f
	default:
		d.mismatch(tag, c.typ)
		return def{}
	}
}

// fit finds the fields by name: a record survives a new or moved field.
func (d *decoder) fit(f def, c *coder) def {
	f.c, f.perm = c, []int{}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		name := d.string()
		i := slices.IndexFunc(c.fields, func(g field) bool { return g.name == name })
		if i < 0 {
			d.fail("%v has no field %q", c.typ, name)
		}
		f.perm = append(f.perm, i)
	}
	return f
}

func arrayDecoder(c *coder) func(*decoder, unsafe.Pointer) {
	return func(d *decoder, p unsafe.Pointer) {
		if !d.want(tagArray, c.typ) {
			return
		}
		// The length of an array is part of its type.
		if n := d.uint(); n != uint64(c.n) {
			d.fail("a %v cannot be read from an array of %d", c.typ, n)
			return
		}
		d.elems(c.elem, p, c.n)
	}
}

func (d *decoder) elems(c *coder, base unsafe.Pointer, n int) {
	for i := 0; i < n && d.err == nil; i++ {
		c.dec(d, c.at(base, i))
		if d.err != nil {
			d.at(fmt.Sprintf("[%d]", i))
		}
	}
}

// sliceDecoder reads what sliceCoder writes.
func sliceDecoder(c *coder, isBytes bool) func(*decoder, unsafe.Pointer) {
	elem, own := c.elem, byte(tagList)
	if isBytes {
		own = tagBytes
	}
	return func(d *decoder, p unsafe.Pointer) {
		// Shared memory may be defined right in front of the first slice of it.
		tag := d.readDefinitions(elem)
		switch tag {
		case tagNil:
		case own:
			d.sliceBody(elem, (*sliceHeader)(p), isBytes)
		case tagSlice:
			d.sliceRef(elem, p)
		default:
			d.mismatch(tag, c.typ)
		}
	}
}

// sliceBody reads the length, the capacity and the elements of a slice. Both sizes are charged
// before anything is allocated.
func (d *decoder) sliceBody(elem *coder, h *sliceHeader, isBytes bool) {
	n := d.count()
	spare := d.uint()
	// A record may say anything: what it asks for is bounded before it gets it.
	if spare > math.MaxInt32 {
		d.fail("a spare capacity of %d is out of range", spare)
	}
	if !d.enter() || !d.charge(spare, elem.size) || !d.charge(uint64(n), elem.size) {
		return
	}
	full := n + int(spare)
	// Bytes are copied at once, other elements read one by one.
	if isBytes {
		b := make([]byte, full)
		copy(b, d.take(n))
		h.data, h.len, h.cap = unsafe.Pointer(unsafe.SliceData(b)), n, full
	} else {
		h.data, h.len, h.cap = reflect.MakeSlice(elem.slice, full, full).UnsafePointer(), n, full
		d.elems(elem, h.data, n)
	}
	d.depth--
}

// pointerDecoder reads what pointerCoder writes. off is the offset of the pointer in the value.
func pointerDecoder(elem *coder, off uintptr) func(*decoder, unsafe.Pointer) {
	return func(d *decoder, p unsafe.Pointer) {
		q := (*unsafe.Pointer)(unsafe.Add(p, off))
		tag := d.tag()
		// A known variable of a package is stored as its name, with its content for programs that
		// do not have it.
		if tag == tagGlobal {
			if d.knownGlobal(elem, q) {
				return
			}
			tag = d.tag()
		}
		// A shared value is described at its first use. Go on with what it refers to.
		if tag == tagBack {
			d.i--
			tag = d.readDefinitions(elem)
		}
		switch tag {
		case tagNil:
		// The charge bounds what a file can make the decoder allocate, and enter bounds the depth.
		case tagPtr:
			if d.enter() && d.charge(1, elem.size) {
				*q = elem.alloc(1)
				elem.dec(d, *q)
				d.depth--
			}
		// The memory behind a reference may not exist yet.
		case tagRef:
			r := d.reference()
			d.whenDefined(r.id, func(d *decoder) { *q, _ = d.locate(r, elem.typ) })
		default:
			d.mismatch(tag, reflect.PointerTo(elem.typ))
		}
	}
}

func interfaceDecoder(c *coder) func(*decoder, unsafe.Pointer) {
	return func(d *decoder, p unsafe.Pointer) {
		switch tag := d.tag(); tag {
		case tagNil:
		case tagIface:
			d.dynamic(c, p)
		default:
			d.mismatch(tag, c.typ)
		}
	}
}

// dynamic reads the value of an interface by the name of its dynamic type.
func (d *decoder) dynamic(c *coder, p unsafe.Pointer) {
	name := d.string()
	if !d.enter() {
		return
	}
	t := lookupType(name, d.types)
	if t == nil {
		d.fail("the type %s is not known here", name)
		return
	}
	if !t.AssignableTo(c.typ) {
		d.fail("a %s is not a %v", name, c.typ)
		return
	}
	elem := coderOf(t)
	if !d.charge(1, elem.size) {
		return
	}
	// The value is read into a box, and the interface set from it. If the value waits for memory
	// that comes later, so does the interface.
	box := elem.alloc(1)
	before := len(d.later)
	elem.dec(d, box)
	d.depth--
	set := func(*decoder) { c.value(p).Set(elem.value(box)) }
	if len(d.later) > before { // the box is not complete yet
		d.later = append(d.later, set)
	} else if d.err == nil {
		set(d)
	}
}
