package rt

import (
	"bytes"
	"reflect"
	"unsafe"
)

// CheckRoom is the look at the capacity of arguments beyond their length.
const CheckRoom = "the capacity behind an argument's length"

// wrote reports whether the candidate wrote beyond the length of an argument slice where the
// original did not: a caller that cut the slice off a longer one sees that. Where the original
// writes too, as scratch or by appending, another value is no offence: if a result shows it, the
// results are compared.
func (c *checker[A, R]) wrote(src *A) bool {
	if !hasRoom(src) || !differInRoom(&c.a[0], &c.a[1]) {
		return false
	}
	var untouched A
	cloneTo(&untouched, src)
	return !differInRoom(&c.a[0], &untouched) || wroteSpareRoom(&c.a[0], &c.a[1], &untouched)
}

// wroteSpareRoom reports whether the candidate changed an element that the original
// left as it was, for slices of elements that are their bytes.
func wroteSpareRoom[A any](orig, cand, untouched *A) bool {
	for _, f := range coderFor[A]().fields {
		x, y, was := roomOf(f, unsafe.Pointer(orig)), roomOf(f, unsafe.Pointer(cand)),
			roomOf(f, unsafe.Pointer(untouched))
		if x == nil || y == nil || was == nil || !f.c.elem.raw {
			continue
		}
		// Behind the length lies what append would overwrite, and what other slices of the same
		// memory show.
		a, b, w := spareBytes(f.c.elem, x), spareBytes(f.c.elem, y), spareBytes(f.c.elem, was)
		for size, at := int(f.c.elem.size), 0; at+size <= min(len(a), len(b), len(w)); at += size {
			e := func(bytes []byte) string { return string(bytes[at : at+size]) }
			// Where both wrote, the candidate does what the original does.
			if e(a) == e(w) && e(b) != e(w) {
				return true
			}
		}
	}
	return false
}

// spareBytes returns the bytes between length and capacity.
func spareBytes(elem *coder, h *sliceHeader) []byte {
	return unsafe.Slice((*byte)(elem.at(h.data, h.len)), uintptr(h.cap-h.len)*elem.size)
}

func hasRoom[A any](a *A) bool {
	for _, f := range coderFor[A]().fields {
		if h := roomOf(f, unsafe.Pointer(a)); h != nil {
			return true
		}
	}
	return false
}

// roomOf returns the header of an argument slice with capacity to spare.
func roomOf(f field, a unsafe.Pointer) *sliceHeader {
	if f.c.typ.Kind() != reflect.Slice || f.c.elem.size == 0 {
		return nil
	}
	h := (*sliceHeader)(unsafe.Add(a, f.off))
	if h.data == nil || h.cap <= h.len || uintptr(h.cap-h.len)*f.c.elem.size > maxSpare {
		return nil
	}
	return h
}

func differInRoom[A any](a, b *A) bool {
	for _, f := range coderFor[A]().fields {
		x, y := roomOf(f, unsafe.Pointer(a)), roomOf(f, unsafe.Pointer(b))
		if x == nil || y == nil {
			continue
		}
		p, err := snapshotSpare(f.c, x)
		q, err2 := snapshotSpare(f.c, y)
		if err == nil && err2 == nil && !bytes.Equal(p, q) {
			return true
		}
	}
	return false
}

// snapshotSpare returns the memory beyond the length, in the form of snapshots.
func snapshotSpare(c *coder, h *sliceHeader) ([]byte, error) {
	behind := sliceHeader{c.elem.at(h.data, h.len), h.cap - h.len, h.cap - h.len}
	return encodeParts(nil, snapshotLimit, true, variable{c, unsafe.Pointer(&behind)})
}
