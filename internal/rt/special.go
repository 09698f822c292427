package rt

import (
	"bytes"
	"context"
	"encoding"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// special returns how to code the types whose memory says too much or too
// little: locks, types with a text form, pointers without a static type, and
// types that mean nothing outside their process.
func special(t reflect.Type) func(builder, *coder) {
	switch {
	case isLock(t):
		return lockCoder
	case isOpaque(t):
		return opaqueCoder
	case t.PkgPath() == "sync/atomic" && strings.HasPrefix(t.Name(), "Pointer["):
		return func(b builder, c *coder) {
			v, _ := t.FieldByName("v")
			c.elem = b.coder(t.Field(0).Type.Elem().Elem()) // _ [0]*T
			c.sites = 2
			pointerCoder(c, v.Offset)
		}
	case isBound(t):
		return boundCoder
	}
	return nil
}

// bound lists types that are tied to their process.
var bound = map[string]bool{
	"os.File": true, "internal/poll.FD": true, "reflect.rtype": true, "internal/abi.Type": true, "time.Timer": true,
	"time.Ticker":    true,
	"testing.common": true, "testing.T": true, "testing.B": true, "sync.Map": true, "internal/sync.HashTrieMap": true,
	"sync.Pool": true,
}

// isBound reports whether a type is tied to its process: a copy of its pointer points to the same
// value.
func isBound(t reflect.Type) bool { return t.Name() != "" && bound[t.PkgPath()+"."+t.Name()] }

func boundCoder(_ builder, c *coder) {
	zero := make([]byte, c.size)
	c.enc = func(e *encoder, p unsafe.Pointer) {
		if !ignored.bound && !bytes.Equal(unsafe.Slice((*byte)(p), c.size), zero) {
			e.fail("a %v in use has no form outside its process", c.typ)
			return
		}
		e.structHeader(c)
	}
	c.header = []byte{0}
	c.dec = structDecoder(c)
	c.sites = 0
}

// isLock reports whether a type is a lock. Locks are recorded as unlocked: their holder at the
// time of the call is not part of the arguments, and a copy that is held for ever only hangs.
func isLock(t reflect.Type) bool {
	return t == reflect.TypeOf(sync.Mutex{}) || t == reflect.TypeOf(sync.RWMutex{})
}

func lockCoder(_ builder, c *coder) {
	c.header = []byte{0}
	c.enc = func(e *encoder, p unsafe.Pointer) { e.structHeader(c) }
	c.dec = structDecoder(c)
	c.fix = func(_ *cloner, p unsafe.Pointer) { c.value(p).SetZero() }
}

// isOpaque reports whether a type is opaque. Such types compare by interned pointers, which only
// their text rebuilds.
func isOpaque(t reflect.Type) bool { return t == reflect.TypeOf(netip.Addr{}) }

// opaqueCoder writes a type with a text form by that text, because its fields are
// private.
func opaqueCoder(_ builder, c *coder) {
	c.enc = func(e *encoder, p unsafe.Pointer) {
		text, err := c.value(p).Addr().Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			e.fail("%v: %w", c.typ, err)
			return
		}
		e.tag(tagOpaque)
		e.text(TypeName(c.typ))
		e.text(string(text))
	}
	c.dec = func(d *decoder, p unsafe.Pointer) {
		d.want(tagOpaque, c.typ)
		d.string()
		text := d.string()
		if d.err != nil {
			return
		}
		if err := c.value(p).Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
			d.fail("%v: %w", c.typ, err)
		}
	}
}

// globals are variables whose address means something: io.EOF is not a copy
// of io.EOF.
var globals = struct {
	sync.RWMutex
	names  map[unsafe.Pointer]string
	values map[string]reflect.Value
	types  map[reflect.Type]bool // pointed to
	common map[string]bool       // those that every program knows
}{
	names:  map[unsafe.Pointer]string{},
	values: map[string]reflect.Value{},
	types:  map[reflect.Type]bool{},
	common: map[string]bool{},
}

