package lift

import (
	beaglebinary "encoding/binary"
	beaglemath "math"
	beaglereflect "reflect"
)

// beaglePut appends a value to a message: numbers as varints, texts and lists with their length in
// front. The program that runs the regions holds the text of this file after its imports, so all
// names begin with beagle. Package encoding/gob would do it as well, and is eight times as large as
// all else that the program links for it.
func beaglePut(out []byte, v beaglereflect.Value) []byte {
	switch v.Kind() {
	case beaglereflect.Bool:
		if v.Bool() {
			return append(out, 1)
		}
		return append(out, 0)
	case beaglereflect.Int, beaglereflect.Int8, beaglereflect.Int16, beaglereflect.Int32, beaglereflect.Int64:
		return beaglebinary.AppendVarint(out, v.Int())
	case beaglereflect.Uint, beaglereflect.Uint8, beaglereflect.Uint16, beaglereflect.Uint32, beaglereflect.Uint64,
		beaglereflect.Uintptr:
		return beaglebinary.AppendUvarint(out, v.Uint())
	case beaglereflect.Float32, beaglereflect.Float64:
		return beaglebinary.AppendUvarint(out, beaglemath.Float64bits(v.Float()))
	case beaglereflect.String:
		return append(beaglebinary.AppendUvarint(out, uint64(v.Len())), v.String()...)
	case beaglereflect.Slice:
		out = beaglebinary.AppendUvarint(out, uint64(v.Len()))
		for i := 0; i < v.Len(); i++ {
			out = beaglePut(out, v.Index(i))
		}
		return out
	}
	panic("a column of " + v.Type().String())
}

// beagleGet sets v to the next value of a message, and returns the rest. ok is false if the message
// holds no such value. A list takes no more memory than its message: each element has a byte.
func beagleGet(in []byte, v beaglereflect.Value) (rest []byte, ok bool) {
	// Signed numbers have an encoding of their own.
	if v.Kind() >= beaglereflect.Int && v.Kind() <= beaglereflect.Int64 {
		x, n := beaglebinary.Varint(in)
		if n <= 0 || v.OverflowInt(x) {
			return nil, false
		}
		v.SetInt(x)
		return in[n:], true
	}
	// All else begins with an unsigned number: a value, the bits of a float, or a length.
	x, n := beaglebinary.Uvarint(in)
	if n <= 0 {
		return nil, false
	}
	in = in[n:]
	switch v.Kind() {
	case beaglereflect.Bool:
		v.SetBool(x == 1)
		return in, x <= 1
	case beaglereflect.Uint, beaglereflect.Uint8, beaglereflect.Uint16, beaglereflect.Uint32, beaglereflect.Uint64,
		beaglereflect.Uintptr:
		if v.OverflowUint(x) {
			return nil, false
		}
		v.SetUint(x)
		return in, true
	case beaglereflect.Float32, beaglereflect.Float64:
		v.SetFloat(beaglemath.Float64frombits(x))
		return in, true
	// A length beyond the message is an error, found before any memory is taken.
	case beaglereflect.String:
		if x > uint64(len(in)) {
			return nil, false
		}
		v.SetString(string(in[:x]))
		return in[x:], true
	case beaglereflect.Slice:
		if x > uint64(len(in)) {
			return nil, false
		}
		list := beaglereflect.MakeSlice(v.Type(), int(x), int(x))
		for i := 0; i < int(x); i++ {
			if in, ok = beagleGet(in, list.Index(i)); !ok {
				return nil, false
			}
		}
		v.Set(list)
		return in, true
	}
	panic("a column of " + v.Type().String())
}
