//go:build linux

package uprobe

import (
	"reflect"

	"github.com/beagle-go/beagle/probe"
	"github.com/beagle-go/beagle/probe/wire"
)

// slice encodes a slice with its spare room, at most maxSpare bytes, and reads its elements from
// the process.
func (e *encoder) slice(t *Type, p part) {
	at, n, room := p.word(0), p.word(1), p.word(2)
	// A nil slice has no elements to read.
	if at == 0 {
		e.byte(wire.TagNil)
		return
	}
	// Spare room is encoded up to maxSpare.
	size := uint64(t.Elem.Size)
	spare := room - n
	if room < n || size > 0 && spare > maxSpare/size {
		spare = 0
	}
	e.hold(at, room*size)
	if t.Elem.Kind == reflect.Uint8 {
		e.text(wire.TagBytes, at, n, spare)
		return
	}
	// Leave out elements that are too deep or foreign.
	hole := wire.Hole{Kind: wire.TagList, Len: n, Spare: spare}
	if e.depth == e.o.Depth {
		hole.Reason = wire.Deep
		e.hole(hole)
		return
	}
	if e.foreign > 0 && !t.Elem.raw() && !e.o.Follow {
		hole.Reason = wire.Pointer
		e.hole(hole)
		return
	}
	// Read as many elements as the limits allow.
	want := min(n, uint64(e.o.Elements))
	if size > 0 {
		want = min(want, maxChunk/size)
	}
	got := e.memory.read(at, want*size)
	if uint64(len(got)) < want*size {
		hole.Reason = wire.Unseen
		e.hole(hole)
		return
	}
	if n > want {
		hole.Reason, spare = wire.Cut, 0
		e.hole(hole)
	}
	// Encode the elements.
	e.byte(wire.TagList)
	e.uint(want)
	e.uint(spare)
	e.encodeReferenced(func() {
		for i := range int(want) {
			e.value(t.Elem, part{b: got}.at(i*t.Elem.Size, t.Elem.Size))
		}
	})
}

// encodeReferenced runs f for memory behind a reference.
func (e *encoder) encodeReferenced(f func()) {
	e.depth++
	e.foreign++
	e.flags |= wire.Followed
	f()
	e.foreign--
	e.depth--
}

// array encodes an array. An array of bytes is text, which may be hidden.
func (e *encoder) array(t *Type, p part) {
	if t.Elem.Kind == reflect.Uint8 && t.Len > 0 {
		hole := wire.Hole{Kind: wire.TagArray, Len: uint64(t.Len)}
		switch {
		case !e.o.Raw:
			hole.Reason, hole.Class, hole.Hash = wire.Shape, probe.Class(string(p.b)), e.hash(p.b, hole.Len)
			e.hole(hole)
			return
		case e.secrets.Text(string(p.b)):
			hole.Reason = wire.Redacted
			e.hole(hole)
			return
		}
	}
	n := t.Len
	if n > e.o.Elements && t.Elem.Kind != reflect.Uint8 {
		n = e.o.Elements
		e.hole(wire.Hole{Reason: wire.Cut, Kind: wire.TagArray, Len: uint64(t.Len)})
	}
	e.byte(wire.TagArray)
	e.uint(uint64(n))
	for i := range n {
		e.value(t.Elem, p.at(i*t.Elem.Size, t.Elem.Size))
	}
}

// pointer encodes the value that a pointer refers to, or a hole with the reason.
func (e *encoder) pointer(t *Type, at uint64) {
	hole := wire.Hole{Kind: wire.TagPtr}
	size := 0
	if t.Elem != nil {
		size = t.Elem.Size
	}
	switch {
	case at == 0:
		e.byte(wire.TagNil)
		return
	case !e.o.Follow || t.Elem == nil:
		hole.Reason = wire.Pointer
	case e.depth == e.o.Depth:
		hole.Reason = wire.Deep
	case !e.hold(at, uint64(size)):
		hole.Reason = wire.Seen
	default:
		got := e.memory.read(at, uint64(size))
		if len(got) < size {
			hole.Reason = wire.Unseen
			break
		}
		e.byte(wire.TagPtr)
		e.encodeReferenced(func() { e.value(t.Elem, part{b: got}) })
		return
	}
	e.hole(hole)
}

// mapping writes the number of a map's entries, with which the runtime's maps begin.
func (e *encoder) mapping(at uint64) {
	if at == 0 {
		e.byte(wire.TagNil)
		return
	}
	e.hole(wire.Hole{Reason: wire.Map, Kind: wire.TagMap, Len: bits(e.memory.read(at, word))})
}

// hold notes memory of this value. It returns false when the value refers to it already.
func (e *encoder) hold(at, size uint64) bool {
	if size == 0 {
		return true
	}
	s := span{at, at + size}
	for _, o := range e.held {
		if s.lo < o.hi && o.lo < s.hi {
			e.flags |= wire.Shared
			return false
		}
	}
	if len(e.held) == maxHeld {
		e.flags |= wire.Shared // no reader wants more
		return true
	}
	e.held = append(e.held, s)
	return true
}

// firstTag returns the tag that a value of a type begins with, unless it is nil.
func firstTag(t *Type) byte {
	return wire.TagOf(t.Kind, t.Kind == reflect.Slice && t.Elem.Kind == reflect.Uint8)
}
