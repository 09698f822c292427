//go:build linux

package uprobe

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/beagle-go/beagle/probe"
	"github.com/beagle-go/beagle/probe/wire"
)

// An encoder writes a call as the probe does, from memory that the kernel copied. A test holds the
// two together.
type encoder struct {
	o       *wire.Start // with defaults
	secrets *probe.Secrets
	seed    maphash.Seed
	memory  memory

	buf     []byte
	flags   byte
	depth   int // of references
	foreign int // above 0 inside memory that other goroutines may write
	defs    [][]byte
	held    []span
}

// A span is memory that a value refers to.
type span struct{ lo, hi uint64 }

// Bounds that the probe's encoder has.
const (
	maxHeld  = 96
	maxSpare = 64 << 10
)

// A part is a value's memory. seen says which of its bytes are known; nil means all.
type part struct {
	b    []byte
	seen []bool
}

func (p part) at(off, size int) part {
	if off < 0 || size < 0 || off+size > len(p.b) {
		return part{b: make([]byte, max(size, 0))} // DWARF that contradicts itself
	}
	q := part{b: p.b[off : off+size]}
	if p.seen != nil {
		q.seen = p.seen[off : off+size]
	}
	return q
}

func (p part) word(i int) uint64 {
	if len(p.b) < (i+1)*word {
		return 0
	}
	return binary.LittleEndian.Uint64(p.b[i*word:])
}

func (p part) hidden() bool { return slices.Contains(p.seen, false) }

func (e *encoder) byte(b byte)    { e.buf = append(e.buf, b) }
func (e *encoder) uint(n uint64)  { e.buf = binary.AppendUvarint(e.buf, n) }
func (e *encoder) bytes(b []byte) { e.buf = append(e.buf, b...) }

// tuple writes a struct of arguments or results.
func (e *encoder) tuple(values []Value, image []byte) {
	e.defs = append(e.defs, nil) // index 0 is the tuple
	e.byte(wire.TagStruct)
	e.uint(uint64(len(values)))
	for i := range values {
		name := "A" + strconv.Itoa(i)
		e.uint(uint64(len(name)))
		e.bytes([]byte(name))
	}
	for i := range values {
		v := &values[i]
		b, seen := v.image(image)
		e.field(v.Name, v.Type, part{b, seen})
	}
}

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

// field writes a field or a parameter, whose name may say that it is secret.
func (e *encoder) field(name string, t *Type, p part) {
	if e.secrets.Name(name) {
		e.secret(t, p)
		return
	}
	e.value(t, p)
}

// secret writes the kind of a value, and the length of text and lists.
func (e *encoder) secret(t *Type, p part) {
	h := wire.Hole{Reason: wire.Redacted, Kind: firstTag(t)}
	if t.Kind == reflect.String || t.Kind == reflect.Slice {
		h.Len = p.word(1)
	}
	e.hole(h)
}

// value encodes a value, or a hole in its place.
func (e *encoder) value(t *Type, p part) {
	if e.secrets.Type(t.Name) {
		e.secret(t, p)
		return
	}
	// The parts of a struct or an array are seen or hidden one by one.
	switch t.Kind {
	case reflect.Struct:
		e.structure(t, p)
		return
	case reflect.Array:
		e.array(t, p)
		return
	}
	// Other values are hidden as a whole.
	if p.hidden() {
		e.hole(wire.Hole{Reason: wire.Unseen, Kind: firstTag(t)})
		return
	}
	switch t.Kind {
	case reflect.String:
		e.text(wire.TagString, p.word(0), p.word(1), 0)
	case reflect.Slice:
		e.slice(t, p)
	case reflect.Pointer:
		e.pointer(t, p.word(0))
	case reflect.Map:
		e.mapping(p.word(0))
	case reflect.Interface:
		e.reference(p.word(0), wire.Hole{Reason: wire.Unseen, Kind: wire.TagIface})
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		e.reference(p.word(0), wire.Hole{Reason: wire.Bound})
	default:
		e.basic(t.Kind, p.b)
	}
}

