package rt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unsafe"
)

// maxAlloc bounds what one record may allocate beyond its own size.
const maxAlloc = 64 << 20

type decoder struct {
	b       []byte
	i       int
	err     error
	path    string
	types   map[string]reflect.Type
	defs    []def
	objects map[uint64]object
	later   []func(d *decoder) // references to what was not there yet, then what holds them
	depth   int
	alloc   uintptr
}

// A def is a struct type that the record has described.
type def struct {
	at   int // offset of the number of fields
	c    *coder
	perm []int // field of c for each field of the record; nil when they are the same
}

type object struct {
	base unsafe.Pointer
	c    *coder
	n    int
}

// Decode reads a record into a, which must be zero. types gives the dynamic
// types of interface values by TypeName, beyond those that every program
// knows. All memory is new: nothing refers to b.
func Decode[A any](b []byte, a *A, types map[string]reflect.Type) error {
	return decodePart(b, types, part{coderFor[A](), unsafe.Pointer(a)})
}

// DecodeValue is Decode for a pointer whose type is known at run time only.
func DecodeValue(b []byte, ptr any, types map[string]reflect.Type) error {
	p, err := partOf(ptr)
	if err != nil {
		return err
	}
	return decodePart(b, types, p)
}

func decodePart(b []byte, types map[string]reflect.Type, p part) error {
	d := decoder{b: b, types: types}
	if p.c.sites > 1 {
		d.object(0, object{p.p, p.c, 1})
	}
	p.c.dec(&d, p.p)
	for i := 0; i < len(d.later) && d.err == nil; i++ {
		d.later[i](&d)
	}
	if d.err == nil && d.i < len(b) {
		d.fail("%d bytes follow the record", len(b)-d.i)
	}
	if d.err != nil && d.path != "" {
		return fmt.Errorf("%s: %w", d.path[1:], d.err)
	}
	return d.err
}

func (d *decoder) object(id uint64, o object) {
	if d.objects == nil {
		d.objects = make(map[uint64]object)
	}
	d.objects[id] = o
}

var errShort = errors.New("the record ends too early")

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

func (d *decoder) at(step string) { d.path = step + d.path }

func (d *decoder) tag() byte {
	if d.i >= len(d.b) || d.err != nil {
		if d.err == nil {
			d.err = errShort
		}
		return tagEnd
	}
	d.i++
	return d.b[d.i-1]
}

func (d *decoder) uint() uint64 {
	if d.err != nil {
		return 0
	}
	n, w := binary.Uvarint(d.b[d.i:])
	if w <= 0 {
		d.err = errShort
		return 0
	}
	d.i += w
	return n
}

// count reads a length of things that take at least one byte each.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.b)-d.i) {
		d.fail("a length of %d is more than the record holds", n)
		return 0
	}
	return int(n)
}

// small reads a number that fits an int.
func (d *decoder) small() int {
	n := d.uint()
	if n > math.MaxInt32 {
		d.fail("%d is out of range", n)
		return 0
	}
	return int(n)
}

func (d *decoder) take(n int) []byte {
	if d.err != nil || n > len(d.b)-d.i {
		if d.err == nil {
			d.err = errShort
		}
		return make([]byte, min(n, 16))
	}
	d.i += n
	return d.b[d.i-n : d.i]
}

func (d *decoder) string() string { return string(d.take(d.count())) }

func (d *decoder) want(tag byte, t reflect.Type) bool {
	got := d.tag()
	if got != tag {
		d.mismatch(got, t)
		return false
	}
	return true
}

func (d *decoder) mismatch(got byte, t reflect.Type) {
	d.fail("a %v cannot be read from a %s", t, Kind(got))
}

func (d *decoder) enter() bool {
	d.depth++
	if d.depth > DefaultLimit.Depth {
		d.fail("the record is nested deeper than %d levels", DefaultLimit.Depth)
	}
	return d.err == nil
}

// charge accounts for memory that the record does not itself fill.
func (d *decoder) charge(n uint64, size uintptr) bool {
	if size > 0 && n > uint64(maxAlloc-d.alloc)/uint64(size) {
		d.fail("the record asks for more than %d bytes of memory", maxAlloc)
		return false
	}
	d.alloc += uintptr(n) * size
	return d.err == nil
}

