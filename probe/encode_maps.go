package probe

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/beagle-go/beagle/probe/wire"
)

// iface writes the type of an interface's value, and the value where reading it is safe.
func (e *encoder) iface(c *coder, p unsafe.Pointer) {
	v := c.value(p).Elem()
	if !v.IsValid() {
		e.byte(wire.TagNil)
		return
	}
	box := coderOf(v.Type())
	e.byte(wire.TagIface)
	e.string(box.name)
	hole := wire.Hole{Kind: firstTag(box)}
	switch {
	case e.depth == e.o.depth:
		hole.Reason = wire.Deep
	case e.foreign > 0 && !e.o.follow: // its two words may belong to two values
		hole.Reason = wire.Pointer
	default:
		n := reflect.New(v.Type())
		n.Elem().Set(v)
		e.depth++
		e.value(box, n.UnsafePointer())
		e.depth--
		return
	}
	e.hole(hole)
}

// mapping writes the length of a map, and its contents only if the controller took the risk.
func (e *encoder) mapping(c *coder, p unsafe.Pointer) {
	m := *(*unsafe.Pointer)(p)
	if m == nil {
		e.byte(wire.TagNil)
		return
	}
	v := c.value(p)
	hole := wire.Hole{Reason: wire.Map, Kind: wire.TagMap, Len: uint64(v.Len())}
	ordered := c.key.kind == reflect.String || c.key.kind >= reflect.Int && c.key.kind <= reflect.Uintptr
	switch {
	case !e.o.maps || !ordered:
	case e.depth == e.o.depth:
		hole.Reason = wire.Deep
	case v.Len() > e.o.elements:
		hole.Reason = wire.Deep
	case !e.hold(uintptr(m), 1):
		hole.Reason = wire.Seen
	default:
		e.byte(wire.TagMap)
		e.descend()
		e.entries(c, v)
		e.ascend()
		return
	}
	e.hole(hole)
}

// An entry of a map, copied.
type entry struct{ key, val unsafe.Pointer }

// entries writes keys and values in the order of the keys.
func (e *encoder) entries(c *coder, m reflect.Value) {
	var list []entry
	for it := m.MapRange(); it.Next(); {
		key, val := reflect.New(c.key.typ), reflect.New(c.elem.typ)
		key.Elem().Set(it.Key())
		val.Elem().Set(it.Value())
		list = append(list, entry{key.UnsafePointer(), val.UnsafePointer()})
	}
	slices.SortFunc(list, func(a, b entry) int { return compareKeys(c.key.kind, a.key, b.key) })
	e.uint(uint64(len(list)))
	for _, x := range list {
		e.value(c.key, x.key)
		if c.key.kind == reflect.String {
			e.field(*(*string)(x.key), c.elem, x.val)
		} else {
			e.value(c.elem, x.val)
		}
	}
}

func compareKeys(k reflect.Kind, a, b unsafe.Pointer) int {
	if k == reflect.String {
		return strings.Compare(*(*string)(a), *(*string)(b))
	}
	x, unsigned := integer(k, a)
	y, _ := integer(k, b)
	if unsigned {
		return cmp.Compare(uint64(x), uint64(y))
	}
	return cmp.Compare(x, y)
}

// texts hold the first reading's findings on a value's strings. The second reading reuses them
// where it meets the same string: a string does not change. They are numbers, which keep nothing
// alive.
type texts struct {
	list [maxTexts]text
	at   int // of the current reading
	n    int
}

const maxTexts = 16

type text struct {
	span
	hash   uint64
	class  byte
	secret bool
}

// study decides which form of a string is written instead of it, or beside it.
func (e *encoder) study(s string) (t text) {
	if e.o.raw {
		t.secret = e.o.redact.text(s[:min(len(s), e.o.text+maxSecret)])
	} else {
		t.hash = e.o.hash(s[:min(len(s), maxLook)])
	}
	if !e.o.raw || len(s) > e.o.text {
		t.class = class(s)
	}
	return t
}

// studied is study for a string that may have been read before.
func (e *encoder) studied(tag byte, s string) text {
	if tag != wire.TagString || e.texts.at == maxTexts {
		return e.study(s)
	}
	at := uintptr(unsafe.Pointer(unsafe.StringData(s)))
	here, known := span{at, at + uintptr(len(s))}, &e.texts.list[e.texts.at]
	if e.texts.at++; e.texts.at <= e.texts.n && known.span == here {
		return *known
	}
	*known = e.study(s)
	known.span, e.texts.n = here, max(e.texts.n, e.texts.at)
	return *known
}

// maxLook bounds the part of a text that decides its class and its hash.
const maxLook = 4096

// class returns which characters occur in a text.
func class(s string) (c byte) {
	if len(s) > maxLook {
		s, c = s[:maxLook], wire.Unread
		for i := 1; i < utf8.UTFMax && i < len(s); i++ { // no cut through a character
			if r := s[len(s)-i:]; utf8.RuneStart(r[0]) {
				if !utf8.FullRuneInString(r) {
					s = s[:len(s)-i]
				}
				break
			}
		}
	}
	wide := false
	for i := range len(s) {
		switch b := s[i]; {
		case b >= utf8.RuneSelf:
			wide = true
		case b >= 'a' && b <= 'z':
			c |= wire.Lower
		case b >= 'A' && b <= 'Z':
			c |= wire.Upper
		case b >= '0' && b <= '9':
			c |= wire.Digit
		case b <= ' ' || b == 0x7f:
			c |= wire.Space
		default:
			c |= wire.Punct
		}
	}
	switch {
	case !wide:
	case utf8.ValidString(s):
		c |= wire.Wide
	default:
		c |= wire.Invalid
	}
	return c
}

// encodeTuple writes a struct of arguments or results to dst, whose capacity bounds it. The second
// result is false when it does not fit.
func encodeTuple(dst []byte, c *coder, p unsafe.Pointer, o *options) (b []byte, flags byte, ok bool) {
	e := encoder{o: o, buf: dst}
	e.structure(c, p)
	return e.buf, e.flags, !e.full
}

// stable reports whether a written value reads the same a second time. It finds writes of other
// goroutines between the two readings, and no others.
func (e *encoder) stable(scratch []byte, c *coder, p unsafe.Pointer) bool {
	first := e.buf
	e.buf, e.ndefs, e.nheld, e.texts.at = scratch[:0], 0, 0, 0
	e.structure(c, p)
	return !e.full && bytes.Equal(first, e.buf)
}
