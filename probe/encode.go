package probe

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"unsafe"

	"github.com/beagle-go/beagle/probe/wire"
)

// An encoder writes one value into memory of a fixed size. It keeps no reference to the value.
type encoder struct {
	o    *options
	buf  []byte // never grows beyond its capacity
	full bool   // it did not fit

	depth   int // of references
	foreign int // above 0 inside memory that other goroutines may write
	flags   byte
	defs    [maxDefs]*coder
	ndefs   int
	held    [maxHeld]span // memory of this value, to see what is shared
	nheld   int
	texts   texts
}

// A span is memory that a value refers to. It is kept as numbers, which keep nothing alive.
type span struct{ lo, hi uintptr }

const (
	maxDefs = 32 // different structs whose field names are written once
	maxHeld = 96 // references of a value
)

// options of a session that encoding needs.
type options struct {
	text, elements, depth int
	raw, follow, maps     bool
	redact                *redactor
	hash                  func(string) uint64
}

func (e *encoder) byte(b byte) {
	if len(e.buf) == cap(e.buf) {
		e.full = true
		return
	}
	e.buf = append(e.buf, b)
}

func (e *encoder) bytes(b []byte) {
	if len(b) > cap(e.buf)-len(e.buf) {
		e.full = true
		return
	}
	e.buf = append(e.buf, b...)
}

func (e *encoder) uint(n uint64) {
	if n < 0x80 {
		e.byte(byte(n))
		return
	}
	if cap(e.buf)-len(e.buf) >= binary.MaxVarintLen64 {
		e.buf = binary.AppendUvarint(e.buf, n)
		return
	}
	var b [binary.MaxVarintLen64]byte
	e.bytes(b[:binary.PutUvarint(b[:], n)])
}

func (e *encoder) int(n int64) {
	var b [binary.MaxVarintLen64]byte
	e.bytes(b[:binary.PutVarint(b[:], n)])
}

