package probe

import (
	"encoding/binary"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/beagle-go/beagle/probe/wire"
)

// A coder knows how values of one type lie in memory. Coders are made once per type by reflection.
// They then work on raw memory, so that unexported fields need no special care.
type coder struct {
	typ    reflect.Type
	kind   reflect.Kind
	name   string // see typeName
	size   uintptr
	raw    bool    // holds no pointer at all
	bound  bool    // means nothing outside its process
	elem   *coder  // of an array, a slice, a pointer or a map
	key    *coder  // of a map
	fields []field // of a struct, without those named _
	header []byte  // of a struct: number and names of the fields, as written
	n      int     // length of an array
}

type field struct {
	name string // as declared; of arguments, the parameter's
	off  uintptr
	c    *coder
}

// A sliceHeader is a slice as the runtime lays it out.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

var coders sync.Map // reflect.Type -> *coder

func coderOf(t reflect.Type) *coder {
	if c, ok := coders.Load(t); ok {
		return c.(*coder)
	}
	made := map[reflect.Type]*coder{}
	c := makeCoder(t, made)
	for t, c := range made { // published only when all of them are complete
		coders.LoadOrStore(t, c)
	}
	return c
}

func makeCoder(t reflect.Type, made map[reflect.Type]*coder) *coder {
	if c, ok := made[t]; ok {
		return c
	}
	if c, ok := coders.Load(t); ok {
		return c.(*coder)
	}
	c := &coder{typ: t, kind: t.Kind(), name: typeName(t), size: t.Size(), raw: isRaw(t), bound: bound[typeName(t)]}
	made[t] = c
	switch c.kind {
	case reflect.Struct:
		c.addFields(made)
	case reflect.Array:
		c.elem, c.n = makeCoder(t.Elem(), made), t.Len()
	case reflect.Slice, reflect.Pointer:
		c.elem = makeCoder(t.Elem(), made)
	case reflect.Map:
		c.key, c.elem = makeCoder(t.Key(), made), makeCoder(t.Elem(), made)
	}
	return c
}

// isLock reports whether a type is a lock. Locks are recorded as unlocked, without fields, as
// Beagle's other recorder does.
func isLock(t reflect.Type) bool {
	return t == reflect.TypeFor[sync.Mutex]() || t == reflect.TypeFor[sync.RWMutex]()
}

// bound lists types that are tied to their process.
var bound = map[string]bool{
	"os.File": true, "internal/poll.FD": true, "reflect.rtype": true, "internal/abi.Type": true,
	"time.Timer": true, "time.Ticker": true, "testing.common": true, "testing.T": true, "testing.B": true,
	"sync.Map": true, "internal/sync.HashTrieMap": true, "sync.Pool": true,
}

func (c *coder) addFields(made map[reflect.Type]*coder) {
	if !isLock(c.typ) {
		for i := 0; i < c.typ.NumField(); i++ {
			if f := c.typ.Field(i); f.Name != "_" {
				c.fields = append(c.fields, field{f.Name, f.Offset, makeCoder(f.Type, made)})
			}
		}
	}
	c.header = binary.AppendUvarint(nil, uint64(len(c.fields)))
	for _, f := range c.fields {
		c.header = binary.AppendUvarint(c.header, uint64(len(f.name)))
		c.header = append(c.header, f.name...)
	}
}

// tupleCoder returns a coder for a struct of arguments or results. Its fields are written as A0, A1
// and so on, and keep their names for redaction and questions.
func tupleCoder(t reflect.Type, names []string) *coder {
	c := *coderOf(t)
	c.fields, c.header = nil, nil
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		name := f.Name
		if i < len(names) {
			name = names[i]
		}
		c.fields = append(c.fields, field{name, f.Offset, coderOf(f.Type)})
	}
	c.header = binary.AppendUvarint(nil, uint64(len(c.fields)))
	for i := range c.fields {
		name := "A" + strconv.Itoa(i)
		c.header = binary.AppendUvarint(c.header, uint64(len(name)))
		c.header = append(c.header, name...)
	}
	return &c
}

// isRaw reports whether values of t hold no pointers.
func isRaw(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.Func,
		reflect.Chan, reflect.UnsafePointer:
		return false
	case reflect.Array:
		return t.Len() == 0 || isRaw(t.Elem())
	case reflect.Struct:
		for i := 0; i < t.NumField(); i++ {
			if !isRaw(t.Field(i).Type) {
				return false
			}
		}
	}
	return true
}

// typeName returns a type's name with its import path.
func typeName(t reflect.Type) string {
	if t.Name() != "" {
		if t.PkgPath() == "" {
			return t.Name()
		}
		return t.PkgPath() + "." + t.Name()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + typeName(t.Elem())
	case reflect.Slice:
		return "[]" + typeName(t.Elem())
	case reflect.Array:
		return "[" + strconv.Itoa(t.Len()) + "]" + typeName(t.Elem())
	case reflect.Map:
		return "map[" + typeName(t.Key()) + "]" + typeName(t.Elem())
	}
	return t.String()
}

// describe returns the type for the controller, at most depth levels of it.
func (c *coder) describe(name string, depth int) wire.Type {
	t := wire.Type{Name: name, Type: c.name, Kind: c.kind.String()}
	if depth == 0 {
		return t
	}
	switch c.kind {
	case reflect.Struct:
		for _, f := range c.fields {
			t.Fields = append(t.Fields, f.c.describe(f.name, depth-1))
		}
	case reflect.Array, reflect.Slice, reflect.Pointer:
		e := c.elem.describe("", depth-1)
		t.Elem = &e
	}
	return t
}

// at returns the address of element i.
func (c *coder) at(base unsafe.Pointer, i int) unsafe.Pointer {
	return unsafe.Add(base, uintptr(i)*c.size)
}

// value returns the variable at p.
func (c *coder) value(p unsafe.Pointer) reflect.Value { return reflect.NewAt(c.typ, p).Elem() }

// plainName keeps the letters and digits of a name, in lower case: "API_Key" is "apikey".
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == '_' || r == '-' || r == '.' || r == ' ':
			return -1
		}
		return r
	}, name)
}
