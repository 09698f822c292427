package rt

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"unsafe"
)

// Sharing is found by address. The scanner lists the regions that a value
// refers to (what a pointer points to, the whole capacity of a slice, a map);
// regions that overlap are grouped, and each group gets a root: the region
// of the outermost type that covers the group. The encoder then writes the
// root once and everything else as a path into it. When nothing overlaps,
// which is the common case, there are no roots and nothing is looked up.

// A region is memory that a value refers to.
type region struct {
	lo, hi uintptr
	ptr    unsafe.Pointer // lo
	c      *coder         // type of the elements; the map's own for a map
	live   uintptr        // end of the memory that may be read without reslicing
	isMap  bool
	shared bool // referred to more than once
	top    int  // 1 + index of the part that is this region; 0 for others
}

// A root is a group of overlapping regions.
type root struct {
	lo, hi  uintptr
	ptr     unsafe.Pointer
	c       *coder
	n, live int // elements of type c: in all, and those to write
	id      int
	isMap   bool
	defined bool
}

// maxRegions bounds the work of looking for shared memory.
const maxRegions = 1 << 20

type scanner struct {
	regions  []region
	seen     map[regionKey]int // used once there are many
	depth    int
	full     bool
	snapshot bool
}

type regionKey struct {
	lo, hi uintptr
	t      reflect.Type
}

func (s *scanner) reset(snapshot bool) {
	clear(s.regions)
	s.regions, s.seen, s.depth, s.full, s.snapshot = s.regions[:0], nil, 0, false, snapshot
}

// add notes a region and reports whether it is new.
func (s *scanner) add(r region) bool {
	// A region that is met twice is shared, whatever its length: the longer one says how much may
	// be read.
	if i := s.find(r); i >= 0 {
		s.regions[i].shared = true
		s.regions[i].live = max(s.regions[i].live, r.live)
		return false
	}
	if len(s.regions) >= maxRegions {
		s.full = true
		return false
	}
	if s.seen != nil {
		s.seen[regionKey{r.lo, r.hi, r.c.typ}] = len(s.regions)
	}
	s.regions = append(s.regions, r)
	return true
}

// find returns the index of an equal region, or -1. A few regions are compared one by one; for
// more, an index is made.
func (s *scanner) find(r region) int {
	// A few comparisons cost less than a map; most values have few regions.
	if s.seen == nil && len(s.regions) < 16 {
		return slices.IndexFunc(s.regions, func(o region) bool {
			return o.lo == r.lo && o.hi == r.hi && o.c.typ == r.c.typ
		})
	}
	if s.seen == nil {
		s.seen = make(map[regionKey]int)
		for i, o := range s.regions {
			s.seen[regionKey{o.lo, o.hi, o.c.typ}] = i
		}
	}
	if i, ok := s.seen[regionKey{r.lo, r.hi, r.c.typ}]; ok {
		return i
	}
	return -1
}

func (s *scanner) pointer(elem *coder, q unsafe.Pointer) {
	if q == nil || elem.size == 0 { // values of size zero have no identity
		return
	}
	lo := uintptr(q)
	if s.add(region{lo: lo, hi: lo + elem.size, live: lo + elem.size, ptr: q, c: elem}) && elem.scan != nil {
		s.elems(elem, q, 1)
	}
}

// slice adds the memory of a slice, and scans those elements that no slice has shown before. The
// capacity belongs to the memory, but only the length may be read.
func (s *scanner) slice(elem *coder, h *sliceHeader) {
	// In snapshots, capacity counts as far as the contract does not ignore it.
	if s.snapshot && ignored.capacity {
		h = &sliceHeader{h.data, h.len, h.len}
	}
	if h.data == nil || h.cap == 0 || elem.size == 0 {
		return
	}
	lo := uintptr(h.data)
	r := region{lo: lo, hi: lo + uintptr(h.cap)*elem.size, live: lo + uintptr(h.len)*elem.size, ptr: h.data, c: elem}
	old := s.liveEnd(r)
	s.add(r)
	// The part that an earlier slice showed is scanned already.
	if elem.scan == nil || r.live <= old {
		return
	}
	first := int((max(old, lo) - lo) / elem.size)
	s.elems(elem, elem.at(h.data, first), h.len-first)
}

// liveEnd returns the end of the elements of a region that were scanned already.
func (s *scanner) liveEnd(r region) uintptr {
	if i := s.find(r); i >= 0 {
		return s.regions[i].live
	}
	return 0
}

func (s *scanner) elems(c *coder, base unsafe.Pointer, n int) {
	if c.scan == nil || s.depth >= DefaultLimit.Depth {
		return // too deep: the encoder refuses such a value
	}
	s.depth++
	for i := 0; i < n; i++ {
		c.scan(s, c.at(base, i))
	}
	s.depth--
}