func (e *encoder) string(s string) {
	e.uint(uint64(len(s)))
	e.bytes(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// hole writes that a value is missing.
func (e *encoder) hole(h wire.Hole) {
	e.flags |= wire.HasHoles
	e.bytes([]byte{wire.TagHole, h.Reason, h.Kind, h.Class})
	e.uint(h.Len)
	e.uint(h.Spare)
	e.uint(h.Hash)
	if h.Reason != wire.Cut || h.Len == 0 {
		e.byte(0)
	} else {
		e.byte(1) // the caller writes the first part
	}
}

// field writes a field, a parameter or a map's value, whose name may say that it is secret.
func (e *encoder) field(name string, c *coder, p unsafe.Pointer) {
	if e.o.redact.name(name) {
		e.secret(c, p)
		return
	}
	e.value(c, p)
}

// secret writes the kind of a value, and the length of text and lists.
func (e *encoder) secret(c *coder, p unsafe.Pointer) {
	h := wire.Hole{Reason: wire.Redacted, Kind: firstTag(c)}
	switch c.kind {
	case reflect.String:
		h.Len = uint64(len(*(*string)(p)))
	case reflect.Slice:
		h.Len = uint64((*sliceHeader)(p).len)
	}
	e.hole(h)
}

// value encodes a value, or a hole in its place.
func (e *encoder) value(c *coder, p unsafe.Pointer) {
	if e.full {
		return
	}
	// A secret type shows nothing of its value.
	if e.o.redact.typ(c) {
		e.secret(c, p)
		return
	}
	// Each kind has a form of its own.
	switch c.kind {
	case reflect.String:
		e.text(wire.TagString, *(*string)(p), 0)
	case reflect.Struct:
		e.structure(c, p)
	case reflect.Slice:
		e.slice(c, (*sliceHeader)(p))
	case reflect.Array:
		e.array(c, p)
	case reflect.Pointer:
		e.pointer(c, *(*unsafe.Pointer)(p))
	case reflect.Map:
		e.mapping(c, p)
	case reflect.Interface:
		e.iface(c, p)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		if *(*unsafe.Pointer)(p) == nil {
			e.byte(wire.TagNil)
			return
		}
		e.hole(wire.Hole{Reason: wire.Bound})
	default:
		e.basic(c.kind, p)
	}
}

// basic encodes a number or a bool. Floats keep their bits.
func (e *encoder) basic(k reflect.Kind, p unsafe.Pointer) {
	le := binary.LittleEndian
	var b [16]byte
	switch k {
	case reflect.Bool:
		if *(*byte)(p) != 0 {
			e.byte(wire.TagTrue)
		} else {
			e.byte(wire.TagFalse)
		}
	case reflect.Float32:
		e.byte(wire.TagFloat32)
		le.PutUint32(b[:], *(*uint32)(p)) // as bits: no conversion may quieten a NaN
		e.bytes(b[:4])
	case reflect.Float64:
		e.byte(wire.TagFloat64)
		le.PutUint64(b[:], *(*uint64)(p))
		e.bytes(b[:8])
	case reflect.Complex64:
		e.byte(wire.TagComplex64)
		v := *(*[2]uint32)(p)
		le.PutUint32(b[:], v[0])
		le.PutUint32(b[4:], v[1])
		e.bytes(b[:8])
	case reflect.Complex128:
		e.byte(wire.TagComplex128)
		v := *(*[2]uint64)(p)
		le.PutUint64(b[:], v[0])
		le.PutUint64(b[8:], v[1])
		e.bytes(b[:16])
	default:
		if n, unsigned := integer(k, p); unsigned {
			e.byte(wire.TagUint)
			e.uint(uint64(n))
		} else {
			e.byte(wire.TagInt)
			e.int(n)
		}
	}
}

// integer reads an integer of any kind.
func integer(k reflect.Kind, p unsafe.Pointer) (n int64, unsigned bool) {
	switch k {
	case reflect.Int:
		return int64(*(*int)(p)), false
	case reflect.Int8:
		return int64(*(*int8)(p)), false
	case reflect.Int16:
		return int64(*(*int16)(p)), false
	case reflect.Int32:
		return int64(*(*int32)(p)), false
	case reflect.Int64:
		return *(*int64)(p), false
	case reflect.Uint8:
		return int64(*(*uint8)(p)), true
	case reflect.Uint16:
		return int64(*(*uint16)(p)), true
	case reflect.Uint32:
		return int64(*(*uint32)(p)), true
	case reflect.Uint64:
		return *(*int64)(p), true
	}
	return int64(*(*uint)(p)), true // uint and uintptr
}

// text writes a string, or bytes as one.
func (e *encoder) text(tag byte, s string, spare int) {
	h := wire.Hole{Kind: tag, Len: uint64(len(s)), Spare: uint64(spare)}
	if len(s) > 0 || tag == wire.TagArray { // else there is nothing to hide
		t := e.studied(tag, s)
		switch {
		case !e.o.raw:
			h.Reason, h.Class, h.Hash = wire.Shape, t.class, t.hash
			e.hole(h)
			return
		case t.secret:
			h.Reason = wire.Redacted
			e.hole(h)
			return
		case len(s) > e.o.text && tag != wire.TagArray:
			h.Reason, h.Class = wire.Cut, t.class
			e.hole(h)
			s, spare = s[:e.o.text], 0
		}
	}
	e.byte(tag)
	if tag != wire.TagBytes {
		e.string(s)
		return
	}
	e.uint(uint64(len(s)))
	e.uint(uint64(spare))
	e.bytes(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// maxSecret bounds the search after the cut for a secret that begins before it.
const maxSecret = 256

// structure encodes a struct. The names of its fields are written once for all structs of a record.
func (e *encoder) structure(c *coder, p unsafe.Pointer) {
	if c.bound {
		e.hole(wire.Hole{Reason: wire.Bound})
		return
	}
	same := func(o *coder) bool { return o == c || bytes.Equal(o.header, c.header) }
	known := slices.IndexFunc(e.defs[:e.ndefs], same)
	switch {
	case known >= 0:
		e.byte(wire.TagStructRef)
		e.uint(uint64(known))
	case e.ndefs == maxDefs:
		e.full = true
		return
	default:
		e.defs[e.ndefs] = c
		e.ndefs++
		e.byte(wire.TagStruct)
		e.bytes(c.header)
	}
	for i := range c.fields {
		f := &c.fields[i]
		e.field(f.name, f.c, unsafe.Add(p, f.off))
	}
}

// maxSpare bounds the recorded spare capacity of a slice, in bytes, as the recorder of tests bounds
// it.
const maxSpare = 64 << 10

// slice encodes a slice with its spare room, or a hole if its elements may not be read.
func (e *encoder) slice(c *coder, h *sliceHeader) {
	data, n, room := h.data, h.len, h.cap
	if data == nil {
		e.byte(wire.TagNil)
		return
	}
	spare := room - n
	if size := int(c.elem.size); size > 0 && spare > maxSpare/size {
		spare = 0
	}
	e.hold(uintptr(data), uintptr(room)*c.elem.size)
	if c.elem.kind == reflect.Uint8 {
		e.text(wire.TagBytes, unsafe.String((*byte)(data), n), spare)
		return
	}
	hole := wire.Hole{Kind: wire.TagList, Len: uint64(n), Spare: uint64(spare)}
	if e.depth == e.o.depth {
		hole.Reason = wire.Deep
		e.hole(hole)
		return
	}
	// A torn header has a valid pointer and a wrong length. Reading beyond the end is harmless only
	// if nothing there is taken for a pointer.
	if e.foreign > 0 && !c.elem.raw && !e.o.follow {
		hole.Reason = wire.Pointer
		e.hole(hole)
		return
	}
	if n > e.o.elements {
		hole.Reason = wire.Cut
		e.hole(hole)
		n, spare = e.o.elements, 0
	}
	e.byte(wire.TagList)
	e.uint(uint64(n))
	e.uint(uint64(spare))
	e.descend()
	e.elems(c.elem, data, n)
	e.ascend()
}

// descend begins what lies behind a reference, and ascend ends it.
func (e *encoder) descend() {
	e.depth++
	e.foreign++
	e.flags |= wire.Followed
}

func (e *encoder) ascend() {
	e.foreign--
	e.depth--
}

func (e *encoder) elems(c *coder, base unsafe.Pointer, n int) {
	for i := 0; i < n && !e.full; i++ {
		e.value(c, c.at(base, i))
	}
}

func (e *encoder) array(c *coder, p unsafe.Pointer) {
	if c.elem.kind == reflect.Uint8 && c.n > 0 && !e.o.raw {
		e.text(wire.TagArray, unsafe.String((*byte)(p), c.n), 0)
		return
	}
	if c.elem.kind == reflect.Uint8 && e.o.redact.text(unsafe.String((*byte)(p), c.n)) {
		e.hole(wire.Hole{Reason: wire.Redacted, Kind: wire.TagArray, Len: uint64(c.n)})
		return
	}
	n := c.n
	if n > e.o.elements && c.elem.kind != reflect.Uint8 {
		n = e.o.elements
		e.hole(wire.Hole{Reason: wire.Cut, Kind: wire.TagArray, Len: uint64(c.n)})
	}
	e.byte(wire.TagArray)
	e.uint(uint64(n))
	e.elems(c.elem, p, n)
}

func (e *encoder) pointer(c *coder, q unsafe.Pointer) {
	hole := wire.Hole{Kind: wire.TagPtr}
	switch {
	case q == nil:
		e.byte(wire.TagNil)
		return
	case !e.o.follow:
		hole.Reason = wire.Pointer
	case e.depth == e.o.depth:
		hole.Reason = wire.Deep
	case !e.hold(uintptr(q), c.elem.size):
		hole.Reason = wire.Seen
	default:
		e.byte(wire.TagPtr)
		e.descend()
		e.value(c.elem, q)
		e.ascend()
		return
	}
	e.hole(hole)
}

// hold notes memory of this value. It returns false when the value refers to it already.
func (e *encoder) hold(at, size uintptr) bool {
	if size == 0 {
		return true
	}
	s := span{at, at + size}
	for _, o := range e.held[:e.nheld] {
		if s.lo < o.hi && o.lo < s.hi {
			e.flags |= wire.Shared
			return false
		}
	}
	if e.nheld == maxHeld {
		e.flags |= wire.Shared // no reader wants more
		return true
	}
	e.held[e.nheld] = s
	e.nheld++
	return true
}

// floatOf reads a float of either size.
func floatOf(k reflect.Kind, p unsafe.Pointer) float64 {
	if k == reflect.Float32 {
		return float64(math.Float32frombits(*(*uint32)(p)))
	}
	return math.Float64frombits(*(*uint64)(p))
}

// firstTag returns the tag that a value begins with, unless it is nil.
func firstTag(c *coder) byte {
	return wire.TagOf(c.kind, c.kind == reflect.Slice && c.elem.kind == reflect.Uint8)
}
