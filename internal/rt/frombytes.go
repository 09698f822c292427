package rt

import (
	"encoding/binary"
	"math"
	"reflect"
	"unsafe"
)

// The fuzzer changes bytes; FromBytes makes arguments of them. Every byte
// string means some arguments, small changes make small differences, and
// ToBytes goes back, so that the corpus can seed the fuzzer. The last
// parameter takes all that is left if it is a string or a byte slice: for
// the commonest targets the fuzzer then works on the very text.

// FromBytes fills a, which must be zero. types are the dynamic types of
// interface values, as in Harness.Types.
// It reports whether the input is worth a call: false when most of the bytes
// were of no use, so that the fuzzer does not grow them.
func FromBytes[A any](data []byte, a *A, types map[string]reflect.Type) bool {
	t := reflect.TypeOf(a).Elem()
	r := byteReader{maker: newMaker(t.PkgPath(), types), b: data, tail: tailOf(coderOf(t), unsafe.Pointer(a))}
	r.read(coderOf(t), unsafe.Pointer(a), 0)
	return len(r.b) <= len(data)/2
}

// tailOf finds the parameter that takes the rest of the bytes.
func tailOf(c *coder, p unsafe.Pointer) unsafe.Pointer {
	if len(c.fields) == 0 {
		return nil
	}
	f := c.fields[len(c.fields)-1]
	if k := f.c.typ.Kind(); k == reflect.String || k == reflect.Slice && f.c.elem.typ.Kind() == reflect.Uint8 {
		return unsafe.Add(p, f.off)
	}
	return nil
}

// maxItems bounds one slice or map that the fuzzer makes.
const maxItems = 1 << 12

type byteReader struct {
	*maker
	b    []byte
	tail unsafe.Pointer
}

func (r *byteReader) byte() byte {
	if len(r.b) == 0 {
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// Numbers below 192 take one byte; a byte above says how many follow.
const small = 192

func (r *byteReader) number() uint64 {
	c := r.byte()
	if c < small {
		return uint64(c)
	}
	var b [8]byte
	n := copy(b[:], r.b[:min(len(r.b), int(c-small)%8+1)])
	r.b = r.b[n:]
	return binary.LittleEndian.Uint64(b[:])
}

func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

// length reads 0 for nil, and otherwise a length plus one, as far as there
// are bytes.
func (r *byteReader) length() (n int, ok bool) {
	c := r.number()
	if c == 0 {
		return 0, false
	}
	return int(min(c-1, uint64(min(len(r.b), maxItems)))), true
}

func (r *byteReader) text(p unsafe.Pointer) (string, bool) {
	if p != nil && p == r.tail {
		s := string(r.b)
		r.b = nil
		return s, true
	}
	n, ok := r.length()
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s, ok
}

func (r *byteReader) read(c *coder, p unsafe.Pointer, depth int) {
	if f := texted[c.typ]; f != nil {
		s, ok := r.text(nil)
		if ok {
			c.value(p).Set(reflect.ValueOf(f(s)))
		}
		return
	}
	if closed(r.own, c.typ) {
		return
	}
	switch k := c.typ.Kind(); k {
	case reflect.Bool:
		*(*bool)(p) = r.byte()&1 == 1
	case reflect.String:
		*(*string)(p), _ = r.text(p)
	case reflect.Struct:
		for _, f := range c.fields {
			r.read(f.c, unsafe.Add(p, f.off), depth)
		}
	case reflect.Array:
		for i := 0; i < c.n; i++ {
			r.read(c.elem, c.elem.at(p, i), depth)
		}
	case reflect.Slice:
		r.slice(c, p, depth)
	case reflect.Pointer:
		if r.byte()&1 == 1 && depth < 2*maxNesting {
			q := c.elem.alloc(1)
			*(*unsafe.Pointer)(p) = q
			r.read(c.elem, q, depth+1)
		}
	case reflect.Map:
		r.mapping(c, p, depth)
	case reflect.Interface:
		r.dynamicValue(c, p, depth)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		setBits(p, c.size, uint64(unzigzag(r.number())))
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		r.float(c, p)
	default:
		setBits(p, c.size, r.number())
	}
}

// float reads small whole numbers from a byte and other bits from eight.
func (r *byteReader) float(c *coder, p unsafe.Pointer) {
	read := func() float64 {
		if len(r.b) > 0 && r.b[0] < small {
			return float64(unzigzag(r.number()))
		}
		return math.Float64frombits(r.number())
	}
	v := c.value(p)
	if v.CanFloat() {
		v.SetFloat(read())
		return
	}
	re := read()
	v.SetComplex(complex(re, read()))
}

func (r *byteReader) slice(c *coder, p unsafe.Pointer, depth int) {
	if c.elem.typ.Kind() == reflect.Uint8 {
		if s, ok := r.text(p); ok {
			*(*[]byte)(p) = []byte(s)
		}
		return
	}
	n, ok := r.length()
	if !ok || depth >= 2*maxNesting {
		return
	}
	h := (*sliceHeader)(p)
	h.data, h.len, h.cap = reflect.MakeSlice(c.elem.slice, n, n).UnsafePointer(), n, n
	for i := 0; i < n; i++ {
		r.read(c.elem, c.elem.at(h.data, i), depth+1)
	}
}

func (r *byteReader) mapping(c *coder, p unsafe.Pointer, depth int) {
	n, ok := r.length()
	if !ok || depth >= 2*maxNesting {
		return
	}
	m := reflect.MakeMap(c.typ)
	c.value(p).Set(m)
	for range n {
		k, v := c.key.alloc(1), c.elem.alloc(1)
		r.read(c.key, k, depth+1)
		r.read(c.elem, v, depth+1)
		if hashable(c.key.value(k)) {
			m.SetMapIndex(c.key.value(k), c.elem.value(v))
		}
	}
}

func (r *byteReader) dynamicValue(c *coder, p unsafe.Pointer, depth int) {
	types := r.dynamic(c.typ)
	i := int(r.byte()) % (len(types) + 1)
	if i == 0 || depth >= 2*maxNesting {
		return
	}
	elem := coderOf(types[i-1])
	box := elem.alloc(1)
	r.read(elem, box, depth+1)
	c.value(p).Set(elem.value(box))
}
