package rt

import (
	"reflect"
	"unsafe"
)

// mapDecoder reads what mapCoder writes.
func mapDecoder(c *coder) func(*decoder, unsafe.Pointer) {
	return func(d *decoder, p unsafe.Pointer) {
		tag := d.tag()
		switch tag {
		case tagNil:
		case tagMap:
			d.entries(c, p, nil)
		// A map that others refer to has a number, and a reference to it follows.
		case tagBackMap:
			id := d.uint()
			d.entries(c, p, &id)
			if d.want(tagRef, c.typ) {
				d.uint()
				d.uint()
			}
		case tagRef:
			d.mapRef(c, p)
		default:
			d.mismatch(tag, c.typ)
		}
	}
}

// entries reads the entries of a map. id is its number if others refer to it, which an entry may do
// already.
func (d *decoder) entries(c *coder, p unsafe.Pointer, id *uint64) {
	n := d.count()
	if !d.enter() {
		return
	}
	// The size is a hint from the record, and not to be trusted with much memory.
	m := reflect.MakeMapWithSize(c.typ, min(n, 1<<16))
	c.value(p).Set(m)
	// The number is known before the entries are read, since one may refer to the map.
	if id != nil {
		if _, twice := d.objects[*id]; twice {
			d.fail("the shared memory %d is not well described", *id)
		}
		d.object(*id, object{m.UnsafePointer(), c, 0})
	}
	for i := 0; i < n && d.err == nil; i++ {
		d.entry(c, m)
	}
	d.depth--
}

// entry reads a key and an element, and adds them to m, at once or when the memory that they wait
// for is there.
func (d *decoder) entry(c *coder, m reflect.Value) {
	if !d.charge(1, c.key.size+c.elem.size) {
		return
	}
	k, v := c.key.alloc(1), c.elem.alloc(1)
	before := len(d.deferred)
	c.key.dec(d, k)
	c.elem.dec(d, v)
	if d.err != nil {
		d.at("[...]")
		return
	}
	// An interface may hold a key of a type that has no hash, and a map would panic.
	if !hashable(c.key.value(k)) {
		d.fail("a key of type %v holds a value that cannot be hashed", c.key.typ)
		return
	}
	set := func(*decoder) { m.SetMapIndex(c.key.value(k), c.elem.value(v)) }
	if len(d.deferred) > before {
		d.deferred = append(d.deferred, set)
	} else {
		set(d)
	}
}

// hashable guards against hostile records: a slice inside an interface key
// would panic.
func hashable(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface, reflect.Struct, reflect.Array:
		return v.Comparable()
	}
	return true
}
