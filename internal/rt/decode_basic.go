package rt

import (
	"encoding/binary"
	"errors"
	"reflect"
	"unsafe"
)

// basicDecoder returns the reader of a basic type. It refuses numbers that do not fit the type,
// such as those of a larger int.
func basicDecoder(t reflect.Type) func(*decoder, unsafe.Pointer) {
	switch k := t.Kind(); k {
	case reflect.Bool:
		return func(d *decoder, p unsafe.Pointer) {
			tag := d.tag()
			if tag != tagTrue && tag != tagFalse {
				d.mismatch(tag, t)
				return
			}
			*(*bool)(p) = tag == tagTrue
		}
	case reflect.String:
		return func(d *decoder, p unsafe.Pointer) {
			if d.want(tagString, t) {
				*(*string)(p) = d.string()
			}
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intDecoder(t)
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return floatDecoder(t)
	default:
		return uintDecoder(t)
	}
}

// errUnfit reports a number that was recorded where an int had more bits.
var errUnfit = errors.New("does not fit a")

// intDecoder reads a signed number.
func intDecoder(t reflect.Type) func(*decoder, unsafe.Pointer) {
	size := t.Size()
	shift := 64 - 8*size
	return func(d *decoder, p unsafe.Pointer) {
		if !d.want(tagInt, t) {
			return
		}
		n, w := binary.Varint(d.b[d.i:])
		if w <= 0 {
			d.err = errShort
			return
		}
		d.i += w
		// A number that loses bits in the type does not fit.
		if n<<shift>>shift != n {
			d.fail("%d %w %v", n, errUnfit, t)
			return
		}
		setBits(p, size, uint64(n))
	}
}

// uintDecoder reads a number without a sign, as intDecoder does one with.
func uintDecoder(t reflect.Type) func(*decoder, unsafe.Pointer) {
	size := t.Size()
	shift := 64 - 8*size
	return func(d *decoder, p unsafe.Pointer) {
		if !d.want(tagUint, t) {
			return
		}
		n := d.uint()
		// Bits that the type does not have would be lost.
		if n<<shift>>shift != n {
			d.fail("%d %w %v", n, errUnfit, t)
			return
		}
		setBits(p, size, n)
	}
}

// setBits stores an integer of any kind: its bytes are the same with a sign.
func setBits(p unsafe.Pointer, size uintptr, n uint64) {
	switch size {
	case 1:
		*(*uint8)(p) = uint8(n)
	case 2:
		*(*uint16)(p) = uint16(n)
	case 4:
		*(*uint32)(p) = uint32(n)
	case 8:
		*(*uint64)(p) = n
	}
}

// floatDecoder reads floats by their bits, so that every NaN keeps its payload.
func floatDecoder(t reflect.Type) func(*decoder, unsafe.Pointer) {
	tag := map[reflect.Kind]byte{reflect.Float32: tagFloat32, reflect.Float64: tagFloat64,
		reflect.Complex64: tagComplex64, reflect.Complex128: tagComplex128}[t.Kind()]
	return func(d *decoder, p unsafe.Pointer) {
		if !d.want(tag, t) {
			return
		}
		b := d.take(int(t.Size()))
		le := binary.LittleEndian
		if d.err != nil {
			return
		}
		switch tag {
		case tagFloat32:
			*(*uint32)(p) = le.Uint32(b)
		case tagFloat64:
			*(*uint64)(p) = le.Uint64(b)
		case tagComplex64:
			*(*[2]uint32)(p) = [2]uint32{le.Uint32(b), le.Uint32(b[4:])}
		case tagComplex128:
			*(*[2]uint64)(p) = [2]uint64{le.Uint64(b), le.Uint64(b[8:])}
		}
	}
}