// byAddress sorts regions by their addresses, and larger ones first, so that overlapping ones are
// neighbours.
type byAddress []region

func (l byAddress) Len() int      { return len(l) }
func (l byAddress) Swap(i, j int) { l[i], l[j] = l[j], l[i] }

func (l byAddress) Less(i, j int) bool {
	if l[i].lo != l[j].lo {
		return l[i].lo < l[j].lo
	}
	return l[i].hi > l[j].hi
}

// findRoots lists the groups of regions that share memory, by address.
func (s *scanner) findRoots(roots []root) ([]root, error) {
	if s.full {
		return roots, fmt.Errorf("it refers to more than %d pieces of memory", maxRegions)
	}
	sort.Sort(byAddress(s.regions))
	for i := 0; i < len(s.regions); {
		j, hi := i+1, s.regions[i].hi
		for j < len(s.regions) && s.regions[j].lo < hi {
			hi = max(hi, s.regions[j].hi)
			j++
		}
		// A region that is alone and referred to once needs no root.
		group := s.regions[i:j]
		i = j
		if len(group) == 1 && !group[0].shared {
			continue
		}
		r, err := rootOf(group)
		if err != nil {
			return roots, err
		}
		roots = append(roots, r)
	}
	return roots, nil
}

// rootOf chooses the outermost type of a group: the one whose elements hold
// all others.
func rootOf(group []region) (root, error) {
	// A region that is a part of its own comes before others, because the part has a number
	// already. Otherwise the type that holds the others is the outermost.
	outer := group[0]
	for _, r := range group[1:] {
		if r.top > 0 || outer.top == 0 && holdsInside(r.c.typ, outer.c.typ) {
			outer = r
		}
	}
	r := root{lo: outer.lo, hi: outer.hi, c: outer.c, ptr: outer.ptr, id: -1, isMap: outer.isMap}
	if outer.top > 0 {
		r.id, r.defined = outer.top-1, true
	}
	// Regions of the same type may overlap, such as two parts of one array. Together they reach
	// from the lowest to the highest address.
	live := outer.lo
	for _, g := range group {
		if g.c.typ == outer.c.typ && !r.defined {
			if g.lo < r.lo {
				r.lo, r.ptr = g.lo, g.ptr
			}
			r.hi = max(r.hi, g.hi)
		}
		live = max(live, g.live)
	}
	if r.isMap {
		return r, nil
	}
	// All others must lie inside, at whole elements. Otherwise an encoding by elements could not
	// rebuild who shares what.
	size := outer.c.size
	for _, g := range group {
		if g.lo < r.lo || g.hi > r.hi || g.c.typ == outer.c.typ && (g.lo-r.lo)%size != 0 {
			return r,
				fmt.Errorf("a %v and a %v share memory in a way that their types do not show", outer.c.typ, g.c.typ)
		}
	}
	// Elements beyond the last live byte are capacity only.
	r.n = int((r.hi - r.lo) / size)
	r.live = min(r.n, int((max(live, r.lo)-r.lo+size-1)/size))
	return r, nil
}

// holdsInside reports whether t is outer and holds an inner inside.
func holdsInside(t, inner reflect.Type) bool {
	// A type that is smaller cannot hold the other, and the type itself is not inside of it.
	if t == inner || t.Size() < inner.Size() {
		return false
	}
	switch t.Kind() {
	case reflect.Array:
		return t.Elem() == inner || holdsInside(t.Elem(), inner)
	case reflect.Struct:
		for i := 0; i < t.NumField(); i++ {
			if f := t.Field(i).Type; f == inner || holdsInside(f, inner) {
				return true
			}
		}
	}
	return false
}

// findShared fills e.roots when the parts can share memory.
func (e *encoder) findShared(parts []variable) {
	// With fewer than two places for memory there is nothing to share.
	n := 0
	for _, p := range parts {
		n += p.c.sites
	}
	if n < 2 {
		return
	}
	s := &e.scanner
	s.reset(e.snapshot)
	// The parts are regions themselves, numbered from 1; what they lead to is added by their
	// coders.
	for i, p := range parts {
		if p.c.size > 0 {
			lo := uintptr(p.p)
			s.add(region{lo: lo, hi: lo + p.c.size, live: lo + p.c.size, ptr: p.p, c: p.c, top: i + 1})
		}
		if p.c.scan != nil {
			p.c.scan(s, p.p)
		}
	}
	var err error
	if e.roots, err = s.findRoots(e.roots); err != nil {
		e.fail("%w", err)
	}
	s.reset(false)
}

// checkRoots guards the promise that every reference has its definition.
func (e *encoder) checkRoots() {
	for _, r := range e.roots {
		if r.id >= 0 && !r.defined {
			e.fail("a part of a %v is referred to, but the whole is out of reach", r.c.typ)
		}
	}
}

