package rt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
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
	later   []func(d *decoder) // references to values that follow, then their holders
	depth   int
	alloc   uintptr
}

// Decode reads a record into a, which must be zero. types gives the dynamic
// types of interface values by TypeName, beyond those that every program
// knows. All memory is new: nothing refers to b.
func Decode[A any](b []byte, a *A, types map[string]reflect.Type) error {
	return decodePart(b, types, variable{coderFor[A](), unsafe.Pointer(a)})
}

// DecodeValue does what Decode does for a pointer whose type is known at run time only.
func DecodeValue(b []byte, ptr any, types map[string]reflect.Type) error {
	p, err := partOf(ptr)
	if err != nil {
		return err
	}
	return decodePart(b, types, p)
}

// decodePart reads one value. References to memory that comes later are resolved at the end.
func decodePart(b []byte, types map[string]reflect.Type, p variable) error {
	d := decoder{b: b, types: types}
	if p.c.sites > 1 {
		d.object(0, object{p.p, p.c, 1})
	}
	p.c.dec(&d, p.p)
	// A resolved value may need another later, so the list can grow.
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
	// The first error stays: what follows is read from the wrong place.
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

// readInt reads a number that fits an int.
func (d *decoder) readInt() int {
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
