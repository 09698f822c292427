package rt

import (
	"reflect"
	"unsafe"
)

type object struct {
	base unsafe.Pointer
	c    *coder
	n    int
}

// readDefinitions reads the definitions that may precede a reference, and returns the
// tag that follows.
func (d *decoder) readDefinitions(elem *coder) byte {
	tag := d.tag()
	for tag == tagBack && d.err == nil {
		id, n, live := d.uint(), d.uint(), d.count()
		// A record may be made by hand or be damaged: the numbers are checked before memory is
		// taken for them.
		if _, twice := d.objects[id]; twice || uint64(live) > n || elem.size == 0 {
			d.fail("the shared memory %d is not well described", id)
		}
		if !d.enter() || !d.charge(n, elem.size) {
			return tagEnd
		}
		o := object{elem.alloc(int(n)), elem, int(n)}
		// The object is known before its elements are read, since they may refer to it.
		d.object(id, o)
		d.elems(elem, o.base, live)
		d.depth--
		tag = d.tag()
	}
	return tag
}

// reference is a path into shared memory.
type reference struct {
	id       uint64
	steps    []int
	len, cap int
}

func (d *decoder) reference() reference {
	r := reference{id: d.uint()}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		r.steps = append(r.steps, d.readInt())
	}
	return r
}

// locate follows a path to a variable of type want; room is how many more of
// them follow it in its array.
func (d *decoder) locate(r reference, want reflect.Type) (p unsafe.Pointer, room int) {
	// The first step is an element of the shared array. A slice may also begin at its end.
	o := d.objects[r.id]
	if len(r.steps) == 0 || r.steps[0] >= o.n {
		if len(r.steps) == 1 && r.steps[0] == o.n && o.c.typ == want {
			return o.c.at(o.base, o.n), 0 // an empty slice at the very end
		}
		d.fail("shared memory %d has no part %v", r.id, r.steps)
		return nil, 0
	}
	// Follow the steps through arrays and fields. room counts the elements of the innermost array.
	c, p, room := o.c, o.c.at(o.base, r.steps[0]), o.n-r.steps[0]
	for _, s := range r.steps[1:] {
		switch {
		case c.elem != nil && c.typ.Kind() == reflect.Array && s < c.n:
			room = c.n - s
			c, p = c.elem, c.elem.at(p, s)
		case c.typ.Kind() == reflect.Struct && s < len(c.fields):
			f := c.fields[s]
			c, p, room = f.c, unsafe.Add(p, f.off), 1
		default:
			d.fail("shared memory %d has no part %v", r.id, r.steps)
			return nil, 0
		}
	}
	// The reference must lead to exactly what its user wants.
	if c.typ != want {
		d.fail("a %v is wanted where shared memory %d holds a %v", want, r.id, c.typ)
		return nil, 0
	}
	return p, room
}

// whenDefined runs f now, or at the end of the record if that refers to a value that follows.
func (d *decoder) whenDefined(id uint64, f func(d *decoder)) {
	if d.err != nil {
		return
	}
	// Most references lead back to what has been read.
	if _, ok := d.objects[id]; ok {
		f(d)
		return
	}
	d.later = append(d.later, func(d *decoder) {
		if _, ok := d.objects[id]; !ok {
			d.fail("shared memory %d is not described", id)
			return
		}
		f(d)
	})
}

// sliceRef reads a slice of shared memory. It must fit into that memory: a file can claim anything.
func (d *decoder) sliceRef(elem *coder, p unsafe.Pointer) {
	r := d.reference()
	r.len, r.cap = d.readInt(), d.readInt()
	d.whenDefined(r.id, func(d *decoder) {
		q, room := d.locate(r, elem.typ)
		if d.err != nil {
			return
		}
		// A slice that is longer than its memory would reach into memory of others.
		if r.len > r.cap || r.cap > room {
			d.fail("a slice of length %d and capacity %d does not fit its memory", r.len, r.cap)
			return
		}
		h := (*sliceHeader)(p)
		h.data, h.len, h.cap = q, r.len, r.cap
	})
}

// knownGlobal reads a global by name and skips its copy.
func (d *decoder) knownGlobal(elem *coder, q *unsafe.Pointer) bool {
	name := d.string()
	globals.RLock()
	v, ok := globals.values[name]
	globals.RUnlock()
	// The name may be of another type here, after a change of the package.
	if !ok || d.err != nil || v.Type().Elem() != elem.typ {
		return false
	}
	var copy unsafe.Pointer // read for its side effects: definitions of types that later values refer to
	part := coderOf(reflect.PointerTo(elem.typ))
	part.dec(d, unsafe.Pointer(&copy))
	*q = v.UnsafePointer()
	return true
}

func (d *decoder) mapRef(c *coder, p unsafe.Pointer) {
	id := d.uint()
	d.uint()
	d.whenDefined(id, func(d *decoder) {
		o := d.objects[id]
		// A reference by number says nothing about types, so they are compared.
		if o.c.typ != c.typ {
			d.fail("a %v is wanted where shared memory %d holds a %v", c.typ, id, o.c.typ)
			return
		}
		*(*unsafe.Pointer)(p) = o.base
	})
}
