package rt

import (
	"reflect"
	"time"
	"unsafe"
)

// A cloner copies values deeply. Shared memory is copied once, at its root,
// and every reference into it moves by the same distance.
type cloner struct {
	roots  []root
	copies map[uintptr]unsafe.Pointer // by the root's lo
}

// Clone copies the arguments deeply and keeps the sharing graph. Spare
// capacity is kept too. Functions, channels and named globals stay the same;
// locks are copied unlocked.
func Clone[A any](a *A) *A {
	n := new(A)
	clonePart(coderFor[A](), unsafe.Pointer(a), unsafe.Pointer(n))
	return n
}

// cloneTo does what Clone does, into memory that the caller has.
func cloneTo[A any](dst, src *A) {
	clonePart(coderFor[A](), unsafe.Pointer(src), unsafe.Pointer(dst))
}

// clonePart copies a value, and then the memory that it leads to. Memory that several references
// share is shared in the copy as well.
func clonePart(c *coder, src, dst unsafe.Pointer) {
	c.value(dst).Set(c.value(src))
	if c.fix == nil {
		return
	}
	k := cloner{}
	if c.sites > 1 {
		k.findShared(c, src)
	}
	// Places that lead back to the value itself must lead to the copy.
	for i := range k.roots {
		if r := &k.roots[i]; r.defined { // the top itself is shared
			k.copies[r.lo] = dst
		}
	}
	c.fix(&k, dst)
}

// findShared looks for shared memory in a value, and prepares the copies of it.
func (k *cloner) findShared(c *coder, src unsafe.Pointer) {
	s := &scanner{}
	if c.size > 0 {
		lo := uintptr(src)
		s.add(region{lo: lo, hi: lo + c.size, live: lo + c.size, ptr: src, c: c, top: 1})
	}
	if c.scan != nil {
		c.scan(s, src)
	}
	// Roots are the pieces that more than one reference leads to.
	roots, err := s.findRoots(nil)
	if err != nil {
		roots = nil // memory that types cannot explain: each reference gets its own copy
	}
	k.roots = roots
	if len(roots) > 0 {
		k.copies = make(map[uintptr]unsafe.Pointer, len(roots))
	}
}

// shared returns the copy of a root that holds q, made at the first call.
func (k *cloner) shared(q unsafe.Pointer) (*root, unsafe.Pointer) {
	if len(k.roots) == 0 {
		return nil, nil
	}
	// A root that is copied already serves all its references. A map is copied by its own coder.
	e := encoder{roots: k.roots}
	r := e.root(q)
	if r == nil {
		return nil, nil
	}
	if p, ok := k.copies[r.lo]; ok {
		return r, p
	}
	if r.isMap {
		return r, nil
	}
	p := r.c.alloc(r.n)
	k.copies[r.lo] = p
	k.copyElems(r.c, p, r.ptr, r.live, r.n)
	return r, p
}

// locationType is of values that never change, and that are known by their address.
var locationType = reflect.TypeOf(time.Location{})

// copyElems copies the first live of n values; the rest is copied only if it
// refers to nothing, since what is left over there may be anything.
func (k *cloner) copyElems(c *coder, dst, src unsafe.Pointer, live, n int) {
	switch {
	case c.raw:
		size := uintptr(n) * c.size
		copy(unsafe.Slice((*byte)(dst), size), unsafe.Slice((*byte)(src), size))
	case c.flat:
		reflect.Copy(sliceAt(c, dst, n), sliceAt(c, src, n))
	default:
		reflect.Copy(sliceAt(c, dst, live), sliceAt(c, src, live))
		k.elems(c, dst, live)
	}
}

func sliceAt(c *coder, p unsafe.Pointer, n int) reflect.Value {
	h := &sliceHeader{p, n, n}
	return reflect.NewAt(c.slice, unsafe.Pointer(h)).Elem()
}

func (k *cloner) elems(c *coder, base unsafe.Pointer, n int) {
	if c.fix == nil {
		return
	}
	for i := 0; i < n; i++ {
		c.fix(k, c.at(base, i))
	}
}

func (k *cloner) pointer(elem *coder, q unsafe.Pointer) unsafe.Pointer {
	if q == nil || elem.size == 0 || isBound(elem.typ) || elem.typ == locationType {
		return q
	}
	if r, p := k.shared(q); r != nil {
		return unsafe.Add(p, uintptr(q)-r.lo)
	}
	p := elem.alloc(1)
	k.copyElems(elem, p, q, 1, 1)
	return p
}

func (k *cloner) slice(elem *coder, h *sliceHeader) {
	if h.data == nil || h.cap == 0 || elem.size == 0 {
		return
	}
	// Shared memory has its copy already, into which this slice points at the same place.
	if r, p := k.shared(h.data); r != nil {
		h.data = unsafe.Add(p, uintptr(h.data)-r.lo)
		return
	}
	// The copy has the same capacity: the callee may append within it.
	p := reflect.MakeSlice(elem.slice, h.cap, h.cap).UnsafePointer()
	k.copyElems(elem, p, h.data, h.len, h.cap)
	h.data = p
}

// mapping copies a map. Other references to the same map must lead to the same copy.
func (k *cloner) mapping(c *coder, p unsafe.Pointer) {
	m := *(*unsafe.Pointer)(p)
	if m == nil {
		return
	}
	r, done := k.shared(m)
	if done != nil {
		*(*unsafe.Pointer)(p) = done
		return
	}
	old := c.value(p)
	// Note the copy before its entries are copied: these may lead back to the map.
	n := reflect.MakeMapWithSize(c.typ, old.Len())
	if r != nil {
		k.copies[r.lo] = n.UnsafePointer()
	}
	for it := old.MapRange(); it.Next(); {
		n.SetMapIndex(k.entry(c.key, it.Key()), k.entry(c.elem, it.Value()))
	}
	old.Set(n)
}

func (k *cloner) entry(c *coder, v reflect.Value) reflect.Value {
	if c.fix == nil {
		return v
	}
	p := boxedAs(c, v)
	c.fix(k, p)
	return c.value(p)
}

// Snapshot appends the canonical form of the variables that the pointers
// parts lead to, all together: what was shared between arguments and results
// is encoded differently from what was not. Spare capacity that nothing else
// refers to, and the addresses of strings, do not matter; nil differs from
// empty; floats compare by bits; errors by dynamic type, text and what they
// wrap. Two snapshots are equal exactly if their bytes are.
func Snapshot(dst []byte, parts ...any) ([]byte, error) {
	list := make([]variable, len(parts))
	for i, p := range parts {
		var err error
		if list[i], err = partOf(p); err != nil {
			return dst, err
		}
	}
	return encodeParts(dst, snapshotLimit, true, list...)
}

// SnapshotCall does what Snapshot does for the arguments and results of one call.
func SnapshotCall[A, R any](dst []byte, a *A, r *R) ([]byte, error) {
	return encodeParts(dst, snapshotLimit, true, variable{coderFor[A](), unsafe.Pointer(a)},
		variable{coderFor[R](), unsafe.Pointer(r)})
}

// snapshotLimit is generous: results may be larger than arguments.
var snapshotLimit = Limit{Bytes: 256 << 20, Depth: 100000}
