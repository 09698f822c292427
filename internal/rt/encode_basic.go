package rt

import (
	"encoding/binary"
	"math"
	"reflect"
	"unsafe"
)

// basicCoder sets how a basic type is written and read. Integers are written by their value in as
// few bytes as it takes, so that a record does not depend on the width of int.
func basicCoder(c *coder) {
	c.dec = basicDecoder(c.typ)
	switch c.typ.Kind() {
	case reflect.Bool:
		c.enc = func(e *encoder, p unsafe.Pointer) {
			if *(*bool)(p) {
				e.tag(tagTrue)
			} else {
				e.tag(tagFalse)
			}
		}
	case reflect.Int:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.int(tagInt, int64(*(*int)(p))) }
	case reflect.Int8:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.int(tagInt, int64(*(*int8)(p))) }
	case reflect.Int16:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.int(tagInt, int64(*(*int16)(p))) }
	case reflect.Int32:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.int(tagInt, int64(*(*int32)(p))) }
	case reflect.Int64:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.int(tagInt, *(*int64)(p)) }
	case reflect.Uint:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.tag(tagUint); e.uint(uint64(*(*uint)(p))) }
	case reflect.Uint8:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.tag(tagUint); e.uint(uint64(*(*uint8)(p))) }
	case reflect.Uint16:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.tag(tagUint); e.uint(uint64(*(*uint16)(p))) }
	case reflect.Uint32:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.tag(tagUint); e.uint(uint64(*(*uint32)(p))) }
	case reflect.Uint64:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.tag(tagUint); e.uint(*(*uint64)(p)) }
	case reflect.Uintptr:
		c.enc = func(e *encoder, p unsafe.Pointer) { e.tag(tagUint); e.uint(uint64(*(*uintptr)(p))) }
	case reflect.String:
		c.enc = func(e *encoder, p unsafe.Pointer) {
			s := *(*string)(p)
			// A record may not exceed the limit that the recording program was given.
			if len(s) > e.limit.Bytes {
				e.fail("a string of %d bytes is larger than the limit of %d bytes", len(s), e.limit.Bytes)
				return
			}
			e.tag(tagString)
			e.text(s)
		}
	default:
		c.enc = floatEncoder(c.typ.Kind())
	}
}

// floatEncoder writes floats by their bits.
func floatEncoder(k reflect.Kind) func(*encoder, unsafe.Pointer) {
	le := binary.LittleEndian
	switch k {
	case reflect.Float32:
		return func(e *encoder, p unsafe.Pointer) {
			// as bits: no conversion may quieten a NaN
			e.buf = le.AppendUint32(append(e.buf, tagFloat32), *(*uint32)(p))
		}
	case reflect.Float64:
		return func(e *encoder, p unsafe.Pointer) {
			e.buf = le.AppendUint64(append(e.buf, tagFloat64), math.Float64bits(*(*float64)(p)))
		}
	case reflect.Complex64:
		return func(e *encoder, p unsafe.Pointer) {
			v := *(*[2]uint32)(p)
			e.buf = le.AppendUint32(le.AppendUint32(append(e.buf, tagComplex64), v[0]), v[1])
		}
	default:
		return func(e *encoder, p unsafe.Pointer) {
			v := *(*[2]uint64)(p)
			e.buf = le.AppendUint64(le.AppendUint64(append(e.buf, tagComplex128), v[0]), v[1])
		}
	}
}