// RegisterGlobal names a pointer that keeps its identity in records: a sentinel error or the
// address of a package variable. It names the errors that lists, maps and structs hold. Other
// values are left alone. It must run before the first value is encoded.
func RegisterGlobal(name string, v any) {
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Pointer {
		registerErrors(name, r, heldDepth)
		return
	}
	if r.IsNil() {
		return
	}
	registerPointer(name, r)
	if e := r.Elem(); e.Kind() == reflect.Struct && strings.HasPrefix(name, "&") {
		registerErrors(name[1:], e, heldDepth)
	}
}

func registerPointer(name string, r reflect.Value) {
	globals.Lock()
	defer globals.Unlock()
	globals.names[r.UnsafePointer()] = name
	globals.values[name] = r
	globals.types[r.Type().Elem()] = true
}

// Bounds on the errors that one variable holds.
const (
	heldDepth = 3
	maxHeld   = 256
)

// registerErrors names the errors in a variable by the way that leads to them.
func registerErrors(name string, r reflect.Value, depth int) {
	switch r.Kind() {
	case reflect.Interface:
		registerErrors(name, r.Elem(), depth)
	case reflect.Pointer:
		if r.IsNil() || !r.Type().Implements(errorType) || r.Type().Elem().Size() == 0 {
			return
		}
		if p := r.UnsafePointer(); globalName(p) == "" {
			registerPointer(name, reflect.NewAt(r.Type().Elem(), p))
		}
	case reflect.Array, reflect.Slice:
		for i := 0; depth > 0 && i < min(r.Len(), maxHeld); i++ {
			registerErrors(fmt.Sprintf("%s[%d]", name, i), r.Index(i), depth-1)
		}
	case reflect.Map:
		for it := r.MapRange(); depth > 0 && r.Len() <= maxHeld && it.Next(); {
			registerErrors(fmt.Sprintf("%s[%#v]", name, it.Key()), it.Value(), depth-1)
		}
	case reflect.Struct:
		for i := 0; depth > 0 && i < r.NumField(); i++ {
			registerErrors(name+"."+r.Type().Field(i).Name, r.Field(i), depth-1)
		}
	}
}

// ErrMadeUp is the error of writers, readers and callbacks that are made to fail.
var ErrMadeUp = errors.New("beagle: a made-up failure")

func init() {
	// The variables of the library that functions return or compare with. Their content does not
	// count, and they are not copied.
	for name, v := range map[string]any{
		"io.EOF": io.EOF, "io.ErrUnexpectedEOF": io.ErrUnexpectedEOF, "io.ErrShortWrite": io.ErrShortWrite,
		"io.ErrNoProgress":  io.ErrNoProgress,
		"io.ErrShortBuffer": io.ErrShortBuffer, "io.ErrClosedPipe": io.ErrClosedPipe,
		"os.ErrNotExist": os.ErrNotExist, "os.ErrExist": os.ErrExist, "os.ErrPermission": os.ErrPermission,
		"os.ErrClosed": os.ErrClosed, "os.ErrInvalid": os.ErrInvalid,
		"context.Canceled": context.Canceled, "strconv.ErrRange": strconv.ErrRange,
		"strconv.ErrSyntax":     strconv.ErrSyntax,
		"errors.ErrUnsupported": errors.ErrUnsupported, "time.UTC": time.UTC, "time.Local": time.Local,

		"beagle.invalid/rt.ErrMadeUp": ErrMadeUp,
	} {
		RegisterGlobal(name, v)
		globals.common[name] = true
	}
}

func hasGlobals(t reflect.Type) bool {
	globals.RLock()
	defer globals.RUnlock()
	return globals.types[t]
}

func globalName(p unsafe.Pointer) string {
	globals.RLock()
	defer globals.RUnlock()
	return globals.names[p]
}

func commonGlobal(p unsafe.Pointer) bool {
	name := globalName(p)
	return name != "" && globals.common[name]
}

