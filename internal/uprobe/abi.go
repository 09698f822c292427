//go:build linux

package uprobe

import "reflect"

// Go's register ABI on amd64 passes integers and pointers in nine registers and floats in fifteen.
// The rest lies on the stack above the return address.
const (
	intRegisters   = 9 // RAX RBX RCX RDI RSI R8 R9 R10 R11
	floatRegisters = 15
	word           = 8
	imageRegisters = intRegisters * word
)

// A piece is a part of an argument, with its place in the image of a call. The image is the integer
// registers, followed by the stack above the return address.
type piece struct {
	off, size int // within the argument
	at        int // within the image; unseen for floats in registers
}

// unseen marks a piece that pt_regs does not hold.
const unseen = -1

// A Value is a parameter or a result.
type Value struct {
	Name   string
	Type   *Type
	pieces []piece
}

// assign places arguments, the receiver first, as the compiler does. It returns the bytes of stack
// that they take.
func assign(values []Value) (stack int) {
	var ints, floats int
	var spilled []int
	for i := range values {
		v := &values[i]
		a := assigner{ints: ints, floats: floats}
		if v.Type.Size > 0 && a.value(v.Type, 0) {
			ints, floats, v.pieces = a.ints, a.floats, a.pieces
		} else {
			spilled = append(spilled, i)
		}
	}
	for _, i := range spilled {
		v := &values[i]
		stack = roundUp(stack, v.Type.align())
		v.pieces = []piece{{size: v.Type.Size, at: imageRegisters + stack}}
		stack += v.Type.Size
	}
	return roundUp(stack, word)
}

// assignResults places results; stack is where those of the arguments end.
func assignResults(values []Value, stack int) int {
	n := assign(values)
	for i := range values {
		for j := range values[i].pieces {
			if p := &values[i].pieces[j]; p.at >= imageRegisters {
				p.at += stack
			}
		}
	}
	return stack + n
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// An assigner tries to place one argument in registers.
type assigner struct {
	ints, floats int
	pieces       []piece
}

// value places a part of the argument. It returns false when the argument must go to the stack.
func (a *assigner) value(t *Type, off int) bool {
	switch t.Kind {
	case reflect.Float32, reflect.Float64:
		return a.float(off, t.Size)
	case reflect.Complex64, reflect.Complex128:
		return a.float(off, t.Size/2) && a.float(off+t.Size/2, t.Size/2)
	case reflect.String, reflect.Interface:
		return a.words(off, 2)
	case reflect.Slice:
		return a.words(off, 3)
	case reflect.Array:
		switch t.Len {
		case 0:
			return true
		case 1:
			return a.value(t.Elem, off)
		}
		return false
	case reflect.Struct:
		for _, f := range t.Fields {
			if !a.value(f.Type, off+f.Off) {
				return false
			}
		}
		return true
	}
	return a.int(off, t.Size)
}

func (a *assigner) words(off, n int) bool {
	for i := range n {
		if !a.int(off+i*word, word) {
			return false
		}
	}
	return true
}

func (a *assigner) int(off, size int) bool {
	if a.ints == intRegisters {
		return false
	}
	a.pieces = append(a.pieces, piece{off, size, a.ints * word})
	a.ints++
	return true
}

func (a *assigner) float(off, size int) bool {
	if a.floats == floatRegisters {
		return false
	}
	a.pieces = append(a.pieces, piece{off, size, unseen})
	a.floats++
	return true
}

// blind reports whether a part of the value cannot be seen.
func (v *Value) blind() bool {
	for _, p := range v.pieces {
		if p.at == unseen {
			return true
		}
	}
	return false
}

// image puts the value together from the image of a call, which it may be too short for. seen says
// which of its bytes are known; nil means all.
func (v *Value) image(from []byte) (b []byte, seen []bool) {
	b = make([]byte, v.Type.Size)
	for _, p := range v.pieces {
		if p.at != unseen && p.at+p.size <= len(from) {
			copy(b[p.off:p.off+p.size], from[p.at:])
			continue
		}
		if seen == nil {
			seen = make([]bool, len(b))
			for j := range seen {
				seen[j] = true
			}
		}
		for j := range p.size {
			seen[p.off+j] = false
		}
	}
	return b, seen
}
