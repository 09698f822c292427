package rt

import (
	"encoding/binary"
	"math"
	"reflect"
	"unsafe"
)

// ToBytes is the reverse of FromBytes. What FromBytes cannot make (shared
// memory, hidden fields, spare capacity) is lost.
func ToBytes[A any](a *A, types map[string]reflect.Type) []byte {
	t := reflect.TypeOf(a).Elem()
	w := byteWriter{maker: newMaker(t.PkgPath(), types), tail: tailOf(coderOf(t), unsafe.Pointer(a))}
	w.write(coderOf(t), unsafe.Pointer(a), 0)
	return w.b
}

func zigzag(n int64) uint64 { return uint64(n)<<1 ^ uint64(n>>63) }

type byteWriter struct {
	*maker
	b    []byte
	tail unsafe.Pointer
}

func (w *byteWriter) number(n uint64) {
	if n < small {
		w.b = append(w.b, byte(n))
		return
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	size := 8
	for size > 1 && b[size-1] == 0 {
		size--
	}
	w.b = append(append(w.b, small+byte(size-1)), b[:size]...)
}

func (w *byteWriter) text(s string, isNil bool, p unsafe.Pointer) {
	switch {
	case p != nil && p == w.tail:
		w.b = append(w.b, s...)
	case isNil:
		w.number(0)
	default:
		w.number(uint64(len(s)) + 1)
		w.b = append(w.b, s...)
	}
}

func (w *byteWriter) write(c *coder, p unsafe.Pointer, depth int) {
	if texted[c.typ] != nil {
		w.number(0)
		return
	}
	if closed(w.own, c.typ) {
		return
	}
	v := c.value(p)
	switch k := c.typ.Kind(); k {
	case reflect.Bool:
		w.b = append(w.b, *(*byte)(p))
	case reflect.String:
		w.text(*(*string)(p), false, p)
	case reflect.Struct:
		for _, f := range c.fields {
			w.write(f.c, unsafe.Add(p, f.off), depth)
		}
	case reflect.Array:
		for i := 0; i < c.n; i++ {
			w.write(c.elem, c.elem.at(p, i), depth)
		}
	case reflect.Slice:
		w.slice(c, p, depth)
	case reflect.Pointer:
		w.pointer(c, *(*unsafe.Pointer)(p), depth)
	case reflect.Map:
		w.mapping(c, v, depth)
	case reflect.Interface:
		w.dynamicValue(c, v.Elem(), depth)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
	case reflect.Float32, reflect.Float64:
		w.float(v.Float())
	case reflect.Complex64, reflect.Complex128:
		w.float(real(v.Complex()))
		w.float(imag(v.Complex()))
	default:
		if v.CanInt() {
			w.number(zigzag(v.Int()))
		} else {
			w.number(v.Uint())
		}
	}
}

func (w *byteWriter) float(f float64) {
	if n := int64(f); float64(n) == f && !(f == 0 && math.Signbit(f)) && zigzag(n) < small {
		w.number(zigzag(n))
		return
	}
	w.b = binary.LittleEndian.AppendUint64(append(w.b, small+7), math.Float64bits(f))
}

func (w *byteWriter) pointer(c *coder, q unsafe.Pointer, depth int) {
	if q == nil || depth >= 2*maxNesting {
		w.b = append(w.b, 0)
		return
	}
	w.b = append(w.b, 1)
	w.write(c.elem, q, depth+1)
}

func (w *byteWriter) slice(c *coder, p unsafe.Pointer, depth int) {
	h := (*sliceHeader)(p)
	if c.elem.typ.Kind() == reflect.Uint8 {
		w.text(string(unsafe.Slice((*byte)(h.data), h.len)), h.data == nil, p)
		return
	}
	if h.data == nil || depth >= 2*maxNesting {
		w.number(0)
		return
	}
	n := min(h.len, maxItems)
	w.number(uint64(n) + 1)
	for i := 0; i < n; i++ {
		w.write(c.elem, c.elem.at(h.data, i), depth+1)
	}
}

func (w *byteWriter) mapping(c *coder, v reflect.Value, depth int) {
	if v.IsNil() || depth >= 2*maxNesting {
		w.number(0)
		return
	}
	list := sortedEntries(c, v, DefaultLimit, false)
	list = list[:min(len(list), maxItems)]
	w.number(uint64(len(list)) + 1)
	for _, x := range list {
		w.write(c.key, x.key, depth+1)
		w.write(c.elem, x.val, depth+1)
	}
}

func (w *byteWriter) dynamicValue(c *coder, v reflect.Value, depth int) {
	if !v.IsValid() || depth >= 2*maxNesting {
		w.b = append(w.b, 0)
		return
	}
	for i, t := range w.dynamic(c.typ) {
		if t == v.Type() {
			w.b = append(w.b, byte(i+1))
			box := boxed(v)
			w.write(box.c, box.p, depth+1)
			return
		}
	}
	w.b = append(w.b, 0)
}
