package rt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"sort"
	"unsafe"
)

// mapCoder writes the entries of a map in an order that depends on their content, so that equal
// maps have equal encodings.
func mapCoder(c *coder) {
	key, elem := c.key, c.elem
	c.enc = func(e *encoder, p unsafe.Pointer) {
		m := *(*unsafe.Pointer)(p)
		// An empty map may count as nil, unless somebody shares it and could add to it.
		if m == nil || e.emptyAsNil() && c.value(p).Len() == 0 && !e.inRoot(m, 1) {
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
	// A map counts as one byte of memory, at the address of its header.
	c.scan = func(s *scanner, p unsafe.Pointer) {
		m := *(*unsafe.Pointer)(p)
		if m == nil || !s.add(region{lo: uintptr(m), hi: uintptr(m) + 1, ptr: m, c: c, isMap: true}) {
			return
		}
		if key.scan == nil && elem.scan == nil {
			return
		}
		// Keys and elements are copied out, since they have no address in the map.
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

// sortedEntries returns the entries in an order that depends on their content alone. Strings are
// compared directly, and other keys by their encoding.
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
	sort.Sort(&mapOrder{list, c, limit, snapshot})
	return list
}

// A mapOrder sorts the entries of a map: see sortedEntries.
type mapOrder struct {
	list     []mapEntry
	c        *coder
	limit    Limit
	snapshot bool
}

func (o *mapOrder) Len() int      { return len(o.list) }
func (o *mapOrder) Swap(i, j int) { o.list[i], o.list[j] = o.list[j], o.list[i] }

func (o *mapOrder) Less(i, j int) bool {
	a, b := &o.list[i], &o.list[j]
	if a.kind == reflect.String {
		return *(*string)(a.key) < *(*string)(b.key)
	}
	// Keys like NaN may occur twice, and then the elements decide.
	if d := bytes.Compare(a.order, b.order); d != 0 {
		return d < 0
	}
	elem := o.c.elem
	return bytes.Compare(orderKey(elem, a.val, o.limit, o.snapshot), orderKey(elem, b.val, o.limit, o.snapshot)) < 0
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
	b, _ := encodeParts(nil, limit, snapshot, variable{c, p}) // a failure shows again when the key itself is written
	return b
}