// reference writes nil, or that something is there.
func (e *encoder) reference(at uint64, h wire.Hole) {
	if at == 0 {
		e.byte(wire.TagNil)
		return
	}
	e.hole(h)
}

func (e *encoder) basic(k reflect.Kind, b []byte) {
	tags := map[reflect.Kind]byte{reflect.Float32: wire.TagFloat32, reflect.Float64: wire.TagFloat64,
		reflect.Complex64: wire.TagComplex64, reflect.Complex128: wire.TagComplex128}
	switch tag, isFloat := tags[k]; {
	case isFloat:
		e.byte(tag)
		e.bytes(b) // as bits, little endian
	case k == reflect.Bool:
		if b[0] != 0 {
			e.byte(wire.TagTrue)
		} else {
			e.byte(wire.TagFalse)
		}
	case k >= reflect.Uint && k <= reflect.Uintptr:
		e.byte(wire.TagUint)
		e.uint(bits(b))
	default:
		e.byte(wire.TagInt)
		shift := 64 - 8*len(b)
		e.buf = binary.AppendVarint(e.buf, int64(bits(b)<<shift)>>shift)
	}
}

// bits reads an integer of any width.
func bits(b []byte) (n uint64) {
	for i := range b {
		n |= uint64(b[i]) << (8 * i)
	}
	return n
}

// text writes a string, or bytes as one.
func (e *encoder) text(tag byte, at, n, spare uint64) {
	got := e.memory.read(at, n)
	if uint64(len(got)) < min(n, uint64(textLook(e.o, e.depth == 0))) {
		e.hole(wire.Hole{Reason: wire.Unseen, Kind: tag, Len: n}) // it could not be read
		return
	}
	h := wire.Hole{Kind: tag, Len: n, Spare: spare}
	switch {
	case n == 0: // nothing to hide
	case !e.o.Raw:
		h.Reason, h.Class, h.Hash = wire.Shape, classOf(got, n), e.hash(got, n)
		e.hole(h)
		return
	case e.secrets.Text(string(got[:min(len(got), e.o.Text+lookBeyond)])):
		h.Reason = wire.Redacted
		e.hole(h)
		return
	case n > uint64(e.o.Text):
		h.Reason, h.Class = wire.Cut, classOf(got, n)
		e.hole(h)
		got, spare = got[:e.o.Text], 0
	}
	e.byte(tag)
	e.uint(uint64(len(got)))
	if tag == wire.TagBytes {
		e.uint(spare)
	}
	e.bytes(got)
}

// classOf classifies the beginning of a text of n bytes.
func classOf(got []byte, n uint64) byte {
	if uint64(len(got)) == n {
		return probe.Class(string(got))
	}
	for i := 1; i < utf8.UTFMax && i < len(got); i++ { // no cut through a character
		if r := got[len(got)-i:]; utf8.RuneStart(r[0]) {
			if !utf8.FullRune(r) {
				got = got[:len(got)-i]
			}
			break
		}
	}
	return probe.Class(string(got)) | wire.Unread
}

func (e *encoder) hash(got []byte, n uint64) uint64 { return maphash.Bytes(e.seed, got) ^ n }

// structure encodes a struct. The names of its fields are written once for all structs of a record.
func (e *encoder) structure(t *Type, p part) {
	if probe.Bound(t.Name) {
		e.hole(wire.Hole{Reason: wire.Bound})
		return
	}
	fields := t.recordedFields()
	header := binary.AppendUvarint(nil, uint64(len(fields)))
	for _, f := range fields {
		header = binary.AppendUvarint(header, uint64(len(f.Name)))
		header = append(header, f.Name...)
	}
	known := slices.IndexFunc(e.defs, func(d []byte) bool { return bytes.Equal(d, header) })
	if known >= 0 {
		e.byte(wire.TagStructRef)
		e.uint(uint64(known))
	} else {
		e.defs = append(e.defs, header)
		e.byte(wire.TagStruct)
		e.bytes(header)
	}
	for _, f := range fields {
		e.field(f.Name, f.Type, p.at(f.Off, f.Type.Size))
	}
}
