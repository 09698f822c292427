package rt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"unsafe"
)

// Tags of the binary form. Each value is a tag and its payload; lengths and
// indexes are uvarints. The form describes itself: ParseValue reads it without
// knowing the types.
const (
	tagNil        = iota
	tagFalse      //
	tagTrue       //
	tagInt        // zigzag varint
	tagUint       // uvarint
	tagFloat32    // 4 bytes, little endian
	tagFloat64    // 8 bytes
	tagComplex64  // 8 bytes
	tagComplex128 // 16 bytes
	tagString     // length, bytes
	tagBytes      // length, spare capacity, bytes: a slice of uint8
	tagList       // length, spare capacity, elements: any other slice
	tagArray      // length, elements
	tagStruct     // number of fields, their names (length, bytes), the values
	tagStructRef  // index of an earlier tagStruct of this record, the values
	tagMap        // number of entries, keys and values in the order of the keys
	tagPtr        // the value pointed to
	tagIface      // type name (length, bytes), the dynamic value
	tagBack       // id, length, how many elements follow, elements; then the reference that stands here
	tagBackMap    // id, number of entries, entries; then tagRef id 0
	tagRef        // id, number of steps, steps: a pointer to a part of a tagBack
	tagSlice      // id, number of steps, steps, length, capacity: a slice of a part of a tagBack
	tagGlobal     // name, then the value in case that the reader does not know the name
	tagOpaque     // type name, text: a type with a text form of its own
	tagError      // snapshots only: type name, text, number of wrapped errors, those
	tagTuple      // number of parts, parts
	tagEnd
)

// A Limit bounds the encoding of one record.
type Limit struct {
	Bytes int // of the encoded form
	Depth int // of nested pointers, slices, maps and interfaces
}

// DefaultLimit lets a megabyte through.
var DefaultLimit = Limit{Bytes: 1 << 20, Depth: 10000}

// maxSpare bounds the spare capacity that is kept of a slice, in bytes: an
// append that finds room behaves differently from one that does not, but a
// huge empty buffer is not worth its memory in every record.
const maxSpare = 64 << 10

type encoder struct {
	buf      []byte
	limit    Limit
	snapshot bool
	depth    int
	defs     []*coder
	roots    []root // shared memory, by address; empty in the common case
	nextID   int
	err      error
	path     string
	scanner  scanner
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// Encode writes the arguments in the record encoding. It keeps the sharing
// graph: pointers, slices and maps that share memory still do after Decode.
func Encode[A any](a *A) ([]byte, error) { return AppendEncode(nil, a, DefaultLimit) }

// AppendEncode is Encode with a limit, appending to dst.
func AppendEncode[A any](dst []byte, a *A, limit Limit) ([]byte, error) {
	return encodeParts(dst, limit, false, part{coderFor[A](), unsafe.Pointer(a)})
}

// EncodeValue is Encode for a pointer whose type is known at run time only.
func EncodeValue(ptr any) ([]byte, error) {
	p, err := partOf(ptr)
	if err != nil {
		return nil, err
	}
	return encodeParts(nil, DefaultLimit, false, p)
}

// A part is a variable at the top of an encoding.
type part struct {
	c *coder
	p unsafe.Pointer
}

func partOf(ptr any) (part, error) {
	v := reflect.ValueOf(ptr)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return part{}, fmt.Errorf("a non-nil pointer is wanted, not %T", ptr)
	}
	return part{coderOf(v.Type().Elem()), v.UnsafePointer()}, nil
}

func encodeParts(dst []byte, limit Limit, snapshot bool, parts ...part) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.buf, e.limit, e.snapshot = dst, limit, snapshot
	e.limit.Bytes += len(dst)
	e.depth, e.defs, e.roots, e.nextID, e.err, e.path = 0, e.defs[:0], e.roots[:0], len(parts), nil, ""
	e.findShared(parts)
	if snapshot {
		e.tag(tagTuple)
		e.uint(uint64(len(parts)))
	}
	for _, p := range parts {
		p.c.enc(e, p.p)
	}
	buf := e.buf
	e.buf = nil
	e.checkRoots()
	clear(e.roots)
	if e.err != nil {
		return dst, e.failure("cannot be recorded")
	}
	return buf, nil
}

