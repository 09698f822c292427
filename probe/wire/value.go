package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// maxDepth bounds the nesting of what Fill reads.
const maxDepth = 64

var errShort = errors.New("the value ends too early")

// Fill copies an encoded value to dst, and asks fill what to write in the place of a hole.
// part holds the encoded first part of a value that was cut, or nil. Fill returns an error for
// bytes that no probe writes, and the error of fill.
func Fill(dst, value []byte, fill func(h Hole, part []byte) ([]byte, error)) ([]byte, error) {
	w := walker{b: value, out: dst, fill: fill}
	w.value(0)
	if w.err == nil && w.i < len(value) {
		w.fail("%d bytes follow the value", len(value)-w.i)
	}
	return w.out, w.err
}

// Holes lists the holes of an encoded value. Those within the first part of a cut value are not
// among them.
func Holes(value []byte) (holes []Hole, err error) {
	_, err = Fill(nil, value, func(h Hole, _ []byte) ([]byte, error) {
		holes = append(holes, h)
		return nil, nil
	})
	return holes, err
}

type walker struct {
	b      []byte
	i      int
	out    []byte
	fields []uint64 // numbers of fields of the structs so far
	fill   func(Hole, []byte) ([]byte, error)
	err    error
}

func (w *walker) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// take copies the next n bytes.
func (w *walker) take(n uint64) {
	if w.err == nil && n > uint64(len(w.b)-w.i) {
		w.err = errShort
	}
	if w.err != nil {
		return
	}
	w.out = append(w.out, w.b[w.i:w.i+int(n)]...)
	w.i += int(n)
}

// uint copies a uvarint and returns it.
func (w *walker) uint() uint64 {
	if w.err != nil {
		return 0
	}
	n, size := binary.Uvarint(w.b[w.i:])
	if size <= 0 {
		w.err = errShort
		return 0
	}
	w.take(uint64(size))
	return n
}

// value skips a value or a hole.
func (w *walker) value(depth int) {
	// Check the bounds.
	if depth > maxDepth {
		w.fail("the value is nested deeper than %d levels", maxDepth)
	}
	if w.err != nil {
		return
	}
	if w.i >= len(w.b) {
		w.err = errShort
		return
	}
	// A hole stands in place of a value.
	if w.b[w.i] == TagHole {
		w.hole(depth)
		return
	}
	// Skip a plain value, or its parts.
	tag := w.b[w.i]
	w.take(1)
	switch tag {
	case TagNil, TagFalse, TagTrue:
	case TagInt, TagUint:
		w.uint()
	case TagFloat32:
		w.take(4)
	case TagFloat64, TagComplex64:
		w.take(8)
	case TagComplex128:
		w.take(16)
	case TagString:
		w.take(w.uint())
	default:
		w.composite(tag, depth)
	}
}

// composite skips the parts of a value with other values in it.
func (w *walker) composite(tag byte, depth int) {
	switch tag {
	case TagBytes:
		n := w.uint()
		w.uint()
		w.take(n)
	case TagList:
		n := w.uint()
		w.uint()
		w.values(n, depth)
	case TagArray:
		w.values(w.uint(), depth)
	case TagMap:
		if n := w.uint(); n <= uint64(len(w.b)) {
			w.values(2*n, depth)
		} else {
			w.err = errShort
		}
	case TagPtr:
		w.value(depth + 1)
	case TagIface:
		w.take(w.uint())
		w.value(depth + 1)
	case TagStruct:
		n := w.uint()
		for i := uint64(0); i < n && w.err == nil; i++ {
			w.take(w.uint())
		}
		w.fields = append(w.fields, n)
		w.values(n, depth)
	case TagStructRef:
		if n := w.uint(); w.err == nil && n < uint64(len(w.fields)) {
			w.values(w.fields[n], depth)
		} else {
			w.fail("struct %d is not described", n)
		}
	default:
		w.fail("a value cannot begin with tag %d", tag)
	}
}

func (w *walker) values(n uint64, depth int) {
	if w.err == nil && n > uint64(len(w.b)-w.i) {
		w.err = errShort // each takes a byte or more, as the probe writes them
	}
	for ; n > 0 && w.err == nil; n-- {
		w.value(depth + 1)
	}
}

// hole reads a hole and lets fill write in its place.
func (w *walker) hole(depth int) {
	// Read the hole's fields.
	if len(w.b)-w.i < 4 {
		w.err = errShort
		return
	}
	start := len(w.out)
	h := Hole{Reason: w.b[w.i+1], Kind: w.b[w.i+2], Class: w.b[w.i+3]}
	w.take(4)
	h.Len, h.Spare, h.Hash = w.uint(), w.uint(), w.uint()
	more := w.uint()
	if h.Reason == 0 || h.Reason >= reasons || more > 1 {
		w.fail("a hole has the reason %d", h.Reason)
	}
	// A hole may carry a part of the value. Holes within that part are dropped.
	var part []byte
	if more == 1 {
		from := len(w.out)
		keep := w.fill
		w.fill = func(Hole, []byte) ([]byte, error) { return nil, nil }
		w.value(depth + 1)
		w.fill = keep
		part = w.out[from:]
	}
	if w.err != nil {
		return
	}
	// Replace the hole by a value.
	b, err := w.fill(h, part)
	if err != nil {
		w.err = err
		return
	}
	w.out = append(w.out[:start], b...)
}