func basicDecoder(t reflect.Type) func(*decoder, unsafe.Pointer) {
	switch k := t.Kind(); k {
	case reflect.Bool:
		return func(d *decoder, p unsafe.Pointer) {
			tag := d.tag()
			if tag != tagTrue && tag != tagFalse {
				d.mismatch(tag, t)
				return
			}
			*(*bool)(p) = tag == tagTrue
		}
	case reflect.String:
		return func(d *decoder, p unsafe.Pointer) {
			if d.want(tagString, t) {
				*(*string)(p) = d.string()
			}
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intDecoder(t)
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return floatDecoder(t)
	default:
		return uintDecoder(t)
	}
}

func intDecoder(t reflect.Type) func(*decoder, unsafe.Pointer) {
	size := t.Size()
	shift := 64 - 8*size
	return func(d *decoder, p unsafe.Pointer) {
		if !d.want(tagInt, t) {
			return
		}
		n, w := binary.Varint(d.b[d.i:])
		if w <= 0 {
			d.err = errShort
			return
		}
		d.i += w
		if n<<shift>>shift != n {
			d.fail("%d does not fit a %v", n, t)
			return
		}
		switch size {
		case 1:
			*(*int8)(p) = int8(n)
		case 2:
			*(*int16)(p) = int16(n)
		case 4:
			*(*int32)(p) = int32(n)
		default:
			*(*int64)(p) = n
		}
	}
}

func uintDecoder(t reflect.Type) func(*decoder, unsafe.Pointer) {
	size := t.Size()
	shift := 64 - 8*size
	return func(d *decoder, p unsafe.Pointer) {
		if !d.want(tagUint, t) {
			return
		}
		n := d.uint()
		if n<<shift>>shift != n {
			d.fail("%d does not fit a %v", n, t)
			return
		}
		switch size {
		case 1:
			*(*uint8)(p) = uint8(n)
		case 2:
			*(*uint16)(p) = uint16(n)
		case 4:
			*(*uint32)(p) = uint32(n)
		default:
			*(*uint64)(p) = n
		}
	}
}

func floatDecoder(t reflect.Type) func(*decoder, unsafe.Pointer) {
	tag := map[reflect.Kind]byte{reflect.Float32: tagFloat32, reflect.Float64: tagFloat64, reflect.Complex64: tagComplex64, reflect.Complex128: tagComplex128}[t.Kind()]
	return func(d *decoder, p unsafe.Pointer) {
		if !d.want(tag, t) {
			return
		}
		b := d.take(int(t.Size()))
		le := binary.LittleEndian
		if d.err != nil {
			return
		}
		switch tag {
		case tagFloat32:
			*(*uint32)(p) = le.Uint32(b)
		case tagFloat64:
			*(*uint64)(p) = le.Uint64(b)
		case tagComplex64:
			*(*[2]uint32)(p) = [2]uint32{le.Uint32(b), le.Uint32(b[4:])}
		case tagComplex128:
			*(*[2]uint64)(p) = [2]uint64{le.Uint64(b), le.Uint64(b[8:])}
		}
	}
}

func structDecoder(c *coder) func(*decoder, unsafe.Pointer) {
	return func(d *decoder, p unsafe.Pointer) {
		f := d.definition(c)
		if d.err != nil {
			return
		}
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

func sliceDecoder(c *coder, isBytes bool) func(*decoder, unsafe.Pointer) {
	elem, own := c.elem, byte(tagList)
	if isBytes {
		own = tagBytes
	}
	return func(d *decoder, p unsafe.Pointer) {
		tag := d.back(elem)
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

func (d *decoder) sliceBody(elem *coder, h *sliceHeader, isBytes bool) {
	n := d.count()
	spare := d.uint()
	if spare > math.MaxInt32 {
		d.fail("a spare capacity of %d is out of range", spare)
	}
	if !d.enter() || !d.charge(spare, elem.size) || !d.charge(uint64(n), elem.size) {
		return
	}
	full := n + int(spare)
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

// back reads the definitions that may precede a reference, and returns the
// tag that follows.
func (d *decoder) back(elem *coder) byte {
	tag := d.tag()
	for tag == tagBack && d.err == nil {
		id, n, live := d.uint(), d.uint(), d.count()
		if _, twice := d.objects[id]; twice || uint64(live) > n || elem.size == 0 {
			d.fail("the shared memory %d is not well described", id)
		}
		if !d.enter() || !d.charge(n, elem.size) {
			return tagEnd
		}
		o := object{elem.alloc(int(n)), elem, int(n)}
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
		r.steps = append(r.steps, d.small())
	}
	return r
}

// locate follows a path to a variable of type want; room is how many more of
// them follow it in its array.
func (d *decoder) locate(r reference, want reflect.Type) (p unsafe.Pointer, room int) {
	o := d.objects[r.id]
	if len(r.steps) == 0 || r.steps[0] >= o.n {
		if len(r.steps) == 1 && r.steps[0] == o.n && o.c.typ == want {
			return o.c.at(o.base, o.n), 0 // an empty slice at the very end
		}
		d.fail("shared memory %d has no part %v", r.id, r.steps)
		return nil, 0
	}
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
	if c.typ != want {
		d.fail("a %v is wanted where shared memory %d holds a %v", want, r.id, c.typ)
		return nil, 0
	}
	return p, room
}

// whenDefined runs f now, or when the record has been read if it refers to
// what comes later.
func (d *decoder) whenDefined(id uint64, f func(d *decoder)) {
	if d.err != nil {
		return
	}
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

func (d *decoder) sliceRef(elem *coder, p unsafe.Pointer) {
	r := d.reference()
	r.len, r.cap = d.small(), d.small()
	d.whenDefined(r.id, func(d *decoder) {
		q, room := d.locate(r, elem.typ)
		if d.err != nil {
			return
		}
		if r.len > r.cap || r.cap > room {
			d.fail("a slice of length %d and capacity %d does not fit its memory", r.len, r.cap)
			return
		}
		h := (*sliceHeader)(p)
		h.data, h.len, h.cap = q, r.len, r.cap
	})
}

func pointerDecoder(elem *coder, off uintptr) func(*decoder, unsafe.Pointer) {
	return func(d *decoder, p unsafe.Pointer) {
		q := (*unsafe.Pointer)(unsafe.Add(p, off))
		tag := d.tag()
		if tag == tagGlobal {
			if d.knownGlobal(elem, q) {
				return
			}
			tag = d.tag()
		}
		if tag == tagBack {
			d.i--
			tag = d.back(elem)
		}
		switch tag {
		case tagNil:
		case tagPtr:
			if d.enter() && d.charge(1, elem.size) {
				*q = elem.alloc(1)
				elem.dec(d, *q)
				d.depth--
			}
		case tagRef:
			r := d.reference()
			d.whenDefined(r.id, func(d *decoder) { *q, _ = d.locate(r, elem.typ) })
		default:
			d.mismatch(tag, reflect.PointerTo(elem.typ))
		}
	}
}

// knownGlobal reads a global by name and skips its copy.
func (d *decoder) knownGlobal(elem *coder, q *unsafe.Pointer) bool {
	name := d.string()
	globals.RLock()
	v, ok := globals.values[name]
	globals.RUnlock()
	if !ok || d.err != nil || v.Type().Elem() != elem.typ {
		return false
	}
	var copy unsafe.Pointer // read for its side effects: definitions of types that later values refer to
	part := coderOf(reflect.PointerTo(elem.typ))
	part.dec(d, unsafe.Pointer(&copy))
	*q = v.UnsafePointer()
	return true
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

func mapDecoder(c *coder) func(*decoder, unsafe.Pointer) {
	return func(d *decoder, p unsafe.Pointer) {
		tag := d.tag()
		switch tag {
		case tagNil:
		case tagMap:
			d.entries(c, p, nil)
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

func (d *decoder) mapRef(c *coder, p unsafe.Pointer) {
	id := d.uint()
	d.uint()
	d.whenDefined(id, func(d *decoder) {
		o := d.objects[id]
		if o.c.typ != c.typ {
			d.fail("a %v is wanted where shared memory %d holds a %v", c.typ, id, o.c.typ)
			return
		}
		*(*unsafe.Pointer)(p) = o.base
	})
}

func (d *decoder) entries(c *coder, p unsafe.Pointer, id *uint64) {
	n := d.count()
	if !d.enter() {
		return
	}
	m := reflect.MakeMapWithSize(c.typ, min(n, 1<<16))
	c.value(p).Set(m)
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

func (d *decoder) entry(c *coder, m reflect.Value) {
	if !d.charge(1, c.key.size+c.elem.size) {
		return
	}
	k, v := c.key.alloc(1), c.elem.alloc(1)
	before := len(d.later)
	c.key.dec(d, k)
	c.elem.dec(d, v)
	if d.err != nil {
		d.at("[...]")
		return
	}
	if !hashable(c.key.value(k)) {
		d.fail("a key of type %v holds a value that cannot be hashed", c.key.typ)
		return
	}
	set := func(*decoder) { m.SetMapIndex(c.key.value(k), c.elem.value(v)) }
	if len(d.later) > before {
		d.later = append(d.later, set)
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