func (e *encoder) failure(what string) error {
	if e.path == "" {
		return e.err
	}
	return fmt.Errorf("%s %s: %w", e.path[1:], what, e.err)
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

func (e *encoder) tag(t byte)    { e.buf = append(e.buf, t) }
func (e *encoder) uint(n uint64) { e.buf = binary.AppendUvarint(e.buf, n) }
func (e *encoder) text(s string) { e.uint(uint64(len(s))); e.buf = append(e.buf, s...) }
func (e *encoder) int(t byte, n int64) {
	e.buf = binary.AppendVarint(append(e.buf, t), n)
}

// enter opens a nested value; it reports whether to go on.
func (e *encoder) enter() bool {
	e.depth++
	if e.depth > e.limit.Depth {
		e.fail("it is nested deeper than %d levels", e.limit.Depth)
	}
	if len(e.buf) > e.limit.Bytes {
		e.fail("it is larger than %d bytes", e.limit.Bytes)
	}
	return e.err == nil
}

func (e *encoder) at(step string) { e.path = step + e.path }

func basicCoder(c *coder) {
	c.dec = basicDecoder(c.typ)
	switch c.typ.Kind() {
	case reflect.Bool:
		c.enc = func(e *encoder, p unsafe.Pointer) {
			if *(*bool)(p) {
				e.tag(tagTrue)
			} else {
				e.tag(tagFalse)
			}
		}
	case reflect.Int:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.int(tagInt, int64(*(*int)(p))) }
	case reflect.Int8:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.int(tagInt, int64(*(*int8)(p))) }
	case reflect.Int16:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.int(tagInt, int64(*(*int16)(p))) }
	case reflect.Int32:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.int(tagInt, int64(*(*int32)(p))) }
	case reflect.Int64:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.int(tagInt, *(*int64)(p)) }
	case reflect.Uint:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.tag(tagUint); e.uint(uint64(*(*uint)(p))) }
	case reflect.Uint8:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.tag(tagUint); e.uint(uint64(*(*uint8)(p))) }
	case reflect.Uint16:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.tag(tagUint); e.uint(uint64(*(*uint16)(p))) }
	case reflect.Uint32:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.tag(tagUint); e.uint(uint64(*(*uint32)(p))) }
	case reflect.Uint64:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.tag(tagUint); e.uint(*(*uint64)(p)) }
	case reflect.Uintptr:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.tag(tagUint); e.uint(uint64(*(*uintptr)(p))) }
	case reflect.String:
		c.enc = func(e *encoder, p unsafe.Pointer) {
			s := *(*string)(p)
			if len(s) > e.limit.Bytes {
				e.fail("a string of %d bytes is larger than the limit of %d bytes", len(s), e.limit.Bytes)
				return
			}
			e.tag(tagString)
			e.text(s)
		}
	default:
		c.enc = floatEncoder(c.typ.Kind())
	}
}

func floatEncoder(k reflect.Kind) func(*encoder, unsafe.Pointer) {
	le := binary.LittleEndian
	switch k {
	case reflect.Float32:
		return func(e *encoder, p unsafe.Pointer) {
			e.buf = le.AppendUint32(append(e.buf, tagFloat32), *(*uint32)(p)) // as bits: no conversion may quieten a NaN
		}
	case reflect.Float64:
		return func(e *encoder, p unsafe.Pointer) {
			e.buf = le.AppendUint64(append(e.buf, tagFloat64), math.Float64bits(*(*float64)(p)))
		}
	case reflect.Complex64:
		return func(e *encoder, p unsafe.Pointer) {
			v := *(*[2]uint32)(p)
			e.buf = le.AppendUint32(le.AppendUint32(append(e.buf, tagComplex64), v[0]), v[1])
		}
	default:
		return func(e *encoder, p unsafe.Pointer) {
			v := *(*[2]uint64)(p)
			e.buf = le.AppendUint64(le.AppendUint64(append(e.buf, tagComplex128), v[0]), v[1])
		}
	}
}

