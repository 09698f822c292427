package rt

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"sync"
	"unsafe"
)

// A Limit bounds the encoding of one record.
type Limit struct {
	Bytes int // of the encoded form
	Depth int // of nested pointers, slices, maps and interfaces
}

// DefaultLimit lets a megabyte through.
var DefaultLimit = Limit{Bytes: 1 << 20, Depth: 10000}

// maxSpare bounds the spare capacity that is kept of a slice, in bytes: an
// append that finds room behaves differently from one that does not, but a
// huge empty buffer is not worth its memory in every record.
const maxSpare = 64 << 10

// ignored are the differences that this process lets pass. A process serves one
// request, which sets them before anything runs.
var ignored struct{ errorText, panicValue, nilEmpty, capacity, scratch, bound bool }

// Tolerate lets this process compare values that hold functions, channels and what
// else is bound to a process: of those, only whether they are nil counts. Such
// encodings cannot be read back.
func Tolerate() { ignored.bound = true }

type encoder struct {
	buf      []byte
	limit    Limit
	snapshot bool
	depth    int
	defs     []*coder
	roots    []root // shared memory, by address; empty in the common case
	nextID   int
	err      error
	path     string
	scanner  scanner
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// Encode writes the arguments in the record encoding. It keeps the sharing
// graph: pointers, slices and maps that share memory still do after Decode.
func Encode[A any](a *A) ([]byte, error) { return appendEncode(nil, a, DefaultLimit) }

// appendEncode does what Encode does with a limit, and appends to dst.
func appendEncode[A any](dst []byte, a *A, limit Limit) ([]byte, error) {
	return encodeParts(dst, limit, false, variable{coderFor[A](), unsafe.Pointer(a)})
}

// EncodeValue does what Encode does for a pointer whose type is known at run time only.
func EncodeValue(ptr any) ([]byte, error) {
	p, err := partOf(ptr)
	if err != nil {
		return nil, err
	}
	return encodeParts(nil, DefaultLimit, false, p)
}

// A variable stands at the top of an encoding.
type variable struct {
	c *coder
	p unsafe.Pointer
}

func partOf(ptr any) (variable, error) {
	v := reflect.ValueOf(ptr)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return variable{}, fmt.Errorf("a non-nil pointer is wanted, not %T", ptr)
	}
	return variable{coderOf(v.Type().Elem()), v.UnsafePointer()}, nil
}

// encodeParts writes several values one after the other, and finds memory that they share. A
// snapshot has their number in front.
func encodeParts(dst []byte, limit Limit, snapshot bool, parts ...variable) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.buf, e.limit, e.snapshot = dst, limit, snapshot
	e.limit.Bytes += len(dst)
	// Encoders are reused: put all that a call leaves behind back to the start.
	e.depth, e.defs, e.roots, e.nextID, e.err, e.path = 0, e.defs[:0], e.roots[:0], len(parts), nil, ""
	e.findShared(parts)
	if snapshot {
		e.tag(tagTuple)
		e.uint(uint64(len(parts)))
	}
	for _, p := range parts {
		p.c.enc(e, p.p)
	}
	// The pool must not keep the caller's memory alive.
	buf := e.buf
	e.buf = nil
	e.checkRoots()
	clear(e.roots)
	if e.err != nil {
		return dst, e.failure("cannot be recorded")
	}
	return buf, nil
}

func (e *encoder) failure(what string) error {
	if e.path == "" {
		return e.err
	}
	return fmt.Errorf("%s %s: %w", e.path[1:], what, e.err)
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

func (e *encoder) tag(t byte)    { e.buf = append(e.buf, t) }
func (e *encoder) uint(n uint64) { e.buf = binary.AppendUvarint(e.buf, n) }
func (e *encoder) text(s string) { e.uint(uint64(len(s))); e.buf = append(e.buf, s...) }
func (e *encoder) int(t byte, n int64) {
	e.buf = binary.AppendVarint(append(e.buf, t), n)
}

// enter opens a nested value; it reports whether to go on.
func (e *encoder) enter() bool {
	e.depth++
	if e.depth > e.limit.Depth {
		e.fail("it is nested deeper than %d levels", e.limit.Depth)
	}
	if len(e.buf) > e.limit.Bytes {
		e.fail("it is larger than %d bytes", e.limit.Bytes)
	}
	return e.err == nil
}

func (e *encoder) at(step string) { e.path = step + e.path }