// root returns the root that holds an address, or nil, and numbers it at its first use.
func (e *encoder) root(q unsafe.Pointer) *root {
	a := uintptr(q)
	// Roots are sorted by address and do not overlap: the last one that begins before the address
	// is the only candidate.
	i, ok := slices.BinarySearchFunc(e.roots, a, func(r root, a uintptr) int { return cmp.Compare(r.lo, a) })
	if !ok {
		i--
	}
	if i < 0 || a >= e.roots[i].hi {
		return nil
	}
	r := &e.roots[i]
	// Numbers follow the order of use, so that equal values are written alike wherever they lie.
	if r.id < 0 {
		r.id = e.nextID
		e.nextID++
	}
	return r
}

// define writes the root if this is the first place that may.
func (e *encoder) define(r *root, elem *coder) {
	// A root is written as its own type says; another type may see its beginning first, as a struct
	// and its first field have one address.
	if r.defined || r.c.typ != elem.typ || !e.enter() {
		return
	}
	r.defined = true
	n := r.n
	// Beyond the length no difference can be reported, so a large rest is not written.
	if e.snapshot || uintptr(r.n-r.live) > maxSpare/elem.size {
		n = r.live
		r.n = n
	}
	id, base, live := r.id, r.ptr, r.live
	e.tag(tagBack)
	e.uint(uint64(id))
	e.uint(uint64(n))
	e.uint(uint64(live))
	e.elems(elem, base, live)
	e.depth--
}

func (e *encoder) sharedPointer(elem *coder, q unsafe.Pointer) bool {
	r := e.root(q)
	if r == nil || elem.size == 0 {
		return false
	}
	e.define(r, elem)
	e.reference(tagRef, r, elem, q)
	return true
}

// sharedSlice writes a slice of shared memory as a reference with a length and a capacity. It
// returns false if nothing shares the memory.
func (e *encoder) sharedSlice(elem *coder, h *sliceHeader) bool {
	// Where the capacity does not count, what lies behind the length is no memory of the slice.
	if e.snapshot && ignored.capacity {
		h = &sliceHeader{h.data, h.len, h.len}
	}
	if h.cap == 0 || elem.size == 0 {
		return false
	}
	r := e.root(h.data)
	if r == nil {
		return false
	}
	e.define(r, elem)
	e.reference(tagSlice, r, elem, h.data)
	// A capacity beyond the shared memory is cut to it: that part was never written.
	end := r.lo + uintptr(r.n)*r.c.size
	room := int((max(end, uintptr(h.data)) - uintptr(h.data)) / elem.size)
	if !e.snapshot && r.c.typ != elem.typ {
		room = h.cap
	}
	e.uint(uint64(h.len))
	e.uint(uint64(max(h.len, min(h.cap, room))))
	return true
}

// sharedMap writes a map that others refer to: its content at its first use, and a reference each
// time. It returns false if nothing else refers to it.
func (e *encoder) sharedMap(c *coder, m, p unsafe.Pointer) bool {
	r := e.root(m)
	if r == nil {
		return false
	}
	// It counts as written before its entries are, since one of them may be the map itself.
	if !r.defined && e.enter() {
		r.defined = true
		e.tag(tagBackMap)
		e.uint(uint64(r.id))
		e.entries(c, p)
		e.depth--
	}
	e.tag(tagRef)
	e.uint(uint64(r.id))
	e.uint(0)
	return true
}

// reference writes the path from a root to what lies at q: an element of the root, and fields and
// elements in it.
func (e *encoder) reference(tag byte, r *root, elem *coder, q unsafe.Pointer) {
	off := uintptr(q) - r.lo
	steps := []int{int(off / r.c.size)}
	steps, ok := pathTo(steps, r.c, off%r.c.size, elem.typ)
	if !ok {
		// Memory that was cast, as with unsafe.
		e.fail("a %v and a %v share memory in a way that their types do not show", r.c.typ, elem.typ)
		return
	}
	e.tag(tag)
	e.uint(uint64(r.id))
	e.uint(uint64(len(steps)))
	for _, s := range steps {
		e.uint(uint64(s))
	}
}

// pathTo finds the way from a value of type c down to the want at offset off.
func pathTo(steps []int, c *coder, off uintptr, want reflect.Type) ([]int, bool) {
	if off == 0 && c.typ == want {
		return steps, true
	}
	switch c.typ.Kind() {
	case reflect.Array:
		// Only steps that the type has lead on: an element of an array, or a field of a struct.
		if c.elem == nil || c.elem.size == 0 || off >= c.size {
			return nil, false
		}
		return pathTo(append(steps, int(off/c.elem.size)), c.elem, off%c.elem.size, want)
	case reflect.Struct:
		for i, f := range c.fields {
			if off >= f.off && off < f.off+f.c.size {
				return pathTo(append(steps, i), f.c, off-f.off, want)
			}
		}
	}
	return nil, false
}