func structCoder(c *coder) {
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
	if c.flat {
		return
	}
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

func sliceCoder(c *coder) {
	elem := c.elem
	isBytes := elem.typ.Kind() == reflect.Uint8
	c.enc = func(e *encoder, p unsafe.Pointer) {
		h := (*sliceHeader)(p)
		if h.data == nil {
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

func (e *encoder) sliceBody(elem *coder, h *sliceHeader, isBytes bool) {
	spare := uint64(h.cap - h.len)
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
		if globals && e.global(q) {
			return
		}
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

func nilCoder(c *coder) {
	c.enc = func(e *encoder, p unsafe.Pointer) {
		if *(*unsafe.Pointer)(p) != nil {
			e.fail("a %s value has no form outside its process", c.typ.Kind())
			return
		}
		e.tag(tagNil)
	}
	c.dec = func(d *decoder, p unsafe.Pointer) { d.want(tagNil, c.typ) }
}

func interfaceCoder(c *coder) {
	c.enc = func(e *encoder, p unsafe.Pointer) {
		v := c.value(p).Elem()
		if !v.IsValid() {
			e.tag(tagNil)
			return
		}
		if e.snapshot && e.errorValue(v) || !e.enter() {
			return
		}
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
func boxed(v reflect.Value) part {
	n := reflect.New(v.Type())
	n.Elem().Set(v)
	return part{coderOf(v.Type()), n.UnsafePointer()}
}

var errorType = reflect.TypeOf((*error)(nil)).Elem()

// errorValue writes an error as its caller sees it: dynamic type, text and
// what it wraps. It reports false for values that are not errors.
func (e *encoder) errorValue(v reflect.Value) bool {
	err, ok := v.Interface().(error)
	if !ok {
		return false
	}
	if !e.enter() {
		return true
	}
	defer func() { e.depth-- }()
	if v.Kind() == reflect.Pointer && e.global(v.UnsafePointer()) {
		return true
	}
	e.tag(tagError)
	e.text(TypeName(v.Type()))
	e.text(errorText(err))
	e.wrapped(err)
	return true
}

// unwrap survives a method that panics, as errorText does.
func unwrap(err error) (inner []error) {
	defer func() {
		if recover() != nil {
			inner = nil
		}
	}()
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		if w := u.Unwrap(); w != nil {
			inner = []error{w}
		}
	case interface{ Unwrap() []error }:
		inner = u.Unwrap()
	}
	return inner
}

func (e *encoder) wrapped(err error) {
	inner := unwrap(err)
	e.uint(uint64(len(inner)))
	for _, w := range inner {
		if w == nil {
			e.tag(tagNil)
		} else {
			e.errorValue(reflect.ValueOf(w))
		}
	}
}

// errorText survives an Error method that panics, as fmt does.
func errorText(err error) (s string) {
	defer func() {
		if r := recover(); r != nil {
			s = fmt.Sprintf("(Error panics: %v)", r)
		}
	}()
	return err.Error()
}

func mapCoder(c *coder) {
	key, elem := c.key, c.elem
	c.enc = func(e *encoder, p unsafe.Pointer) {
		m := *(*unsafe.Pointer)(p)
		if m == nil {
			e.tag(tagNil)
			return
		}
		if len(e.roots) > 0 && e.sharedMap(c, m, p) {
			return
		}
		if !e.enter() {
			return
		}
		e.tag(tagMap)
		e.entries(c, p)
		e.depth--
	}
	c.dec = mapDecoder(c)
	c.scan = func(s *scanner, p unsafe.Pointer) {
		m := *(*unsafe.Pointer)(p)
		if m == nil || !s.add(region{lo: uintptr(m), hi: uintptr(m) + 1, ptr: m, c: c, isMap: true}) {
			return
		}
		if key.scan == nil && elem.scan == nil {
			return
		}
		for it := c.value(p).MapRange(); it.Next(); {
			s.entry(key, it.Key())
			s.entry(elem, it.Value())
		}
	}
	c.fix = func(k *cloner, p unsafe.Pointer) { k.mapping(c, p) }
}

func (s *scanner) entry(c *coder, v reflect.Value) {
	if c.scan != nil {
		c.scan(s, boxedAs(c, v))
	}
}

func boxedAs(c *coder, v reflect.Value) unsafe.Pointer {
	n := reflect.New(c.typ)
	n.Elem().Set(v)
	return n.UnsafePointer()
}

// entries writes the entries in an order that does not depend on the map:
// by key, and by value where keys are alike (NaN).
func (e *encoder) entries(c *coder, p unsafe.Pointer) {
	list := sortedEntries(c, c.value(p), e.limit, e.snapshot)
	e.uint(uint64(len(list)))
	for _, x := range list {
		c.key.enc(e, x.key)
		if e.err == nil {
			c.elem.enc(e, x.val)
		}
		if len(e.buf) > e.limit.Bytes {
			e.fail("it is larger than %d bytes", e.limit.Bytes)
		}
		if e.err != nil {
			e.at("[" + x.name() + "]")
			return
		}
	}
}

type mapEntry struct {
	key, val unsafe.Pointer
	order    []byte // the key alone, encoded
	kind     reflect.Kind
}

func (x mapEntry) name() string {
	if x.kind == reflect.String {
		return fmt.Sprintf("%q", *(*string)(x.key))
	}
	return "..."
}

func sortedEntries(c *coder, m reflect.Value, limit Limit, snapshot bool) []mapEntry {
	list := make([]mapEntry, 0, m.Len())
	kind := c.key.typ.Kind()
	for it := m.MapRange(); it.Next(); {
		x := mapEntry{key: boxedAs(c.key, it.Key()), val: boxedAs(c.elem, it.Value()), kind: kind}
		if kind != reflect.String {
			x.order = orderKey(c.key, x.key, limit, snapshot)
		}
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b mapEntry) int {
		if kind == reflect.String {
			return compareStrings(*(*string)(a.key), *(*string)(b.key))
		}
		if d := slices.Compare(a.order, b.order); d != 0 {
			return d
		}
		return slices.Compare(orderKey(c.elem, a.val, limit, snapshot), orderKey(c.elem, b.val, limit, snapshot))
	})
	return list
}

func compareStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// orderKey encodes a value on its own. Integers sort numerically, for people.
func orderKey(c *coder, p unsafe.Pointer, limit Limit, snapshot bool) []byte {
	v := c.value(p)
	switch {
	case v.CanInt():
		return binary.BigEndian.AppendUint64(nil, uint64(v.Int())^(1<<63))
	case v.CanUint():
		return binary.BigEndian.AppendUint64(nil, v.Uint())
	}
	b, _ := encodeParts(nil, limit, snapshot, part{c, p}) // a failure shows again when the key itself is written
	return b
}