// global writes the name of a global as a prefix of its value. It reports whether the name is
// enough: values that every program knows are not copied, and time.Local depends on the machine.
func (e *encoder) global(p unsafe.Pointer) bool {
	name := globalName(p)
	if name == "" {
		return false
	}
	e.tag(tagGlobal)
	e.text(name)
	if globals.common[name] {
		e.tag(tagNil)
	}
	return globals.common[name]
}

var typeNames typeTable // of strings

// TypeName names a type in records: import path and name, so that it means
// the same in every program. The suffix that tells variants apart is dropped.
func TypeName(t reflect.Type) string {
	if s := typeNames.get(t); s != nil {
		return s.(string)
	}
	return typeNames.keep(t, typeName(t)).(string)
}

// typeName writes a type with the paths of its packages. The suffix that tells a variant's types
// apart is left out, so that both versions' types have one name.
func typeName(t reflect.Type) string {
	if t.Name() != "" {
		if t.PkgPath() == "" {
			return t.Name()
		}
		return t.PkgPath() + "." + trimVariant(t.Name())
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + TypeName(t.Elem())
	case reflect.Slice:
		return "[]" + TypeName(t.Elem())
	case reflect.Array:
		return "[" + strconv.Itoa(t.Len()) + "]" + TypeName(t.Elem())
	case reflect.Map:
		return "map[" + TypeName(t.Key()) + "]" + TypeName(t.Elem())
	}
	return t.String()
}

// trimVariant removes "__b7" at the end of a name.
func trimVariant(name string) string {
	i := strings.LastIndex(name, "__b")
	if i < 0 || i+3 == len(name) || strings.Trim(name[i+3:], "0123456789") != "" {
		return name
	}
	return name[:i]
}

// knownTypes are the dynamic types that every harness knows.
var knownTypes = func() map[string]reflect.Type {
	m := make(map[string]reflect.Type)
	for _, v := range []any{
		false, 0, int8(0), int16(0), int32(0), int64(0), uint(0), uint8(0), uint16(0), uint32(0), uint64(0), uintptr(0),
		float32(0), 0.0, complex64(0), complex128(0), "",
		[]bool(nil), []int(nil), []int32(nil), []int64(nil), []float64(nil), []byte(nil), []string(nil), []any(nil),
		[][]byte(nil), []map[string]any(nil),
		map[string]any(nil), map[string]string(nil), map[string]int(nil), map[any]any(nil),
		map[string][]string(nil), struct{}{},
		new(bool), new(int), new(int64), new(float64), new(string),
		time.Time{}, time.Duration(0), netip.Addr{}, netip.AddrPort{}, netip.Prefix{},
		new(time.Time), new(bytes.Buffer), new(bytes.Reader), new(strings.Reader), new(strings.Builder),
		errors.New(""), fmt.Errorf("%w", io.EOF), fmt.Errorf("%w%w", io.EOF, io.EOF), errors.Join(io.EOF),
		context.DeadlineExceeded,
		new(strconv.NumError), new(os.PathError), new(os.SyscallError), context.Background(),
		context.TODO(), io.Discard,
	} {
		t := reflect.TypeOf(v)
		m[TypeName(t)] = t
	}
	return m
}()

// lookupType finds a type by name; pointers to known types and slices of
// them are known too.
func lookupType(name string, types map[string]reflect.Type) reflect.Type {
	// Types that the program registered come first, and then those that every program knows.
	if t, ok := types[name]; ok {
		return t
	}
	if t, ok := knownTypes[name]; ok {
		return t
	}
	if strings.Count(name, "*")+strings.Count(name, "[]") > 8 {
		return nil // each level makes a type that is never freed
	}
	// Pointers and slices are made from the type after the prefix.
	if elem, ok := strings.CutPrefix(name, "*"); ok {
		if t := lookupType(elem, types); t != nil {
			return reflect.PointerTo(t)
		}
	} else if elem, ok := strings.CutPrefix(name, "[]"); ok {
		if t := lookupType(elem, types); t != nil {
			return reflect.SliceOf(t)
		}
	}
	return nil
}
